"""Where a pod may run: selectors, tolerations, affinities, spread. Source as in pod_template.py."""

from typing import Any

from hyperflow.admission.names import dns_label, label_value, qualified_name
from hyperflow.admission.problem import Path
from hyperflow.admission.rules.collector import Collector
from hyperflow.admission.rules.job_view import entries, whole
from hyperflow.json_tree import is_mapping, mapping, sequence, text

_CODE = "HF836"
_EFFECTS = ("NoExecute", "NoSchedule", "PreferNoSchedule")
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_NODE_OPERATORS = ("DoesNotExist", "Exists", "Gt", "In", "Lt", "NotIn")
_LABEL_OPERATORS = ("DoesNotExist", "Exists", "In", "NotIn")


def check_scheduling(out: Collector, path: Path, spec: dict[str, Any]) -> None:
    """Check everything that narrows the choice of a node."""
    for key, value in mapping(spec.get("nodeSelector")).items():
        where = (*path, "nodeSelector", key)
        out.name(_CODE, "node-selector", where, key, qualified_name(str(key)))
        out.name(_CODE, "node-selector", where, value, label_value(text(value)))
    for index, toleration in entries(spec.get("tolerations")):
        check_toleration(out, (*path, "tolerations", index), toleration)
    affinity = mapping(spec.get("affinity"))
    _node_affinity(out, (*path, "affinity", "nodeAffinity"), mapping(affinity.get("nodeAffinity")))
    for name in ("podAffinity", "podAntiAffinity"):
        _pod_affinity(out, (*path, "affinity", name), mapping(affinity.get(name)))
    _spread(out, (*path, "topologySpreadConstraints"), spec.get("topologySpreadConstraints"))


def check_toleration(out: Collector, path: Path, toleration: dict[str, Any], code: str = _CODE) -> None:
    """Check one toleration, of a pod or of a Karmada policy."""
    key, operator = text(toleration.get("key")), text(toleration.get("operator"))
    value, effect = text(toleration.get("value")), text(toleration.get("effect"))
    out.name(code, "toleration-key", (*path, "key"), key, qualified_name(key) if key else "")
    if not key and operator != "Exists":
        out.deny(code, "toleration-key", (*path, "operator"), "must be Exists when there is no key", got=operator,
                 expected="Exists", hint="write operator: Exists")  # fmt: skip
    if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
        out.deny(code, "toleration-seconds", (*path, "effect"), "must be NoExecute with tolerationSeconds", got=effect,
                 expected="NoExecute", hint="take tolerationSeconds out")  # fmt: skip
    if operator in ("", "Equal"):
        out.name(code, "toleration-value", (*path, "value"), value, label_value(value))
    elif operator == "Exists":
        if value:
            out.deny(code, "toleration-value", (*path, "value"), "must be empty when the operator is Exists", got=value,
                     expected="no value", hint="take the value out, or write operator: Equal")  # fmt: skip
    else:
        out.one_of(code, "toleration-operator", (*path, "operator"), operator, ("Equal", "Exists"))
    out.one_of(code, "toleration-effect", (*path, "effect"), effect, _EFFECTS)


def _node_affinity(out: Collector, path: Path, affinity: dict[str, Any]) -> None:
    required = affinity.get(_REQUIRED)
    if is_mapping(required):
        where = (*path, _REQUIRED, "nodeSelectorTerms")
        if not sequence(required.get("nodeSelectorTerms")):
            out.deny(_CODE, "node-terms", where, "needs at least one term", expected="a term", hint="add a term")
        for index, term in entries(required.get("nodeSelectorTerms")):
            _node_term(out, (*where, index), term, strict=True)
    for index, preference in entries(affinity.get(_PREFERRED)):
        where = (*path, _PREFERRED, index)
        _weight(out, where, preference)
        _node_term(out, (*where, "preference"), mapping(preference.get("preference")), strict=False)


def _weight(out: Collector, path: Path, preference: dict[str, Any]) -> None:
    if not 1 <= whole(preference.get("weight")) <= 100:
        out.deny(_CODE, "weight", (*path, "weight"), "out of range", got=preference.get("weight"), expected="1 to 100",
                 hint="correct the number")  # fmt: skip


def _node_term(out: Collector, path: Path, term: dict[str, Any], *, strict: bool) -> None:
    for index, rule in entries(term.get("matchExpressions")):
        where = (*path, "matchExpressions", index)
        _requirement(out, where, rule, _NODE_OPERATORS)
        if strict and text(rule.get("operator")) in ("In", "NotIn"):
            for number, value in enumerate(sequence(rule.get("values"))):
                out.name(_CODE, "node-value", (*where, "values", number), value, label_value(text(value)))
    for index, rule in entries(term.get("matchFields")):
        where = (*path, "matchFields", index)
        out.one_of(_CODE, "match-fields", (*where, "key"), text(rule.get("key"), "?"), ("metadata.name",))
        out.one_of(_CODE, "match-fields", (*where, "operator"), text(rule.get("operator"), "?"), ("In", "NotIn"))
        if len(sequence(rule.get("values"))) != 1:
            out.deny(_CODE, "match-fields", (*where, "values"), "takes exactly one value", got=rule.get("values"),
                     hint="write one node name")  # fmt: skip


