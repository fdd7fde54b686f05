"""Following a started job to its end: what it waits for, phase limits, and the way out when a part of it fails."""

import signal
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType

from hyperflow.errors import Finding, UsageError
from hyperflow.kfp_steps.backend import FINAL, Backend, Observation, Say
from hyperflow.units import format_seconds

WAITING = ("PENDING", "QUEUED", "UNKNOWN")
REMIND_SECONDS = 300.0
KEEP_OR_DELETE = ("keep", "delete")


class Cancelled(SystemExit):
    """The step was told to end (SIGTERM); its exit code is 143, as for any process that ends by it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowPolicy:
    """How long each phase may take (0: no limit), how often to look, and what happens to the job afterwards."""

    poll_seconds: float = 15.0
    queue_timeout_seconds: float = 0.0
    run_timeout_seconds: float = 0.0
    on_cancel: str = "delete"
    on_failure: str = "delete"
    abort_when_degraded: bool = True

    def __post_init__(self) -> None:
        wrong = {
            name: value
            for name, value in (("on_cancel", self.on_cancel), ("on_failure", self.on_failure))
            if value not in KEEP_OR_DELETE
        }
        numbers = ("poll_seconds", "queue_timeout_seconds", "run_timeout_seconds")
        wrong |= {name: getattr(self, name) for name in numbers if not 0 <= getattr(self, name) < float("inf")}
        if wrong:
            raise UsageError([_bad(name, value) for name, value in wrong.items()])


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """A change that was seen, so many seconds after the step began to follow the job."""

    seconds: float
    state: str
    reason: str

    @property
    def after(self) -> str:
        """The time as people read it: looks are seconds apart, jobs run for days."""
        minutes, seconds = divmod(round(self.seconds), 60)
        hours, minutes = divmod(minutes, 60)
        if hours:
            return f"{hours} h {minutes} min"
        return f"{minutes} min {seconds} s" if minutes else f"{seconds} s"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How it ended. `state` is COMPLETED, FAILED, DEGRADED or TIMED_OUT; `ran_seconds` counts no queueing."""

    state: str
    reason: str
    last: Observation
    events: tuple[Event, ...]
    ran_seconds: float
    waited_seconds: float


@dataclass(slots=True)
class _Clock:
    waited: float = 0.0
    ran: float = 0.0
    events: list[Event] = field(default_factory=list[Event])
    reminded: float = 0.0


def follow(
    backend: Backend,
    policy: FollowPolicy,
    say: Say,
    now: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Outcome:
    """Look at the job every `poll_seconds` until it ends, degrades, or a phase takes too long."""
    clock = _Clock()
    begin = before = now()
    while True:
        seen = backend.look()
        moment = now()
        if seen.state in WAITING:
            clock.waited += moment - before
        else:
            clock.ran += moment - before
        before = moment
        _tell(clock, seen, moment - begin, say)
        verdict = _verdict(clock, seen, policy)
        if verdict is not None:
            return Outcome(
                state=verdict[0],
                reason=verdict[1],
                last=seen,
                events=tuple(clock.events),
                ran_seconds=clock.ran,
                waited_seconds=clock.waited,
            )
        sleep(policy.poll_seconds)


def _verdict(clock: _Clock, seen: Observation, policy: FollowPolicy) -> tuple[str, str] | None:
    if seen.state in FINAL:
        return seen.state, seen.reason
    if seen.state == "DEGRADED" and policy.abort_when_degraded:
        return "DEGRADED", seen.reason
    limits = (
        ("queue_timeout_seconds", clock.waited if seen.state in WAITING else 0.0, policy.queue_timeout_seconds),
        ("run_timeout_seconds", clock.ran, policy.run_timeout_seconds),
    )
    for name, spent, limit in limits:
        if 0 < limit < spent:
            why = f": {seen.reason}" if seen.reason else ""
            return "TIMED_OUT", f"still {seen.state} after {name} = {format_seconds(limit)}{why}"
    return None


def _tell(clock: _Clock, seen: Observation, seconds: float, say: Say) -> None:
    last = clock.events[-1] if clock.events else None
    event = Event(seconds=seconds, state=seen.state, reason=seen.reason)
    if last is None or (last.state, last.reason) != (seen.state, seen.reason):
        clock.events.append(event)
    elif seconds - clock.reminded < REMIND_SECONDS:
        return
    clock.reminded = seconds
    say(f"hyperflow: {seen.state} after {event.after}{f': {seen.reason}' if seen.reason else ''}")
    for child in seen.children:
        reason = f" ({child.reason})" if child.reason else ""
        say(f"hyperflow:   {child.cluster}: {child.phase}, {child.running} of {child.total} pods run{reason}")


@contextmanager
def cancellable() -> Generator[None]:
    """Turn SIGTERM into Cancelled while the body runs; a second one is ignored, so that cleaning up goes on."""

    def end(_number: int, _frame: FrameType | None) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise Cancelled(128 + signal.SIGTERM)

    old = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, old)


def _bad(name: str, value: object) -> Finding:
    expected = "keep or delete" if name.startswith("on_") else "a number of seconds, 0 or more"
    return Finding(
        code="HF557",
        message=f"{name} cannot be {value!r}",
        where=name,
        got=repr(value),
        expected=expected,
        hint=f"give {expected}",
    )
