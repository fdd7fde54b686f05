"""Pod templates to pod shapes: requests, selectors, affinity and tolerations, and what of them is not modelled."""

from collections.abc import Mapping
from typing import Any

from hyperflow.errors import Finding, Severity
from hyperflow.inventory.documents import Document
from hyperflow.json_tree import dig, is_mapping, mapping, sequence, text
from hyperflow.place.predicates import OPERATORS
from hyperflow.place.records import PodShape, Requirement, Toleration
from hyperflow.units import parse_quantity


class PlaceNotes:
    """Collects findings; the same text is kept once."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []

    def error(self, code: str, where: str, message: str, got: str | None = None, hint: str = "") -> None:
        """Note what cannot be used."""
        self._add("error", code, where, message, got, hint)

    def warn(self, code: str, where: str, message: str, got: str | None = None, hint: str = "") -> None:
        """Note what is used but likely not meant."""
        self._add("warning", code, where, message, got, hint)

    def note(self, code: str, where: str, message: str, got: str | None = None, hint: str = "") -> None:
        """Note what a reader should know."""
        self._add("note", code, where, message, got, hint)

    def _add(self, severity: Severity, code: str, where: str, message: str, got: str | None, hint: str) -> None:
        finding = Finding(code=code, severity=severity, message=message, where=where, got=got, hint=hint)
        if finding not in self.findings:
            self.findings.append(finding)


def where_of(document: Document) -> str:
    """Name a document: its file, its index, and its kind and name where it has them."""
    kind = text(mapping(document.value).get("kind"))
    name = text(dig(document.value, "metadata", "name"))
    return f"{document.file} document {document.index}" + (f" ({kind} {name})" if kind and name else "")


def amounts(value: object, where: str, notes: PlaceNotes) -> dict[str, float]:
    """Read a resource list; a quantity that cannot be read is an error and left out."""
    found: dict[str, float] = {}
    for name, quantity in mapping(value).items():
        try:
            if isinstance(quantity, bool) or not isinstance(quantity, str | int | float):
                raise ValueError(f"{quantity!r} is not a quantity")
            amount = parse_quantity(quantity)
        except ValueError as error:
            notes.error("HF357", where, f"{name}: {error}", hint="write quantities as 8, 500m or 64Gi")
            continue
        if amount > 2**63:
            notes.error("HF357", where, f"{name}: {quantity} is more than Kubernetes holds", hint="2**63 - 1 at most")
            continue
        if amount < 0:
            notes.error("HF357", where, f"{name}: {quantity} is negative", hint="write quantities as 8, 500m or 64Gi")
            continue
        found[name] = amount
    return found


def pod_requests(spec: Mapping[str, Any], where: str, notes: PlaceNotes) -> dict[str, float]:
    """Sum a pod's requests as Kubernetes does: containers and sidecars, or the largest init container, and overhead."""
    total: dict[str, float] = {}
    sidecars: dict[str, float] = {}
    peak: dict[str, float] = {}
    for container in sequence(spec.get("containers")):
        _grow(total, _container(container, where, notes))
    for container in sequence(spec.get("initContainers")):
        asks = _container(container, where, notes)
        if mapping(container).get("restartPolicy") == "Always":
            _grow(sidecars, asks)
            asks = {}
        for name in {*asks, *sidecars}:
            peak[name] = max(peak.get(name, 0.0), asks.get(name, 0.0) + sidecars.get(name, 0.0))
    _grow(total, sidecars)
    for name, amount in peak.items():
        total[name] = max(total.get(name, 0.0), amount)
    _grow(total, amounts(spec.get("overhead"), where, notes))
    return total


def _container(container: object, where: str, notes: PlaceNotes) -> dict[str, float]:
    limits = amounts(dig(container, "resources", "limits"), where, notes)
    return {**limits, **amounts(dig(container, "resources", "requests"), where, notes)}


def _grow(into: dict[str, float], more: Mapping[str, float]) -> None:
    for name, amount in more.items():
        into[name] = into.get(name, 0.0) + amount


def pod_shape(spec: Mapping[str, Any], where: str, notes: PlaceNotes) -> PodShape:
    """Read what decides on which nodes a pod may be; rules that are not modelled become a warning."""
    for field, said in (
        (dig(spec, "affinity", "podAffinity"), "podAffinity"),
        (dig(spec, "affinity", "podAntiAffinity"), "podAntiAffinity"),
        (spec.get("topologySpreadConstraints"), "topologySpreadConstraints"),
        (spec.get("resourceClaims"), "resourceClaims"),
        (spec.get("nodeName"), "nodeName"),
    ):
        if field:
            notes.warn("HF358", where, f"{said} is not modelled: placement is judged without it")
    tolerations = tuple(
        Toleration(
            key=text(t.get("key")),
            operator=text(t.get("operator")) or "Equal",
            value=text(t.get("value")),
            effect=text(t.get("effect")),
        )
        for t in map(mapping, sequence(spec.get("tolerations")))
    )
    selector = {k: str(v) for k, v in mapping(spec.get("nodeSelector")).items()}
    return PodShape(
        requests=tuple(sorted(pod_requests(spec, where, notes).items())),
        node_selector=tuple(sorted(selector.items())),
        affinity=_affinity(spec, where, notes),
        tolerations=tolerations,
    )


def _affinity(spec: Mapping[str, Any], where: str, notes: PlaceNotes) -> tuple[tuple[Requirement, ...], ...] | None:
    required = dig(spec, "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    if not is_mapping(required):
        return None
    terms: list[tuple[Requirement, ...]] = []
    for term in map(mapping, sequence(required.get("nodeSelectorTerms"))):
        parts: list[Requirement] = []
        for field, on_name in (("matchExpressions", False), ("matchFields", True)):
            for item in map(mapping, sequence(term.get(field))):
                operator = text(item.get("operator"))
                if operator not in OPERATORS:
                    notes.error("HF359", where, f"node affinity operator {operator!r} does not exist")
                values = tuple(map(str, sequence(item.get("values"))))
                parts.append(Requirement(key=text(item.get("key")), operator=operator, values=values, on_name=on_name))
        terms.append(tuple(parts))
    return tuple(terms)
