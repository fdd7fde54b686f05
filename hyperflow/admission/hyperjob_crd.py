"""The HyperJob CRD that keeps every field of a vcjob, and what a given one drops.

With the shipped CRD partitionPolicy and highestTierName are unknown in a template. With the vcjob's own spec schema in
their place the shipped controllers pass both on (control-plane recordings of 2026-11-30, section 1.2).
"""

import copy
from collections.abc import Iterator
from typing import Any

from hyperflow.admission.shapes import MISSING, Shape, shape_of
from hyperflow.errors import Finding, InputError
from hyperflow.json_tree import dig, is_mapping, mapping, sequence, text

VCJOB_VERSION = "v1alpha1"
_TEMPLATE = ("schema", "openAPIV3Schema", "properties", "spec", "properties", "replicatedJobs", "items", "properties")
_SERVERS_OWN = ("managedFields", "resourceVersion", "uid", "creationTimestamp", "generation", "selfLink")
_PREFIX = "spec.replicatedJobs[].templateSpec"


def find_crd(documents: list[Any], group: str, kind: str, file: str) -> dict[str, Any]:
    """Give the CRD of a kind among documents; raises InputError (HF890) when it is not there."""
    for document in documents:
        tree = mapping(document)
        spec = mapping(tree.get("spec"))
        names = (text(spec.get("group")), text(dig(spec, "names", "kind")))
        if tree.get("kind") == "CustomResourceDefinition" and names == (group, kind):
            return tree
    kinds = sorted({text(mapping(document).get("kind"), "no kind") for document in documents})
    raise InputError(
        Finding(
            code="HF890",
            message=f"no CustomResourceDefinition of {kind} ({group}) in the file",
            where=file,
            got=", ".join(kinds) or "nothing",
            expected=f"the CRD of {group}/{kind}",
            hint="kubectl get crd hyperjobs.training.volcano.sh -o yaml, or jobs.batch.volcano.sh for the vcjob",
        )
    )


def _job_spec(vcjob_crd: dict[str, Any], file: str) -> dict[str, Any]:
    for version in map(mapping, sequence(dig(vcjob_crd, "spec", "versions"))):
        spec = dig(version, "schema", "openAPIV3Schema", "properties", "spec")
        if version.get("name") == VCJOB_VERSION and is_mapping(spec):
            return spec
    raise InputError(
        Finding(
            code="HF890",
            message=f"the vcjob CRD has no version {VCJOB_VERSION} with a schema",
            where=file,
            expected=f"spec.versions[] with name {VCJOB_VERSION}",
            hint="take the CRD from a member that runs Volcano",
        )
    )


def patched_crd(hyperjob_crd: dict[str, Any], vcjob_crd: dict[str, Any], file: str) -> dict[str, Any]:
    """Give the HyperJob CRD with the vcjob's spec as its templateSpec, in each version; all else as it was.

    What a live server writes of its own (status, uid, managedFields) is left out, so that the result can be applied.
    """
    spec = _job_spec(vcjob_crd, file)
    patched = copy.deepcopy({name: part for name, part in hyperjob_crd.items() if name != "status"})
    for field in _SERVERS_OWN:
        mapping(patched.get("metadata")).pop(field, None)
    for properties in _template_parents(patched):
        properties["templateSpec"] = copy.deepcopy(spec)
    return patched


def _template_parents(hyperjob_crd: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for version in sequence(dig(hyperjob_crd, "spec", "versions")):
        properties = dig(version, *_TEMPLATE)
        if is_mapping(properties) and "templateSpec" in properties:
            yield properties


def check_crd(
    hyperjob_crd: dict[str, Any], vcjob_crd: dict[str, Any], file: str
) -> tuple[list[str], list[dict[str, Any]]]:
    """Give the fields of a vcjob that the CRD drops, and the defaults that it sets and a vcjob does not have."""
    wanted = shape_of(_job_spec(vcjob_crd, file))
    drops: set[str] = set()
    defaults: dict[str, Any] = {}
    for properties in _template_parents(hyperjob_crd):
        _compare(wanted, shape_of(properties["templateSpec"]), _PREFIX, drops, defaults)
    return sorted(drops), [{"path": path, "value": defaults[path]} for path in sorted(defaults)]


def _compare(wanted: Shape, given: Shape, path: str, drops: set[str], defaults: dict[str, Any]) -> None:
    if given.default is not MISSING and given.default != wanted.default:
        defaults[path] = given.default
    for name, child in wanted.fields.items():
        if name in given.fields:
            _compare(child, given.fields[name], f"{path}.{name}", drops, defaults)
        elif not given.open:
            drops.add(f"{path}.{name}")
    for name, child in given.fields.items():
        if name not in wanted.fields and child.default is not MISSING:
            defaults[f"{path}.{name}"] = child.default
    if wanted.items is not None and given.items is not None:
        _compare(wanted.items, given.items, f"{path}[]", drops, defaults)
    if wanted.values is not None and given.values is not None:
        _compare(wanted.values, given.values, f"{path}.*", drops, defaults)
