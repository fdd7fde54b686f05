"""Kubernetes Node objects: what each node offers, and why it cannot be used where it cannot."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hyperflow.catalog.devices import device_resources
from hyperflow.errors import Finding
from hyperflow.inventory.mapping_fields import shown
from hyperflow.inventory.readers.node_device import NodeDevices, read_devices
from hyperflow.json_tree import dig, is_mapping, mapping, sequence, text
from hyperflow.spec.fleet import LinkKind, Taint
from hyperflow.units import gigabits_per_second, parse_quantity

CLUSTER_LABEL = "hyperflow.io/cluster"
MIN_MEMORY_PER_DEVICE = 1024**3
"""A node with less main memory per device cannot hold a training process: Python and CUDA alone take more."""

MAX_LABEL = 63
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
_ACCELERATOR_WORDS = ("gpu", "npu", "tpu", "accelerator", "gaudi", "ascend")
_CAPACITY_TAINTS = ("kubernetes.azure.com/scalesetpriority", "cloud.google.com/gke-spot", "kwok.x-k8s.io/node")


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFacts:
    """One node as read. `code` and `cause` are those of NodeDevices, or say why the whole node is out of use."""

    name: str
    labels: Mapping[str, str]
    devices: NodeDevices
    usable: bool
    code: str
    cause: str
    cpu: float
    memory: float
    taints: tuple[Taint, ...]
    network: LinkKind
    network_bytes_per_second: float | None
    conditions_stated: bool


def read_node(value: Mapping[str, Any], where: str, tolerate: Sequence[str]) -> tuple[NodeFacts | None, list[Finding]]:
    """Read one Node object; None where it has no name.

    `tolerate` are taint keys, or `key=value` pairs, that the jobs carry a toleration for.
    """
    name = dig(value, "metadata", "name")
    if not isinstance(name, str) or len(name) > 253 or not _NAME.fullmatch(name):
        return None, [_nameless(name, where)]
    findings: list[Finding] = []
    labels = {k: v for k, v in mapping(dig(value, "metadata", "labels")).items() if isinstance(v, str)}
    findings += [_long_label(name, key, where) for key, label in labels.items() if len(label) > MAX_LABEL]
    status = mapping(value.get("status"))
    allocatable = read_quantities(status.get("allocatable"), f"{where}: node {name}: status.allocatable", findings)
    capacity = read_quantities(status.get("capacity"), f"{where}: node {name}: status.capacity", findings)
    devices = read_devices(labels, allocatable or capacity, capacity or allocatable)
    taints = _read_taints(value)
    code, cause = _out_of_use(value, taints, tolerate)
    memory = allocatable.get("memory", 0)
    if not code and not devices.whole:
        code, cause = devices.code, devices.cause
    if not code and 0 < memory < MIN_MEMORY_PER_DEVICE * devices.whole:
        code, cause = "HF318", f"{memory / 1024**3:.1f} GiB of main memory for {devices.whole} devices"
    network, speed = _read_network(labels, allocatable, devices.whole)
    return (
        NodeFacts(
            name=name,
            labels=labels,
            devices=devices,
            usable=not code,
            code=code or devices.code,
            cause=cause or devices.cause,
            cpu=allocatable.get("cpu", 0),
            memory=memory,
            taints=tuple(taint for taint in taints if taint.effect != "PreferNoSchedule"),
            network=network,
            network_bytes_per_second=speed,
            conditions_stated="conditions" in status,
        ),
        findings,
    )


def _nameless(name: object, where: str) -> Finding:
    message = "a node has no name that Kubernetes would take and is left out"
    return Finding(code="HF308", severity="warning", message=message, where=where, got=shown(name))


def _long_label(node: str, key: str, where: str) -> Finding:
    return Finding(
        code="HF348",
        severity="warning",
        message=f"label {shown(key)} is longer than the {MAX_LABEL} characters that Kubernetes allows",
        where=f"{where}: node {node}",
        hint="no API server has given this list; check what changed it",
    )


def read_quantities(value: object, where: str, findings: list[Finding]) -> dict[str, float]:
    """Read a mapping of quantities; each unreadable or negative one is a finding (HF319) and left out."""
    if value is not None and not is_mapping(value):
        findings.append(_bad_quantity("this", value, where))
    read: dict[str, float] = {}
    for name, quantity in mapping(value).items():
        try:
            if not isinstance(quantity, str | int | float) or isinstance(quantity, bool):
                raise ValueError
            number = parse_quantity(quantity)
            if number < 0 or number > 1e300:
                raise ValueError
            read[str(name)] = number
        except ValueError:
            findings.append(_bad_quantity(str(name), quantity, where))
    return read


def _bad_quantity(name: str, value: object, where: str) -> Finding:
    return Finding(
        code="HF319",
        severity="warning",
        message=f"{shown(name)} is not a quantity and counts as 0",
        where=where,
        got=shown(value),
        expected="a Kubernetes quantity such as 8, 95690m or 192Gi",
    )


def _read_taints(value: Mapping[str, Any]) -> list[Taint]:
    taints: list[Taint] = []
    for item in sequence(dig(value, "spec", "taints")):
        effect = mapping(item).get("effect")
        key = text(mapping(item).get("key"))
        if key and effect in ("NoSchedule", "PreferNoSchedule", "NoExecute"):
            taints.append(Taint(key=key, value=text(mapping(item).get("value")), effect=effect))
    return taints


def _out_of_use(value: Mapping[str, Any], taints: list[Taint], tolerate: Sequence[str]) -> tuple[str, str]:
    for item in sequence(dig(value, "status", "conditions")):
        if mapping(item).get("type") == "Ready" and mapping(item).get("status") != "True":
            return "HF310", f"not ready (Ready={shown(mapping(item).get('status'))})"
    if dig(value, "spec", "unschedulable") is True:
        return "HF311", "cordoned"
    for taint in taints:
        if taint.effect != "PreferNoSchedule" and not is_tolerated(taint, tolerate):
            pair = f"{taint.key}={taint.value}" if taint.value else taint.key
            return "HF312", f"taint {pair}:{taint.effect}"
    return "", ""


def is_tolerated(taint: Taint, tolerate: Sequence[str]) -> bool:
    """Say whether jobs carry a toleration: for taints that mark accelerators or cheap capacity, and for those named.

    Compiled jobs tolerate the taints of the node groups that they run on.
    """
    if f"{taint.key}={taint.value}" in tolerate or taint.key in tolerate:
        return True
    if taint.key.startswith(("node.kubernetes.io/", "node-role.kubernetes.io/")):
        return False
    words = f"{taint.key} {taint.value}".casefold()
    return (
        taint.key in device_resources()
        or taint.key in _CAPACITY_TAINTS
        or any(word in words for word in _ACCELERATOR_WORDS)
    )


def _read_network(
    labels: Mapping[str, str], allocatable: Mapping[str, float], devices: int
) -> tuple[LinkKind, float | None]:
    """Give the scale-out network: its kind by what the vendor's labels and resources say, and its speed if stated."""
    kind = LinkKind.INFINIBAND
    flavor = labels.get("backend.coreweave.cloud/flavor", "")
    if "vpc.amazonaws.com/efa" in allocatable or any(key.startswith("cloud.google.com/") for key in labels):
        kind = LinkKind.ETHERNET
    over_ethernet = any(key.startswith("oci.oraclecloud.com/rdma.") for key in labels)
    if flavor == "roce" or over_ethernet or any(key.startswith("huawei.com/") for key in allocatable):
        kind = LinkKind.ROCE
    megabits = labels.get("karpenter.k8s.aws/instance-network-bandwidth", "")
    if devices and megabits.isascii() and megabits.isdigit() and int(megabits[:12]) > 0:
        return kind, gigabits_per_second(int(megabits[:12]) / 1000) / devices
    return kind, None
