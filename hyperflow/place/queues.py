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
    """What jobs hold and wait for, by queue, as running sums. Other pods (`foreign`) count only for the cluster."""

    def __init__(self, total: Resources, queues: Iterable[QueueRecord], foreign: Resources) -> None:
        self.total = dict(total)
        self.queues: Mapping[str, QueueRecord] = {q.name: q for q in queues}
        self.foreign = dict(foreign)
        self.entries: dict[str, Entry] = {}
        self._unstated: dict[str, Entry] = {}
        self._used: Amounts = {}
        self._waiting: Amounts = {}
        self._held: dict[str, Amounts] = {}
        self._request: dict[str, Amounts] = {}
        self._allocated: dict[str, Amounts] = {}

    def emptied(self) -> "QueueBook":
        """Give the same queues with nobody in them."""
        return QueueBook(self.total, self.queues.values(), {})

    def without(self, jobs: Iterable[str]) -> "QueueBook":
        """Give the same book without some jobs."""
        book = QueueBook(self.total, self.queues.values(), self.foreign)
        book.entries, book._unstated = dict(self.entries), dict(self._unstated)
        book._used, book._waiting = dict(self._used), dict(self._waiting)
        book._held = {queue: dict(sums) for queue, sums in self._held.items()}
        book._request = {queue: dict(sums) for queue, sums in self._request.items()}
        book._allocated = {queue: dict(sums) for queue, sums in self._allocated.items()}
        for job in jobs:
            book.leave(job)
        return book

    def enter(self, job: str, queue: str | None, minimum: Resources, request: Resources) -> None:
        """Note that a job entered: it holds its minimum from now on, placed or not."""
        self.leave(job)
        entry = Entry(queue=queue, minimum=dict(minimum), pending=dict(request))
        self.entries[job] = entry
        if queue is None:
            self._unstated[job] = entry
        self._count(entry, 1.0)

    def leave(self, job: str) -> None:
        """Forget a job."""
        entry = self.entries.pop(job, None)
        self._unstated.pop(job, None)
        if entry is not None:
            self._count(entry, -1.0)

    def allocate(self, job: str, amounts: Resources) -> None:
        """Note what an entered job was given."""
        before = self.entries[job]
        entry = Entry(
            queue=before.queue,
            minimum=before.minimum,
            allocated=dict(amounts),
            pending=over(before.pending, amounts),
        )
        self._count(before, -1.0)
        self._count(entry, 1.0)
        self.entries[job] = entry
        if entry.queue is None:
            self._unstated[job] = entry

    def _count(self, entry: Entry, sign: float) -> None:
        queue = entry.queue or "default"
        add(self._used, entry.allocated, sign)
        add(self._waiting, over(entry.minimum, entry.allocated), sign)
        if entry.queue is not None:
            add(self._held.setdefault(queue, {}), entry.minimum, sign)
        add(self._request.setdefault(queue, {}), entry.allocated, sign)
        add(self._request[queue], entry.pending, sign)
        add(self._allocated.setdefault(queue, {}), entry.allocated, sign)

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
        """Say why a job with this minimum may not enter; None when it may. Only resources it asks are compared.

        A job whose queue nobody stated counts in every queue that could hold it.
        """
        ceiling = self.ceiling(queue)
        held = dict(self._held.get(queue, {}))
        for entry in self._unstated.values():
            if not any(exceeds(amount, ceiling.get(name, 0.0)) for name, amount in entry.allocated.items()):
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
            taken = self._used.get(name, 0.0) + self._waiting.get(name, 0.0) + self.foreign.get(name, 0.0)
            if exceeds(asked + taken, most):
                return Shortage(
                    resource=name, asked=asked, held=taken, ceiling=most, whose=f"{OVERCOMMIT_FACTOR} times the cluster"
                )
        return None

    def remaining(self, queue: str) -> Amounts:
        """Give what the queue may still be given: its share (by weight, at most its requests) less what it holds."""
        held = self._allocated.get(queue, {})
        deserved = self._deserved(self._request).get(queue, {})
        return {name: amount - held.get(name, 0.0) for name, amount in deserved.items()}

    def _deserved(self, requests: Mapping[str, Amounts]) -> dict[str, Amounts]:
        """Share the cluster by weight, each queue at most its request and its ceiling, what is left shared again."""
        ceilings = {queue: self.ceiling(queue) for queue in requests}
        weights = {queue: self.queues[queue].weight if queue in self.queues else 1 for queue in requests}
        share: dict[str, Amounts] = {queue: {} for queue in requests}
        asked = {name for sums in requests.values() for name, amount in sums.items() if amount > 0}
        for name, total in self.total.items():
            if name not in asked:
                continue
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
