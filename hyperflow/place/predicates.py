"""Which nodes a pod may use at all: readiness, cordon, taints, selectors and required node affinity."""

from collections.abc import Callable, Mapping

from hyperflow.place.records import NodeRecord, PodShape, Requirement, Toleration
from hyperflow.spec.fleet import Taint

UNSCHEDULABLE = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


def _number(text: str) -> int | None:
    return int(text) if text.lstrip("-").isdigit() else None


def _compare(found: str, values: tuple[str, ...], larger: bool) -> bool:
    have, limit = _number(found), _number(values[0]) if len(values) == 1 else None
    return have is not None and limit is not None and (have > limit if larger else have < limit)


_OPERATORS: Mapping[str, Callable[[str | None, tuple[str, ...]], bool]] = {
    "In": lambda found, values: found in values,
    "NotIn": lambda found, values: found not in values,
    "Exists": lambda found, values: found is not None,
    "DoesNotExist": lambda found, values: found is None,
    "Gt": lambda found, values: found is not None and _compare(found, values, True),
    "Lt": lambda found, values: found is not None and _compare(found, values, False),
}
OPERATORS = tuple(_OPERATORS)


def tolerates(tolerations: tuple[Toleration, ...], taint: Taint) -> bool:
    """Say whether one of the tolerations covers the taint."""
    for toleration in tolerations:
        if toleration.effect and toleration.effect != taint.effect:
            continue
        if toleration.key and toleration.key != taint.key:
            continue
        if toleration.operator == "Exists" or (toleration.key and toleration.value == taint.value):
            return True
    return False


def why_not(node: NodeRecord, shape: PodShape) -> str:
    """Name the first rule that keeps such pods off the node, resources apart; empty when none does."""
    if node.cordoned and not tolerates(shape.tolerations, UNSCHEDULABLE):
        return "cordoned"
    for taint in node.taints:
        if taint.effect != "PreferNoSchedule" and not tolerates(shape.tolerations, taint):
            return f"taint {taint.key}{'=' + taint.value if taint.value else ''}"
    for key, value in shape.node_selector:
        if node.labels.get(key) != value:
            return f"nodeSelector {key}={value}"
    if shape.affinity is not None and not any(_term_holds(node, term) for term in shape.affinity):
        return "node affinity"
    return ""


def _term_holds(node: NodeRecord, term: tuple[Requirement, ...]) -> bool:
    """An empty term matches no node, as in Kubernetes."""
    return bool(term) and all(
        _OPERATORS[r.operator](node.name if r.on_name else node.labels.get(r.key), r.values)
        for r in term
        if r.operator in _OPERATORS
    )
