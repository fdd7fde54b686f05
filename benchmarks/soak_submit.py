"""Soak of the submitter: `python benchmarks/soak_submit.py [RUNS] [FIRST_SEED]` on the test server (loopback only)."""

import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import pytest

from hyperflow.inventory.bundle_reader import read_bundle
from tests.live_plane import live_plane, write_bundle
from tests.soak_runs import one_run


def main(runs: int, first: int) -> int:
    """Run the seeds, print what went wrong and the sums."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        bundle = read_bundle(write_bundle(Path(folder) / "out"))
        started, requests, kills, expiries, bad = time.monotonic(), 0, 0, 0, 0
        with live_plane(folder, patch) as live:
            for seed in range(first, first + runs):
                outcome = one_run(live, bundle, seed)
                requests, kills = requests + outcome.requests, kills + outcome.kills
                expiries += outcome.expiries
                if outcome.wrong:
                    bad += 1
                    print(f"seed {seed}: {outcome.wrong}", flush=True)
        took = time.monotonic() - started
        print(f"{runs} runs, {requests} requests, {kills} kills, {expiries} expired tokens, {bad} wrong, {took:.0f} s")
        return 1 if bad else 0


if __name__ == "__main__":
    given = [int(argument) for argument in sys.argv[1:]]
    sys.exit(main(given[0] if given else 1000, given[1] if len(given) > 1 else 0))
