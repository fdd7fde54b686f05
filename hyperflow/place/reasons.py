"""Why a job is placed, waits or never fits: both numbers, what must end, and the smallest change that would fit."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from hyperflow.place.cluster_state import NO_JOB, Attempt, ClusterState
from hyperflow.place.feasibility import describe
from hyperflow.place.gang import minimum_resources
from hyperflow.place.predicates import tolerates, why_not
from hyperflow.place.queues import Shortage
from hyperflow.place.records import JobRecord, Toleration, TopologyLimit
from hyperflow.place.room import Counts, Room
from hyperflow.place.search import Search, resolve_tier

MOST_SINGLE_TRIALS = 4  # smaller holders that are tried alone once the largest is known to be enough
_GIB = 1024**3


def amount_text(resource: str, amount: float) -> str:
    """Print an amount with its resource: `64 nvidia.com/gpu`, `512 GiB memory`."""
    if resource == "memory":
        return f"{amount / _GIB:.4g} GiB memory"
    return f"{amount:.6g} {resource}"


def explain_fit(state: ClusterState, job: JobRecord, placed: int, nodes: Sequence[int]) -> str:
    """Say where a placed job is and what of it waits."""
    at = state.tree.smallest_holding(nodes) if nodes and not state.tree.frozen else None
    where = f"in {describe(state.tree, at)}" if at is not None else "spread over the cluster"
    if not nodes:
        where = "nothing to place"
    rest = job.num_pods - placed
    elastic = f"; {rest} more pods wait, the minimum of {job.minimum} runs" if rest else ""
    return f"{where}, {len(set(nodes))} nodes{elastic}"


def explain_later(state: ClusterState, job: JobRecord, attempt: Attempt, ends: Sequence[str]) -> str:
    """Say what is short now and which jobs must end."""
    short = _shortage_text(attempt.shortage) if attempt.shortage else _room_text(state, state.room, job)
    if not ends:
        return f"fits later, not now: {short}; it fits when all else has ended"
    held = sum(state.holders[name].num_nodes for name in ends if name in state.holders)
    shown = ", ".join(ends[:5]) + (f" and {len(ends) - 5} more" if len(ends) > 5 else "")
    verb = "ends" if len(ends) == 1 and ends[0] != NO_JOB else "end"
    nodes = f" ({held} node{'s' if held > 1 else ''} held)" if held else " (only a share of the queue is held)"
    return f"fits later, not now: {short}; it fits when {shown} {verb}{nodes}"


def explain_never(state: ClusterState, job: JobRecord, attempt: Attempt) -> str:
    """Say why even an empty cluster does not hold the job."""
    if attempt.barred:
        return f"can never fit: {attempt.barred}"
    empty = state.book.emptied()
    shortage = empty.shortage(job.queue, minimum_resources(job))
    if shortage:
        return f"can never fit: {_shortage_text(shortage)}"
    return f"can never fit: {_room_text(state, state.room.emptied(), job)}"


def _shortage_text(shortage: Shortage) -> str:
    asked = amount_text(shortage.resource, shortage.asked)
    ceiling = amount_text(shortage.resource, shortage.ceiling)
    free = shortage.ceiling - shortage.held
    missing = amount_text(shortage.resource, shortage.asked - free)
    held = f", {amount_text(shortage.resource, shortage.held)} held by jobs that entered" if shortage.held else ""
    return f"does not enter its queue: asks {asked}, {shortage.whose} allows {ceiling}{held}; {missing} missing"


def _room_text(state: ClusterState, room: Room, job: JobRecord) -> str:
    """Name the largest domain that the job may use, and how many of its pods that takes."""
    tree = state.tree
    search = Search(room, job, np.full(len(room.resources), np.inf))
    limits = [job.topology, *(t.partition.topology for t in job.tasks if t.partition)]
    if tree.frozen and any(limit is not None for limit in limits):
        return f"{tree.frozen}: the scheduler places no job with a topology until that is mended"
    tier = resolve_tier(tree, job.topology)
    allowed = np.array([i for i, d in enumerate(tree.domains) if tier is None or d.tier <= tier], dtype=np.int64)
    if tier is None:
        allowed = allowed[-1:]
    if not len(allowed):
        lowest = min(d.tier for d in tree.domains)
        return f"no domain has tier {tier} or lower, the lowest is tier {lowest}"
    if not any(task.shape.demand for task in job.tasks):
        return "no node takes its pods, which ask for nothing"
    name, takes, wanted, parts = _tightest(search, room, job, allowed)
    sizes = np.array([len(room.nodes_of[at]) for at in range(len(room.nodes_of))], dtype=np.int64)[allowed]
    order = np.lexsort((-room.name_rank[allowed], -room.tiers[allowed], sizes, takes))
    best = int(allowed[order[-1]])
    most = int(takes[list(allowed).index(best)])
    what = f"the largest domain it may use, {describe(tree, best)}, takes {most} of {wanted} {name}"
    if most >= wanted:
        return f"{what}, but not with all its rules together{parts}"
    return f"{what}, {wanted - most} missing{parts}{_node_rules(state, job, room)}"


def _tightest(search: Search, room: Room, job: JobRecord, allowed: Counts) -> tuple[str, Counts, int, str]:
    """Pick the task that fails by most: its name, what each domain takes, how many are needed, and a remark."""
    tree = room.tree
    picked = None
    for at, task in enumerate(job.tasks):
        if not task.shape.demand:
            continue
        slots = search.demand_of(at).by_domain
        if task.partition:
            rule = task.partition
            inner = resolve_tier(tree, rule.topology)
            takes, unit = room.partitions(slots, rule.size, inner)[allowed], f"partitions of {rule.size} pods"
            wanted = max(rule.minimum, -(-search.least(at) // rule.size))
        else:
            takes, unit = slots[allowed], "pods"
            wanted = task.replicas if resolve_tier(tree, job.topology) is not None else search.least(at)
        lack = wanted - int(takes.max(initial=0))
        if picked is None or lack > picked[0]:
            name = unit if len(job.tasks) == 1 else f"{unit} of task {task.name}"
            remark = ""
            if task.partition is None and job.minimum < job.num_pods and job.topology is not None:
                remark = f" (with a topology all {wanted} pending pods must fit, not only minAvailable {job.minimum})"
            picked = (lack, name, takes, wanted, remark)
    assert picked is not None  # jobs without requests always fit
    return picked[1], picked[2], picked[3], picked[4]


def _node_rules(state: ClusterState, job: JobRecord, room: Room) -> str:
    """Count the nodes that rules or plain size keep the job's pods off."""
    reasons: Counter[str] = Counter()
    task = next(t for t in job.tasks if t.shape.demand)
    row, usable = room.vector(task.shape.demand), room.usable(task.shape)
    for at in np.flatnonzero(~usable).tolist():
        reasons[why_not(state.nodes[at], task.shape)] += 1
    short = np.flatnonzero(usable & (room.slots(row) == 0))
    left = np.ones(len(short), dtype=np.bool_)
    for name, amount in sorted(task.shape.demand.items()):
        lacking = left & (room.idle[short, room.column[name]] < amount)
        reasons[f"too little {name}"] += int(lacking.sum())
        left &= ~lacking
    reasons = +reasons
    if not reasons:
        return ""
    listed = ", ".join(f"{count} by {why}" for why, count in reasons.most_common(3))
    return f" (nodes kept out: {listed})"


