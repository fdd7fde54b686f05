"""The log of rank 0, read in a thread of its own while the step looks at the job."""

import queue
import threading
from collections import deque
from collections.abc import Iterator

from hyperflow.errors import HyperFlowError
from hyperflow.kfp_steps.backend import Say
from hyperflow.submit.plane import Plane
from hyperflow.submit.pod_logs import find_pod, read_log
from hyperflow.submit.snapshot import JobName

KEPT_LINES = 50_000
LAST_WORDS_SECONDS = 10.0


class FirstRankLog:
    """Follows the log of rank 0; a follow that breaks off is taken up again where it stopped."""

    def __init__(self, plane: Plane, say: Say) -> None:
        self._plane, self._say = plane, say
        self._new: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._kept: deque[str] = deque(maxlen=KEPT_LINES)
        self._first = ""
        self._read = 0
        self._thread: threading.Thread | None = None
        self._told = ""

    def forward(self, job: JobName, *, runs: bool, ended: bool) -> None:
        """Print what came since the last call; follow while pods run, and wait for the last words at the end."""
        if (runs or ended) and (self._thread is None or not self._thread.is_alive()):
            self._thread = threading.Thread(target=self._follow, args=(job, not ended), daemon=True)
            self._thread.start()
        if ended and self._thread is not None:
            self._thread.join(LAST_WORDS_SECONDS)
        while not self._new.empty():
            line = self._new.get()
            self._kept.append(line)
            self._say(f"[rank 0] {line}")

    def lines(self) -> tuple[str, ...]:
        """Give the lines that were read, the oldest dropped where there are very many."""
        return tuple(self._kept)

    def _follow(self, job: JobName, follow: bool) -> None:
        try:
            lines = read_log(self._plane, find_pod(self._plane, job, None), follow=follow)
            for line in self._unread(lines):
                self._new.put(line)
        except HyperFlowError as error:
            reason = error.findings[0].message
            if reason != self._told:
                self._told = reason
                self._new.put(f"(no log: {reason})")

    def _unread(self, lines: Iterator[str]) -> Iterator[str]:
        """Leave out what an earlier follow of the same log has read; the log of a restarted pod is another one."""
        for number, line in enumerate(lines):
            if number == 0 and line != self._first:
                self._first, self._read = line, 0
            if number >= self._read:
                self._read = number + 1
                yield line
