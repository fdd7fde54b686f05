"""OverridePolicy, MultiClusterService, FederatedResourceQuota, Cluster on the plane.

Source: karmada pkg/webhook/*, pkg/util/validation and pkg/apis/cluster/validation at f8fdd02df,
as recorded on 2026-11-30.
"""

from collections.abc import Iterator
from typing import Any

from hyperflow.admission.amounts import amount, amounts
from hyperflow.admission.names import cluster_name, dns_label, dns_label_1035, label_value, qualified_name
from hyperflow.admission.problem import Mend, Path, Problem, denial, risk
from hyperflow.admission.rules.case import Case
from hyperflow.admission.rules.job_view import entries, whole
from hyperflow.admission.rules.propagation import cluster_risks, field_selector, speaker
from hyperflow.json_tree import dig, mapping, sequence, text

_OVERRIDERS = (
    "plaintext", "imageOverrider", "commandOverrider", "argsOverrider", "labelsOverrider", "annotationsOverrider",
    "fieldOverrider",
)  # fmt: skip
_TYPES = ("CrossCluster", "LoadBalancer")
_SYNC_MODES = ("Pull", "Push")
_LAST = 2**63 - 1


def override_forms(case: Case) -> Iterator[Problem]:
    """Deny the old form (targetCluster, overriders) beside overrideRules, and selectors of another namespace."""
    by = speaker(case)
    if case.spec.get("overrideRules") is not None:
        if "targetCluster" in case.spec:
            yield denial("HF854", "override-forms", ("spec", "targetCluster"), "excludes overrideRules", by,
                         got=case.spec["targetCluster"], expected="overrideRules alone",
                         hint="move it into a rule")  # fmt: skip
        if any(sequence(dig(case.spec, "overriders", name)) for name in _OVERRIDERS):
            yield denial("HF854", "override-forms", ("spec", "overriders"), "excludes overrideRules", by,
                         got=sorted(mapping(case.spec["overriders"])), expected="overrideRules alone",
                         hint="move it into a rule")  # fmt: skip
    if "targetCluster" in case.spec:
        yield from field_selector(("spec", "targetCluster"), mapping(case.spec["targetCluster"]), by)
    for index, rule in entries(case.spec.get("overrideRules")):
        path: Path = ("spec", "overrideRules", index)
        yield from field_selector((*path, "targetCluster"), mapping(rule.get("targetCluster")), by)
        yield from cluster_risks(case, (*path, "targetCluster"), mapping(rule.get("targetCluster")))
        yield from _overriders((*path, "overriders"), mapping(rule.get("overriders")), by)


def _overriders(path: Path, tree: dict[str, Any], by: str) -> Iterator[Problem]:
    for index, image in entries(tree.get("imageOverrider")):
        if "predicate" in image:
            where = (*path, "imageOverrider", index, "predicate", "path")
            yield from _pointer(where, text(dig(image, "predicate", "path")), by)
    for index, field in entries(tree.get("fieldOverrider")):
        where = (*path, "fieldOverrider", index)
        yield from _pointer((*where, "fieldPath"), text(field.get("fieldPath")), by)
        if sequence(field.get("json")) and sequence(field.get("yaml")):
            yield denial("HF854", "field-override", (*where, "yaml"), "json and yaml exclude each other", by,
                         expected="one of the two", hint="make two overriders of it")  # fmt: skip
        for kind in ("json", "yaml"):
            for number, patch in entries(field.get(kind)):
                yield from _pointer((*where, kind, number, "subPath"), text(patch.get("subPath")), by)
                if ("value" in patch) == (patch.get("operator") == "remove"):
                    yield denial("HF854", "field-override", (*where, kind, number, "value"),
                                 "add and replace need a value, remove takes none", by, got=patch.get("operator"),
                                 hint="correct the patch")  # fmt: skip
    for kind, wrong in (("labelsOverrider", label_value), ("annotationsOverrider", None)):
        for index, entry in entries(tree.get(kind)):
            for key, value in mapping(entry.get("value")).items():
                message = qualified_name(str(key)) or (wrong(text(value)) if wrong else "")
                if message:
                    yield denial("HF854", "override-label", (*path, kind, index, "value", key), message, by, got=value,
                                 hint="rename it")  # fmt: skip


