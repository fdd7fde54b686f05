"""A simulated hour of following 500 children: requests by verb and minute, and the client's memory every five minutes.

The server and its clock are another process, so that the memory is the client's alone. Time stands still while either
works and flies while both wait, so the figures do not depend on the machine.
"""

import collections
import multiprocessing
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import pytest

from hyperflow.submit.plane import Plane
from hyperflow.submit.snapshot import JobName
from hyperflow.submit.transport import KubernetesTransport
from hyperflow.submit.watch import follow
from tests.live_plane import live_plane
from tests.wide_job import HOUR, NAME, WideJob

MEMBERS = ("a", "b", "c", "d", "e")


def serve(pipe, folder, children):
    """Be the server: answer the client's questions for the time until it hangs up."""
    with pytest.MonkeyPatch.context() as patch, live_plane(folder, patch, members=MEMBERS) as live:
        live.server.after_request = lambda: None
        WideJob(live.server, children)
        pipe.send(str(live.kubeconfig))
        while True:
            question, seconds = pipe.recv()
            if question == "end":
                return
            if question == "sleep":
                live.clock.sleep(seconds)
            if question == "read":
                live.server.lines_read += 1
            else:
                pipe.send(live.clock.now())


class PipedClock:
    """The server's clock."""

    def __init__(self, pipe):
        self.pipe = pipe

    def now(self):
        return self._asked("now", 0)

    def sleep(self, seconds):
        self._asked("sleep", seconds)

    def _asked(self, question, seconds):
        self.pipe.send((question, seconds))
        return self.pipe.recv()


class Counted(KubernetesTransport):
    """Counts requests by verb, kind and minute."""

    def __init__(self, clock):
        super().__init__()
        self.clock, self.counts, self.minutes = clock, collections.Counter(), collections.Counter()

    def _count(self, verb, path):
        self.counts[f"{verb} {path.rpartition('/')[2]}"] += 1
        self.minutes[int(self.clock.now() // 60)] += 1

    def send(self, method, path, query, body=None, content_type=""):
        self._count("LIST" if method == "GET" else method, path)
        return super().send(method, path, query, body, content_type)

    def lines(self, path, query, read_seconds):
        self._count("WATCH", path)
        for line in super().lines(path, query, read_seconds):
            yield line
            self.clock.pipe.send(("read", 0))


def memory_megabytes(name):
    """VmRSS (now) or VmHWM (the most so far) of this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name)) / 1024


def main(children: int) -> None:
    """Follow the job to its end and print what it cost."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        ours, theirs = multiprocessing.get_context("spawn").Pipe()
        server = multiprocessing.get_context("spawn").Process(target=serve, args=(theirs, folder, children))
        server.start()
        patch.setenv("KUBECONFIG", ours.recv())
        clock = PipedClock(ours)
        transport = Counted(clock)
        looks, due, started, work = 0, 0.0, time.monotonic(), time.process_time()
        states = collections.Counter()
        print("simulated s   state      looks  requests  RSS MB  peak MB", flush=True)
        status = None
        for status in follow(
            Plane(transport=transport, clock=clock), JobName(job=NAME, name=NAME, namespace="default")
        ):
            looks, now = looks + 1, clock.now()
            states[status.state] += 1
            if now >= due or status.has_ended:
                due += HOUR / 12
                sizes = (memory_megabytes("VmRSS"), memory_megabytes("VmHWM"))
                total = sum(transport.counts.values())
                print(
                    f"{now:11.0f}   {status.state:9}  {looks:6}  {total:8}  {sizes[0]:6.1f}  {sizes[1]:7.1f}",
                    flush=True,
                )
        minutes = sorted(transport.minutes.values())
        print(f"{children} children, {len(MEMBERS)} members, {dict(states)}")
        print(", ".join(f"{count} {verb}" for verb, count in transport.counts.most_common()))
        print(f"requests a minute: median {minutes[len(minutes) // 2]}, at most {minutes[-1]}")
        print(f"{time.monotonic() - started:.0f} s, {time.process_time() - work:.0f} s of the client's CPU")
        ours.send(("end", 0))
        server.join(10)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 500)
