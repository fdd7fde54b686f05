"""Waiting for a submitted job: one watch wakes a look, looks are never more frequent than a pause allows.

Memory stays flat because only the last look is kept. A lost watch, a 410 and a quiet minute all end in a new look.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from hyperflow.errors import DegradedError, Finding
from hyperflow.submit.delete_job import delete_job
from hyperflow.submit.plane import Plane
from hyperflow.submit.refusals import RETRIED, RefusedError
from hyperflow.submit.server_kinds import JOB
from hyperflow.submit.snapshot import JobName, read_snapshot
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
    """Seconds between looks: at least `pause`, at most `quiet` when nothing changes."""

    pause_seconds: float = 2.0
    quiet_seconds: float = 15.0
    outage_seconds: float = 900.0


def phase_of(status: JobStatus) -> Phase:
    """Say which phase a job is in, for its limits."""
    if status.state == "QUEUED" or any(child.phase in ("Queued", "Absent") for child in status.children):
        return "queue"
    waiting = [child for child in status.children if child.is_waiting]
    if waiting:
        return "schedule" if len(waiting) == len(status.children) else "rendezvous"
    return "run"


def follow(plane: Plane, job: JobName, pace: Pace | None = None) -> Iterator[JobStatus]:
    """Yield the status now and after each change, until the job has ended or is gone.

    A server that does not answer is asked again for `outage_seconds` before RefusedError (HF503) ends the wait.
    """
    pace = pace or Pace()
    last_answer = plane.clock.now()
    while True:
        try:
            snapshot = read_snapshot(plane, job)
        except RefusedError as error:
            if error.refusal.meaning not in RETRIED or plane.clock.now() - last_answer > pace.outage_seconds:
                raise
            plane.clock.sleep(pace.pause_seconds)
            continue
        last_answer = plane.clock.now()
        status = judge_state(snapshot)
        yield status
        if status.has_ended or is_gone(status):
            return
        plane.clock.sleep(pace.pause_seconds)
        query = {"labelSelector": snapshot.children_selector, "resourceVersion": snapshot.jobs_version}
        if plane.await_change(JOB, job.namespace, query, pace.quiet_seconds) == "lost":
            plane.clock.sleep(pace.pause_seconds)


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
) -> JobStatus:
    """Wait until the job completes; prints nothing.

    Raises DegradedError: HF515 when a part failed and the job was aborted, HF516 when it failed or vanished; and
    PhaseTimeoutError (HF517) when a phase took too long. In the first and the last case the job has been deleted.
    """
    limits = limits or Limits()
    entered: dict[Phase, float] = {}
    for status in follow(plane, job, pace):
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
