"""Time for the server and its client: the machine's, compressed, or flying. All count in seconds.

`wait` is what a watch does while nothing happens: it holds the condition's lock, and returns when it was notified, when
the time is over, or a little earlier.
"""

import heapq
import itertools
import threading
import time
from collections.abc import Callable

_SLICE = 0.2


class RealClock:
    """Seconds of the machine, times `factor`: with 20, an hour lasts three minutes. One epoch for all processes."""

    def __init__(self, factor: float = 1.0, epoch: float = 0.0) -> None:
        self.factor, self.epoch = factor, epoch

    def now(self) -> float:
        """Seconds since the epoch (of the machine's monotonic clock)."""
        return (time.monotonic() - self.epoch) * self.factor

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds / self.factor)

    def wait(self, condition: threading.Condition, seconds: float, _settled: bool) -> None:
        """Wait for a change."""
        condition.wait(min(seconds / self.factor, _SLICE))


class FlyingClock:
    """Sleeps not at all but counts the seconds, and does on the way what `at` put down for a moment."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self._lock = threading.Lock()

    def now(self) -> float:
        """Seconds slept so far."""
        return self.seconds

    def at(self, seconds: float, deed: Callable[[], None]) -> None:
        """Do something at a moment."""
        with self._lock:
            heapq.heappush(self._due, (seconds, next(self._order), deed))

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        end = self.seconds + seconds
        while self._step(end):
            pass

    def wait(self, condition: threading.Condition, seconds: float, settled: bool) -> None:
        """Let time pass until the next deed, once the client has had its chance to react."""
        if not settled:
            condition.wait(0.0005)
        else:
            self._step(self.seconds + seconds)

    def _step(self, end: float) -> bool:
        """Go on to the next deed before `end` and do it; False where there was none."""
        with self._lock:
            deed = None
            if self._due and self._due[0][0] <= end:
                moment, _, deed = heapq.heappop(self._due)
                end = max(moment, self.seconds)
            self.seconds = max(self.seconds, end)
        if deed is not None:
            deed()
        return deed is not None