def _pointer(path: Path, pointer: str, by: str) -> Iterator[Problem]:
    if pointer and not pointer.startswith("/"):
        yield denial("HF854", "json-pointer", path, "a JSON pointer starts with a slash", by, got=pointer,
                     expected=f"/{pointer}", hint=f"write /{pointer}",
                     mend=Mend(path=path, value=f"/{pointer}"))  # fmt: skip


def override_risks(case: Case) -> Iterator[Problem]:
    """Warn of plain patches that cannot be applied: a path without a leading slash, replace without a value."""
    rules = [(("spec", "overrideRules", i, "overriders"), mapping(r.get("overriders")))
             for i, r in entries(case.spec.get("overrideRules"))]  # fmt: skip
    for path, tree in [(("spec", "overriders"), mapping(case.spec.get("overriders"))), *rules]:
        for index, patch in entries(tree.get("plaintext")):
            where, pointer = (*path, "plaintext", index), text(patch.get("path"))
            if not pointer.startswith("/"):
                yield risk("HF873", "override-path", (*where, "path"),
                           "the patch fails and the resource is not propagated",
                           got=pointer, expected=f"/{pointer}", hint=f"write /{pointer}",
                           mend=Mend(path=(*where, "path"), value=f"/{pointer}"))  # fmt: skip
            if patch.get("operator") == "replace" and patch.get("value") is None:
                yield risk("HF873", "override-value", (*where, "value"),
                           "replace without a value sets the field to null",
                           expected="a value", hint="write value, or operator: remove")  # fmt: skip


def service(case: Case) -> Iterator[Problem]:
    """Deny names, types, ports and clusters that a MultiClusterService cannot have; warn of no type."""
    by, types = speaker(case), sequence(case.spec.get("types"))
    if case.name and dns_label_1035(case.name):
        yield denial("HF855", "service-name", ("metadata", "name"), dns_label_1035(case.name), by, got=case.name,
                     hint="rename it, and the Service with it")  # fmt: skip
    if len(types) > 1:
        yield denial("HF855", "service-types", ("spec", "types"), "more than one type", by, got=types,
                     expected="one type",
                     hint="write [CrossCluster]")  # fmt: skip
    for index, kind in enumerate(types):
        if kind not in _TYPES:
            yield denial("HF855", "service-types", ("spec", "types", index), "no such type", by, got=kind,
                         expected="CrossCluster or LoadBalancer", hint="write CrossCluster")  # fmt: skip
    if case.old is not None and sequence(dig(case.old, "spec", "types")) != types:
        yield denial("HF855", "service-types", ("spec", "types"), "cannot be changed", by, got=types,
                     expected=str(dig(case.old, "spec", "types")), hint="make a new one")  # fmt: skip
    for index, port in entries(case.spec.get("ports")):
        path, name = ("spec", "ports", index), text(port.get("name"))
        if not 1 <= whole(port.get("port")) <= 65535:
            yield denial("HF855", "service-port", (*path, "port"), "out of range", by, got=port.get("port"),
                         expected="1 to 65535", hint="correct the number")  # fmt: skip
        if name and dns_label(name):
            yield denial("HF855", "service-port", (*path, "name"), dns_label(name), by, got=name, hint="rename it")
    for field in ("serviceProvisionClusters", "serviceConsumptionClusters"):
        for index, name in enumerate(sequence(case.spec.get(field))):
            if cluster_name(text(name)):
                yield denial("HF855", "service-cluster", ("spec", field, index), cluster_name(text(name)), by, got=name,
                             expected="the name of a cluster", hint="correct the name")  # fmt: skip
    if not types and "types" in case.spec:
        yield risk("HF873", "service-no-type", ("spec", "types"), "without a type nothing is exported", got=types,
                   expected="[CrossCluster]", hint="write types: [CrossCluster]",
                   mend=Mend(path=("spec", "types"), value=["CrossCluster"]))  # fmt: skip