def _requirement(out: Collector, path: Path, rule: dict[str, Any], operators: tuple[str, ...]) -> None:
    operator, values = text(rule.get("operator")), sequence(rule.get("values"))
    out.name(_CODE, "selector-key", (*path, "key"), rule.get("key"), qualified_name(text(rule.get("key"))))
    if operator not in operators:
        out.deny(_CODE, "selector-operator", (*path, "operator"), "no such operator", got=operator,
                 expected="one of " + ", ".join(operators), hint="write In, with values")  # fmt: skip
    elif operator in ("In", "NotIn") and not values:
        out.deny(_CODE, "selector-values", (*path, "values"), f"{operator} needs values", expected="at least one value",
                 hint="add a value")  # fmt: skip
    elif operator in ("Exists", "DoesNotExist") and values:
        out.deny(_CODE, "selector-values", (*path, "values"), f"{operator} takes no values", got=values,
                 hint="take the values out")  # fmt: skip
    elif operator in ("Gt", "Lt") and len(values) != 1:
        out.deny(_CODE, "selector-values", (*path, "values"), f"{operator} takes one value", got=values,
                 hint="write one number")  # fmt: skip


def check_label_selector(out: Collector, path: Path, selector: object) -> None:
    """Check a label selector: keys, values and operators."""
    for key, value in mapping(mapping(selector).get("matchLabels")).items():
        where = (*path, "matchLabels", key)
        out.name(_CODE, "selector-key", where, key, qualified_name(str(key)))
        out.name(_CODE, "selector-value", where, value, label_value(text(value)))
    for index, rule in entries(mapping(selector).get("matchExpressions")):
        where = (*path, "matchExpressions", index)
        _requirement(out, where, rule, _LABEL_OPERATORS)
        for number, value in enumerate(sequence(rule.get("values"))):
            out.name(_CODE, "selector-value", (*where, "values", number), value, label_value(text(value)))


def _pod_affinity(out: Collector, path: Path, affinity: dict[str, Any]) -> None:
    for index, term in entries(affinity.get(_REQUIRED)):
        _pod_term(out, (*path, _REQUIRED, index), term)
    for index, preference in entries(affinity.get(_PREFERRED)):
        where = (*path, _PREFERRED, index)
        _weight(out, where, preference)
        _pod_term(out, (*where, "podAffinityTerm"), mapping(preference.get("podAffinityTerm")))


def _pod_term(out: Collector, path: Path, term: dict[str, Any]) -> None:
    key = text(term.get("topologyKey"))
    if out.need(_CODE, "topology-key", (*path, "topologyKey"), key):
        out.name(_CODE, "topology-key", (*path, "topologyKey"), key, qualified_name(key))
    for name in ("labelSelector", "namespaceSelector"):
        check_label_selector(out, (*path, name), term.get(name))
    for index, name in enumerate(sequence(term.get("namespaces"))):
        out.name(_CODE, "namespace", (*path, "namespaces", index), name, dns_label(text(name)))
    for name in ("matchLabelKeys", "mismatchLabelKeys"):
        if sequence(term.get(name)) and term.get("labelSelector") is None:
            out.deny(_CODE, "match-label-keys", (*path, name), "needs a labelSelector", hint="add the selector")


def _spread(out: Collector, path: Path, constraints: object) -> None:
    seen: set[tuple[str, str]] = set()
    actions = ("DoNotSchedule", "ScheduleAnyway")
    for index, rule in entries(constraints):
        where, key = (*path, index), text(rule.get("topologyKey"))
        if whole(rule.get("maxSkew")) < 1:
            out.deny(_CODE, "spread", (*where, "maxSkew"), "must be 1 or more", got=rule.get("maxSkew"),
                     expected="1 or more", hint="write 1")  # fmt: skip
        if out.need(_CODE, "spread", (*where, "topologyKey"), key):
            out.name(_CODE, "spread", (*where, "topologyKey"), key, qualified_name(key))
        action = text(rule.get("whenUnsatisfiable"))
        if action not in actions:
            out.deny(_CODE, "spread", (*where, "whenUnsatisfiable"), "unsupported value", got=action,
                     expected="one of " + ", ".join(actions), hint="write DoNotSchedule")  # fmt: skip
        if (key, action) in seen:
            out.deny(_CODE, "spread", where, "this key and action stand twice", got=key, hint="merge the two")
        seen.add((key, action))
        least = rule.get("minDomains")
        if least is not None and (whole(least) < 1 or action != "DoNotSchedule"):
            out.deny(_CODE, "spread", (*where, "minDomains"), "1 or more, and only with DoNotSchedule", got=least,
                     hint="take it out")  # fmt: skip
        for name in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            out.one_of(_CODE, "spread", (*where, name), rule.get(name), ("Honor", "Ignore"))
        check_label_selector(out, (*where, "labelSelector"), rule.get("labelSelector"))
        if sequence(rule.get("matchLabelKeys")) and rule.get("labelSelector") is None:
            out.deny(_CODE, "match-label-keys", (*where, "matchLabelKeys"), "needs a labelSelector", hint="add it")
