"""Node groups: equal nodes put together, the rest left out by cause."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hyperflow.errors import Finding, Severity
from hyperflow.inventory.hostlists import compress_hosts, expand_hosts
from hyperflow.inventory.label_tree import count_of, name_some
from hyperflow.inventory.readers.node_device import DEVICE_LABEL, IDENTITY_LABELS
from hyperflow.inventory.readers.nodes import NodeFacts
from hyperflow.inventory.readers.pods import Requests
from hyperflow.spec.fleet import Exclusion, NodeGroup

SIZE_TOLERANCE = 1.1
"""Nodes whose cpu or memory differ by more are a group of their own; a group counts as its smallest node."""

_GROUP_LABELS = (*IDENTITY_LABELS, "kubernetes.io/arch", "topology.kubernetes.io/region", "topology.kubernetes.io/zone")

_HINTS = {
    "HF307": "",
    "HF310": "kubectl describe node NAME says why",
    "HF311": "kubectl uncordon NAME",
    "HF312": "if your jobs may run there, read the fleet with --tolerate KEY or --tolerate KEY=VALUE",
    "HF313": "switch MIG off on them to train on whole devices",
    "HF314": "remove the sharing configuration of the device plugin to train on whole devices",
    "HF315": "a device is lost or unhealthy: drain and repair, or use only degrees that fit",
    "HF316": f"label the nodes {DEVICE_LABEL}=NAME, or add the device (docs/how-to/add-a-device.md)",
    "HF317": "they serve virtual machines, not pods",
    "HF318": "check the kubelet's reserved memory",
}


def group_nodes(
    nodes: Mapping[str, NodeFacts],
    usable: set[str],
    domains: Mapping[str, str],
    requests: Requests | None,
) -> tuple[NodeGroup, ...]:
    """Group the usable nodes; `domains` are NVLink domains by node, `requests` what pods hold (None: unknown)."""
    domain_devices: dict[str, list[int]] = {}
    for name in usable:
        if name in domains:
            domain_devices.setdefault(domains[name], []).append(nodes[name].devices.whole)
    buckets: dict[tuple[Any, ...], list[NodeFacts]] = {}
    for name in sorted(usable):
        node = nodes[name]
        assert node.devices.device is not None
        members = domain_devices.get(domains.get(name, ""), [])
        key = (
            node.devices.device.name,
            -node.devices.whole,
            node.devices.resource,
            sum(members) if len(members) > 1 else 0,
            tuple(sorted((t.key, t.value, t.effect) for t in node.taints)),
            node.network.value,
            node.network_bytes_per_second or 0,
        )
        buckets.setdefault(key, []).append(node)
    groups: list[NodeGroup] = []
    for key in sorted(buckets):
        groups += [_group(members, key[3] or None, requests) for members in _alike(buckets[key])]
    return tuple(groups)


def _alike(nodes: Sequence[NodeFacts]) -> list[list[NodeFacts]]:
    """Split nodes where cpu or memory jump by more than the tolerance."""
    return [
        run for same_cpu in _runs(nodes, lambda node: node.cpu) for run in _runs(same_cpu, lambda node: node.memory)
    ]


def _runs(nodes: Sequence[NodeFacts], size: Callable[[NodeFacts], float]) -> list[list[NodeFacts]]:
    runs: list[list[NodeFacts]] = []
    for node in sorted(nodes, key=lambda node: (size(node), node.name)):
        if runs and size(node) <= size(runs[-1][0]) * SIZE_TOLERANCE:
            runs[-1].append(node)
        else:
            runs.append([node])
    return runs


def _group(nodes: Sequence[NodeFacts], nvlink_domain: int | None, requests: Requests | None) -> NodeGroup:
    first = nodes[0]
    device, resource, whole = first.devices.device, first.devices.resource, first.devices.whole
    assert device is not None
    free: int | None = None
    if requests is not None:
        free = sum(max(0, whole - int(requests.get(node.name, {}).get(resource, 0))) for node in nodes)
    labels = {
        key: first.labels[key]
        for key in _GROUP_LABELS
        if key in first.labels and all(node.labels.get(key) == first.labels[key] for node in nodes)
    }
    return NodeGroup(
        device=device.name,
        count=len(nodes),
        devices_per_node=whole,
        resource=resource,
        free_devices=free,
        nvlink_domain=nvlink_domain,
        allocatable={
            "cpu": min(node.cpu for node in nodes),
            "memory": min(node.memory for node in nodes),
            resource: whole,
        },
        labels=labels,
        taints=first.taints,
        node_names=ordered([node.name for node in nodes]),
        network=first.network,
        network_bytes_per_second_per_device=first.network_bytes_per_second,
    )


def ordered(names: Sequence[str]) -> tuple[str, ...]:
    """Sort names as ranges of them are written: n2 before n10."""
    return tuple(name for text in compress_hosts(names) for name in expand_hosts(text))


def leave_out(
    cluster: str, nodes: Mapping[str, NodeFacts], unhealthy: Mapping[str, str]
) -> tuple[set[str], tuple[Exclusion, ...], list[Finding]]:
    """Give the usable nodes, and what is left out: one exclusion and one finding per cause, with the nodes' names."""
    usable = {name for name, node in nodes.items() if node.usable and name not in unhealthy}
    causes: dict[tuple[str, str], list[str]] = {}
    for name, node in nodes.items():
        if node.code:
            causes.setdefault((node.code, node.cause), []).append(name)
    findings = [_finding(cluster, code, cause, names) for (code, cause), names in sorted(causes.items())]
    left_out: dict[str, list[str]] = {}
    for name in nodes.keys() - usable:
        left_out.setdefault(unhealthy.get(name) or nodes[name].cause, []).append(name)
    exclusions = tuple(Exclusion(cause=cause, nodes=ordered(names)) for cause, names in sorted(left_out.items()))
    return usable, exclusions, findings


def _finding(cluster: str, code: str, cause: str, names: list[str]) -> Finding:
    partial = code == "HF315" and not cause.startswith("0 of")
    severity: Severity = "note" if code == "HF307" else "warning"
    return Finding(
        code=code,
        severity=severity,
        message=f"{count_of(len(names), 'node')} {'with less than all devices' if partial else 'left out'}: {cause}",
        where=f"cluster {cluster}",
        got=name_some(names),
        hint=_HINTS[code],
    )
