"""HyperNode objects and Volcano's discovery configuration for the clusters of a fleet."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from hyperflow.errors import Finding
from hyperflow.inventory.draft import stated_nodes
from hyperflow.inventory.hostlists import compress_hosts
from hyperflow.inventory.label_tree import slug
from hyperflow.inventory.yaml_text import block_text, documents_text
from hyperflow.k8s.hypernode_selectors import NodeIndex
from hyperflow.spec.fleet import Cluster, Fleet, HyperNode

MIN_NODES_FOR_PATTERN = 3
MAX_TYPE_NAME = 20
"""Volcano's limit for the name of a discovery type (webhook-free, checked when it builds object names)."""


def hypernode_objects(fleet: Fleet) -> list[dict[str, Any]]:
    """Give the HyperNode objects of all clusters, children before parents.

    Names that two clusters share get their cluster as prefix: on the plane all HyperNodes share one name space.
    """
    times = Counter(hypernode.name for cluster in fleet.clusters for hypernode in cluster.hypernodes)
    objects: list[dict[str, Any]] = []
    for cluster in fleet.clusters:
        known = NodeIndex({name: {} for name in all_node_names(cluster)})
        names = {h.name: h.name if times[h.name] == 1 else slug(cluster.name, h.name) for h in cluster.hypernodes}
        objects += [
            hypernode_object(hypernode, cluster.name, known, names)
            for hypernode in cluster.hypernodes
            if hypernode.members
        ]
    return objects


def hypernode_object(hypernode: HyperNode, cluster: str, known: NodeIndex, names: Mapping[str, str]) -> dict[str, Any]:
    """Give one HyperNode object; node members as a pattern where it matches exactly them, else one by one."""
    nodes = [member.name for member in hypernode.members if member.type == "Node"]
    children = [member.name for member in hypernode.members if member.type == "HyperNode"]
    members = [{"type": "Node", "selector": selector} for selector in node_selectors(nodes, known)]
    members += [{"type": "HyperNode", "selector": {"exactMatch": {"name": names.get(name, name)}}} for name in children]
    spec: dict[str, Any] = {"tier": hypernode.tier}
    if hypernode.tier_name:
        spec["tierName"] = hypernode.tier_name
    return {
        "apiVersion": "topology.volcano.sh/v1alpha1",
        "kind": "HyperNode",
        "metadata": {
            "name": names[hypernode.name],
            "labels": {"hyperflow.io/cluster": cluster},
        },
        "spec": {**spec, "members": members},
    }


def all_node_names(cluster: Cluster) -> frozenset[str]:
    """Give every node name that the cluster's record knows, the excluded ones included."""
    members = {member.name for h in cluster.hypernodes for member in h.members if member.type == "Node"}
    return frozenset(stated_nodes(cluster) | members)


def node_selectors(nodes: Sequence[str], known: NodeIndex) -> list[dict[str, Any]]:
    """Give the selectors of a HyperNode's node members among the known nodes of its cluster.

    >>> node_selectors(["n1", "n2", "n3"], NodeIndex({name: {} for name in ("n1", "n2", "n3", "n30")}))
    [{'regexMatch': {'pattern': '^n[1-3]$'}}]
    """
    if len(nodes) >= MIN_NODES_FOR_PATTERN:
        pattern = names_pattern(nodes)
        if known.select_pattern(pattern) == sorted(nodes) and len(pattern) < sum(len(name) + 30 for name in nodes):
            return [{"regexMatch": {"pattern": pattern}}]
    return [{"exactMatch": {"name": name}} for name in nodes]


def names_pattern(names: Sequence[str]) -> str:
    """Give a Go regular expression for exactly these names.

    >>> names_pattern(["gpu-08", "gpu-09", "gpu-10", "gpu-11"])
    '^gpu-(0[8-9]|1[0-1])$'
    """
    alternatives = [_pattern_of(text) for text in compress_hosts(names)]
    return f"^{alternatives[0]}$" if len(alternatives) == 1 else f"^({'|'.join(alternatives)})$"


