"""What a kind's fields may hold: the shape of each field, from a CRD or from the compact tables of the catalogue."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hyperflow.json_tree import is_mapping, mapping, sequence, text


class _Missing:
    def __repr__(self) -> str:
        return "MISSING"


MISSING = _Missing()
"""Stands for a default that is not there; null may be a default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """One node of a structural schema.

    `fields` are named properties, `values` the shape of all other keys, `open` keeps unknown keys, `list_keys` makes a
    list a map by these keys, `checks` are CEL rules with their message.
    """

    type: str = ""
    fields: Mapping[str, "Shape"] = field(default_factory=dict[str, "Shape"])
    required: tuple[str, ...] = ()
    items: "Shape | None" = None
    values: "Shape | None" = None
    open: bool = False
    int_or_string: bool = False
    nullable: bool = False
    default: Any = MISSING
    enum: tuple[Any, ...] = ()
    pattern: str = ""
    format: str = ""
    minimum: float | None = None
    maximum: float | None = None
    min_length: int | None = None
    max_length: int | None = None
    min_items: int | None = None
    max_items: int | None = None
    list_keys: tuple[str, ...] = ()
    list_is_set: bool = False
    checks: tuple[tuple[str, str], ...] = ()

    @property
    def is_quantity(self) -> bool:
        """Whether the field holds a Kubernetes quantity such as 500m or 64Gi."""
        return self.int_or_string and bool(self.pattern)


_PLAIN = {
    "type": "type",
    "pattern": "pattern",
    "format": "format",
    "minimum": "minimum",
    "maximum": "maximum",
    "minLength": "min_length",
    "maxLength": "max_length",
    "minItems": "min_items",
    "maxItems": "max_items",
    "nullable": "nullable",
    "x-kubernetes-int-or-string": "int_or_string",
    "x-kubernetes-preserve-unknown-fields": "open",
}
_QUANTITY_PATTERN = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
    r"(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)
_QUANTITY = Shape(int_or_string=True, pattern=_QUANTITY_PATTERN)
_PREFIX = "#/definitions/"


def shape_of(schema: object, definitions: Mapping[str, object] | None = None) -> Shape:
    """Read an OpenAPI v3 schema of a CRD, or a Swagger definition whose references stand in `definitions`."""
    tree = mapping(schema)
    reference = text(tree.get("$ref")).removeprefix(_PREFIX)
    if reference.endswith(".Quantity"):
        return _QUANTITY
    if reference:
        return shape_of((definitions or {}).get(reference), definitions)
    facts: dict[str, Any] = {ours: tree[theirs] for theirs, ours in _PLAIN.items() if tree.get(theirs)}
    for bound in ("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"):
        if isinstance(tree.get(bound), int | float):
            facts[_PLAIN[bound]] = tree[bound]
    if "default" in tree and definitions is None:
        facts["default"] = tree["default"]
    fields = mapping(tree.get("properties"))
    if fields:
        facts["fields"] = {str(name): shape_of(child, definitions) for name, child in sorted(fields.items())}
    if tree.get("required"):
        facts["required"] = tuple(sorted(map(str, sequence(tree["required"]))))
    if is_mapping(tree.get("items")):
        facts["items"] = shape_of(tree["items"], definitions)
    if is_mapping(tree.get("additionalProperties")):
        facts["values"] = shape_of(tree["additionalProperties"], definitions)
    elif tree.get("additionalProperties") is True:
        facts["open"] = True
    if tree.get("enum"):
        facts["enum"] = tuple(sequence(tree["enum"]))
    if tree.get("x-kubernetes-list-type") == "map":
        facts["list_keys"] = tuple(map(str, sequence(tree.get("x-kubernetes-list-map-keys"))))
    if tree.get("x-kubernetes-list-type") == "set":
        facts["list_is_set"] = True
    rules = sequence(tree.get("x-kubernetes-validations"))
    if rules:
        facts["checks"] = tuple((text(mapping(r).get("rule")), text(mapping(r).get("message"))) for r in rules)
    return Shape(**facts)


_DEFAULTS = {f.name: f.default for f in dataclasses.fields(Shape)}


class Interner:
    """Writes shapes as rows that refer to earlier rows by number, equal shapes once."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self._numbers: dict[str, int] = {}

    def number(self, shape: Shape) -> int:
        """Give the row of the shape, writing it when it is new."""
        row: dict[str, Any] = {}
        for name, default in _DEFAULTS.items():
            value = getattr(shape, name)
            if name == "fields":
                if value:
                    row[name] = {key: self.number(child) for key, child in value.items()}
            elif name in ("items", "values"):
                if value is not None:
                    row[name] = self.number(value)
            elif name == "default":
                if value is not MISSING:
                    row[name] = value
            elif value != default:
                row[name] = value
        key = repr(row)
        if key not in self._numbers:
            self._numbers[key] = len(self.rows)
            self.rows.append(row)
        return self._numbers[key]


class ShapeRows:
    """Reads rows written by `Interner`, each when it is first asked for."""

    def __init__(self, rows: Sequence[Mapping[str, Any]]) -> None:
        self._rows = rows
        self._shapes: dict[int, Shape] = {}

    def shape(self, number: int) -> Shape:
        """Give the shape of one row."""
        if number not in self._shapes:
            facts = dict(self._rows[number])
            if "fields" in facts:
                facts["fields"] = {name: self.shape(child) for name, child in facts["fields"].items()}
            for name in ("items", "values"):
                if name in facts:
                    facts[name] = self.shape(facts[name])
            for name in ("required", "enum", "list_keys"):
                if name in facts:
                    facts[name] = tuple(facts[name])
            if "checks" in facts:
                facts["checks"] = tuple((rule, message) for rule, message in facts["checks"])
            self._shapes[number] = Shape(**facts)
        return self._shapes[number]