def quota(case: Case) -> Iterator[Problem]:
    """Deny quotas that are negative or smaller than what they assign."""
    by, overall = speaker(case), amounts(case.spec.get("overall"))
    assigned = entries(case.spec.get("staticAssignments"))
    lists: list[tuple[Path, object]] = [(("spec", "overall"), case.spec.get("overall"))]
    lists += [(("spec", "staticAssignments", index, "hard"), item.get("hard")) for index, item in assigned]
    for path, listed in lists:
        for name, quantity in mapping(listed).items():
            if (amount(quantity) or 0) < 0:
                yield denial("HF856", "quota-amount", (*path, name), "must not be negative", by, got=quantity,
                             expected="0 or more", hint="correct it")  # fmt: skip
    for name, limit in overall.items():
        total = sum((amounts(item.get("hard")).get(name, 0) for _, item in assigned), 0)
        if total > limit:
            yield denial("HF856", "quota-assigned", ("spec", "overall", name),
                         f"less than what is assigned, {float(total):.10g}", by, got=dig(case.spec, "overall", name),
                         expected=f"at least {float(total):.10g}", hint="raise it or assign less")  # fmt: skip
    for index, item in assigned:
        name = text(item.get("clusterName"))
        if cluster_name(name):
            yield denial("HF856", "quota-cluster", ("spec", "staticAssignments", index, "clusterName"),
                         cluster_name(name),
                         by, got=name, expected="the name of a cluster", hint="correct the name")  # fmt: skip


def cluster(case: Case) -> Iterator[Problem]:
    """Deny names, modes, taints and resource models that a Cluster cannot have."""
    by, mode = "Karmada's API server", text(case.spec.get("syncMode"))
    if case.name and cluster_name(case.name):
        yield denial("HF857", "cluster-name", ("metadata", "name"), cluster_name(case.name), by, got=case.name,
                     expected="a DNS label of at most 48 characters", hint="rename it")  # fmt: skip
    if mode not in _SYNC_MODES:
        yield denial("HF857", "sync-mode", ("spec", "syncMode"), "unsupported value", by, got=mode or None,
                     expected="Push or Pull", hint="write Push")  # fmt: skip
    models = [model for _, model in entries(case.spec.get("resourceModels"))]
    for index, model in enumerate(models):
        yield from _model(("spec", "resourceModels", index), model, models[index - 1] if index else None, by)
    if models:
        last = len(models) - 1
        for number, bound in entries(models[last].get("ranges")):
            path = ("spec", "resourceModels", last, "ranges", number, "max")
            if amount(bound.get("max")) != _LAST:
                yield denial("HF857", "model-last", path,
                             "the last model must be open", by, got=bound.get("max"), expected=str(_LAST),
                             hint=f'write max: "{_LAST}"',
                             mend=Mend(path=path, value=str(_LAST)))  # fmt: skip


def _model(path: Path, model: dict[str, Any], before: dict[str, Any] | None, by: str) -> Iterator[Problem]:
    ranges = entries(model.get("ranges"))
    earlier = [bound for _, bound in entries(mapping(before).get("ranges"))]
    if before is not None and model.get("grade") == before.get("grade"):
        yield denial("HF857", "model-grade", (*path, "grade"), "the grade stands twice", by, got=model.get("grade"),
                     hint="count the grades up")  # fmt: skip
    if before is not None and len(earlier) != len(ranges):
        yield denial("HF857", "model-ranges", (*path, "ranges"), "every model must range over the same resources", by,
                     got=len(ranges), expected=f"{len(earlier)} ranges", hint="add the missing resource")  # fmt: skip
        return
    for index, bound in ranges:
        low, high, where = amount(bound.get("min")), amount(bound.get("max")), (*path, "ranges", index)
        if low is None or high is None:
            continue
        if high <= low:
            yield denial("HF857", "model-bounds", (*where, "max"), "must be above min", by, got=bound.get("max"),
                         expected=f"more than {bound.get('min')}", hint="raise it")  # fmt: skip
        if before is None:
            if low != 0:
                yield denial("HF857", "model-first", (*where, "min"), "the first model starts at 0", by,
                             got=bound.get("min"), expected="0", hint="write 0")  # fmt: skip
        elif earlier[index].get("name") != bound.get("name"):
            yield denial("HF857", "model-ranges", (*where, "name"), "every model must range over the same resources",
                         by,
                         got=bound.get("name"), expected=text(earlier[index].get("name")),
                         hint="keep the order")  # fmt: skip
        elif amount(earlier[index].get("max")) != low:
            yield denial("HF857", "model-bounds", (*where, "min"), "must begin where the model before ends", by,
                         got=bound.get("min"), expected=str(earlier[index].get("max")),
                         hint="close the gap")  # fmt: skip


OVERRIDE_RULES = (override_forms, override_risks)
SERVICE_RULES = (service,)
QUOTA_RULES = (quota,)
CLUSTER_RULES = (cluster,)