def _pattern_of(host_list: str) -> str:
    head, bracket, rest = host_list.partition("[")
    if not bracket:
        return _escaped(host_list)
    ranges, _, tail = rest.partition("]")
    numbers: list[str] = []
    for part in ranges.split(","):
        first, _, last = part.partition("-")
        numbers += _range_patterns(first, last or first)
    shared = _shared_digits(numbers)
    rests = [number[len(shared) :] for number in numbers]
    joined = rests[0] if len(rests) == 1 else f"({'|'.join(rests)})"
    return _escaped(head) + shared + joined + _escaped(tail)


def _shared_digits(numbers: Sequence[str]) -> str:
    """Give the digits that all number patterns begin with: a longer prefix makes a pattern quicker to match."""
    digits = ""
    for column in zip(*numbers, strict=False):
        if len(set(column)) > 1 or not column[0].isdigit():
            break
        digits += column[0]
    return digits if len(numbers) > 1 and all(len(number) > len(digits) for number in numbers) else ""


def _range_patterns(first: str, last: str) -> list[str]:
    """Give patterns for all numbers from first to last, each as wide as it is written."""
    if len(first) < len(last):
        return _range_patterns(first, "9" * len(first)) + _range_patterns("1" + "0" * len(first), last)
    if first == last:
        return [first]
    if len(first) == 1:
        return [f"[{first}-{last}]"]
    if first[0] == last[0]:
        return [first[0] + tail for tail in _range_patterns(first[1:], last[1:])]
    zeros, nines = "0" * (len(first) - 1), "9" * (len(first) - 1)
    low, high = int(first[0]), int(last[0])
    before = [] if first[1:] == zeros else [first[0] + tail for tail in _range_patterns(first[1:], nines)]
    after = [] if last[1:] == nines else [last[0] + tail for tail in _range_patterns(zeros, last[1:])]
    low, high = low + bool(before), high - bool(after)
    digits = "[0-9]" * len(zeros)
    middle = [] if low > high else [(f"[{low}-{high}]" if low < high else str(low)) + digits]
    return before + middle + after


def _escaped(text: str) -> str:
    return "".join(c if c.isalnum() or c in "-_" else "\\" + c for c in text)


def hypernodes_yaml(fleet: Fleet) -> str:
    """Give all HyperNode objects as YAML documents."""
    return documents_text(hypernode_objects(fleet))


def discovery_yaml(fleet: Fleet) -> tuple[str, list[Finding]]:
    """Give Volcano's label discovery configuration, one ConfigMap per cluster whose tiers come from labels.

    The other clusters are named in findings (HF349).
    """
    texts: list[str] = []
    findings: list[Finding] = []
    for cluster in fleet.clusters:
        if not cluster.topology_labels:
            findings.append(_no_labels(cluster.name))
            continue
        settings = {
            "networkTopologyDiscovery": [
                {"source": "label", "enabled": True, "config": {"networkTopologyTypes": _types(cluster)}}
            ]
        }
        config_map = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "volcano-controller-configmap", "namespace": "volcano-system"},
            "data": {"volcano-controller.conf": block_text(settings)},
        }
        head = f"---\n# cluster {cluster.name}: merge with what its volcano-controller-configmap holds already\n"
        texts.append(head + block_text(config_map))
    return "".join(texts), findings


def _types(cluster: Cluster) -> dict[str, list[dict[str, str]]]:
    several = len(cluster.topology_labels) > 1
    base = slug(cluster.name)[: MAX_TYPE_NAME - 3].strip("-")
    return {
        f"{base}-{i}" if several else base: [{"nodeLabel": key} for key in (*reversed(keys), "kubernetes.io/hostname")]
        for i, keys in enumerate(cluster.topology_labels)
    }


def _no_labels(cluster: str) -> Finding:
    return Finding(
        code="HF349",
        severity="warning",
        message="its tiers do not come from node labels, so no label discovery can be written for it",
        where=f"cluster {cluster}",
        hint="write HyperNodes with --hypernodes instead",
    )