def blockers(state: ClusterState, job: JobRecord) -> list[str]:
    """Find few holders whose end would let the job in: a small one if one is enough, else the largest few together.

    The job is known to fit when all have ended. Larger holders are taken to help more, so the answer is small, not
    proven smallest; it was tried.
    """
    waiting = [name for name in state.book.entries if name not in state.holders]
    sizes = {name: state.holders[name].num_nodes for name in state.holders}
    names = sorted([*sizes, *waiting], key=lambda name: -sizes.get(name, 0))
    if not names:
        return []
    if state.try_without(job, names[:1]):
        return [_smaller_single(state, job, names)]
    count = 2
    while count < len(names) and not state.try_without(job, names[:count]):
        count *= 2
    low, high = count // 2 + 1, min(count, len(names))
    while low < high:
        middle = (low + high) // 2
        if state.try_without(job, names[:middle]):
            high = middle
        else:
            low = middle + 1
    return names[:low]


def _smaller_single(state: ClusterState, job: JobRecord, names: Sequence[str]) -> str:
    """Of holders by falling size, the first of which is enough, find a smaller one that is enough too."""
    good, bad = 0, len(names)
    for _ in range(MOST_SINGLE_TRIALS):
        middle = (good + bad) // 2
        if middle == good:
            break
        if state.try_without(job, [names[middle]]):
            good = middle
        else:
            bad = middle
    return names[good]


