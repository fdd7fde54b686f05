"""Objects as the API server gives them, made small."""

import json

import pytest

from hyperflow.inventory.fleet import read_fleet


def make_node(name, labels=None, gpus=8, capacity=None, resource="nvidia.com/gpu", **parts):
    """A ready H100 node unless told otherwise; `parts` replace spec, conditions, memory or cpu."""
    sizes = {"cpu": parts.get("cpu", "192"), "memory": parts.get("memory", "2000Gi"), "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"} if labels is None else labels,
        },
        "spec": parts.get("spec", {}),
        "status": {
            "allocatable": {**sizes, resource: str(gpus)},
            "capacity": {**sizes, resource: str(gpus if capacity is None else capacity)},
            "conditions": parts.get("conditions", [{"type": "Ready", "status": "True"}]),
        },
    }


def make_hypernode(name, tier, members, tier_name="", **parts):
    """A HyperNode; members are node names, `@name` for a HyperNode, or a selector."""
    listed = []
    for member in members:
        if isinstance(member, dict):
            listed.append({"type": "Node", "selector": member})
        else:
            kind = "HyperNode" if member.startswith("@") else "Node"
            listed.append({"type": kind, "selector": {"exactMatch": {"name": member.removeprefix("@")}}})
    spec = {"tier": tier, "members": listed} | ({"tierName": tier_name} if tier_name else {})
    return {
        "apiVersion": "topology.volcano.sh/v1alpha1",
        "kind": "HyperNode",
        "metadata": {"name": name},
        "spec": spec,
        **parts,
    }


@pytest.fixture
def node():
    return make_node


@pytest.fixture
def hypernode():
    return make_hypernode


@pytest.fixture
def read(tmp_path):
    """Write objects to one file, read the fleet, give it with its findings by code."""

    def read_objects(objects, name="beijing.json", **options):
        path = tmp_path / name
        path.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": objects}))
        fleet, findings = read_fleet([path], **options)
        return fleet, {finding.code: finding for finding in findings}

    return read_objects
