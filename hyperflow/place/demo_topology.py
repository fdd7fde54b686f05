"""The 118-node demonstration: rows of racks of equal nodes, their HyperNodes, and jobs that fill racks or rows.

The names are those of the talk it follows: node-region1-zone1-dc1-rowX-rackYY-nodeZZ.
"""

from collections.abc import Iterator
from dataclasses import dataclass

_SITE = "node-region1-zone1-dc1"
_GPUS = 4
_RESOURCES = {"cpu": "64", "memory": "512Gi", "pods": "110", "nvidia.com/gpu": str(_GPUS)}


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoSize:
    """Rows, racks in a row, nodes in a rack, and nodes outside every HyperNode."""

    rows: int = 2
    racks: int = 3
    nodes: int = 18
    extra: int = 10


def demo_documents(size: DemoSize) -> dict[str, list[dict[str, object]]]:
    """Give the documents by file stem: nodes, hypernodes, jobs-racks and jobs-rows.

    `jobs-racks` holds one whole-rack job per rack of a row, `jobs-rows` one whole-row job per row.
    """
    racks = [f"row{row}-rack{rack:02d}" for row, rack in _racks(size)]
    nodes = [_node(f"{_SITE}-{rack}-node{n:02d}", rack) for rack in racks for n in range(1, size.nodes + 1)]
    nodes += [_node(f"{_SITE}-extra-node{n:02d}", "") for n in range(1, size.extra + 1)]
    hypernodes = [_hypernode(rack, 1, "rack", [_by_rule(rack)]) for rack in racks]
    hypernodes += [
        _hypernode(f"row{row}", 2, "row", [_child(f"row{row}-rack{n:02d}") for n in range(1, size.racks + 1)])
        for row in range(1, size.rows + 1)
    ]
    hypernodes.append(_hypernode("dc1", 3, "dc", [_child(f"row{row}") for row in range(1, size.rows + 1)]))
    whole_row = size.racks * size.nodes
    return {
        "nodes": nodes,
        "hypernodes": hypernodes,
        "jobs-racks": [_job(f"rack-job-{n}", size.nodes, 1) for n in range(1, size.racks + 1)],
        "jobs-rows": [_job(f"row-job-{n}", whole_row, 2) for n in range(1, size.rows + 1)],
    }


def _racks(size: DemoSize) -> Iterator[tuple[int, int]]:
    for row in range(1, size.rows + 1):
        for rack in range(1, size.racks + 1):
            yield row, rack


def _node(name: str, rack: str) -> dict[str, object]:
    labels = {"kubernetes.io/hostname": name, "type": "kwok"}
    if rack:
        labels["topology-row"], labels["topology-rack"] = rack.split("-")[0], rack
    else:
        labels["topology-row"] = "none"
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels, "annotations": {"kwok.x-k8s.io/node": "fake"}},
        "spec": {},
        "status": {
            "allocatable": dict(_RESOURCES),
            "capacity": dict(_RESOURCES),
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
        },
    }


def _by_rule(rack: str) -> dict[str, object]:
    return {"type": "Node", "selector": {"regexMatch": {"pattern": f"^{_SITE}-{rack}-node[0-9]+$"}}}


def _child(name: str) -> dict[str, object]:
    return {"type": "HyperNode", "selector": {"exactMatch": {"name": name}}}


def _hypernode(name: str, tier: int, tier_name: str, members: list[dict[str, object]]) -> dict[str, object]:
    return {
        "apiVersion": "topology.volcano.sh/v1alpha1",
        "kind": "HyperNode",
        "metadata": {"name": name},
        "spec": {"tier": tier, "tierName": tier_name, "members": members},
    }


def _job(name: str, pods: int, tier: int) -> dict[str, object]:
    amounts = {"cpu": "8", "memory": "64Gi", "nvidia.com/gpu": str(_GPUS)}
    container = {
        "name": "worker",
        "image": "busybox:1.36.1",
        "command": ["sleep", "3600"],
        "resources": {"requests": dict(amounts), "limits": dict(amounts)},
    }
    task = {
        "name": "worker",
        "replicas": pods,
        "minAvailable": pods,
        "template": {"spec": {"restartPolicy": "OnFailure", "containers": [container]}},
    }
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "schedulerName": "volcano",
            "queue": "default",
            "minAvailable": pods,
            "maxRetry": 3,
            "networkTopology": {"mode": "hard", "highestTierAllowed": tier},
            "policies": [{"event": "PodFailed", "action": "AbortJob"}, {"event": "PodEvicted", "action": "RestartJob"}],
            "tasks": [task],
        },
    }
