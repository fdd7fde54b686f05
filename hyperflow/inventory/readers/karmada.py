"""Karmada Cluster objects: what the plane believes, and whether it can place a job there at all."""

from collections.abc import Mapping
from typing import Any

from hyperflow.admission.karmada_estimator import DEFAULT_MODELS
from hyperflow.errors import Finding
from hyperflow.inventory.mapping_fields import shown
from hyperflow.inventory.readers.nodes import read_quantities
from hyperflow.json_tree import dig, is_sequence, mapping, sequence, text
from hyperflow.spec.fleet import KarmadaView, ResourceModelGrade, Taint
from hyperflow.units import parse_quantity

_OPEN = 2**63 - 1
JOB_GROUP = "batch.volcano.sh/v1alpha1"


def read_cluster_object(value: Mapping[str, Any], where: str) -> tuple[str, str, KarmadaView | None, list[Finding]]:
    """Read one Cluster object: its name, region, view and findings; without a name the view is None."""
    name = text(dig(value, "metadata", "name"))
    if not name:
        message = "an object has no metadata.name and is left out"
        return "", "", None, [Finding(code="HF308", message=message, where=where, severity="warning")]
    place = f"{where}: Cluster {name}"
    findings: list[Finding] = []
    status = mapping(value.get("status"))
    summary = status.get("resourceSummary")
    sums = {
        key: read_quantities(mapping(summary).get(key), f"{place}: status.resourceSummary.{key}", findings)
        for key in ("allocatable", "allocated", "allocating")
    }
    view = KarmadaView(
        unusable=_unusable(value),
        nodes_total=_count(dig(status, "nodeSummary", "totalNum")),
        nodes_ready=_count(dig(status, "nodeSummary", "readyNum")),
        labels={k: v for k, v in mapping(dig(value, "metadata", "labels")).items() if isinstance(v, str)},
        taints=_taints(value),
        resource_models=_models(value, place, findings),
        modelings=_modelings(summary),
        allocatable=sums["allocatable"] if summary is not None else None,
        allocated=sums["allocated"],
        allocating=sums["allocating"],
    )
    return name, text(dig(value, "spec", "region")), view, findings


def _unusable(value: Mapping[str, Any]) -> str:
    """Say why Karmada places nothing there, "" where it does or the object does not tell (no status yet)."""
    status = value.get("status")
    if not status:
        return ""
    for item in sequence(dig(status, "conditions")):
        if mapping(item).get("type") == "Ready" and mapping(item).get("status") != "True":
            return f"the cluster is not ready (Ready={shown(mapping(item).get('status'))})"
    for taint in _taints(value):
        if taint.effect == "NoExecute":
            return f"taint {taint.key}:NoExecute"
    enabled = dig(status, "apiEnablements")
    if is_sequence(enabled):
        for group in enabled:
            kinds = [mapping(resource).get("kind") for resource in sequence(mapping(group).get("resources"))]
            if mapping(group).get("groupVersion") == JOB_GROUP and "Job" in kinds:
                return ""
        return f"it does not serve Job of {JOB_GROUP}: Volcano is missing there"
    return ""


def _taints(value: Mapping[str, Any]) -> tuple[Taint, ...]:
    taints: list[Taint] = []
    for item in sequence(dig(value, "spec", "taints")):
        key, effect = text(mapping(item).get("key")), mapping(item).get("effect")
        if key and effect in ("NoSchedule", "PreferNoSchedule", "NoExecute"):
            taints.append(Taint(key=key, value=text(mapping(item).get("value")), effect=effect))
    return tuple(taints)


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _models(value: Mapping[str, Any], place: str, findings: list[Finding]) -> tuple[ResourceModelGrade, ...] | None:
    """Read spec.resourceModels; left out they are empty on a live object, the defaults on a new one."""
    models = dig(value, "spec", "resourceModels")
    if models is None:
        return () if value.get("status") else DEFAULT_MODELS
    grades: list[ResourceModelGrade] = []
    for i, item in enumerate(sequence(models)):
        ranges: dict[str, tuple[float, float | None]] = {}
        for bounds in sequence(mapping(item).get("ranges")):
            name = text(mapping(bounds).get("name"))
            try:
                low, high = (parse_quantity(str(mapping(bounds).get(key))[:40]) for key in ("min", "max"))
                ranges[name] = (low, None if high >= _OPEN else high)
            except ValueError:
                findings.append(
                    Finding(
                        code="HF319",
                        severity="warning",
                        message=f"the range of {name or 'a resource'} is unreadable and left out",
                        where=f"{place}: spec.resourceModels[{i}]",
                        got=f"{shown(mapping(bounds).get('min'))} to {shown(mapping(bounds).get('max'))}",
                        expected="quantities as min and max",
                    )
                )
        grade = _count(mapping(item).get("grade"))
        grades.append(ResourceModelGrade(grade=i if grade is None else grade, ranges=ranges))
    return tuple(grades)


def _modelings(summary: object) -> dict[int, int]:
    counts: dict[int, int] = {}
    for item in sequence(dig(summary, "allocatableModelings")):
        grade, count = _count(mapping(item).get("grade")), _count(mapping(item).get("count"))
        if grade is not None and count is not None:
            counts[grade] = count
    return counts
