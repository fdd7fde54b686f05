"""Writing of fleet.yaml: commented, in units a person reads, and read back to the same fleet."""

import math
from collections.abc import Callable
from typing import Any

from hyperflow.inventory.fleet_file import SCHEMA_VERSION, SIZED_RESOURCES
from hyperflow.inventory.hostlists import compress_hosts, expand_hosts
from hyperflow.inventory.yaml_text import flow_text
from hyperflow.spec.fleet import Cluster, Fleet, HyperNode, KarmadaView, Link, NodeGroup, Taint, TargetVersions, Tier
from hyperflow.units import gigabits_per_second

_HEAD = """\
# A fleet for HyperFlow: clusters, their nodes and topology, and the links between them.
# Units: gbps and network_gbps are Gb/s, rtt_ms milliseconds, sizes carry their unit (2000GiB).
# Names may be ranges: node[01-16]. Tiers count from the leaf: tier 1 is the closest.
"""
_CLUSTER_COMMENT = {
    "groups": "usable nodes only; devices_per_node is what pods may ask for; no free_devices means unknown",
    "excluded": "left out of groups, one cause each",
    "tiers": "domains per level and their size in nodes",
    "hypernodes": "the topology tree with its members",
    "topology_labels": "node labels that the tiers come from, leaf first",
    "karmada": "what the plane believes of this cluster",
}
_LINK_COMMENT = "one link serves both directions"


def write_fleet(fleet: Fleet) -> str:
    """Give the fleet as the text of a fleet.yaml; `load_fleet` reads the same fleet from it.

    >>> print(write_fleet(Fleet()).splitlines()[-2:])
    ['schema_version: hyperflow.fleet/v1', 'clusters: []']
    """
    lines = [_HEAD + f"schema_version: {SCHEMA_VERSION}"]
    if fleet.versions != TargetVersions():
        lines.append(_yaml({"versions": _versions(fleet.versions)}))
    if not fleet.clusters:
        lines.append("clusters: []")
    else:
        lines.append("clusters:")
        lines += [_cluster_text(cluster) for cluster in fleet.clusters]
    if fleet.links:
        lines.append(f"links:  # {_LINK_COMMENT}")
        lines += [f"  - {flow_text(_link(link))}" for link in fleet.links]
    return "\n".join(lines) + "\n"


def _cluster_text(cluster: Cluster) -> str:
    head: dict[str, Any] = {"name": cluster.name}
    for key in ("region", "nodes_total", "unidentified_devices", "price_per_device_hour"):
        value = getattr(cluster, key)
        if value not in ("", None) and (key, value) != ("unidentified_devices", 0):
            head[key] = value
    if cluster.versions != TargetVersions():
        head["versions"] = _versions(cluster.versions)
    if cluster.quotas:
        head["quotas"] = {queue: _resources(values) for queue, values in cluster.quotas.items()}
    lines = ["  - " + _indent(_yaml(head), "    ").removeprefix("    ")]
    parts: dict[str, list[str]] = {
        "groups": [_yaml(_group(group)) for group in cluster.groups],
        "excluded": [
            flow_text({"cause": exclusion.cause, "nodes": name_ranges(exclusion.nodes)})
            for exclusion in cluster.excluded
        ],
        "tiers": [flow_text(_tier(tier)) for tier in cluster.tiers],
        "hypernodes": [flow_text(_hypernode(hypernode)) for hypernode in cluster.hypernodes],
    }
    for key, items in parts.items():
        if items:
            lines.append(f"    {key}:  # {_CLUSTER_COMMENT[key]}")
            lines += ["      - " + _indent(item, "        ").removeprefix("        ") for item in items]
    if cluster.topology_labels:
        labels = flow_text([list(keys) for keys in cluster.topology_labels])
        lines.append(f"    topology_labels: {labels}  # {_CLUSTER_COMMENT['topology_labels']}")
    if cluster.karmada:
        view = _karmada(cluster.karmada)
        lines.append(f"    karmada:{'' if view else ' {}'}  # {_CLUSTER_COMMENT['karmada']}")
        lines += [_indent(_yaml(view), "      ")] if view else []
    return "\n".join(lines)


def _group(group: NodeGroup) -> dict[str, Any]:
    row: dict[str, Any] = {"device": group.device}
    if not group.node_names or len(group.node_names) != group.count:
        row["count"] = group.count
    row |= {"devices_per_node": group.devices_per_node, "resource": group.resource}
    optional = {
        "free_devices": group.free_devices,
        "nvlink_domain": group.nvlink_domain,
        "allocatable": _resources(group.allocatable) or None,
        "labels": dict(group.labels) or None,
        "taints": [_taint(taint) for taint in group.taints] or None,
        "node_names": name_ranges(group.node_names) or None,
    }
    row |= {key: value for key, value in optional.items() if value is not None}
    row["network"] = group.network.value
    if group.network_bytes_per_second_per_device:
        row["network_gbps"] = _invert(group.network_bytes_per_second_per_device, gigabits_per_second)
    return row


