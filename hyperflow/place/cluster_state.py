"""One cluster while jobs are placed on it: nodes that take part, what is free, who entered which queue."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from hyperflow.place.domains import DomainTree, build_tree
from hyperflow.place.gang import Pod, all_resources, minimum_resources
from hyperflow.place.queues import Amounts, QueueBook, Shortage, add, exceeds
from hyperflow.place.records import ClusterRecord, JobRecord, NodeRecord
from hyperflow.place.room import Numbers, Room
from hyperflow.place.search import Bound, Search

NO_JOB = "pods of no job"


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
    """A job that holds nodes: per kind of pod, the row it uses and how many pods stand on each node."""

    name: str
    pods: list[tuple[Numbers, Counter[int]]] = field(default_factory=lambda: list[tuple[Numbers, Counter[int]]]())

    @property
    def num_nodes(self) -> int:
        """Nodes on which it has pods."""
        return len({node for _, counts in self.pods for node in counts})

    def apply(self, room: Room, sign: int) -> None:
        """Take the job's room, or with -1 give it back."""
        for row, counts in self.pods:
            nodes = np.fromiter(counts.keys(), dtype=np.int64, count=len(counts))
            numbers = np.fromiter(counts.values(), dtype=np.int64, count=len(counts))
            room.take(nodes, row, numbers * sign)


class ClusterState:
    """A cluster with its running pods; jobs are tried on it one after the other."""

    def __init__(self, cluster: ClusterRecord, jobs: Sequence[JobRecord], *, reverse: bool = False) -> None:
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
        self.book = QueueBook(total, cluster.queues, {})
        self._add_running(jobs)

    def _add_running(self, jobs: Sequence[JobRecord]) -> None:
        pods = [p for p in self.cluster.pods if p.node in self.index]
        queues = {job_key(p.namespace, p.job): p.queue for p in pods if p.job and p.queue}
        limited = any(q.capability for q in self.cluster.queues)
        known = {job_key(job.namespace, job.name): job for job in jobs}
        kinds: dict[tuple[str, tuple[tuple[str, float], ...]], Counter[int]] = {}
        held: dict[str, Amounts] = {}
        for pod in pods:
            name = job_key(pod.namespace, pod.job) if pod.job else NO_JOB
            kinds.setdefault((name, tuple(sorted(pod.requests.items()))), Counter())[self.index[pod.node]] += 1
            add(held.setdefault(name, {}), pod.requests)
        for (name, requests), counts in kinds.items():
            self.holders.setdefault(name, Holder(name=name)).pods.append((self.room.vector(dict(requests)), counts))
        for name, holder in self.holders.items():
            holder.apply(self.room, 1)
            if name == NO_JOB:
                self.book.foreign = held[name]
                continue
            job = known.get(name)
            queue = job.queue if job else queues.get(name, None if limited else "default")
            self.book.enter(name, queue, minimum_resources(job) if job else held[name], held[name])
            self.book.allocate(name, held[name])

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
        counts = [Counter[int]() for _ in job.tasks]
        for (task, _), node in attempt.bound:
            counts[task][node] += 1
        rows = [self.room.vector(task.shape.demand) for task in job.tasks]
        self.holders[key] = Holder(name=key, pods=[(r, c) for r, c in zip(rows, counts, strict=True) if c])

    def try_without(self, job: JobRecord, gone: Sequence[str]) -> bool:
        """Say whether the job would fit now if some holders ended; nothing is changed."""
        book = self.book.without([*gone, job_key(job.namespace, job.name)])
        if NO_JOB in gone:
            book.foreign = {}
        if book.shortage(job.queue, minimum_resources(job)):
            return False
        room = self.room.copied()
        for name in gone:
            if name in self.holders:
                self.holders[name].apply(room, -1)
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
