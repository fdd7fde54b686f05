"""One cluster while jobs are placed on it: nodes that take part, what is free, who entered which queue."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from hyperflow.place.domains import DomainTree, build_tree
from hyperflow.place.gang import Pod, all_resources, minimum_resources
from hyperflow.place.queues import Amounts, QueueBook, Shortage, add, exceeds
from hyperflow.place.records import ClusterRecord, JobRecord, NodeRecord
from hyperflow.place.room import Numbers, Room
from hyperflow.place.search import Bound, Search


def job_key(namespace: str, name: str) -> str:
    """Name a job for people and for keys: without its namespace in `default`."""
    return name if namespace == "default" else f"{namespace}/{name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """What came of one try: the pods bound to node indices, by partition group too, or why it was kept out."""

    ready: bool
    bound: tuple[tuple[Pod, int], ...] = ()
    partitions: tuple[tuple[int, tuple[tuple[Pod, int], ...]], ...] = ()
    shortage: Shortage | None = None
    barred: str = ""
    tied: int = 0

    @property
    def entered(self) -> bool:
        """Whether the job's pods were created."""
        return self.shortage is None and not self.barred


@dataclass(slots=True, kw_only=True)
class Holder:
    """A job that holds nodes, with what to give back when it ends."""

    name: str
    pods: list[tuple[int, Numbers]] = field(default_factory=lambda: list[tuple[int, Numbers]]())

    @property
    def num_nodes(self) -> int:
        """Nodes on which it has pods."""
        return len({node for node, _ in self.pods})


class Session:
    """A cluster with its running pods; jobs are tried on it one after the other."""

    def __init__(self, cluster: ClusterRecord, jobs: Iterable[JobRecord], *, reverse: bool = False) -> None:
        self.cluster, self.reverse = cluster, reverse
        self.left_out = nodes_left_out(cluster)
        self.nodes: list[NodeRecord] = sorted(
            (n for n in cluster.nodes if n.name not in self.left_out), key=lambda n: n.name
        )
        self.index = {node.name: at for at, node in enumerate(self.nodes)}
        self.tree: DomainTree = build_tree(cluster.hypernodes, [n.name for n in self.nodes])
        asked = {name for job in jobs for task in job.tasks for name in task.shape.demand}
        self.room = Room(self.nodes, self.tree, {"cpu", "memory", *asked})
        self.holders: dict[str, Holder] = {}
        total: Amounts = {}
        for node in self.nodes:
            add(total, node.allocatable)
        foreign: Amounts = {}
        self.book = QueueBook(total, cluster.queues, foreign)
        self._add_running()

    def _add_running(self) -> None:
        pods = [p for p in self.cluster.pods if p.node in self.index]
        queues = {job_key(p.namespace, p.job): p.queue for p in pods if p.job and p.queue}
        limited = any(q.capability for q in self.cluster.queues)
        for pod in pods:
            name = job_key(pod.namespace, pod.job) if pod.job else "pods of no job"
            row = self.room.vector(pod.requests)
            self.room.take(self.index[pod.node], row, 1)
            self.holders.setdefault(name, Holder(name=name)).pods.append((self.index[pod.node], row))
            if pod.job is None:
                add(self.book.foreign, pod.requests)
                continue
            if name not in self.book.entries:
                self.book.enter(name, queues.get(name, None if limited else "default"), {}, {})
            entry = self.book.entries[name]
            add(entry.allocated, pod.requests)
            entry.minimum = entry.allocated

    def try_job(self, job: JobRecord, room: Room | None = None, book: QueueBook | None = None) -> Attempt:
        """Try a job; when it is ready its pods take room, and once it entered it holds its share of the queue."""
        room, book = room or self.room, book or self.book
        barred = self.why_barred(job)
        if barred:
            return Attempt(ready=False, barred=barred)
        minimum = minimum_resources(job)
        shortage = book.shortage(job.queue, minimum)
        if shortage:
            return Attempt(ready=False, shortage=shortage)
        key = job_key(job.namespace, job.name)
        book.enter(key, job.queue, minimum, all_resources(job))
        search = Search(room, job, self._quota(room, book, job), reverse=self.reverse)
        bound, parts = search.place()
        ready = search.gang.ready() and (bool(bound) or not job.num_pods)
        book.allocate(key, self._amounts(job, bound))
        return Attempt(
            ready=ready,
            bound=tuple(bound),
            partitions=tuple((at, tuple(pods)) for at, pods in sorted(parts.items())),
            tied=search.tied,
        )

    def keep(self, job: JobRecord, attempt: Attempt) -> None:
        """Remember what a placed job holds."""
        key = job_key(job.namespace, job.name)
        rows = [self.room.vector(task.shape.demand) for task in job.tasks]
        self.holders[key] = Holder(name=key, pods=[(node, rows[task]) for (task, _), node in attempt.bound])

    def try_without(self, job: JobRecord, gone: Sequence[str]) -> bool:
        """Say whether the job would fit now if some holders ended; nothing is changed."""
        room = self.room.copied()
        for name in gone:
            if name in self.holders:
                for node, row in self.holders[name].pods:
                    room.take(node, row, -1)
        book = self.book.without({*gone, job_key(job.namespace, job.name)})
        if "pods of no job" in gone:
            book.foreign = {}
        return self.try_job(job, room, book).ready

    def try_empty(self, job: JobRecord) -> Attempt:
        """Try the job as if nothing else were there."""
        return self.try_job(job, self.room.emptied(), self.book.emptied())

    def why_barred(self, job: JobRecord) -> str:
        """Say why the queue takes no jobs at all; empty when it does."""
        queue = self.book.queues.get(job.queue)
        if queue is None:
            return ""
        if not queue.is_open:
            return f"queue {job.queue} is not open"
        return "" if queue.is_leaf else f"queue {job.queue} has child queues and takes no jobs itself"

    def _quota(self, room: Room, book: QueueBook, job: JobRecord) -> Numbers:
        quota: Numbers = np.full(len(room.resources), np.inf)
        for name, amount in book.remaining(job.queue).items():
            if name in room.column and name != "pods":
                quota[room.column[name]] = amount
        return quota

    def _amounts(self, job: JobRecord, bound: Bound) -> Amounts:
        counts: dict[int, int] = {}
        for (task, _), _node in bound:
            counts[task] = counts.get(task, 0) + 1
        total: Amounts = {}
        for task, count in counts.items():
            add(total, job.tasks[task].shape.demand, count)
        return total


def nodes_left_out(cluster: ClusterRecord) -> dict[str, str]:
    """Name the nodes that the scheduler does not see, and why: not ready, or more asked for than there is."""
    used: dict[str, Amounts] = {}
    for pod in cluster.pods:
        add(used.setdefault(pod.node, {}), pod.requests)
    reasons: dict[str, str] = {}
    for node in cluster.nodes:
        if not node.ready:
            reasons[node.name] = "not ready"
            continue
        for name, amount in sorted(used.get(node.name, {}).items()):
            if exceeds(amount, node.allocatable.get(name, 0.0)):
                reasons[node.name] = f"its pods ask {amount:g} {name} of {node.allocatable.get(name, 0.0):g}"
                break
    return reasons
