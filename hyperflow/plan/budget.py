"""What a search may use, in seconds and in work that counts the same on every machine."""

import time
from dataclasses import dataclass

CALL_WORK = 200
"""Rows that take about as long as the fixed part of one call."""


class SearchStopped(Exception):
    """The time or the size allowed for the search is used up."""


@dataclass(slots=True, kw_only=True)
class Budget:
    """What a search may use: a moment on the monotonic clock, and work, which counts the same on every machine."""

    deadline: float
    work: float = float("inf")

    def spend(self, size: int) -> None:
        """Take so many rows and one call from the budget; raises SearchStopped when it is used up."""
        self.work -= size + CALL_WORK
        if self.work < 0 or time.monotonic() > self.deadline:
            raise SearchStopped