def _taint(taint: Taint) -> dict[str, str]:
    return {"key": taint.key, "value": taint.value, "effect": taint.effect}


def _tier(tier: Tier) -> dict[str, Any]:
    row: dict[str, Any] = {"tier": tier.tier}
    if tier.name:
        row["name"] = tier.name
    if len(set(tier.domain_nodes)) == 1:
        row |= {"domains": len(tier.domain_nodes), "nodes": tier.domain_nodes[0]}
    else:
        row["domain_nodes"] = list(tier.domain_nodes)
    if not tier.known:
        row["known"] = False
    return row


def _hypernode(hypernode: HyperNode) -> dict[str, Any]:
    row: dict[str, Any] = {"name": hypernode.name, "tier": hypernode.tier}
    if hypernode.tier_name:
        row["tier_name"] = hypernode.tier_name
    nodes = tuple(member.name for member in hypernode.members if member.type == "Node")
    children = [member.name for member in hypernode.members if member.type == "HyperNode"]
    return row | ({"nodes": name_ranges(nodes)} if nodes else {}) | ({"hypernodes": children} if children else {})


def name_ranges(names: tuple[str, ...]) -> list[str]:
    """Give names as host lists where that keeps their order, else one by one."""
    texts = compress_hosts(names)
    return texts if [name for text in texts for name in expand_hosts(text)] == list(names) else list(names)


def _karmada(view: KarmadaView) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for key in ("unusable", "nodes_total", "nodes_ready", "labels"):
        value = getattr(view, key)
        if value not in ("", None, {}):
            row[key] = value
    if view.taints:
        row["taints"] = [_taint(taint) for taint in view.taints]
    if view.resource_models is not None:
        row["resource_models"] = [
            {
                "grade": grade.grade,
                "ranges": {
                    name: [_quantity(name, low), None if high is None else _quantity(name, high)]
                    for name, (low, high) in grade.ranges.items()
                },
            }
            for grade in view.resource_models
        ]
    if view.modelings:
        row["modelings"] = dict(view.modelings)
    if view.allocatable is not None:
        row["allocatable"] = {name: _quantity(name, value) for name, value in view.allocatable.items()}
    for key in ("allocated", "allocating"):
        if values := getattr(view, key):
            row[key] = {name: _quantity(name, value) for name, value in values.items()}
    return row


def _versions(versions: TargetVersions) -> dict[str, str]:
    return {key: value for key, value in versions.model_dump().items() if value is not None}


def _link(link: Link) -> dict[str, Any]:
    row: dict[str, Any] = {"a": link.a, "b": link.b}
    row["gbps"] = _invert(link.bytes_per_second, gigabits_per_second)
    row["rtt_ms"] = _invert(link.round_trip_seconds, _seconds)
    row["kind"] = link.kind.value
    if link.curve:
        row["curve"] = [{"size": _size(size), "ms": _invert(seconds, _seconds)} for size, seconds in link.curve]
    return row


def _resources(values: dict[str, float]) -> dict[str, Any]:
    return {name: _size(value) if name in SIZED_RESOURCES else _plain(value) for name, value in values.items()}


def _quantity(name: str, value: float) -> Any:
    return _size(value).removesuffix("B") if name in SIZED_RESOURCES else _plain(value)


def _size(count: float) -> str:
    """Give bytes with the largest binary unit that divides them."""
    for unit, size in (("TiB", 1024**4), ("GiB", 1024**3), ("MiB", 1024**2), ("KiB", 1024)):
        if count and count % size == 0:
            return f"{int(count // size)}{unit}"
    return f"{_plain(count)}B"


def _seconds(milliseconds: float) -> float:
    return milliseconds / 1e3


def _plain(value: float) -> int | float:
    return int(value) if value == int(value) else value


def _invert(value: float, convert: Callable[[float], float]) -> int | float:
    """Give the shortest number that `convert` turns back into `value` (rounding aside)."""
    guess = value / convert(1.0)
    candidates = [round(guess, digits) for digits in (0, 3, 6, 9)]
    candidates += [guess, math.nextafter(guess, math.inf), math.nextafter(guess, 0)]
    return _plain(next((number for number in candidates if convert(number) == value), guess))


def _yaml(values: dict[str, Any]) -> str:
    return "\n".join(f"{key}: {flow_text(value)}" for key, value in values.items())


def _indent(text: str, prefix: str) -> str:
    return "\n".join(prefix + line for line in text.splitlines())
