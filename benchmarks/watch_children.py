"""An hour of a watch of 500 children on the test server: requests and memory, the time between looks flown over."""

import sys
import tempfile
import time
import tracemalloc
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import pytest

from hyperflow.submit.snapshot import JobName
from hyperflow.submit.watch import Pace, follow
from tests.live_plane import live_plane
from tests.unit.submit.test_soak import child


def main(children: int, seconds: int) -> None:
    """Change one child at every look until `seconds` have been slept; print what it cost."""
    with (
        tempfile.TemporaryDirectory() as folder,
        pytest.MonkeyPatch.context() as patch,
        live_plane(folder, patch) as live,
    ):
        live.server.after_request = lambda: None
        for i in range(children):
            live.put(child("wide", i))
        job = JobName(job="wide", name="wide", namespace="default")
        started, looks, sizes = time.monotonic(), 0, []
        tracemalloc.start()
        for _ in follow(live.plane, job, Pace(quiet_seconds=1)):
            looks += 1
            live.server.plane.store.compact()
            live.server.faults.requests, seen = [], len(live.server.faults.requests)
            sizes.append((seen, tracemalloc.get_traced_memory()[0]))
            name = f"wide-{looks % children}"
            changed = live.server.plane.store.get(live.controllers._job(live.server.plane), "default", name)
            live.put({**changed, "status": {**changed["status"], "retryCount": looks}})
            if live.clock.now() >= seconds:
                break
        most = max(seen for seen, _ in sizes)
        first, last = sizes[len(sizes) // 10][1], sizes[-1][1]
        print(
            f"{children} children, {live.clock.now():.0f} s, {looks} looks, at most {most} requests a look, "
            f"memory {first / 1e6:.1f} MB after a tenth and {last / 1e6:.1f} MB at the end, "
            f"{time.monotonic() - started:.0f} s of work"
        )


if __name__ == "__main__":
    given = [int(argument) for argument in sys.argv[1:]]
    main(given[0] if given else 500, given[1] if len(given) > 1 else 3600)
