"""Karmada's own estimate of how many replicas fit a cluster, and the resource models that let a job through.

Seen on a real control plane (Karmada f8fdd02, default gates): each node counts as the lower bound of its grade, a
requested resource that the models do not name makes the estimate 0, and empty models fall back to the cluster's sums.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from hyperflow.errors import Finding
from hyperflow.spec.fleet import Cluster, KarmadaView, ResourceModelGrade

_OPEN_MAXIMUM = str(2**63 - 1)
_GIB = 1024**3


def _default_models() -> tuple[ResourceModelGrade, ...]:
    cpu = [0, 1, 2, 4, 8, 16, 32, 64, 128]
    memory = [0, 4, 16, 32, 64, 128, 256, 512, 1024]
    return tuple(
        ResourceModelGrade(
            grade=i,
            ranges={
                "cpu": (cpu[i], cpu[i + 1] if i < 8 else None),
                "memory": (memory[i] * _GIB, memory[i + 1] * _GIB if i < 8 else None),
            },
        )
        for i in range(9)
    )


DEFAULT_MODELS = _default_models()
"""What Karmada fills in when a Cluster is created without spec.resourceModels: cpu and memory only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """How many replicas Karmada believes to fit, and what limits them in words."""

    replicas: int
    limit: str


def grade_nodes(models: Sequence[ResourceModelGrade], nodes: Iterable[Mapping[str, float]]) -> dict[int, int]:
    """Count nodes per grade: a node has the highest grade whose lower bounds it reaches in every modelled resource."""
    counts: dict[int, int] = {}
    for available in nodes:
        reached = [
            position
            for position, grade in enumerate(models)
            if all(available.get(name, 0) >= low for name, (low, _) in grade.ranges.items())
        ]
        if models:
            position = max(reached, default=0)
            counts[position] = counts.get(position, 0) + 1
    return counts


def estimate_replicas(view: KarmadaView, request: Mapping[str, float]) -> Estimate:
    """Estimate as Karmada's scheduler does, for one pod template; cpu in cores, memory in bytes.

    Without a resource summary Karmada counts 0.
    """
    if view.allocatable is None:
        return Estimate(replicas=0, limit="the cluster reports no resource summary")
    asked = {name: amount for name, amount in request.items() if amount > 0}
    by_sums = _estimate_by_sums(view, asked)
    if not view.resource_models or not view.modelings:
        return by_sums
    by_models = _estimate_by_models(view.resource_models, view.modelings, asked)
    return min(by_sums, by_models, key=lambda estimate: estimate.replicas)


def _estimate_by_sums(view: KarmadaView, asked: Mapping[str, float]) -> Estimate:
    sums = view.allocatable or {}
    best = Estimate(replicas=2**31 - 1, limit="nothing")
    demands = {**asked, "pods": 1} if "pods" in sums else asked
    for name, amount in demands.items():
        free = sums.get(name, 0) - view.allocated.get(name, 0) - view.allocating.get(name, 0)
        fitting = max(0, int(free / amount + 1e-9))
        if fitting < best.replicas:
            best = Estimate(replicas=fitting, limit=f"{amount_text(name, max(0, free))} of {name} free in the cluster")
    return best


def _estimate_by_models(
    models: Sequence[ResourceModelGrade], counts: Mapping[int, int], asked: Mapping[str, float]
) -> Estimate:
    missing = sorted(name for name in asked if not any(name in grade.ranges for grade in models))
    if missing:
        return Estimate(replicas=0, limit=f"{', '.join(missing)} not in its resource models")
    first, limit = 0, ""
    for name, amount in asked.items():
        lows = [grade.ranges.get(name, (0.0, None))[0] for grade in models]
        enough = next((position for position, low in enumerate(lows) if low >= amount), None)
        if enough is None:
            most = amount_text(name, max(lows))
            return Estimate(
                replicas=0, limit=f"a node counts as at most {most} of {name}, the lower bound of its grade"
            )
        if enough >= first:
            first = enough
            most = max((lows[p] for p in range(len(models)) if counts.get(p, 0)), default=0)
            limit = f"nodes count as {amount_text(name, most)} of {name}, the lower bound of their grade"
    total = sum(
        count * _replicas_per_node(models[position], asked)
        for position, count in counts.items()
        if first <= position < len(models)
    )
    return Estimate(replicas=total, limit=limit or "nothing")


def _replicas_per_node(grade: ResourceModelGrade, asked: Mapping[str, float]) -> int:
    lows = {name: grade.ranges.get(name, (0.0, None))[0] for name in asked}
    return min((int(lows[name] / amount + 1e-9) for name, amount in asked.items()), default=0)