def smallest_change(state: ClusterState, job: JobRecord) -> str:
    """Give the smallest changes of the job that fit the empty cluster, each tried there."""
    changes = [text for text, changed in _tier_changes(state, job) if state.try_empty(changed).ready][:1]
    if job.topology is not None and job.topology.mode == "hard":
        soft = replace(job, topology=TopologyLimit(mode="soft"))
        if state.try_empty(soft).ready:
            changes.append("soft")
    size = _largest_size(state, job)
    if size:
        changes.append(size)
    tolerated, keys = _tolerating(state, job)
    if keys and state.try_empty(tolerated).ready:
        changes.append(f"tolerations for {', '.join(keys)}")
    return " or ".join(changes)


def _tolerating(state: ClusterState, job: JobRecord) -> tuple[JobRecord, list[str]]:
    """Give the job with tolerations for every taint that keeps it off nodes, and the keys of these taints."""
    kept_out = {
        taint.key
        for node in state.nodes
        for taint in node.taints
        if taint.effect != "PreferNoSchedule" and not all(tolerates(t.shape.tolerations, taint) for t in job.tasks)
    }
    added = tuple(Toleration(key=key, operator="Exists") for key in sorted(kept_out))
    tasks = tuple(replace(t, shape=replace(t.shape, tolerations=(*t.shape.tolerations, *added))) for t in job.tasks)
    return replace(job, tasks=tasks), sorted(kept_out)


def _tier_changes(state: ClusterState, job: JobRecord) -> Iterator[tuple[str, JobRecord]]:
    tree = state.tree
    tiers = sorted({d.tier for d in tree.domains})
    job_tier = resolve_tier(tree, job.topology)
    inner = [resolve_tier(tree, t.partition.topology) for t in job.tasks if t.partition and t.partition.topology]
    inner_tiers = [tier for tier in inner if tier is not None]
    if job_tier is not None:
        for tier in tiers:
            if tier > job_tier:
                yield f"tier {tier} ({_tier_text(state, tier)})", replace(job, topology=TopologyLimit(tier=tier))
    for tier in tiers:
        if not inner_tiers or tier <= max(inner_tiers):
            continue
        limit = TopologyLimit(tier=tier)
        tasks = tuple(
            replace(t, partition=replace(t.partition, topology=limit)) if t.partition else t for t in job.tasks
        )
        text = f"partition tier {tier} ({_tier_text(state, tier)})"
        if job_tier is None or tier <= job_tier:
            yield text, replace(job, tasks=tasks)
        for wider in tiers:
            if job_tier is not None and wider >= tier and wider > job_tier:
                both = f"{text} with job tier {wider} ({_tier_text(state, wider)})"
                yield both, replace(job, tasks=tasks, topology=TopologyLimit(tier=wider))


def _tier_text(state: ClusterState, tier: int) -> str:
    domains = [d for d in state.tree.domains if d.tier == tier]
    largest = max(domains, key=lambda d: len(d.nodes))
    name = "the whole cluster" if largest.name is None else largest.tier_name
    return f"{name}, {len(largest.nodes)} nodes" if name else f"{len(largest.nodes)} nodes"


def _largest_size(state: ClusterState, job: JobRecord) -> str:
    """Give the largest number of pods (or partitions) of a one-task job that fits; empty for other jobs."""
    if len(job.tasks) != 1:
        return ""
    task = job.tasks[0]
    step = task.partition.size if task.partition else 1
    low, high = 0, task.replicas // step
    while low < high:
        middle = (low + high + 1) // 2
        if state.try_empty(_resized(job, middle * step)).ready:
            low = middle
        else:
            high = middle - 1
    if not low:
        return ""
    if task.partition:
        return f"at most {low} x {step} pods"
    return f"at most {low} pods"


def _resized(job: JobRecord, pods: int) -> JobRecord:
    task = job.tasks[0]
    rule = task.partition
    if rule:
        rule = replace(rule, count=pods // rule.size, minimum=min(rule.minimum, pods // rule.size))
    smaller = replace(task, replicas=pods, minimum=min(task.minimum, pods), partition=rule)
    return replace(job, tasks=(smaller,), minimum=min(job.minimum, pods))
