"""The state of a submitted job, judged from one snapshot. Pure: no clock, no server.

A HyperJob sets a condition only when all its children have ended, so a dead child beside a living one shows nowhere
but here: DEGRADED.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from hyperflow.json_tree import dig, mapping, sequence, text
from hyperflow.submit.explain_wait import explain_wait
from hyperflow.submit.queue_line import QueueLine
from hyperflow.submit.snapshot import MemberView, Snapshot

State = Literal["PENDING", "QUEUED", "RUNNING", "DEGRADED", "COMPLETED", "FAILED", "UNKNOWN"]
Json = dict[str, Any]
FAILED_PHASES = frozenset({"Failed", "Aborted", "Terminated"})
_TURNING = frozenset({"Restarting", "Aborting", "Terminating", "Completing"})
_WAITING = frozenset({"Absent", "Queued", "Unscheduled", "Pending", "Inqueue", "Created"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildStatus:
    """One child: its phase in one word, how many pods run, and why it is not (yet) running."""

    name: str
    cluster: str
    phase: str
    running: int
    total: int
    reason: str = ""
    restarts: int = 0
    line: QueueLine | None = None

    @property
    def is_waiting(self) -> bool:
        """Whether it has not started yet."""
        return self.phase in _WAITING


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStatus:
    """The whole job. `partial_failure` means that a part is lost while others hold devices."""

    job: str
    name: str
    namespace: str
    state: State
    reason: str
    children: tuple[ChildStatus, ...]
    next: tuple[str, ...]
    partial_failure: bool = False

    @property
    def has_ended(self) -> bool:
        """Whether nothing will change any more."""
        return self.state in ("COMPLETED", "FAILED")

    def as_json(self) -> dict[str, object]:
        """Give the document of `status` and `submit --wait`."""
        children = [
            {
                "name": child.name,
                "cluster": child.cluster or None,
                "phase": child.phase,
                "running": child.running,
                "total": child.total,
                "reason": child.reason,
                "restarts": child.restarts,
                "line": child.line.as_json() if child.line else None,
            }
            for child in self.children
        ]
        return {
            "job": self.job,
            "name": self.name,
            "namespace": self.namespace,
            "state": self.state,
            "reason": self.reason,
            "children": children,
            "next": list(self.next),
        }


def judge_state(snapshot: Snapshot) -> JobStatus:
    """Judge a snapshot: the state, the reason in words, each child, and the next commands."""
    children = tuple(_child(snapshot, name, spec, clusters) for name, spec, clusters in _expected(snapshot))
    state, reason = _state(snapshot, children)
    failed = any(child.phase in FAILED_PHASES for child in children)
    return JobStatus(
        job=snapshot.job or snapshot.name,
        name=snapshot.name,
        namespace=snapshot.namespace,
        state=state,
        reason=reason,
        children=children,
        next=_next_commands(snapshot, state, children),
        partial_failure=state == "DEGRADED" and failed,
    )


def _expected(snapshot: Snapshot) -> list[tuple[str, Json, tuple[str, ...]]]:
    """Name every child that there should be, with its spec and the clusters it may go to."""
    live = {text(dig(job, "metadata", "name")): mapping(job.get("spec")) for job in snapshot.jobs}
    if snapshot.hyperjob is None:
        return [(name, live.get(name, {}), ()) for name in sorted({*live, *snapshot.expected})]
    found: list[tuple[str, Json, tuple[str, ...]]] = []
    for item in sequence(dig(snapshot.hyperjob, "spec", "replicatedJobs")):
        replicas = dig(item, "replicas")
        clusters = tuple(map(str, sequence(dig(item, "clusterNames"))))
        for i in range(replicas if isinstance(replicas, int) else 1):
            name = f"{snapshot.name}-{text(dig(item, 'name'))}-{i}"
            found.append((name, live.get(name) or mapping(dig(item, "templateSpec")), clusters))
    return found


def _child(snapshot: Snapshot, name: str, spec: Json, clusters: tuple[str, ...]) -> ChildStatus:
    job = next((j for j in snapshot.jobs if text(dig(j, "metadata", "name")) == name), None)
    binding = next((b for b in snapshot.bindings or () if text(dig(b, "metadata", "name")) == f"{name}-job"), None)
    chosen = [text(dig(item, "name")) for item in sequence(dig(binding, "spec", "clusters"))]
    cluster = chosen[0] if chosen else clusters[0] if len(clusters) == 1 else ""
    view = snapshot.members.get(chosen[0] if chosen else "")
    member_job = _in_member(view, name)
    status = mapping((member_job or job or {}).get("status"))
    total = sum(count for task in sequence(spec.get("tasks")) if isinstance(count := dig(task, "replicas"), int))
    phase = _phase(snapshot, name, job, binding, status)
    running = status.get("running")
    if not isinstance(running, int):
        running = _reported_running(snapshot, name) if phase in ("Running", *_TURNING) else 0
    succeeded = status.get("succeeded")
    restarts = status.get("retryCount")
    restarts = restarts if isinstance(restarts, int) else 0
    reason, line = "", None
    if phase in _WAITING:
        reason, line = explain_wait(snapshot, name, spec, job, binding, view)
    elif phase == "Running" and running + (succeeded if isinstance(succeeded, int) else 0) < total:
        reason = (
            f"{running} of {total} pods run; the others ended and no policy answers, so the running ones wait for ever"
        )
    elif phase in FAILED_PHASES:
        reason = _why_failed(phase, status, restarts, spec)
    elif phase in _TURNING:
        reason = (
            f"restart {restarts} of at most {spec.get('maxRetry', 3)}; the other children lose their peer meanwhile"
        )
    return ChildStatus(
        name=name, cluster=cluster, phase=phase, running=running, total=total, reason=reason, restarts=restarts,
        line=line,
    )  # fmt: skip


def _in_member(view: MemberView | None, name: str) -> Json | None:
    return next((j for j in view.jobs if text(dig(j, "metadata", "name")) == name), None) if view else None


def _phase(snapshot: Snapshot, name: str, job: Json | None, binding: Json | None, status: Json) -> str:
    """The word for a child; the job's own phase counts more than the HyperJob's, which lags."""
    phase = text(dig(status, "state", "phase"))
    if job is None:
        return "Absent"
    if binding is not None and phase not in ("Completed", *FAILED_PHASES):
        if dig(binding, "spec", "suspension", "scheduling") is True:
            return "Queued"
        if not sequence(dig(binding, "spec", "clusters")):
            return "Unscheduled"
    return phase or text(dig(_job_state(snapshot, name), "phase")) or "Pending"


def _job_state(snapshot: Snapshot, name: str) -> Json:
    for item in sequence(dig(snapshot.hyperjob, "status", "replicatedJobsStatus")):
        if name in mapping(dig(item, "jobStates")):
            return mapping(dig(item, "jobStates", name))
    return {}


def _reported_running(snapshot: Snapshot, name: str) -> int:
    for item in sequence(dig(snapshot.hyperjob, "status", "replicatedJobsStatus")):
        if name in mapping(dig(item, "jobStates")):
            running = dig(item, "running")
            return running if isinstance(running, int) and len(mapping(dig(item, "jobStates"))) == 1 else 0
    return 0


def _why_failed(phase: str, status: Json, restarts: int, spec: Json) -> str:
    said = text(dig(status, "state", "message")) or text(dig(status, "state", "reason"))
    words = f"{phase.lower()} after {restarts} of {spec.get('maxRetry', 3)} restarts" if restarts else phase.lower()
    return f"{words}: {said}" if said else words


def _state(snapshot: Snapshot, children: Sequence[ChildStatus]) -> tuple[State, str]:
    if snapshot.hyperjob is None and not snapshot.jobs:
        return "UNKNOWN", "the job is not there (any more), or may not be read"
    conditions = [mapping(c) for c in sequence(dig(snapshot.hyperjob, "status", "conditions"))]
    told = {text(c.get("type")): text(c.get("message")) for c in conditions if c.get("status") == "True"}
    if not children:
        replicas = "its replicas are all 0" if "Completed" in told else "it has no replicatedJobs"
        return ("COMPLETED" if "Completed" in told else "PENDING"), f"no child is ever made: {replicas}"
    by_phase = {phase: [c for c in children if c.phase == phase] for phase in {c.phase for c in children}}
    ended = [c for c in children if c.phase in FAILED_PHASES]
    done = by_phase.get("Completed", [])
    if "Completed" in told and len(done) < len(children):
        again = next(c for c in children if c.phase != "Completed")
        return "DEGRADED", f"the HyperJob says Completed, but {again.name} was made again and is {again.phase}"
    if len(ended) + len(done) == len(children):
        if ended:
            return "FAILED", told.get("Failed") or f"{_names(ended)} {ended[0].reason}"
        return "COMPLETED", f"all {len(children)} children completed"
    if ended:
        rest = [c for c in children if c not in ended and c not in done]
        held = sum(c.running for c in rest)
        goes_on = "1 pod of {} goes on and holds" if held == 1 else f"{held} pods of {{}} go on and hold"
        return "DEGRADED", f"{_names(ended)} {ended[0].reason}; {goes_on.format(_names(rest))} devices"
    return _living_state(children, by_phase)


def _living_state(children: Sequence[ChildStatus], by_phase: dict[str, list[ChildStatus]]) -> tuple[State, str]:
    waiting = [c for c in children if c.is_waiting]
    short = [c for c in by_phase.get("Running", []) if c.reason]
    turning = [c for c in children if c.phase in _TURNING and c.phase != "Completing"]
    strange = [c for c in children if not c.is_waiting and c.phase not in {*_TURNING, "Running", "Completed"}]
    running = sum(c.running for c in children)
    total = sum(c.total for c in children)
    if strange:
        return "UNKNOWN", f"{strange[0].name} is in phase {strange[0].phase!r}, which HyperFlow does not know"
    if short:
        return "DEGRADED", f"{short[0].name}: {short[0].reason}"
    if turning:
        return "DEGRADED", f"{turning[0].name} is {turning[0].phase}: {turning[0].reason}"
    broken = [c for c in waiting if c.phase == "Absent" and "denied" in c.reason]
    if broken and len(waiting) < len(children):
        return "DEGRADED", f"{broken[0].name} can never start: {broken[0].reason}"
    if not waiting:
        return "RUNNING", f"{running} of {total} pods run"
    first = waiting[0]
    if len(waiting) < len(children):
        others = f"{len(children) - len(waiting)} of {len(children)} children run ({running} of {total} pods) and wait"
        return "PENDING", f"{others} at the start barrier for {first.name}: {first.reason}"
    queued = [c for c in waiting if c.phase == "Queued" or (c.line is not None and c.line.has_not_entered)]
    if queued:
        return "QUEUED", f"{queued[0].name}: {queued[0].reason}"
    return "PENDING", f"{first.name}: {first.reason}"


def _names(children: Sequence[ChildStatus]) -> str:
    names = [c.name for c in children]
    return ", ".join(names) if len(names) <= 3 else f"{', '.join(names[:3])} and {len(names) - 3} more"


def _next_commands(snapshot: Snapshot, state: State, children: Sequence[ChildStatus]) -> tuple[str, ...]:
    where = f" --namespace {snapshot.namespace}" if snapshot.namespace != "default" else ""
    job = snapshot.name
    ended = [c for c in children if c.phase in FAILED_PHASES]
    logs = next(iter([*ended, *(c for c in children if c.running)]), None)
    show = [f"hyperflow logs {job} {_short(job, logs.name)}/0{where}"] if logs else []
    if state in ("PENDING", "QUEUED"):
        return (f"hyperflow status {job} --watch{where}", f"hyperflow delete {job}{where}")
    if state == "UNKNOWN" and not children:
        return ("hyperflow submit BUNDLE",)
    if state in ("DEGRADED", "FAILED", "UNKNOWN"):
        return (*show, f"hyperflow delete {job}{where}")
    if state == "COMPLETED":
        return (*show, f"hyperflow delete {job}{where}")
    return (f"hyperflow status {job} --watch{where}", *show)


def _short(job: str, child: str) -> str:
    """The part of a child's name that people type: the stage group."""
    return child.removeprefix(f"{job}-").rpartition("-")[0] or child
