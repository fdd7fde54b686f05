"""The bundle against the CRDs that the servers really have: fields that they drop, defaults that change the job.

The shipped HyperJob CRD knows neither partitionPolicy nor highestTierName and sets highestTierAllowed 1, so a hard
constraint by name becomes another one without a word.
"""

import copy
from collections.abc import Iterator
from typing import Any

from hyperflow.admission.shapes import Shape, shape_of
from hyperflow.admission.structure import unknown_fields, with_defaults
from hyperflow.catalog.targets import first_version
from hyperflow.errors import Finding
from hyperflow.inventory.bundle_reader import StoredBundle
from hyperflow.json_tree import dig, is_mapping, is_sequence, mapping, sequence, text
from hyperflow.submit.plane import Plane
from hyperflow.submit.refusals import RefusedError
from hyperflow.submit.server_kinds import CRD, JOB, ServerKind, kind_of

Json = dict[str, Any]
_FEATURES = {
    "partitionPolicy": "partition-policy",
    "highestTierName": "highest-tier-name",
    "networkTopology": "network-topology",
}


def live_shape(plane: Plane, kind: ServerKind) -> Shape | None:
    """Give the schema of a kind as the server has it; None for built-in kinds, raises RefusedError where unreadable."""
    if "." not in kind.group or (kind.group.endswith(".k8s.io") and kind.group != "multicluster.x-k8s.io"):
        return None
    crd = plane.get(CRD, kind.resource)
    if crd is None:
        return None
    version = kind.api_version.rpartition("/")[2]
    for item in sequence(dig(crd, "spec", "versions")):
        if dig(item, "name") == version:
            return shape_of(dig(item, "schema", "openAPIV3Schema"))
    return None


def check_live_schemas(plane: Plane, bundle: StoredBundle) -> list[Finding]:
    """Find fields that the plane's CRDs drop (HF506) and defaults that change the meaning (HF522).

    Where the CRDs may not be read, a note says so (HF524); the strict dry run then finds the same later.
    """
    findings: list[Finding] = []
    shapes: dict[str, Shape | None] = {}
    for document in bundle.documents:
        kind = kind_of(document.value)
        if kind.resource not in shapes:
            try:
                shapes[kind.resource] = live_shape(plane, kind)
            except RefusedError as error:
                if error.refusal.meaning not in ("forbidden", "no-kind"):
                    raise
                shapes[kind.resource] = None
                if error.refusal.meaning == "forbidden":
                    findings.append(unread(kind.resource, error, f"context {plane.context}"))
        shape = shapes[kind.resource]
        if shape is not None:
            findings += schema_findings(document.value, shape, f"{document.file}", "plane")
    return findings + (_children_on_plane(plane, bundle) if bundle.mode == "hyperjob" else [])


def _children_on_plane(plane: Plane, bundle: StoredBundle) -> list[Finding]:
    """The HyperJob's controller makes vcjobs on the plane, whose Job CRD may be older than the members'."""
    try:
        return check_member_schema(plane, "plane", [(name, spec) for name, _, spec in bundle.job_specs])
    except RefusedError as error:
        if error.refusal.meaning != "forbidden":
            raise
        return []  # said already for the HyperJob's own CRD


def check_member_schema(plane: Plane, cluster: str, specs: list[tuple[str, Json]]) -> list[Finding]:
    """Find fields of the vcjobs that a member's CRD drops or defaults otherwise."""
    shape = live_shape(plane, JOB)
    if shape is None:
        return [_absent(cluster)]
    documents = [{"apiVersion": JOB.api_version, "kind": "Job", "spec": spec} for _, spec in specs]
    names = [name for name, _ in specs]
    return [f for name, d in zip(names, documents, strict=True) for f in schema_findings(d, shape, name, f"{cluster}")]


def _absent(cluster: str) -> Finding:
    return Finding(
        code="HF507",
        message=f"the server does not serve {JOB.resource} ({JOB.api_version})",
        where=cluster,
        hint="install Volcano there",
    )


def unread(resource: str, error: RefusedError, where: str) -> Finding:
    """Say that something may not be read, so that it was not checked (HF524)."""
    return Finding(
        code="HF524",
        severity="note",
        message=f"{resource} may not be read, so it was not checked: {error.refusal.message}",
        where=where,
        hint=f"the right to get {resource} lets HyperFlow check it before anything is created",
    )


def schema_findings(document: Json, shape: Shape, where: str, server: str) -> list[Finding]:
    """Compare one document with a live schema: pruned fields and added values that matter."""
    kind = text(document.get("kind"))
    owner = "the plane's" if server == "plane" else f"{server}'s"
    findings = [
        Finding(
            code="HF506",
            message=f"{owner} {kind} CRD drops {path_text(problem.path)}",
            where=where,
            expected="a CRD that keeps the field",
            hint=_cure(kind, [str(step) for step in problem.path]),
        )
        for problem in unknown_fields(document, shape)
    ]
    for path, value in _harmful_defaults(document, shape):
        findings.append(
            Finding(
                code="HF522",
                message=f"{owner} {kind} CRD sets {path} to {value}, which changes the job",
                where=where,
                expected="no default beside highestTierName",
                hint="hyperflow crd --context CONTEXT prints a CRD without this default",
            )
        )
    return findings


def _cure(kind: str, path: list[str]) -> str:
    """Say how the field is kept: another HyperJob CRD, or the lowest Volcano version whose CRD has it."""
    if kind == "HyperJob":
        return "hyperflow crd --context CONTEXT prints one; or compile again with --mode direct"
    feature = next((feature for name, feature in _FEATURES.items() if name in path), "")
    version = first_version("volcano", feature) if feature else None
    return f"install the CRDs of Volcano {version} or later" if version else "install the CRDs of a later version"


def _harmful_defaults(document: Json, shape: Shape) -> Iterator[tuple[str, object]]:
    """Defaults beside a topology constraint: two tiers at once, or a tier for soft."""
    defaulted = copy.deepcopy({name: document[name] for name in shape.fields if name in document})
    with_defaults(defaulted, shape)
    yield from _new_tiers(document, defaulted, "")


def _new_tiers(before: Any, after: Any, path: str) -> Iterator[tuple[str, object]]:
    if is_mapping(after):
        if path.endswith("networkTopology") and "highestTierAllowed" in after:
            given = mapping(before)
            if "highestTierAllowed" not in given and (given.get("highestTierName") or given.get("mode") == "hard"):
                yield f"{path}.highestTierAllowed", after["highestTierAllowed"]
        for name, value in after.items():
            yield from _new_tiers(mapping(before).get(name), value, f"{path}.{name}" if path else name)
    elif is_sequence(after):
        for i, value in enumerate(after):
            yield from _new_tiers(dig(before, i), value, f"{path}[{i}]")


def path_text(path: tuple[str | int, ...]) -> str:
    """Write a path as people do.

    >>> path_text(("spec", "tasks", 0, "name"))
    'spec.tasks[0].name'
    """
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).lstrip(".")
