"""Waiting for a submitted job: a watch of its children wakes a look, and a look asks only for what may have changed.

Requests stay few: a round of lists every `quiet_seconds` (`steady_seconds` while all runs), and a watch at most every
pause, which grows with the number of children. Memory stays flat because only the last lists are kept.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from hyperflow.errors import DegradedError, Finding, HyperFlowError
from hyperflow.submit.delete_job import delete_job
from hyperflow.submit.plane import Plane
from hyperflow.submit.refusals import RETRIED, RefusedError
from hyperflow.submit.remembered import Remembered
from hyperflow.submit.server_kinds import JOB
from hyperflow.submit.snapshot import JobName, Snapshot, read_snapshot
from hyperflow.submit.states import JobStatus, judge_state

Phase = Literal["queue", "schedule", "rendezvous", "run"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How long each phase may take, in seconds (None: for ever), and what a partial failure means.

    queue: until the dispatcher lets every child go; schedule: until the first child runs; rendezvous: from then until
    all run; run: from then to the end. `abort` deletes the job when a part of it has failed, `keep` lets the rest run.
    """

    queue_seconds: float | None = None
    schedule_seconds: float | None = None
    rendezvous_seconds: float | None = None
    run_seconds: float | None = None
    on_partial_failure: Literal["abort", "keep"] = "abort"

    def of(self, phase: Phase) -> float | None:
        """Give the limit of a phase."""
        return {
            "queue": self.queue_seconds,
            "schedule": self.schedule_seconds,
            "rendezvous": self.rendezvous_seconds,
            "run": self.run_seconds,
        }[phase]


