"""Whether what the pods name is there: pull secrets, claims, files and service accounts, on the plane or in the member.

What lies on the plane is copied by the bundle's own policy; what lies in a member already is as good.
"""

from typing import Any

from hyperflow.errors import Finding
from hyperflow.inventory.bundle_reader import StoredBundle
from hyperflow.json_tree import dig, mapping, sequence, text
from hyperflow.lower.companions import named_objects
from hyperflow.submit.plane import Plane
from hyperflow.submit.server_kinds import kind_of

Json = dict[str, Any]


def pull_secret_findings(
    plane: Plane, member: Plane, bundle: StoredBundle, specs: list[tuple[str, Json]]
) -> list[Finding]:
    """Find pull secrets that are on neither server."""
    return [
        _absent("Secret", name, f"kubectl create secret docker-registry {name} -n {bundle.namespace} ...")
        for name in sorted(_pull_secrets(specs))
        if not _is_there("Secret", name, plane, member, bundle)
    ]


def named_object_findings(
    plane: Plane, member: Plane, bundle: StoredBundle, specs: list[tuple[str, Json]]
) -> list[Finding]:
    """Find claims, files, other secrets and service accounts that are on neither server: their pods never start."""
    brought = {(document.kind, document.name) for document in bundle.documents}
    named = {key for pod in _pods(specs) for key in named_objects(pod)} - brought
    named -= {("Secret", name) for name in _pull_secrets(specs)}
    copied = ", or on the plane, from where it is copied" if bundle.mode != "single" else ""
    return [
        _absent(kind, name, f"create it in namespace {bundle.namespace} there{copied}")
        for kind, name in sorted(named)
        if not _is_there(kind, name, plane, member, bundle)
    ]


def _pods(specs: list[tuple[str, Json]]) -> list[Json]:
    return [mapping(dig(task, "template", "spec")) for _, spec in specs for task in sequence(spec.get("tasks"))]


def _pull_secrets(specs: list[tuple[str, Json]]) -> set[str]:
    named = (text(dig(secret, "name")) for pod in _pods(specs) for secret in sequence(pod.get("imagePullSecrets")))
    return set(named) - {""}


def _is_there(kind: str, name: str, plane: Plane, member: Plane, bundle: StoredBundle) -> bool:
    served = kind_of({"apiVersion": "v1", "kind": kind})
    return any(server.get(served, name, bundle.namespace) is not None for server in (plane, member))


def _absent(kind: str, name: str, hint: str) -> Finding:
    return Finding(code="HF523", message=f"{kind} {name} does not exist", hint=hint)
