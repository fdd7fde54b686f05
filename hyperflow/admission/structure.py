"""What the API server does with a document before and after the webhooks: prune, default, validate.

Source: the structural schemas of apiextensions-apiserver (pruning, defaulting, validation), as seen in
control-plane recordings of 2026-11-30. Unknown fields are an error, because documents are judged as a strict create.
"""

import copy
import dataclasses
import functools
import re
from typing import Any

from hyperflow.admission.cel import UnknownExpression, holds
from hyperflow.admission.problem import Mend, Path, Problem, shown
from hyperflow.admission.shapes import MISSING, Shape
from hyperflow.errors import nearest
from hyperflow.json_tree import is_mapping, is_sequence

_ROOT_FIELDS = ("apiVersion", "kind", "metadata")
_TYPE_NAMES = {"object": dict, "array": list, "string": str, "boolean": bool}
_INTEGER_LIMITS = {"int32": 2**31 - 1, "int64": 2**63 - 1}


def unknown_fields(value: object, shape: Shape, path: Path = ()) -> list[Problem]:
    """Name every field that the schema does not know; a strict create is denied for them."""
    found: list[Problem] = []
    if is_mapping(value):
        for name, child in value.items():
            if not path and name in _ROOT_FIELDS:
                continue
            known = shape.fields.get(name, shape.values)
            if known is not None:
                found += unknown_fields(child, known, (*path, name))
            elif shape.type == "object" and not shape.open:
                found.append(
                    Problem(
                        code="HF810",
                        rule="unknown-field",
                        path=(*path, name),
                        message="unknown field, a strict create is denied and a lenient one drops it",
                        hint=nearest(name, shape.fields) or "take it out, or check where the field belongs",
                        by="the API server",
                    )
                )
    elif is_sequence(value) and shape.items is not None:
        for index, child in enumerate(value):
            found += unknown_fields(child, shape.items, (*path, index))
    return found


def without_nulls(value: Any, shape: Shape) -> Any:
    """Drop nulls of fields that may not be null, as the API server does on reading; works in place."""
    if is_mapping(value):
        for name in list(value):
            known = shape.fields.get(name, shape.values)
            if known is None:
                continue
            if value[name] is None and not known.nullable:
                del value[name]
            else:
                without_nulls(value[name], known)
    elif is_sequence(value) and shape.items is not None:
        for child in value:
            without_nulls(child, shape.items)
    return value


def with_defaults(value: Any, shape: Shape) -> Any:
    """Fill in the defaults of the schema wherever their parent is there; works in place."""
    if is_mapping(value):
        for name, known in shape.fields.items():
            if name not in value and known.default is not MISSING:
                value[name] = copy.deepcopy(known.default)
        for name, child in value.items():
            known = shape.fields.get(name, shape.values)
            if known is not None:
                with_defaults(child, known)
    elif is_sequence(value) and shape.items is not None:
        for child in value:
            with_defaults(child, shape.items)
    return value


def violations(value: object, shape: Shape, path: Path = ()) -> list[Problem]:
    """Check types, bounds, required fields, map-lists and CEL rules."""
    wrong = _wrong_type(value, shape, path)
    if wrong:
        return [wrong]
    found = _bounds(value, shape, path)
    if is_mapping(value):
        for name in shape.required:
            if name not in value:
                found.append(
                    _problem("HF813", "required-field", (*path, name), "required field is missing", expected="a value")
                )
        for name, child in value.items():
            known = shape.fields.get(name, shape.values)
            if known is not None and (path or name not in _ROOT_FIELDS):
                found += violations(child, known, (*path, name))
        found += _checks(value, shape, path)
    elif is_sequence(value) and shape.items is not None:
        for index, child in enumerate(value):
            found += violations(child, shape.items, (*path, index))
        found += _duplicates(value, shape, path)
    return found


def _problem(
    code: str, rule: str, path: Path, message: str, *, got: object = MISSING, expected: str = "", hint: str = ""
) -> Problem:
    return Problem(
        code=code,
        rule=rule,
        path=path,
        message=message,
        got=None if got is MISSING else shown(got),
        expected=expected or None,
        hint=hint,
        by="the schema",
    )