class PhaseTimeoutError(DegradedError):
    """A phase took longer than its limit; the job was deleted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """Seconds between looks: at least `pause`, and a round of all lists every `quiet`, or `steady` while all runs.

    The pause grows by `child_seconds` a child, since each look costs that much more. `outage` bounds how long a server
    that fails is asked again.
    """

    pause_seconds: float = 2.0
    quiet_seconds: float = 15.0
    steady_seconds: float = 60.0
    outage_seconds: float = 900.0
    child_seconds: float = 0.02


def phase_of(status: JobStatus) -> Phase:
    """Say which phase a job is in, for its limits."""
    if status.state == "QUEUED" or any(child.phase in ("Queued", "Absent") for child in status.children):
        return "queue"
    waiting = [child for child in status.children if child.is_waiting]
    if waiting:
        return "schedule" if len(waiting) == len(status.children) else "rendezvous"
    return "run"


def follow(
    plane: Plane,
    job: JobName,
    pace: Pace | None = None,
    *,
    on_step: Callable[[str], None] = lambda _step: None,
) -> Iterator[JobStatus]:
    """Yield the status now and after each change, until the job has ended or is gone.

    A server that does not answer, or credentials that were once good and no longer are, end the wait only when that
    lasts `outage_seconds` (HF503, HF504, HF502, HF531); `on_step` hears of it once.
    """
    rhythm = _Rhythm(plane, pace or Pace())
    last_answer, troubled = plane.clock.now(), False
    while True:
        try:
            snapshot = read_snapshot(rhythm.lists, job)
        except HyperFlowError as error:
            if not rhythm.may_mend(error) or plane.clock.now() - last_answer > rhythm.pace.outage_seconds:
                raise
            if not troubled:
                on_step(f"{error.findings[0].message}; asking again")
            troubled = True
            rhythm.lists.forget()
            plane.clock.sleep(rhythm.pace.pause_seconds)
            continue
        last_answer, troubled = plane.clock.now(), False
        status = judge_state(snapshot)
        yield status
        if status.has_ended or is_gone(status):
            return
        rhythm.await_look(snapshot, status)


class _Rhythm:
    """When to look again, and what to ask for then."""

    def __init__(self, plane: Plane, pace: Pace) -> None:
        self.pace, self.lists = pace, Remembered(plane)
        self._plane, self._clock = plane, plane.clock
        self._round_began, self._is_busy, self._losses = plane.clock.now(), False, 0

    def may_mend(self, error: HyperFlowError) -> bool:
        """Whether asking again may help: credentials that were once good are perhaps being renewed."""
        if isinstance(error, RefusedError) and error.refusal.meaning in RETRIED:
            return True
        return self._plane.was_accepted and error.findings[0].code in ("HF502", "HF504", "HF531")

    def await_look(self, snapshot: Snapshot, status: JobStatus) -> None:
        """Wait for a change, or for the time of a new round.

        After quiet the first news ends the wait, so that it is told at once; then news is gathered for a pause.
        """
        pause = max(self.pace.pause_seconds, self.pace.child_seconds * len(status.children))
        whole = self.pace.steady_seconds if status.state == "RUNNING" else self.pace.quiet_seconds
        began = self._clock.now()
        left = self._round_began + whole - began
        seconds = pause if self._is_busy else max(pause, left)
        labels = snapshot.children_selector
        seen = self.lists.watch(JOB, snapshot.namespace, labels, seconds, gather=self._is_busy)
        self._losses = self._losses + 1 if seen == "lost" else 0
        gathered = self._is_busy
        self._is_busy = seen == "told"
        least = pause if gathered or seen == "quiet" else 0.0
        if seen == "lost":
            least = min(pause * 2**self._losses, max(pause, self.pace.quiet_seconds))
        early = least - (self._clock.now() - began)
        if early > 0:
            self._clock.sleep(early)
        if self._clock.now() - self._round_began >= whole:
            self._round_began = self._clock.now()
            self.lists.forget()


def is_gone(status: JobStatus) -> bool:
    """Say whether nothing of the job is there (any more)."""
    return status.state == "UNKNOWN" and not status.children


def wait_for(
    plane: Plane,
    job: JobName,
    *,
    limits: Limits | None = None,
    pace: Pace | None = None,
    on_status: Callable[[JobStatus], None] = lambda _status: None,
    on_step: Callable[[str], None] = lambda _step: None,
) -> JobStatus:
    """Wait until the job completes; prints nothing.

    Raises DegradedError: HF515 when a part failed and the job was aborted, HF516 when it failed or vanished; and
    PhaseTimeoutError (HF517) when a phase took too long. In the first and the last case the job has been deleted.
    """
    limits = limits or Limits()
    entered: dict[Phase, float] = {}
    for status in follow(plane, job, pace, on_step=on_step):
        on_status(status)
        if status.state == "COMPLETED":
            return status
        if status.state == "FAILED" or is_gone(status):
            raise DegradedError(_failed(status))
        if status.partial_failure and limits.on_partial_failure == "abort":
            delete_job(plane, job)
            raise DegradedError(_aborted(status))
        phase = phase_of(status)
        entered.setdefault(phase, plane.clock.now())
        limit = limits.of(phase)
        if limit is not None and plane.clock.now() - entered[phase] > limit:
            delete_job(plane, job)
            raise PhaseTimeoutError(_too_slow(status, phase, limit))
    raise AssertionError("follow ends with a state that is final")


def _failed(status: JobStatus) -> Finding:
    return Finding(
        code="HF516",
        message=f"job {status.name} failed: {status.reason}",
        where=f"namespace {status.namespace}",
        got=status.state,
        expected="COMPLETED",
        hint=status.next[0] if status.next else "",
    )


def _aborted(status: JobStatus) -> Finding:
    return Finding(
        code="HF515",
        message=f"job {status.name} lost a part and was deleted: {status.reason}",
        where=f"namespace {status.namespace}",
        got=status.state,
        expected="RUNNING",
        hint="on_partial_failure=keep lets the other children go on",
    )


def _too_slow(status: JobStatus, phase: Phase, limit: float) -> Finding:
    return Finding(
        code="HF517",
        message=f"job {status.name} did not leave the phase {phase} in {limit:g} s and was deleted: {status.reason}",
        where=f"namespace {status.namespace}",
        got=status.state,
        expected="RUNNING" if phase != "run" else "COMPLETED",
        hint=f"raise --{phase}-timeout, or give --fallback BUNDLE for another plan",
    )
