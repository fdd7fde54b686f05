"""Entering a queue: the sums by which the scheduler lets a job create its pods, and what its queue may then use.

Semantics: volcano's proportion (per queue, by realCapability and deserved) and overcommit (whole cluster, 1.2 times)
plugins, checked against recorded runs. Sums go over all nodes that are ready, whatever their taints or HyperNodes.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from hyperflow.place.records import QueueRecord, Resources

OVERCOMMIT_FACTOR = 1.2  # default of the overcommit plugin
_ROUNDING = 1e-9
Amounts = dict[str, float]


@dataclass(slots=True, kw_only=True)
class Entry:
    """One job that entered: its queue (None: not stated), what it must have, and what it holds."""

    queue: str | None
    minimum: Resources
    allocated: Amounts = field(default_factory=lambda: Amounts())
    pending: Amounts = field(default_factory=lambda: Amounts())


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortage:
    """Why a job cannot enter: what it asks of a resource, what others hold, and the ceiling of `whose`."""

    resource: str
    asked: float
    held: float
    ceiling: float
    whose: str


def add(into: Amounts, amounts: Resources, times: float = 1.0) -> None:
    """Add amounts to a sum in place."""
    for name, amount in amounts.items():
        into[name] = into.get(name, 0.0) + amount * times


def over(amounts: Resources, less: Resources) -> Amounts:
    """Give what exceeds `less`, never negative."""
    return {name: max(amount - less.get(name, 0.0), 0.0) for name, amount in amounts.items()}


class QueueBook:
    """What jobs hold and wait for, by queue. Other pods (`foreign`) count only for the whole cluster."""

    def __init__(self, total: Resources, queues: Iterable[QueueRecord], foreign: Resources) -> None:
        self.total = dict(total)
        self.queues: Mapping[str, QueueRecord] = {q.name: q for q in queues}
        self.foreign = dict(foreign)
        self.entries: dict[str, Entry] = {}

    def emptied(self) -> "QueueBook":
        """Give the same queues with nobody in them."""
        return QueueBook(self.total, self.queues.values(), {})

    def without(self, jobs: Iterable[str]) -> "QueueBook":
        """Give the same book without some jobs."""
        gone = set(jobs)
        book = QueueBook(self.total, self.queues.values(), self.foreign)
        book.entries = {name: entry for name, entry in self.entries.items() if name not in gone}
        return book

    def ceiling(self, queue: str) -> Amounts:
        """Give the most a queue may hold: its capability, and the total less the guarantees of the others."""
        most = dict(self.total)
        for other in self.queues.values():
            if other.name != queue and other.guarantee:
                add(most, other.guarantee, -1.0)
        most = {name: max(amount, 0.0) for name, amount in most.items()}
        own = self.queues.get(queue)
        for name, amount in ((own.capability if own else None) or {}).items():
            most[name] = min(most.get(name, 0.0), amount)
        return most

    def shortage(self, queue: str, minimum: Resources) -> Shortage | None:
        """Say why a job with this minimum may not enter; None when it may. Only resources it asks are compared."""
        ceiling = self.ceiling(queue)
        held: Amounts = {}
        inqueue: Amounts = {}
        used: Amounts = dict(self.foreign)
        for entry in self.entries.values():
            add(inqueue, over(entry.minimum, entry.allocated))
            add(used, entry.allocated)
            if self._counts_in(entry, queue, ceiling):
                add(held, entry.minimum)
        own = self.queues.get(queue)
        limited = own is not None and own.capability is not None
        for name, asked in sorted(minimum.items()):
            if asked <= 0:
                continue
            if exceeds(asked + held.get(name, 0.0), ceiling.get(name, 0.0)):
                whose = f"queue {queue}" if limited or ceiling.get(name) != self.total.get(name) else "the cluster"
                return Shortage(
                    resource=name, asked=asked, held=held.get(name, 0.0), ceiling=ceiling.get(name, 0.0), whose=whose
                )
            most = OVERCOMMIT_FACTOR * self.total.get(name, 0.0)
            taken = used.get(name, 0.0) + inqueue.get(name, 0.0)
            if exceeds(asked + taken, most):
                return Shortage(
                    resource=name, asked=asked, held=taken, ceiling=most, whose=f"{OVERCOMMIT_FACTOR} times the cluster"
                )
        return None

    def _counts_in(self, entry: Entry, queue: str, ceiling: Resources) -> bool:
        """A job whose queue nobody stated counts in every queue that could hold it."""
        if entry.queue is not None:
            return entry.queue == queue
        return not any(exceeds(amount, ceiling.get(name, 0.0)) for name, amount in entry.allocated.items())

    def enter(self, job: str, queue: str | None, minimum: Resources, request: Resources) -> None:
        """Note that a job entered: it holds its minimum from now on, placed or not."""
        self.entries[job] = Entry(queue=queue, minimum=dict(minimum), pending=dict(request))

    def allocate(self, job: str, amounts: Resources) -> None:
        """Note what an entered job was given."""
        entry = self.entries[job]
        entry.allocated = dict(amounts)
        entry.pending = over(entry.pending, amounts)

    def remaining(self, queue: str) -> Amounts:
        """Give what the queue may still be given: its share (by weight, at most its requests) less what it holds."""
        requests: dict[str, Amounts] = {}
        allocated: dict[str, Amounts] = {}
        for entry in self.entries.values():
            name = entry.queue or "default"
            request, held = requests.setdefault(name, {}), allocated.setdefault(name, {})
            add(request, entry.allocated)
            add(request, entry.pending)
            add(held, entry.allocated)
        deserved = self._deserved(requests)
        return {
            name: amount - allocated.get(queue, {}).get(name, 0.0) for name, amount in deserved.get(queue, {}).items()
        }

    def _deserved(self, requests: Mapping[str, Amounts]) -> dict[str, Amounts]:
        """Share the cluster by weight, each queue at most its request and its ceiling, what is left shared again."""
        ceilings = {queue: self.ceiling(queue) for queue in requests}
        weights = {queue: self.queues[queue].weight if queue in self.queues else 1 for queue in requests}
        share: dict[str, Amounts] = {queue: {} for queue in requests}
        for name, total in self.total.items():
            left, open_queues = total, sorted(requests)
            while open_queues and left > _ROUNDING * max(total, 1.0):
                weight = sum(weights[q] for q in open_queues)
                given, still_open = 0.0, list[str]()
                for queue in open_queues:
                    most = min(requests[queue].get(name, 0.0), ceilings[queue].get(name, 0.0))
                    before = share[queue].get(name, 0.0)
                    after = min(before + left * weights[queue] / weight, most)
                    share[queue][name] = after
                    given += after - before
                    if after < most:
                        still_open.append(queue)
                left -= given
                open_queues = still_open
        return share


def exceeds(amount: float, limit: float) -> bool:
    """Compare with a little slack for sums of floats."""
    return amount > limit + _ROUNDING * max(abs(limit), 1.0)
