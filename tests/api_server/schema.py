"""What the server does with a body by its CRD: unknown fields, pruning, defaults, validation in the server's words."""

import copy
from typing import Any

from hyperflow.admission.problem import Path
from hyperflow.admission.structure import unknown_fields, violations, with_defaults, without_nulls
from tests.api_server.answers import invalid
from tests.api_server.kinds import Kind

Json = dict[str, Any]
_REASONS = {
    "required-field": "FieldValueRequired",
    "type": "FieldValueTypeInvalid",
    "duplicate-item": "FieldValueDuplicate",
}


def unknown_paths(obj: Json, kind: Kind, *, keyed: bool = False) -> list[str]:
    """The unknown fields as the server writes them; `keyed` names items of map-lists by their key, as apply does."""
    if kind.shape is None:
        return []
    return [_text(problem.path, obj, kind, keyed) for problem in unknown_fields(obj, kind.shape)]


def check_and_default(obj: Json, kind: Kind) -> Json:
    """Prune, default and validate; 422 with a cause per fault."""
    if kind.shape is None:
        return obj
    value = copy.deepcopy(obj)
    for problem in unknown_fields(value, kind.shape):
        _drop(value, problem.path)
    without_nulls(value, kind.shape)
    with_defaults(value, kind.shape)
    found = violations(value, kind.shape)
    if found:
        raise invalid(
            kind.kind,
            kind.group,
            obj["metadata"].get("name", ""),
            sorted((_cause(p, obj, kind) for p in found), key=_field),
        )
    return value


def _field(cause: Json) -> str:
    return cause["field"]


def _cause(problem: Any, obj: Json, kind: Kind) -> Json:
    reason = _REASONS.get(problem.rule, "FieldValueInvalid")
    message = f"Invalid value: {problem.got}: {problem.message}"
    if problem.rule == "required-field":
        message = "Required value"
    elif problem.message == "unsupported value":
        reason = "FieldValueNotSupported"
        options = ", ".join(f'"{option}"' for option in (problem.expected or "").removeprefix("one of ").split(", "))
        message = f"Unsupported value: {problem.got}: supported values: {options}"
    return {"reason": reason, "message": message, "field": _text(problem.path, obj, kind, False)}


def _drop(value: Any, path: Path) -> None:
    for step in path[:-1]:
        value = value[step]
    value.pop(path[-1], None)


def _text(path: Path, obj: Json, kind: Kind, keyed: bool) -> str:
    text, value, shape = "", obj, kind.shape
    for step in path:
        if isinstance(step, int):
            keys = shape.list_keys if shape else ()
            item = value[step]
            pairs = ",".join(f'{name}="{item.get(name)}"' for name in keys)
            text += f"[{pairs}]" if keyed and keys else f"[{step}]"
            shape = shape.items if shape else None
        else:
            text += f".{step}" if text else step
            shape = (shape.fields.get(step) or shape.values) if shape else None
        value = value[step] if isinstance(value, list) else (value or {}).get(step)
    return text
