"""Which nodes a HyperNode member selects: exactMatch, regexMatch and labelMatch as Volcano evaluates them."""

from bisect import bisect_left
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from hyperflow.json_tree import is_mapping, mapping, sequence, text
from hyperflow.k8s.go_regex import compile_go_regex
from hyperflow.k8s.go_regex_parser import GoRegexError

SELECTOR_KEYS = ("exactMatch", "regexMatch", "labelMatch")
LABEL_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")


class NodeIndex:
    """Nodes by name and by label, so that many selectors can be evaluated on many nodes."""

    def __init__(self, labels_by_node: Mapping[str, Mapping[str, str]]) -> None:
        self.labels = dict(labels_by_node)
        self._names = sorted(self.labels)
        self._shared = [0, *(_shared_length(*pair) for pair in pairwise(self._names))][: len(self._names)]
        self._by_label: dict[tuple[str, str], list[str]] = {}
        for name in self._names:
            for pair in self.labels[name].items():
                self._by_label.setdefault(pair, []).append(name)

    def select(self, selector: Mapping[str, Any]) -> list[str]:
        """Give the names of the nodes that a member selector of type Node picks, sorted.

        An exactMatch name is given whether or not the node exists, as Volcano does. Raises ValueError with the reason
        when the selector cannot be evaluated (`selector_fault`).
        """
        fault = selector_fault(selector)
        if fault:
            raise ValueError(fault)
        if is_mapping(selector.get("exactMatch")):
            return [selector["exactMatch"]["name"]]
        if is_mapping(selector.get("regexMatch")):
            return self.select_pattern(selector["regexMatch"]["pattern"])
        return self.select_labels(selector["labelMatch"])

    def select_labels(self, selector: Mapping[str, Any]) -> list[str]:
        """Give the nodes that a Kubernetes label selector picks; an empty one picks all."""
        wanted = list(mapping(selector.get("matchLabels")).items())
        expressions = sequence(selector.get("matchExpressions"))
        candidates = self._by_label.get(wanted[0], []) if wanted else self._names
        return [name for name in candidates if _labels_match(self.labels[name], wanted, expressions)]

    def select_pattern(self, pattern: str) -> list[str]:
        """Give the nodes whose names a Go regular expression matches; raises GoRegexError, a ValueError."""
        regex = compile_go_regex(pattern)
        start = bisect_left(self._names, regex.prefix)
        end = bisect_left(self._names, regex.prefix + chr(0x10FFFF))
        return regex.search_sorted(self._names[start:end], [0, *self._shared[start + 1 : end]][: end - start])


def _shared_length(one: str, two: str) -> int:
    """Give how many characters two texts begin with alike."""
    differing = (at for at, (a, b) in enumerate(zip(one, two, strict=False)) if a != b)
    return next(differing, min(len(one), len(two)))


def selector_fault(selector: object) -> str:
    """Say why a member selector cannot be evaluated; "" when it can.

    >>> selector_fault({"regexMatch": {"pattern": "^a("}})
    "missing closing ) in '^a('"
    """
    given = [key for key in SELECTOR_KEYS if mapping(selector).get(key) is not None]
    if len(given) != 1:
        return f"exactly one of {', '.join(SELECTOR_KEYS)} is needed, got {' and '.join(given) or 'none'}"
    value = mapping(mapping(selector)[given[0]])
    if given[0] == "exactMatch":
        return "" if text(value.get("name")) else "exactMatch.name is empty"
    if given[0] == "regexMatch":
        pattern = value.get("pattern")
        if not isinstance(pattern, str) or not pattern:
            return "regexMatch.pattern is empty"
        try:
            compile_go_regex(pattern)
        except GoRegexError as error:
            return str(error)
        return ""
    return _label_fault(value)


def _label_fault(selector: Mapping[str, Any]) -> str:
    if not selector.get("matchLabels") and not selector.get("matchExpressions"):
        return "labelMatch is empty and would select every node"
    for item in sequence(selector.get("matchExpressions")):
        expression = mapping(item)
        operator = expression.get("operator")
        if operator not in LABEL_OPERATORS:
            return f"label operator {str(operator)[:40]!r} is none of {', '.join(LABEL_OPERATORS)}"
        if not text(expression.get("key")):
            return "a label expression has no key"
        if (operator in ("In", "NotIn")) != bool(sequence(expression.get("values"))):
            return f"label operator {operator} {'needs' if operator in ('In', 'NotIn') else 'takes no'} values"
    return ""


def _labels_match(labels: Mapping[str, str], wanted: list[tuple[str, Any]], expressions: list[Any]) -> bool:
    if any(labels.get(key) != value for key, value in wanted):
        return False
    for item in expressions:
        key, operator, values = item["key"], item["operator"], sequence(item.get("values"))
        held = {"In": labels.get(key) in values, "NotIn": labels.get(key) not in values}
        held |= {"Exists": key in labels, "DoesNotExist": key not in labels}
        if not held[operator]:
            return False
    return True
