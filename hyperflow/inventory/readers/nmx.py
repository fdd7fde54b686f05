"""NetQ / NMX compute nodes: NVLink domains and the devices of each node."""

from collections.abc import Sequence
from typing import Any

from hyperflow.errors import Finding, InputError
from hyperflow.inventory.label_tree import count_of, name_some
from hyperflow.inventory.mapping_fields import shown
from hyperflow.inventory.readers.fabric import Fabric, is_node_name
from hyperflow.json_tree import is_sequence, mapping, sequence, text
from hyperflow.spec.fleet import HyperNode, HyperNodeMember


def is_compute_nodes(value: object) -> bool:
    """Say whether a document is NMX's list of compute nodes."""
    return is_sequence(value) and bool(value) and "DomainUUID" in mapping(value[0])


def read_compute_nodes(value: Sequence[Any], file: str) -> Fabric:
    """Read NMX compute nodes: one NVLink domain per DomainUUID; nodes that are not healthy are left out and named."""
    domains: dict[str, list[str]] = {}
    devices: dict[str, int] = {}
    ill: list[str] = []
    for i, item in enumerate(value):
        node = mapping(item)
        name, domain = text(node.get("Name")), text(node.get("DomainUUID"))
        if not is_node_name(name) or not domain:
            message = "a compute node has no usable Name or no DomainUUID"
            raise InputError(Finding(code="HF337", message=message, where=f"{file}: [{i}]", got=shown(name)))
        devices[name] = len(sequence(node.get("GpuIDList")))
        if text(node.get("Health"), "HEALTHY") != "HEALTHY":
            ill.append(name)
        else:
            domains.setdefault(domain, []).append(name)
    hypernodes = [
        HyperNode(
            name=f"nvlink-{domain}".lower(),
            tier=1,
            tier_name="nvlink",
            members=tuple(HyperNodeMember(type="Node", name=name) for name in dict.fromkeys(names)),
        )
        for domain, names in sorted(domains.items())
    ]
    findings = [
        Finding(
            code="HF309",
            severity="warning",
            message=f"{count_of(len(ill), 'unhealthy node')} left out",
            where=file,
            got=name_some(ill),
        )
    ] * bool(ill)
    return Fabric(
        source="NMX compute nodes",
        hypernodes=tuple(hypernodes),
        nodes=tuple(devices),
        accelerator_domains={name: domain for domain, names in domains.items() for name in names},
        devices=devices,
        findings=tuple(findings),
    )
