"""Documents of small clusters and jobs, and one call that reads and places them."""

from types import SimpleNamespace

import pytest

from hyperflow.inventory.documents import Document
from hyperflow.inventory.place_objects import read_placement
from hyperflow.place.advice import judge_input
from hyperflow.place.placer import place_jobs


def node(name, labels=None, gpus=8, cpu=64, **spec):
    allocatable = {"cpu": str(cpu), "memory": "512Gi", "pods": "110", "nvidia.com/gpu": str(gpus)}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels or {}},
        "spec": spec,
        "status": {"allocatable": allocatable, "conditions": [{"type": "Ready", "status": "True"}]},
    }


def hypernode(name, tier, members, tier_name="", kind="Node"):
    found = [{"type": kind, "selector": {"exactMatch": {"name": m}}} for m in members]
    spec = {"tier": tier, "members": found} | ({"tierName": tier_name} if tier_name else {})
    return {
        "apiVersion": "topology.volcano.sh/v1alpha1",
        "kind": "HyperNode",
        "metadata": {"name": name},
        "spec": spec,
    }


def leaves(count=4, size=4):
    """Leaves of `size` nodes, two leaves a mid, one top over all."""
    nodes = [node(f"n{leaf}-{i}", {"leaf": f"l{leaf}"}) for leaf in range(count) for i in range(size)]
    tree = [hypernode(f"l{n}", 1, [f"n{n}-{i}" for i in range(size)], "leaf") for n in range(count)]
    mids = [hypernode(f"m{n}", 2, [f"l{2 * n}", f"l{2 * n + 1}"], "mid", "HyperNode") for n in range(count // 2)]
    top = [hypernode("top", 3, [f"m{n}" for n in range(count // 2)], "top", "HyperNode")]
    return nodes + tree + mids + top


def vcjob(name, replicas, topology=None, *, gpus=8, minimum=None, partition=None, queue="default", pod=None, cpu="8"):
    requests = {"cpu": cpu, "nvidia.com/gpu": str(gpus)} if gpus else {"cpu": cpu}
    spec = {"containers": [{"name": "c", "resources": {"requests": requests}}], **(pod or {})}
    task = {"name": "w", "replicas": replicas, "template": {"spec": spec}}
    if partition:
        task["partitionPolicy"] = partition
    body = {"queue": queue, "tasks": [task]}
    if minimum:
        task["minAvailable"] = body["minAvailable"] = minimum
    if topology:
        body["networkTopology"] = topology
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default"},
        "spec": body,
    }


def hard(tier):
    return {"mode": "hard", "highestTierAllowed": tier}


def parts(count, size, minimum=None, tier=1):
    policy = {"totalPartitions": count, "partitionSize": size}
    if minimum is not None:
        policy["minPartitions"] = minimum
    if tier is not None:
        policy["networkTopology"] = hard(tier)
    return policy


def running(job, nodes, *, gpus=8, queue=None):
    labels = {"volcano.sh/job-name": job} | ({"volcano.sh/queue-name": queue} if queue else {})
    requests = {"cpu": "8", "nvidia.com/gpu": str(gpus)}
    return [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"{job}-w-{at}", "namespace": "default", "labels": labels},
            "spec": {"nodeName": name, "containers": [{"name": "c", "resources": {"requests": requests}}]},
        }
        for at, name in enumerate(nodes)
    ]


def queue(name, *, capability=None, guarantee=None, **spec):
    body = dict(spec)
    if capability:
        body["capability"] = capability
    if guarantee:
        body["guarantee"] = {"resource": guarantee}
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": body,
        "status": {"state": "Open"},
    }


def read(values):
    return read_placement([Document(file="in.yaml", index=at, value=value) for at, value in enumerate(values)])


def place(values, **options):
    """Give the placements by job name."""
    given = read(values)
    return {p.job: p for p in place_jobs(given.clusters, given.jobs, **options).placements}


def findings(values):
    given = read(values)
    return [*given.findings, *judge_input(given.clusters, given.jobs)]


@pytest.fixture(scope="session")
def kit():
    """The builders above under one name."""
    return SimpleNamespace(
        node=node, hypernode=hypernode, leaves=leaves, vcjob=vcjob, hard=hard, parts=parts, running=running,
        queue=queue, read=read, place=place, findings=findings,
    )  # fmt: skip
