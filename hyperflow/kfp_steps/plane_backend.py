"""The backend that matters: a Karmada plane (or one Volcano cluster), through `hyperflow.submit`."""

from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path

from hyperflow.errors import HyperFlowError
from hyperflow.inventory.bundle_reader import read_bundle
from hyperflow.json_tree import dig, text
from hyperflow.kfp_steps.backend import ChildState, Observation, Say
from hyperflow.kfp_steps.first_rank_log import KEPT_LINES, FirstRankLog
from hyperflow.submit.delete_job import delete_job
from hyperflow.submit.plane import Plane
from hyperflow.submit.pod_logs import list_pods, read_log
from hyperflow.submit.refusals import RETRIED, RefusedError
from hyperflow.submit.server_kinds import HYPERJOB, JOB, POLICY
from hyperflow.submit.snapshot import BUNDLE_LABEL, JobName, read_snapshot
from hyperflow.submit.states import JobStatus, judge_state
from hyperflow.submit.submit_bundle import apply_bundle
from hyperflow.submit.watch import is_gone

OUTAGE_SECONDS = 900.0


class PlaneBackend:
    """One job on a plane. A server that does not answer is asked again for a quarter of an hour."""

    def __init__(self, plane: Plane, say: Say) -> None:
        self._plane, self._say = plane, say
        self._job: JobName | None = None
        self._last = Observation(state="PENDING")
        self._answered = plane.clock.now()
        self._log = FirstRankLog(plane, say)

    def mode_for(self, mode: str, namespace: str) -> str:
        """A plain Job would wait for ever on a Karmada plane, which sends nothing on without a policy."""
        if mode != "single":
            return mode
        try:
            self._plane.find(POLICY, namespace)
        except RefusedError as error:
            if error.refusal.meaning == "no-kind":
                return mode
            raise
        return "direct"

    def start(self, bundle: Path, name: str) -> bool:
        """Apply every object of the bundle; True when all of them were there already."""
        stored = read_bundle(bundle)
        # known before anything is made, so that a cancel on the way deletes what there is
        self._job = JobName(job=stored.job, name=stored.name, namespace=stored.namespace)
        submission = apply_bundle(self._plane, stored, on_step=self._tell)
        for finding in submission.findings:
            self._say(finding.as_text())
        self._answered = self._plane.clock.now()
        return all(deed == "adopted" for _, deed in submission.objects)

    def look(self) -> Observation:
        """Read the job's objects once, and hand on what rank 0 has written since."""
        assert self._job is not None
        try:
            status = judge_state(read_snapshot(self._plane, self._job))
        except RefusedError as error:
            silent = self._plane.clock.now() - self._answered
            if error.refusal.meaning not in RETRIED or silent > OUTAGE_SECONDS:
                raise
            reason = f"the server does not answer: {error.findings[0].message}"
            return Observation(state=self._last.state, reason=reason, children=self._last.children)
        self._answered = self._plane.clock.now()
        self._last = self._observed(status)
        runs = any(child.running for child in status.children)
        self._log.forward(self._job, runs=runs, ended=status.has_ended)
        return self._last

    def _observed(self, status: JobStatus) -> Observation:
        if is_gone(status):
            return Observation(state="FAILED", reason="somebody deleted the job")
        return Observation(
            state=status.state,
            reason=status.reason,
            children=tuple(
                ChildState(
                    name=child.name,
                    cluster=child.cluster,
                    phase=child.phase,
                    running=child.running,
                    total=child.total,
                    reason=child.reason,
                )
                for child in status.children
            ),
            restarts=sum(child.restarts for child in status.children),
        )

    def logs(self) -> Iterator[Iterable[str]]:
        """Give what was read of rank 0's log, then that of the last rank, read now."""
        yield self._log.lines()
        if self._job is not None:
            try:
                pods, _ = list_pods(self._plane, self._job)
                if len(pods) > 1:
                    yield deque(read_log(self._plane, pods[-1]), KEPT_LINES)
            except HyperFlowError as error:
                self._say(f"hyperflow: no log of the last rank: {error.findings[0].message}")

    def delete(self) -> None:
        """Delete the job with its children and companions, and wait until they are gone."""
        if self._job is not None:
            delete_job(self._plane, self._job, on_step=self._tell)

    def _tell(self, step: str) -> None:
        self._say(f"hyperflow: {step}")


class PlanePlace:
    """All jobs of a namespace of a plane."""

    def __init__(self, plane: Plane, namespace: str) -> None:
        self._plane, self._namespace = plane, namespace

    def jobs_with_label(self, label: str, value: str) -> list[str]:
        """Give the jobs that carry the label, by the name of their bundle."""
        found = [
            item for kind in (HYPERJOB, JOB) for item in self._plane.find(kind, self._namespace, f"{label}={value}")[0]
        ]
        names = {text(dig(item, "metadata", "labels", BUNDLE_LABEL)) for item in found}
        return sorted(names - {""})

    def delete(self, name: str) -> None:
        """Delete one job and all that belongs to it."""
        delete_job(self._plane, JobName(job=name, name=name, namespace=self._namespace))
