"""From what the sources said of a cluster to its record."""

from typing import Any

from hyperflow.admission.karmada_estimator import foresee_refusal
from hyperflow.catalog.devices import find_device
from hyperflow.errors import Finding
from hyperflow.inventory.draft import ClusterDraft, nvlink_domains, read_topology, stated_nodes
from hyperflow.inventory.grouping import group_nodes, leave_out
from hyperflow.inventory.hypernode_tree import check_tree, tiers_of
from hyperflow.spec.fleet import Cluster, Exclusion, NodeGroup

LARGE_CLUSTER_NODES = 5000
"""Kubernetes supports clusters of up to 5,000 nodes (kubernetes.io, considerations for large clusters)."""


def build_cluster(draft: ClusterDraft) -> tuple[Cluster, list[Finding]]:
    """Build one cluster; errors are among the findings, and the record then is as good as it can be."""
    topology, findings = read_topology(draft)
    usable, excluded, left_out = leave_out(draft.name, draft.nodes, topology.unhealthy)
    domains, domain_findings = nvlink_domains(draft)
    groups = group_nodes(draft.nodes, usable, domains, draft.requests)
    findings += [*left_out, *domain_findings]
    if draft.karmada and draft.karmada.unusable:
        usable = set[str]()
    groups = _with_karmada_free(draft, groups)
    unnamed = {name for name, node in draft.nodes.items() if node.code == "HF316"}
    counted = (usable or unnamed) if draft.nodes else None
    cluster = Cluster(
        name=draft.name,
        region=draft.region or _common_region(groups),
        groups=groups,
        nodes_total=_nodes_total(draft, topology.hypernodes != ()),
        excluded=excluded,
        unidentified_devices=_unidentified(draft),
        tiers=tiers_of(topology.hypernodes, counted, topology.known),
        hypernodes=topology.hypernodes,
        topology_labels=topology.labels,
        karmada=draft.karmada,
    )
    if draft.written:
        cluster, written_findings = _with_written(cluster, draft.written)
        findings += written_findings
        if not topology.hypernodes:
            findings += check_tree(cluster.name, cluster.hypernodes, stated_nodes(cluster) or None)
    cluster = _without_unusable_groups(cluster)
    return cluster, [*findings, *_remarks(draft, cluster)]


def _without_unusable_groups(cluster: Cluster) -> Cluster:
    """Leave all nodes out where Karmada places nothing."""
    if not cluster.groups or cluster.karmada is None or not cluster.karmada.unusable:
        return cluster
    names = tuple(name for group in cluster.groups for name in group.node_names)
    exclusion = Exclusion(cause=cluster.karmada.unusable, nodes=names)
    return cluster.model_copy(update={"groups": (), "excluded": (*cluster.excluded, exclusion)})


def _common_region(groups: tuple[NodeGroup, ...]) -> str:
    regions = {group.labels.get("topology.kubernetes.io/region", "") for group in groups}
    return regions.pop() if len(regions) == 1 else ""


def _unidentified(draft: ClusterDraft) -> int:
    if draft.nodes:
        return sum(node.devices.capacity for node in draft.nodes.values() if node.code == "HF316")
    return sum(sum(fabric.devices.values()) for fabric in draft.fabrics)


def _nodes_total(draft: ClusterDraft, has_tree: bool) -> int | None:
    if draft.nodes:
        return len(draft.nodes)
    named = {name for fabric in draft.fabrics for name in fabric.nodes}
    named |= {
        selector["exactMatch"]["name"]
        for one in draft.selected
        for selector in one.selectors
        if selector.get("exactMatch") is not None
    }
    if named and has_tree and all(s.get("exactMatch") is not None for one in draft.selected for s in one.selectors):
        return len(named)
    return draft.karmada.nodes_total if draft.karmada else None


def _with_karmada_free(draft: ClusterDraft, groups: tuple[NodeGroup, ...]) -> tuple[NodeGroup, ...]:
    """Take free devices from Karmada's sums where no pods were given and one group has the resource alone."""
    view = draft.karmada
    if view is None or view.allocatable is None or draft.requests is not None:
        return groups
    resources = [group.resource for group in groups]
    filled: list[NodeGroup] = []
    for group in groups:
        if resources.count(group.resource) == 1:
            held = view.allocated.get(group.resource, 0) + view.allocating.get(group.resource, 0)
            free = max(0, group.count * group.devices_per_node - int(held))
            group = group.model_copy(update={"free_devices": free})
        filled.append(group)
    return tuple(filled)


