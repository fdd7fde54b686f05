"""Label and field selectors of list and watch."""

import re
from typing import Any

from tests.api_server.answers import refuse

Json = dict[str, Any]
_IN = re.compile(r"(?P<key>\S+)\s+(?P<op>in|notin)\s+\((?P<values>[^)]*)\)")
_SPLIT = re.compile(r",(?![^(]*\))")


def matches_labels(labels: Json, selector: str) -> bool:
    """Whether the labels satisfy a selector such as `a=b,c in (d,e),!f`."""
    return all(_one(labels, term.strip()) for term in _SPLIT.split(selector) if term.strip())


def _one(labels: Json, term: str) -> bool:
    found = _IN.fullmatch(term)
    if found:
        inside = labels.get(found["key"]) in {value.strip() for value in found["values"].split(",")}
        return inside if found["op"] == "in" else not inside
    if "!=" in term:
        key, value = term.split("!=", 1)
        return labels.get(key) != value
    if "=" in term:
        key, value = term.replace("==", "=").split("=", 1)
        return labels.get(key) == value
    return term[1:] not in labels if term.startswith("!") else term in labels


def matches_fields(item: Json, selector: str) -> bool:
    """Whether an object satisfies a field selector; as for custom resources, plus those of pods and events."""
    for term in filter(None, selector.split(",")):
        negated = "!=" in term
        path, wanted = term.split("!=" if negated else "=", 1)
        if not path.startswith(("metadata.name", "spec.nodeName", "status.phase", "involvedObject.", "reason", "type")):
            raise refuse(400, f"field label not supported: {path}", "BadRequest")
        value: Any = item
        for step in path.split("."):
            value = value.get(step, "") if isinstance(value, dict) else ""
        if (str(value) == wanted) == negated:
            return False
    return True
