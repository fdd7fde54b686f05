"""The place of a job in the line of its queue, and what it needs against what the queue has free. Pure.

Two lines exist: volcano-global's dispatcher takes suspended bindings, a cluster's scheduler takes PodGroups. Both take
the higher PriorityClass first, then the older, then (Volcano compares namespace/name) the name; recorded runs agree.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from hyperflow.json_tree import dig, text
from hyperflow.place.queues import QueueBook
from hyperflow.place.reasons import amount_text
from hyperflow.place.records import QueueRecord
from hyperflow.submit.job_requests import amounts_of

Json = dict[str, Any]
EntryState = Literal["waiting", "entered", "running"]
_SHOWN = 3
_KEPT = 20  # of those before a job: a line of hundreds would otherwise stand in each of its rows


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueEntry:
    """One job of a queue. An `entered` one has its share of the queue and waits for nodes; a `running` one has them."""

    namespace: str
    name: str
    queue: str
    needs: Mapping[str, float]
    state: EntryState
    priority: int = 0
    created: str = ""

    @property
    def order(self) -> tuple[int, str, str]:
        """The key by which the scheduler sorts the jobs of one queue."""
        return (-self.priority, self.created, f"{self.namespace}/{self.name}")


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueView:
    """What one server shows of its queues.

    `total` is the sum of all nodes (None: unreadable), `refused` says what may not be read and why. With
    `only_namespace` the entries are those of one namespace, since the others may not be read.
    """

    server: str
    entries: tuple[QueueEntry, ...] = ()
    queues: Mapping[str, Json] = field(default_factory=dict[str, Json])
    total: Mapping[str, float] | None = None
    heeds_guarantees: bool = True
    only_namespace: str = ""
    refused: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueLine:
    """One job's place: `place` counts from 1 of `of`; `free` and `ceiling` hold only resources that could be told.

    `before` are the first of those that are taken earlier.
    """

    queue: str
    server: str
    place: int
    of: int
    entered: int
    needs: Mapping[str, float]
    free: Mapping[str, float]
    ceiling: Mapping[str, float]
    before: tuple[QueueEntry, ...]
    only_namespace: str
    refused: tuple[str, ...]
    has_not_entered: bool

    def as_text(self, *, named: bool = True) -> str:
        """Say the place, both numbers, who is before, and what could not be read; `named` tells the queue too."""
        where = f" in queue {self.queue}" if named else ""
        within = f" (only namespace {self.only_namespace} was counted)" if self.only_namespace else ""
        entered = f", {self.entered} of them entered and wait for nodes" if self.entered else ""
        said = [f"{self.place} of {self.of} waiting{where}{entered}{within}", self._numbers()]
        if self.before:
            listed = ", ".join(f"{e.namespace}/{e.name} needs {_needs(e.needs)}" for e in self.before[:_SHOWN])
            more = self.place - 1 - _SHOWN
            said.append(f"before it: {listed}" + (f" and {more} more" if more > 0 else ""))
        return "; ".join([*said, *self.refused])

    def _numbers(self) -> str:
        if not self.needs:
            return "it asks for no resource"
        short = [r for r in self.needs if r in self.free and self.needs[r] > self.free[r]]
        told = short or [r for r in _main(self.needs) if r in self.free]
        if not told:
            return f"it needs {_needs(self.needs)}; what the queue has free is not known"
        numbers = (
            f"it needs {amount_text(r, self.needs[r])}, the queue has {amount_text(r, self.free[r])} free of "
            f"{amount_text(r, self.ceiling[r])}"
            for r in told
        )
        return "; ".join(numbers)

    def as_json(self) -> dict[str, object]:
        """Give the line as a part of `status --format json`."""
        return {
            "queue": self.queue,
            "server": self.server,
            "place": self.place,
            "of": self.of,
            "needs": dict(self.needs),
            "free": dict(self.free),
            "before": [{"name": f"{e.namespace}/{e.name}", "needs": dict(e.needs)} for e in self.before],
            "unread": list(self.refused),
        }


def line_of(view: QueueView, own: QueueEntry) -> QueueLine:
    """Find the place of an entry of the view among those that wait in its queue."""
    waiting = sorted((e for e in view.entries if e.queue == own.queue and e.state != "running"), key=lambda e: e.order)
    place = next(i for i, entry in enumerate(waiting) if entry is own)
    ceiling = _ceiling(view, own.queue)
    held = _held(e for e in view.entries if e.queue == own.queue and e.state != "waiting" and e is not own)
    free = {r: max(most - held.get(r, 0.0), 0.0) for r, most in ceiling.items() if r in own.needs}
    return QueueLine(
        queue=own.queue,
        server=view.server,
        place=place + 1,
        of=len(waiting),
        entered=sum(e.state == "entered" for e in waiting),
        needs=own.needs,
        free=free,
        ceiling={r: ceiling[r] for r in free},
        before=tuple(waiting[: min(place, _KEPT)]),
        only_namespace=view.only_namespace,
        refused=view.refused,
        has_not_entered=own.state == "waiting",
    )


def _held(entries: Iterable[QueueEntry]) -> dict[str, float]:
    total: dict[str, float] = {}
    for entry in entries:
        for resource, amount in entry.needs.items():
            total[resource] = total.get(resource, 0.0) + amount
    return total


def _ceiling(view: QueueView, queue: str) -> dict[str, float]:
    """The most the queue may hold; where the nodes are unknown, what its capability alone says."""
    capability = amounts_of(dig(view.queues.get(queue), "spec", "capability"))
    if view.total is None:
        return capability
    records = [_record(name, found, view.heeds_guarantees) for name, found in view.queues.items()]
    return QueueBook(view.total, records, {}).ceiling(queue)


def _record(name: str, found: Json, heeds_guarantees: bool) -> QueueRecord:
    guarantee = amounts_of(dig(found, "spec", "guarantee", "resource")) if heeds_guarantees else {}
    capability = amounts_of(dig(found, "spec", "capability"))
    return QueueRecord(name=name, capability=capability or None, guarantee=guarantee or None)


def _main(needs: Mapping[str, float]) -> Sequence[str]:
    """The accelerators of a request; a job without any is told by all that it asks."""
    return [r for r in sorted(needs) if "/" in r] or sorted(needs)


def _needs(needs: Mapping[str, float]) -> str:
    return ", ".join(amount_text(r, needs[r]) for r in _main(needs)) or "nothing"


def entry_of(view: QueueView | None, namespace: str, name: str) -> QueueEntry | None:
    """Find a job of a view by namespace and name; a PodGroup's name is the job's with its uid behind."""
    ours = [e for e in view.entries if e.namespace == namespace] if view else []
    exact = next((e for e in ours if e.name == name), None)
    # another job may be called NAME-1: the uid behind the own name is the shortest rest
    return exact or min((e for e in ours if e.name.startswith(f"{name}-")), key=lambda e: len(e.name), default=None)


def priority_of(name: str, classes: Sequence[Json]) -> int:
    """The value of a PriorityClass; the cluster's default where it is unknown or not named."""
    for found in classes:
        value = found.get("value")
        if isinstance(value, int) and text(dig(found, "metadata", "name")) == name:
            return value
    default = next((c.get("value") for c in classes if c.get("globalDefault") is True), 0)
    return default if isinstance(default, int) else 0