def _with_written(cluster: Cluster, written: Cluster) -> tuple[Cluster, list[Finding]]:
    """Lay a cluster of a fleet file over what was read: it fills what is unknown and states what cannot be read."""
    findings: list[Finding] = []
    update: dict[str, Any] = {}
    for key in ("versions", "quotas", "price_per_device_hour", "region"):
        if getattr(written, key) != Cluster.model_fields[key].default:
            update[key] = getattr(written, key)
    for key in (
        "groups",
        "nodes_total",
        "excluded",
        "unidentified_devices",
        "tiers",
        "hypernodes",
        "topology_labels",
        "karmada",
    ):
        value = getattr(written, key)
        if value == Cluster.model_fields[key].default:
            continue
        if not getattr(cluster, key):
            update[key] = value
        elif key in ("groups", "tiers") and getattr(cluster, key) != value:
            findings.append(
                Finding(
                    code="HF346",
                    severity="warning",
                    message=f"the fleet file's `{key}` are not used: other sources state them",
                    where=f"cluster {cluster.name}",
                    expected="one source",
                    hint=f"remove `{key}` there, or leave out the other source",
                )
            )
    return cluster.model_copy(update=update), findings


def _remarks(draft: ClusterDraft, cluster: Cluster) -> list[Finding]:
    where = f"cluster {cluster.name}"
    findings: list[Finding] = []
    total = cluster.nodes_total or 0
    if total > LARGE_CLUSTER_NODES:
        findings.append(
            Finding(
                code="HF344",
                severity="note",
                message=f"{total} nodes are more than the {LARGE_CLUSTER_NODES} that Kubernetes supports in a cluster",
                where=where,
                hint="two clusters joined by a HyperJob stay within it",
            )
        )
    if draft.nodes and not cluster.tiers:
        findings.append(
            Finding(
                code="HF328",
                severity="warning",
                message="no label, name or file tells its topology: a hard tier cannot be honoured there",
                where=where,
                hint="give HyperNodes or a fabric file, or label the nodes",
            )
        )
    findings += [_uncertain_device(name, where) for name in dict.fromkeys(group.device for group in cluster.groups)]
    if draft.nodes and any(not node.conditions_stated for node in draft.nodes.values()):
        message = "the nodes state no conditions, so whether they are ready is unknown; they count as ready"
        findings.append(Finding(code="HF347", severity="note", message=message, where=where))
    findings += _karmada_remarks(cluster, where)
    return [finding for finding in findings if finding.message]


def _uncertain_device(name: str, where: str) -> Finding:
    device = find_device(name)
    fields = ", ".join(device.uncertain) if device else ""
    return Finding(
        code="HF345",
        severity="note",
        message=f"the catalogue is uncertain about {name}: {fields}" if fields else "",
        where=where,
        hint="a profile (--profile) or calibration (--calibration) replaces these figures",
    )


def _karmada_remarks(cluster: Cluster, where: str) -> list[Finding]:
    view = cluster.karmada
    if view is None:
        return []
    if view.unusable:
        message = f"Karmada places no job there: {view.unusable}"
        return [Finding(code="HF341", severity="warning", message=message, where=where)]
    if view.allocatable is None:
        message = "Karmada has no resource summary of it: its capacity is unknown and Karmada counts 0"
        hint = "check its karmada-agent or the plane's access to it"
        return [Finding(code="HF342", severity="warning", message=message, where=where, hint=hint)]
    over = [
        f"{name}: {view.allocated.get(name, 0) + view.allocating.get(name, 0):g} of {view.allocatable.get(name, 0):g}"
        for name in sorted(view.allocated.keys() | view.allocating.keys())
        if view.allocated.get(name, 0) + view.allocating.get(name, 0) > view.allocatable.get(name, 0)
    ]
    findings: list[Finding] = []
    if over:
        message = "more is promised than the cluster has; it counts as full"
        findings.append(
            Finding(code="HF343", severity="warning", message=message, where=where, got=", ".join(over[:5]))
        )
    refusal = foresee_refusal(cluster)
    return [*findings, refusal] if refusal else findings