def _wrong_type(value: object, shape: Shape, path: Path) -> Problem | None:
    if value is None and shape.nullable:
        return None
    if shape.int_or_string:
        right = isinstance(value, int | str) and not isinstance(value, bool)
        wanted = "integer or string"
    elif shape.type in ("integer", "number"):
        right, wanted = _is_number(value, whole=shape.type == "integer"), shape.type
    elif shape.type in _TYPE_NAMES:
        right, wanted = isinstance(value, _TYPE_NAMES[shape.type]), shape.type
    else:
        return None
    if right:
        return None
    quoted = isinstance(value, int | float) and shape.type == "string"
    hint = f"put it in quotes: {_in_quotes(value)}" if quoted else f"write a value of type {wanted}"
    problem = _problem("HF811", "type", path, f"must be of type {wanted}", got=value, expected=wanted, hint=hint)
    if quoted:
        return dataclasses.replace(problem, mend=Mend(path=path, value=_in_quotes(value).strip('"')))
    return problem


def _is_number(value: object, *, whole: bool) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return not whole or float(value).is_integer()


def _in_quotes(value: object) -> str:
    return f'"{str(value).lower()}"' if isinstance(value, bool) else f'"{value}"'


@functools.cache
def _pattern(pattern: str) -> re.Pattern[str] | None:
    exact = pattern[:-1] + r"\Z" if pattern.endswith("$") and not pattern.endswith(r"\$") else pattern
    try:
        return re.compile(exact)
    except re.error:
        return None


def _bounds(value: object, shape: Shape, path: Path) -> list[Problem]:
    found: list[Problem] = []

    def wrong(message: str, expected: str, hint: str = "") -> None:
        found.append(_problem("HF812", "value", path, message, got=value, expected=expected, hint=hint))

    if shape.enum and value not in shape.enum:
        known = [str(option) for option in shape.enum]
        wrong("unsupported value", "one of " + ", ".join(known), nearest(str(value), known) if value else "")
    if isinstance(value, str):
        if shape.max_length is not None and len(value) > shape.max_length:
            wrong("too long", f"at most {shape.max_length} characters")
        if shape.min_length is not None and len(value) < shape.min_length:
            wrong("too short", f"at least {shape.min_length} characters")
        pattern = _pattern(shape.pattern) if shape.pattern else None
        if pattern is not None and not pattern.search(value):
            wrong("must be a quantity" if shape.is_quantity else "does not match", shape.pattern)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        if shape.minimum is not None and value < shape.minimum:
            wrong("too small", f"at least {shape.minimum}")
        if shape.maximum is not None and value > shape.maximum:
            wrong("too large", f"at most {shape.maximum}")
        limit = _INTEGER_LIMITS.get(shape.format)
        if limit is not None and not -limit - 1 <= value <= limit:
            wrong("too large for its type", f"a number that fits {shape.format}")
    elif is_sequence(value):
        if shape.min_items is not None and len(value) < shape.min_items:
            wrong("too few items", f"at least {shape.min_items}")
        if shape.max_items is not None and len(value) > shape.max_items:
            wrong("too many items", f"at most {shape.max_items}")
    return found


def _duplicates(items: list[Any], shape: Shape, path: Path) -> list[Problem]:
    found: list[Problem] = []
    seen: dict[str, int] = {}
    if not shape.list_keys and not shape.list_is_set:
        return found
    for index, item in enumerate(items):
        keys = shape.list_keys
        key = (
            repr([item.get(name, _default(shape, name)) for name in keys]) if is_mapping(item) and keys else repr(item)
        )
        if key in seen:
            names = ", ".join(f"{name} {shown(item.get(name))}" for name in keys) if is_mapping(item) else shown(item)
            found.append(
                _problem(
                    "HF814",
                    "duplicate-item",
                    (*path, index),
                    f"duplicate of item {seen[key]}: {names}",
                    expected="each item once",
                    hint="rename or remove one of the two",
                )
            )
        else:
            seen[key] = index
    return found


def _default(shape: Shape, name: str) -> object:
    known = shape.items.fields.get(name) if shape.items else None
    return None if known is None or known.default is MISSING else known.default


def _checks(value: dict[str, Any], shape: Shape, path: Path) -> list[Problem]:
    found: list[Problem] = []
    for rule, message in shape.checks:
        try:
            if not holds(rule, value):
                found.append(_problem("HF815", "cel", path, message or f"breaks the rule {rule}", got=value))
        except UnknownExpression:
            found.append(
                Problem(
                    code="HF809",
                    rule="cel",
                    path=path,
                    severity="note",
                    message=f"the CEL rule {shown(rule)} was not evaluated",
                )
            )
    return found
