"""Reads what a server shows of its queues: who waits in which, what they hold, and what there is in all."""

from collections.abc import Sequence
from typing import Any

from hyperflow.json_tree import dig, mapping, sequence, text
from hyperflow.submit.job_requests import amounts_of, requests_of
from hyperflow.submit.plane import Lister
from hyperflow.submit.queue_line import EntryState, QueueEntry, QueueView, priority_of
from hyperflow.submit.refusals import RefusedError
from hyperflow.submit.server_kinds import (
    BINDING,
    CLUSTER,
    JOB,
    NODE,
    POD_GROUP,
    PRIORITY_CLASS,
    QUEUE,
    ServerKind,
)

Json = dict[str, Any]
_STATES: dict[str, EntryState] = {
    "Pending": "waiting", "Inqueue": "entered", "Running": "running", "Unknown": "running",
}  # fmt: skip
_ENDED = ("Completed", "Failed", "Aborted", "Terminated")


class _Reading:
    """Reads lists of one server and remembers what was refused."""

    def __init__(self, server: Lister, name: str) -> None:
        self.server, self.name = server, name
        self.refused: list[str] = []
        self.only_namespace = ""

    def all(self, kind: ServerKind) -> list[Json] | None:
        """List a kind in all namespaces; None where that is refused."""
        try:
            return self.server.find(kind)[0]
        except RefusedError as error:
            if error.refusal.meaning != "no-kind":
                everywhere = " in all namespaces" if kind.namespaced else ""
                self.refused.append(
                    f"you may not list {kind.resource}{everywhere} of {self.name} ({error.refusal.meaning})"
                )
            return None

    def widest(self, kind: ServerKind, namespace: str) -> list[Json]:
        """List a kind in all namespaces, or else in the one."""
        found = self.all(kind)
        if found is None:
            try:
                found = self.server.find(kind, namespace)[0]
            except RefusedError:
                return []
            self.only_namespace = namespace
        return found

    def view(
        self, entries: Sequence[QueueEntry], total: dict[str, float] | None, *, heeds_guarantees: bool
    ) -> QueueView:
        """Put the parts together."""
        return QueueView(
            server=self.name,
            entries=tuple(entries),
            queues={_name(queue): queue for queue in self.all(QUEUE) or []},
            total=total,
            heeds_guarantees=heeds_guarantees,
            only_namespace=self.only_namespace,
            refused=tuple(self.refused),
        )


def read_member_view(member: Lister, cluster: str, namespace: str) -> QueueView:
    """Read the line of a cluster's scheduler: its PodGroups, queues and nodes."""
    reading = _Reading(member, cluster or "this cluster")
    classes = reading.all(PRIORITY_CLASS) or []
    entries = [_group(group, classes) for group in reading.widest(POD_GROUP, namespace)]
    nodes = reading.all(NODE)
    total = None if nodes is None else _sum(dig(n, "status", "allocatable") for n in nodes if _is_ready(n))
    return reading.view([e for e in entries if e is not None], total, heeds_guarantees=True)


def read_global_view(plane: Lister, namespace: str) -> QueueView:
    """Read the line of the dispatcher: bindings with their jobs, queues, and the clusters' sums."""
    reading = _Reading(plane, "the plane")
    classes = reading.all(PRIORITY_CLASS) or []
    bindings = reading.widest(BINDING, namespace)
    jobs = {(text(dig(j, "metadata", "namespace")), _name(j)): j for j in reading.widest(JOB, namespace)}
    entries = [_binding(binding, jobs, classes) for binding in bindings]
    clusters = reading.all(CLUSTER)
    total = None
    if clusters is not None:
        total = _sum(dig(c, "status", "resourceSummary", "allocatable") for c in clusters if _is_ready(c))
    return reading.view([e for e in entries if e is not None], total, heeds_guarantees=False)


def _group(group: Json, classes: Sequence[Json]) -> QueueEntry | None:
    state = _STATES.get(text(dig(group, "status", "phase"), "Pending"))
    if state is None:
        return None
    return QueueEntry(
        namespace=text(dig(group, "metadata", "namespace")),
        name=_name(group),
        queue=text(dig(group, "spec", "queue"), "default"),
        needs=amounts_of(dig(group, "spec", "minResources")),
        state=state,
        priority=priority_of(text(dig(group, "spec", "priorityClassName")), classes),
        created=text(dig(group, "metadata", "creationTimestamp")),
    )


def _binding(binding: Json, jobs: dict[tuple[str, str], Json], classes: Sequence[Json]) -> QueueEntry | None:
    """A binding as an entry; its own replicas and requests count, as the dispatcher counts, else those of its job."""
    namespace = text(dig(binding, "metadata", "namespace"))
    job = jobs.get((namespace, text(dig(binding, "spec", "resource", "name"))))
    if job is None or text(dig(job, "status", "state", "phase")) in _ENDED:
        return None
    spec = mapping(job.get("spec"))
    replicas = dig(binding, "spec", "replicas")
    one = amounts_of(dig(binding, "spec", "replicaRequirements", "resourceRequest"))
    counted = {r: amount * replicas for r, amount in one.items()} if isinstance(replicas, int) else {}
    return QueueEntry(
        namespace=namespace,
        name=_name(job),
        queue=text(spec.get("queue"), "default"),
        needs=counted or requests_of(spec),
        state="waiting" if dig(binding, "spec", "suspension", "scheduling") is True else "running",
        priority=priority_of(text(spec.get("priorityClassName")), classes),
        created=text(dig(binding, "metadata", "creationTimestamp")),
    )


def _is_ready(item: Json) -> bool:
    """Whether a node or a cluster is ready; one without conditions counts."""
    ready = [dig(c, "status") for c in sequence(dig(item, "status", "conditions")) if dig(c, "type") == "Ready"]
    return all(status == "True" for status in ready)


def _sum(lists: Any) -> dict[str, float]:
    total: dict[str, float] = {}
    for resources in lists:
        for resource, amount in amounts_of(resources).items():
            total[resource] = total.get(resource, 0.0) + amount
    return total


def _name(item: Json) -> str:
    return text(dig(item, "metadata", "name"))
