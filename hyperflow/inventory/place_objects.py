"""Kubernetes documents to what node placement reads: nodes, HyperNodes, queues and pods by cluster, and the jobs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hyperflow.errors import Finding, raise_errors
from hyperflow.inventory.documents import Document
from hyperflow.inventory.place_jobs import CLUSTER_LABEL, GROUP_ANNOTATION, JobReader
from hyperflow.inventory.place_pods import PlaceNotes, amounts, pod_requests, where_of
from hyperflow.json_tree import dig, is_mapping, mapping, sequence, text
from hyperflow.k8s.hypernode_selectors import NodeIndex
from hyperflow.place.records import ClusterRecord, JobRecord, NodeRecord, QueueRecord, RunningPod
from hyperflow.spec.fleet import HyperNode, HyperNodeMember, Taint

JOB_LABEL = "volcano.sh/job-name"
QUEUE_LABEL = "volcano.sh/queue-name"
_ENDED = ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementInput:
    """All that `place` needs: clusters by name (the unnamed one first), jobs in the order given, findings so far."""

    clusters: tuple[ClusterRecord, ...]
    jobs: tuple[JobRecord, ...]
    findings: tuple[Finding, ...]


def read_placement(documents: Sequence[Document]) -> PlacementInput:
    """Sort documents into clusters and jobs; raises InputError with all findings when one cannot be used."""
    notes = PlaceNotes()
    by_kind: dict[str, list[Document]] = {}
    for document in documents:
        kind = text(mapping(document.value).get("kind"))
        if not is_mapping(document.value) or not kind:
            notes.error("HF350", where_of(document), "a document without kind", hint="give Kubernetes objects")
            continue
        by_kind.setdefault(kind, []).append(document)
    reader = JobReader(notes, by_kind)
    jobs = reader.jobs(documents)
    nodes = [(d, _node(d, notes)) for d in by_kind.get("Node", [])]
    clusters = _clusters(nodes, by_kind, notes)
    unused = sorted(set(by_kind) - {"Node", "HyperNode", "Queue", "Pod", "PriorityClass", *JobReader.KINDS})
    if unused:
        notes.note("HF351", "", f"documents of kind {', '.join(unused)} say nothing about placement and are not read")
    if not nodes:
        notes.error("HF352", "", "no Node document was given", hint="add the output of kubectl get nodes -o json")
    if not jobs and not any(finding.severity == "error" for finding in notes.findings):
        notes.error("HF353", "", "no job was given", hint="add vcjob, PodGroup or HyperJob documents")
    raise_errors(notes.findings)
    return PlacementInput(clusters=tuple(clusters), jobs=tuple(jobs), findings=tuple(notes.findings))


def _node(document: Document, notes: PlaceNotes) -> NodeRecord:
    value = mapping(document.value)
    where = where_of(document)
    name = text(dig(value, "metadata", "name"))
    if not name:
        notes.error("HF350", where, "a Node without metadata.name")
    ready = next(
        (
            text(mapping(c).get("status")) == "True"
            for c in sequence(dig(value, "status", "conditions"))
            if mapping(c).get("type") == "Ready"
        ),
        True,
    )
    taints = tuple(
        Taint(key=text(t.get("key")), value=text(t.get("value")), effect=t["effect"])
        for t in map(mapping, sequence(dig(value, "spec", "taints")))
        if t.get("effect") in ("NoSchedule", "PreferNoSchedule", "NoExecute")
    )
    return NodeRecord(
        name=name,
        labels=_labels(value),
        allocatable=amounts(dig(value, "status", "allocatable"), where, notes),
        taints=taints,
        cordoned=dig(value, "spec", "unschedulable") is True,
        ready=ready,
    )


def _labels(value: Mapping[str, Any]) -> dict[str, str]:
    return {k: str(v) for k, v in mapping(dig(value, "metadata", "labels")).items()}


def _clusters(
    nodes: Sequence[tuple[Document, NodeRecord]], by_kind: Mapping[str, list[Document]], notes: PlaceNotes
) -> list[ClusterRecord]:
    groups: dict[str | None, dict[str, NodeRecord]] = {}
    for document, node in nodes:
        cluster = node.labels.get(CLUSTER_LABEL)
        held = groups.setdefault(cluster, {})
        if node.name in held:
            of = f"cluster {cluster}" if cluster else "the cluster"
            message = f"node {node.name} is given twice for {of}"
            notes.error("HF354", where_of(document), message, hint="node names are unique in a cluster")
        held[node.name] = node
    pods = [pod for d in by_kind.get("Pod", []) if (pod := _pod(d, notes)) is not None]
    queues = [(dig(d.value, "metadata", "labels", CLUSTER_LABEL), q) for d, q in _queues(by_kind, notes)]
    clusters: list[ClusterRecord] = []
    for name in sorted(groups, key=lambda n: n or ""):
        held = groups[name]
        clusters.append(
            ClusterRecord(
                name=name,
                nodes=tuple(held[n] for n in sorted(held)),
                hypernodes=tuple(_hypernodes(name, held, by_kind.get("HyperNode", []), len(groups) > 1, notes)),
                queues=tuple(q for of, q in queues if of in (None, name)),
                pods=tuple(p for of, p in pods if p.node in held and (of is None or of == name)),
            )
        )
    known = {n for held in groups.values() for n in held}
    for _, pod in pods:
        if pod.node not in known:
            notes.warn("HF355", "", f"pod {pod.name} runs on node {pod.node}, which was not given; it counts nowhere")
    return clusters


def _pod(document: Document, notes: PlaceNotes) -> tuple[str | None, RunningPod] | None:
    value = mapping(document.value)
    node = text(dig(value, "spec", "nodeName"))
    if not node or dig(value, "status", "phase") in _ENDED:
        return None
    labels = _labels(value)
    where = where_of(document)
    pod = RunningPod(
        name=text(dig(value, "metadata", "name")),
        namespace=text(dig(value, "metadata", "namespace"), "default"),
        node=node,
        requests=pod_requests(mapping(value.get("spec")), where, notes),
        job=labels.get(JOB_LABEL) or dig(value, "metadata", "annotations", GROUP_ANNOTATION),
        queue=labels.get(QUEUE_LABEL),
    )
    return labels.get(CLUSTER_LABEL), pod


def _queues(by_kind: Mapping[str, list[Document]], notes: PlaceNotes) -> Iterable[tuple[Document, QueueRecord]]:
    found = by_kind.get("Queue", [])
    parents = {text(dig(d.value, "spec", "parent")) for d in found}
    for document in found:
        value, where = mapping(document.value), where_of(document)
        name = text(dig(value, "metadata", "name"))
        weight = dig(value, "spec", "weight")
        capability = dig(value, "spec", "capability")
        guarantee = dig(value, "spec", "guarantee", "resource")
        yield (
            document,
            QueueRecord(
                name=name,
                weight=weight if isinstance(weight, int) and weight > 0 else 1,
                capability=amounts(capability, where, notes) if capability else None,
                guarantee=amounts(guarantee, where, notes) if guarantee else None,
                is_open=dig(value, "status", "state") in (None, "Open"),
                is_leaf=name not in parents,
            ),
        )


def _hypernodes(
    cluster: str | None,
    nodes: Mapping[str, NodeRecord],
    documents: Sequence[Document],
    several: bool,
    notes: PlaceNotes,
) -> list[HyperNode]:
    index = NodeIndex({name: node.labels for name, node in nodes.items()})
    found: dict[str, HyperNode] = {}
    for document in documents:
        label = dig(document.value, "metadata", "labels", CLUSTER_LABEL)
        if label is not None and label != cluster:
            continue
        hypernode = _hypernode(document, index, notes)
        if hypernode is None:
            continue
        if hypernode.name in found:
            notes.error("HF354", where_of(document), f"HyperNode {hypernode.name} is given twice")
        found[hypernode.name] = hypernode
    if not several:
        return list(found.values())
    return [found[name] for name in _with_nodes(found, nodes)]


def _with_nodes(found: Mapping[str, HyperNode], nodes: Mapping[str, NodeRecord]) -> list[str]:
    """Keep the HyperNodes that reach a node of this cluster: without a cluster label they are tried on each."""
    reached = {n for n, h in found.items() if any(m.type == "Node" and m.name in nodes for m in h.members)}
    grown = True
    while grown:
        more = {n for n, h in found.items() if n not in reached and any(m.name in reached for m in h.members)}
        reached |= more
        grown = bool(more)
    return sorted(reached)


def _hypernode(document: Document, index: NodeIndex, notes: PlaceNotes) -> HyperNode | None:
    value, where = mapping(document.value), where_of(document)
    name, tier = text(dig(value, "metadata", "name")), dig(value, "spec", "tier")
    if not name or not isinstance(tier, int) or isinstance(tier, bool) or not 0 <= tier < 2**31:
        hint = "apiVersion topology.volcano.sh/v1alpha1 with metadata.name and spec.tier"
        notes.error(
            "HF350", where, f"HyperNode {name or 'without a name'} has no usable spec.tier", str(tier), hint=hint
        )
        return None
    members: dict[tuple[str, str], HyperNodeMember] = {}
    for at, item in enumerate(sequence(dig(value, "spec", "members"))):
        kind, selector = mapping(item).get("type"), mapping(mapping(item).get("selector"))
        try:
            if kind == "HyperNode":
                exact = text(dig(selector, "exactMatch", "name"))
                names = [exact] if exact else []
                if not exact:
                    message = f"member {at} of HyperNode {name} selects HyperNodes by rule, which the scheduler ignores"
                    notes.warn("HF356", where, message, hint="list HyperNode members by exactMatch")
            elif kind == "Node":
                names = index.select(selector)
            else:
                raise ValueError(f"type is {kind!r}, neither Node nor HyperNode")
        except ValueError as error:
            notes.warn("HF356", where, f"member {at} of HyperNode {name} selects nothing: {error}")
            continue
        for member in names:
            members[str(kind), member] = HyperNodeMember(type=kind, name=member)
    return HyperNode(
        name=name, tier=tier, tier_name=text(dig(value, "spec", "tierName")), members=tuple(members.values())
    )
