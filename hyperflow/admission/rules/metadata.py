"""What every object needs: a name, labels that are labels, a namespace that exists.

Source: apimachinery pkg/api/validation (ObjectMeta) and apiserver pkg/registry/rest, as recorded on 2026-11-30.
"""

from collections.abc import Iterator

from hyperflow.admission.names import dns_label, dns_subdomain, label_value, qualified_name
from hyperflow.admission.problem import Mend, Problem, denial, note
from hyperflow.admission.rules.case import Case
from hyperflow.errors import nearest
from hyperflow.json_tree import is_mapping, mapping, sequence, text

BY = "the API server"
FIELDS = frozenset(
    [
        "annotations",
        "creationTimestamp",
        "deletionGracePeriodSeconds",
        "deletionTimestamp",
        "finalizers",
        "generateName",
        "generation",
        "labels",
        "managedFields",
        "name",
        "namespace",
        "ownerReferences",
        "resourceVersion",
        "selfLink",
        "uid",
    ]
)


def object_name(case: Case) -> Iterator[Problem]:
    """Deny a missing name, or one that is no DNS subdomain."""
    metadata = mapping(case.posted.get("metadata"))
    name, stem = metadata.get("name"), metadata.get("generateName")
    if not name and not stem:
        yield denial("HF816", "object-name", ("metadata", "name"), "the object has no name", BY, got=name,
                     expected="a name", hint="write metadata.name")  # fmt: skip
    elif name and (not isinstance(name, str) or dns_subdomain(name)):
        wrong = dns_subdomain(name) if isinstance(name, str) else "must be text"
        yield denial("HF816", "object-name", ("metadata", "name"), f"the name {wrong}", BY, got=name,
                     expected="a DNS subdomain", hint=_lower(name))  # fmt: skip
    elif stem and not name and (not isinstance(stem, str) or dns_subdomain(stem.rstrip("-") or "x")):
        yield denial("HF816", "object-name", ("metadata", "generateName"), "no beginning of a name", BY, got=stem,
                     expected="lower-case letters, digits and dashes", hint="rename it")  # fmt: skip


def _lower(name: object) -> str:
    better = str(name).lower().replace("_", "-").replace(" ", "-")
    return f'write "{better}"' if not dns_subdomain(better) else "rename it"


def labels(case: Case) -> Iterator[Problem]:
    """Deny labels, annotations and finalizers with keys or values that cannot be."""
    metadata = mapping(case.posted.get("metadata"))
    for field in ("labels", "annotations"):
        if field in metadata and metadata[field] is not None and not is_mapping(metadata[field]):
            yield denial("HF816", field, ("metadata", field), "must be a mapping", BY, got=metadata[field],
                         hint="write KEY: VALUE lines")  # fmt: skip
        for key, value in mapping(metadata.get(field)).items():
            path = ("metadata", field, str(key))
            wrong = qualified_name(str(key) if field == "labels" else str(key).lower())
            if wrong:
                yield denial("HF816", field, path, f"the key {wrong}", BY, got=key, hint="rename the key")
            if not isinstance(value, str):
                quoted = str(value).lower() if isinstance(value, bool) else str(value)
                yield denial("HF816", field, path, "the value must be text", BY, got=value, expected="text",
                             hint=f'put it in quotes: "{quoted}"', mend=Mend(path=path, value=quoted))  # fmt: skip
            elif field == "labels" and label_value(value):
                yield denial("HF816", field, path, f"the value {label_value(value)}", BY, got=value,
                             hint="shorten or rename it")  # fmt: skip
    for index, name in enumerate(sequence(metadata.get("finalizers"))):
        if qualified_name(text(name)):
            yield denial("HF816", "finalizer", ("metadata", "finalizers", index), qualified_name(text(name)), BY,
                         got=name,
                         hint="rename it")  # fmt: skip


def unknown_metadata(case: Case) -> Iterator[Problem]:
    """Deny fields that metadata does not have, and a resource version on a new object."""
    metadata = mapping(case.posted.get("metadata"))
    for key in metadata:
        if key not in FIELDS:
            yield denial("HF810", "unknown-field", ("metadata", key),
                         "unknown field, a strict create is denied and a lenient one drops it", BY,
                         hint=nearest(key, FIELDS) or "take it out")  # fmt: skip
    if case.old is None and metadata.get("resourceVersion"):
        path = ("metadata", "resourceVersion")
        yield denial("HF817", "resource-version", path, "a new object has no resource version yet", BY,
                     got=metadata["resourceVersion"], hint="take it out",
                     mend=Mend(path=path, remove=True))  # fmt: skip


def existence(case: Case, namespaced: bool) -> Iterator[Problem]:
    """Deny a new object whose name is taken, and a namespace that does not exist."""
    group, kind = case.group_kind.split("/")
    scope = case.namespace if namespaced else ""
    path = ("metadata", "name")
    if case.old is None and case.name and case.state.find(group, kind, case.name, scope) is not None:
        if case.state.was_applied(group, kind, case.name, scope):
            yield note("HF817", "same-name", path,
                       f"an earlier document is the {kind} {case.name}: this one replaces it",
                       hint="rename one, or judge the change with --old")  # fmt: skip
        else:
            yield denial("HF817", "exists", path, f"{kind} {case.name} exists already on the {case.server}", BY,
                         got=case.name, expected="a new name",
                         hint="to judge an update, give the old object with --old")  # fmt: skip
    if not namespaced:
        return
    if dns_label(case.namespace):
        yield denial("HF816", "namespace", ("metadata", "namespace"), dns_label(case.namespace), BY, got=case.namespace,
                     hint="use the namespace's real name")  # fmt: skip
    elif case.state.knows("", "Namespace") and case.state.find("", "Namespace", case.namespace) is None:
        yield denial("HF818", "namespace-missing", ("metadata", "namespace"),
                     f"there is no namespace {case.namespace} on the {case.server}", BY, got=case.namespace,
                     expected="a namespace that exists", hint="create it first")  # fmt: skip


RULES = (object_name, labels, unknown_metadata)
