"""What the places of stages must offer: the data where it is read, links between neighbours, nodes that can be told."""

import itertools

from hyperflow.errors import Finding
from hyperflow.lower.draft import Draft
from hyperflow.lower.stage_groups import StageGroup, node_group_for, telling_label


def check_placement(draft: Draft) -> list[Finding]:
    """Find stages that read data where it is not (HF431), neighbours without a declared link (HF432).

    A warning (HF433) tells of nodes with other devices on which pods may land.
    """
    return [*_check_data(draft), *_check_links(draft), *_check_devices(draft)]


def _check_data(draft: Draft) -> list[Finding]:
    """The first stage reads the tokens; that the last one reads labels is the planner's word."""
    data = draft.job.job.data
    if data is None or data.at == "all":
        return []
    readers = [group for group in draft.groups if 0 in group.stage_indices]
    missing = {c.name: None for group in readers for c in group.candidates if c.name not in data.at}
    return [
        Finding(
            code="HF431",
            message=f"stage 0 reads the data on {cluster}, where it is not",
            where="data.at",
            got=", ".join(data.at),
            expected=f"{cluster} too, or stage 0 elsewhere",
            hint="copy the data there, or name the clusters in hf.on in another order",
            span=draft.job.job.sources.get("data.at"),
        )
        for cluster in missing
    ]


def _check_devices(draft: Draft) -> list[Finding]:
    """Pods find their nodes by resource and label; devices of one resource and no telling label are mixed up."""
    findings: dict[str, Finding] = {}
    for group in draft.groups:
        for cluster in group.candidates:
            nodes = node_group_for(cluster, group.device, group.devices_per_node)
            others = {g.device for g in cluster.groups if nodes and g is not nodes and g.resource == nodes.resource}
            if nodes and others - {nodes.device} and not telling_label(cluster, nodes):
                findings[cluster.name] = Finding(
                    code="HF433",
                    severity="warning",
                    message=f"pods for {nodes.device} may land on {', '.join(sorted(others))} nodes of {cluster.name}: "
                    "both offer " + nodes.resource,
                    where="on",
                    expected="a node label that tells them apart",
                    hint="give the node groups labels in the fleet",
                    span=draft.job.job.sources.get("on"),
                )
    return list(findings.values())


def _check_links(draft: Draft) -> list[Finding]:
    pairs: dict[tuple[str, str], str] = {}
    for left, right in itertools.pairwise(draft.groups):
        for a in left.candidates:
            for b in right.candidates:
                if a.name != b.name and draft.job.fleet.link(a.name, b.name) is None:
                    pairs.setdefault((a.name, b.name), _unlinked(left, a.name, right, b.name))
    return [
        Finding(
            code="HF432",
            message=message,
            where="on.links",
            expected=f'hf.link("{a}", "{b}", gbps=..., rtt_ms=...)',
            hint="declare the link, or leave one of the clusters out",
            span=draft.job.job.sources.get("on.links"),
        )
        for (a, b), message in pairs.items()
    ]


def _unlinked(left: StageGroup, a: str, right: StageGroup, b: str) -> str:
    """Say which neighbours have no link, and of a fallback whose place it takes."""
    home, other_home = left.cluster.name, right.cluster.name
    if a != home and b != other_home:
        return f"{a} stands in for {home} and {b} for {other_home} as fallbacks, and have no link to each other"
    if a != home:
        return f"{a} stands in for {home} as fallback and has no link to {b}"
    if b != other_home:
        return f"{b} stands in for {other_home} as fallback and has no link to {a}"
    return f"neighbouring stages run on {a} and {b}, and no link between them is declared"
