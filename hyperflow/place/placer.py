"""Places jobs in order on their clusters and gives a verdict for each: fits now, later, or never."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from hyperflow.place.cluster_state import Attempt, ClusterState, job_key
from hyperflow.place.fragmentation import ClusterSpace, measure_space
from hyperflow.place.reasons import blockers, explain_fit, explain_later, explain_never, smallest_change
from hyperflow.place.records import ClusterRecord, JobPlacement, JobRecord, Looks, PlacedPartition, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementReport:
    """All placements in the order of the jobs, and the free space of each cluster before and after."""

    placements: tuple[JobPlacement, ...]
    spaces: tuple[ClusterSpace, ...]


def place_jobs(
    clusters: Sequence[ClusterRecord], jobs: Sequence[JobRecord], *, by_priority: bool = False
) -> PlacementReport:
    """Place jobs one after the other, each in the state that the earlier ones left.

    A job that entered its queue and did not fit keeps its share of the queue. `by_priority` takes higher priorities
    first and answers in that order. Where equal domains were met, a second run with the ties broken the other way
    tells which answers depend on chance.
    """
    ordered = sorted(jobs, key=lambda job: -job.priority) if by_priority else list(jobs)
    placements, spaces, tied = _run(clusters, ordered, reverse=False, explain=True)
    if tied:
        others, _, _ = _run(clusters, ordered, reverse=True, explain=False)
        placements = _mark_chance(placements, others, tied)
    return PlacementReport(placements=tuple(placements), spaces=tuple(spaces))


def _run(
    clusters: Sequence[ClusterRecord], jobs: Sequence[JobRecord], *, reverse: bool, explain: bool
) -> tuple[list[JobPlacement], list[ClusterSpace], list[str]]:
    states = [ClusterState(cluster, jobs, reverse=reverse) for cluster in clusters]
    before = [measure_space(s) for s in states] if explain else []
    placements: list[JobPlacement] = []
    tied: list[str] = []
    for job in jobs:
        placement, attempt = _place_one(_candidates(states, job), job, explain)
        placements.append(placement)
        if attempt.tied:
            tied.append(placement.job)
    after = [measure_space(s) for s in states] if explain else []
    spaces = [replace(b, after=a.before) for b, a in zip(before, after, strict=True)]
    return placements, spaces, tied


def _candidates(states: Sequence[ClusterState], job: JobRecord) -> list[ClusterState]:
    if not job.clusters:
        return list(states)
    by_name = {s.cluster.name: s for s in states}
    named = [by_name[name] for name in job.clusters if name in by_name]
    return named or ([by_name[None]] if None in by_name else [])


def _place_one(states: Sequence[ClusterState], job: JobRecord, explain: bool) -> tuple[JobPlacement, Attempt]:
    key = job_key(job.namespace, job.name)
    for state in states:
        if key in state.holders:
            return _already_running(state, job), Attempt(ready=True)
    failures: list[tuple[ClusterState, Attempt, Verdict]] = []
    for state in states:
        attempt = state.try_job(job)
        if attempt.ready:
            state.keep(job, attempt)
            return _fits(state, job, attempt), attempt
        state.book.leave(key)
        later = state.try_empty(job).ready if explain or len(states) > 1 else True
        failures.append((state, attempt, "later" if later else "never"))
    if not failures:
        wanted = ", ".join(job.clusters)
        reason = f"none of its clusters ({wanted}) has nodes here" if wanted else "there are no nodes"
        return _unplaced(None, job, Attempt(ready=False, barred=reason), "never", reason), Attempt(ready=False)
    state, attempt, verdict = min(failures, key=lambda f: (f[2] == "never", not f[1].entered))
    placement = _explain(state, job, attempt, verdict) if explain else _unplaced(state, job, attempt, verdict, "")
    if attempt.entered:
        state.try_job(job)
    return placement, attempt


def _explain(state: ClusterState, job: JobRecord, attempt: Attempt, verdict: Verdict) -> JobPlacement:
    if verdict == "later":
        ends = blockers(state, job)
        return _unplaced(state, job, attempt, verdict, explain_later(state, job, attempt, ends))
    change = "" if attempt.barred else smallest_change(state, job)
    return replace(
        _unplaced(state, job, attempt, verdict, explain_never(state, job, attempt)),
        change=change,
    )


def _fits(state: ClusterState, job: JobRecord, attempt: Attempt) -> JobPlacement:
    names = [node.name for node in state.nodes]
    node_of = {pod: names[node] for pod, node in attempt.bound}
    pods = [(at, index) for at, task in enumerate(job.tasks) for index in range(task.replicas)]
    nodes = tuple(node_of.get(pod) for pod in pods)
    domain, tier = _holding(state, [node for _, node in attempt.bound])
    return JobPlacement(
        job=job_key(job.namespace, job.name),
        cluster=state.cluster.name,
        verdict="fits",
        pods_placed=len(attempt.bound),
        pods_total=job.num_pods,
        looks_like="running",
        domain=domain,
        tier=tier,
        nodes=nodes,
        partitions=tuple(_partitions(state, job, attempt, names)),
        reason=explain_fit(state, job, len(attempt.bound), [node for _, node in attempt.bound]),
    )


def _partitions(
    state: ClusterState, job: JobRecord, attempt: Attempt, names: Sequence[str]
) -> Iterable[PlacedPartition]:
    for _, pods in attempt.partitions:
        (task, first), _ = min(pods)
        rule = job.tasks[task].partition
        assert rule is not None  # only pods of a partition stand here
        yield PlacedPartition(
            index=first // rule.size,
            domain=_holding(state, [node for _, node in pods])[0],
            nodes=tuple(names[node] for _, node in sorted(pods)),
        )


def _holding(state: ClusterState, nodes: Sequence[int]) -> tuple[str | None, int | None]:
    at = state.tree.smallest_holding(nodes) if nodes and not state.tree.frozen else None
    if at is None:
        return None, None
    return state.tree.domains[at].name, state.tree.domains[at].tier


def _already_running(state: ClusterState, job: JobRecord) -> JobPlacement:
    pods = [p for p in state.cluster.pods if p.job == job.name and p.namespace == job.namespace]
    at = {p.name: p.node for p in pods}
    names = [f"{job.name}-{task.name}-{index}" for task in job.tasks for index in range(task.replicas)]
    domain, tier = _holding(state, [state.index[p.node] for p in pods if p.node in state.index])
    running = len(pods) >= job.minimum
    return JobPlacement(
        job=job_key(job.namespace, job.name),
        cluster=state.cluster.name,
        verdict="fits" if running else "later",
        pods_placed=len(pods) if running else 0,
        pods_total=job.num_pods,
        looks_like="running" if running else "unschedulable",
        domain=domain if running else None,
        tier=tier if running else None,
        nodes=tuple(at.get(name) if running else None for name in names),
        partitions=(),
        reason=f"already has {len(pods)} of {job.num_pods} pods on nodes (minAvailable {job.minimum})",
    )


def _unplaced(
    state: ClusterState | None, job: JobRecord, attempt: Attempt, verdict: Verdict, reason: str
) -> JobPlacement:
    looks: Looks = "unschedulable" if attempt.entered else "no-pods"
    return JobPlacement(
        job=job_key(job.namespace, job.name),
        cluster=state.cluster.name if state else None,
        verdict=verdict,
        pods_placed=0,
        pods_total=job.num_pods,
        looks_like=looks,
        domain=None,
        tier=None,
        nodes=(None,) * job.num_pods,
        partitions=(),
        reason=reason,
    )


def _mark_chance(
    placements: Sequence[JobPlacement], others: Sequence[JobPlacement], tied: Sequence[str]
) -> list[JobPlacement]:
    """Say where the answer differs when ties are broken the other way; the first tied job up to there decides."""
    marked: list[JobPlacement] = []
    seen: list[str] = []
    for placement, other in zip(placements, others, strict=True):
        if placement.job in tied:
            seen.append(placement.job)
        same = (placement.pods_placed, placement.looks_like) == (other.pods_placed, other.looks_like)
        if same or not seen:
            marked.append(placement)
            continue
        chance = (
            f"chance decides: equal domains were open to {', '.join(seen[:3])}; with the other choice "
            f"{other.pods_placed} of {other.pods_total} pods are placed ({other.looks_like})"
        )
        marked.append(replace(placement, chance=chance, reason=f"{placement.reason}; {chance}"))
    return marked