def exact_models(shapes: Sequence[Mapping[str, float]]) -> tuple[ResourceModelGrade, ...]:
    """Give the grades whose bounds are the allocatable of the node shapes, or none where no such grades exist.

    Shapes must grow together in every resource, as grades do; otherwise the empty list is the cure.
    """
    names = sorted({name for shape in shapes for name in shape})
    ordered = sorted({tuple(shape.get(name, 0) for name in names) for shape in shapes})
    growing = all(low < high for below, above in pairwise(ordered) for low, high in zip(below, above, strict=True))
    if not ordered or not growing or any(value <= 0 for value in ordered[0]):
        return ()
    bounds = [tuple(0.0 for _ in names), *ordered]
    return tuple(
        ResourceModelGrade(
            grade=i,
            ranges={name: (low[j], bounds[i + 1][j] if i + 1 < len(bounds) else None) for j, name in enumerate(names)},
        )
        for i, low in enumerate(bounds)
    )


def cluster_shapes(cluster: Cluster) -> list[dict[str, float]]:
    """Give the allocatable of each kind of node as Karmada would model it: cpu, memory and accelerators."""
    return [
        {
            **{name: group.allocatable[name] for name in ("cpu", "memory") if name in group.allocatable},
            group.resource: group.devices_per_node,
        }
        for group in cluster.groups
        if group.count
    ]


def models_patch(cluster: Cluster) -> dict[str, Any]:
    """Give the patch of the Cluster object that lets whole-node pods through: exact grades, or the empty list."""
    shapes = cluster_shapes(cluster)
    grades = exact_models(shapes) if all({"cpu", "memory"} <= shape.keys() for shape in shapes) else ()
    return {
        "apiVersion": "cluster.karmada.io/v1alpha1",
        "kind": "Cluster",
        "metadata": {"name": cluster.name},
        "spec": {
            "resourceModels": [
                {
                    "grade": grade.grade,
                    "ranges": [
                        {
                            "name": name,
                            "min": amount_text(name, low),
                            "max": _OPEN_MAXIMUM if high is None else amount_text(name, high),
                        }
                        for name, (low, high) in grade.ranges.items()
                    ],
                }
                for grade in grades
            ]
        },
    }


def amount_text(name: str, value: float) -> str:
    """Write an amount as Kubernetes would: memory in binary units where they divide it, cpu in millicores if needed."""
    if name in ("memory", "ephemeral-storage"):
        for unit, size in (("Gi", _GIB), ("Mi", 1024**2), ("Ki", 1024)):
            if value and value % size == 0:
                return f"{int(value // size)}{unit}"
    return str(int(value)) if value == int(value) else f"{round(value * 1000)}m"


def whole_node_request(cluster: Cluster) -> dict[str, float]:
    """Give the smallest pod that takes all devices of a node: what every training job asks at least."""
    view = cluster.karmada
    for group in cluster.groups:
        if group.count:
            return {group.resource: group.devices_per_node, "cpu": 1, "memory": _GIB}
    offered = sorted(name for name in (view.allocatable or {}) if "/" in name) if view else []
    return {offered[0]: 1, "cpu": 1, "memory": _GIB} if offered else {}


def foresee_refusal(cluster: Cluster, request: Mapping[str, float] | None = None, replicas: int = 1) -> Finding | None:
    """Say that Karmada would refuse so many pods on the cluster (HF340), with the patch that lets them through.

    Without a request: the smallest whole-node pod, and only what the resource models refuse. None where the pods are
    placed or Karmada's view is not known.
    """
    view = cluster.karmada
    asked = dict(request if request is not None else whole_node_request(cluster))
    if view is None or view.allocatable is None or not asked:
        return None
    estimate, by_sums = estimate_replicas(view, asked), _estimate_by_sums(view, asked)
    has_room = by_sums.replicas >= replicas
    if estimate.replicas >= replicas or (request is None and not has_room):
        return None
    pod = ", ".join(f"{name}: {amount_text(name, amount)}" for name, amount in sorted(asked.items()))
    patch = json.dumps({"spec": models_patch(cluster)["spec"]}, separators=(",", ":"))
    return Finding(
        code="HF340",
        severity="warning",
        message=f"{cluster.name} will be refused by Karmada: {estimate.limit if has_room else by_sums.limit}",
        where=f"cluster {cluster.name}",
        got=f"{estimate.replicas} possible of {replicas} pods of {{{pod}}}",
        expected="resource models whose bounds are the nodes' allocatable, or none" if has_room else f"{replicas}",
        hint=f"kubectl patch cluster {cluster.name} --type merge -p '{patch}'" if has_room else "ask for fewer nodes",
    )
