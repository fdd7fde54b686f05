"""When a job counts as running: its minimum, its tasks' minimums and its partitions' minimum, and its pods in order.

Semantics: volcano's gang plugin and the vcjob controller's minResources.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from hyperflow.place.queues import Amounts, add
from hyperflow.place.records import JobRecord, TopologyLimit

Pod = tuple[int, int]  # index of the task, index of the pod in it


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Pods that the scheduler places together: one partition, or all pods that are in none (`partition` None).

    `limit` is the group's own topology; `whole` says that all its pods must be placed at once.
    """

    pods: tuple[Pod, ...]
    limit: TopologyLimit | None
    whole: bool
    partition: int | None = None


class Gang:
    """Counts placed pods of a job and says whether it is ready."""

    def __init__(self, job: JobRecord) -> None:
        self.job = job
        self.best_effort = [not task.shape.demand for task in job.tasks]
        self.placed = [0] * len(job.tasks)
        self.partitions = [0] * len(job.tasks)
        minimums = [task.minimum for task in job.tasks]
        self._per_task = minimums if job.minimum >= sum(minimums) else [0] * len(minimums)

    def ready(self) -> bool:
        """Say whether the job may run with what is placed; pods without requests count as placed."""
        counts = [
            task.replicas if free else placed
            for task, free, placed in zip(self.job.tasks, self.best_effort, self.placed, strict=True)
        ]
        enough = all(count >= least for count, least in zip(counts, self._per_task, strict=True))
        whole = all(
            task.partition is None or free or done >= task.partition.minimum
            for task, free, done in zip(self.job.tasks, self.best_effort, self.partitions, strict=True)
        )
        return enough and whole and sum(counts) >= self.job.minimum

    def note(self, group: Group, pods: Sequence[Pod], sign: int = 1) -> None:
        """Count pods of a group as placed, or with -1 as taken back."""
        if group.partition is not None and pods:
            self.placed[pods[0][0]] += sign * len(pods)
            self.partitions[pods[0][0]] += sign
            return
        for pod in pods:
            self.note_pod(pod, sign)

    def note_pod(self, pod: Pod, sign: int = 1) -> None:
        """Count one pod as placed, or with -1 as taken back."""
        self.placed[pod[0]] += sign


def groups_of(job: JobRecord) -> list[Group]:
    """Give the groups in the order in which the scheduler tries them: needed partitions by index, then the rest.

    Pods without requests are in no group: the scheduler places them after all others.
    """
    groups: list[Group] = []
    rest: list[tuple[int, int, int]] = []
    partitioned = any(task.partition for task in job.tasks)
    for at, task in enumerate(job.tasks):
        if not task.shape.demand:
            continue
        if task.partition is None:
            rest += [(-task.priority, index, at) for index in range(task.replicas)]
            continue
        size = task.partition.size
        groups += [
            Group(
                pods=tuple((at, index) for index in range(start, min(start + size, task.replicas))),
                limit=task.partition.topology,
                whole=True,
                partition=start // size,
            )
            for start in range(0, task.replicas, size)
        ]
    if rest:
        ordered = tuple((at, index) for _, index, at in sorted(rest))
        groups.append(Group(pods=ordered, limit=job.topology, whole=False))
    if partitioned:
        needed = {at: task.partition.minimum for at, task in enumerate(job.tasks) if task.partition}
        groups.sort(key=lambda g: g.partition is not None and g.partition >= needed[g.pods[0][0]])
    return groups


def minimum_resources(job: JobRecord) -> Amounts:
    """Give the PodGroup's minResources: each task's minimum first, then pods by task priority up to the job's."""
    tasks = sorted(job.tasks, key=lambda task: -task.priority)
    counts = {id(task): 0 for task in tasks}
    left = job.minimum
    if job.minimum >= sum(task.minimum for task in tasks):
        for task in tasks:
            counts[id(task)] = min(task.minimum, task.replicas)
            left -= counts[id(task)]
    for task in tasks:
        more = max(0, min(left, task.replicas - counts[id(task)]))
        counts[id(task)] += more
        left -= more
    total: Amounts = {}
    for task in tasks:
        add(total, task.shape.demand, counts[id(task)])
    return total


def all_resources(job: JobRecord) -> Amounts:
    """Give the requests of all pods of the job."""
    total: Amounts = {}
    for task in job.tasks:
        add(total, task.shape.demand, task.replicas)
    return total
