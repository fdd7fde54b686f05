"""The API server's structural schemas, the evaluator of CEL, and what Go makes of values."""

import json
from pathlib import Path

import pytest

from hyperflow.admission.cel import UnknownExpression, holds
from hyperflow.admission.go_values import quantity_text, round_trip
from hyperflow.admission.shapes import Interner, ShapeRows, shape_of
from hyperflow.admission.structure import unknown_fields, violations, with_defaults, without_nulls
from hyperflow.admission.tables import VCJOB, catalogue_table

TABLES = Path(__file__).parents[3] / "hyperflow" / "catalog" / "field_tables.json"
SCHEMA = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string", "minLength": 1, "pattern": "^[a-z]+$"},
        "mode": {"type": "string", "enum": ["hard", "soft"], "default": "hard"},
        "count": {"type": "integer", "format": "int32", "minimum": 0, "default": 1},
        "size": {"x-kubernetes-int-or-string": True},
        "note": {"type": "string", "nullable": True},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "ports": {
            "type": "array",
            "maxItems": 2,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["port", "protocol"],
            "items": {
                "type": "object",
                "properties": {"port": {"type": "integer"}, "protocol": {"type": "string", "default": "TCP"}},
            },
        },
        "names": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
    },
}
SHAPE = shape_of(SCHEMA)


def rules(value):
    return [problem.rule for problem in violations(value, SHAPE, ("spec",))]


def test_defaults_fill_in_at_every_depth_and_leave_what_is_there():
    assert with_defaults({"name": "a", "ports": [{"port": 1}]}, SHAPE) == {
        "name": "a", "mode": "hard", "count": 1, "ports": [{"port": 1, "protocol": "TCP"}],
    }  # fmt: skip
    assert with_defaults({"mode": "soft", "count": 0}, SHAPE) == {"mode": "soft", "count": 0}


def test_nulls_are_dropped_where_they_are_not_allowed_and_then_defaulted():
    value = without_nulls({"mode": None, "note": None, "labels": {"a": None}, "name": None}, SHAPE)
    assert value == {"note": None, "labels": {}}


def test_unknown_fields_are_named_wherever_they_stand_and_free_parts_are_left_alone():
    value = {"nmae": 1, "free": {"x": {"y": 1}}, "labels": {"any": "x"}, "ports": [{"port": 1, "name": "x"}]}
    found = {problem.path: problem.hint for problem in unknown_fields(value, SHAPE, ("spec",))}
    assert list(found) == [("spec", "nmae"), ("spec", "ports", 0, "name")]
    assert found["spec", "nmae"] == 'did you mean "name"?'


@pytest.mark.parametrize(
    ("value", "broken"),
    [
        ({"name": "a"}, []),
        ({}, ["required-field"]),
        ({"name": ""}, ["value", "value"]),
        ({"name": "a\n"}, ["value"]),
        ({"name": "a", "mode": "Hard"}, ["value"]),
        ({"name": "a", "count": 3.0}, []),
        ({"name": "a", "count": 2**31}, ["value"]),
        ({"name": "a", "count": True}, ["type"]),
        ({"name": "a", "count": "1"}, ["type"]),
        ({"name": "a", "size": 1}, []),
        ({"name": "a", "size": "10%"}, []),
        ({"name": "a", "size": 1.5}, ["type"]),
        ({"name": "a", "note": None}, []),
        ({"name": "a", "labels": {"x": 1}}, ["type"]),
        ({"name": "a", "ports": [{"port": 1}, {"port": 1, "protocol": "UDP"}]}, []),
        ({"name": "a", "ports": [{"port": 1}, {"port": 1, "protocol": "TCP"}]}, ["duplicate-item"]),
        ({"name": "a", "ports": [{"port": n} for n in range(3)]}, ["value"]),
        ({"name": "a", "names": ["x", "y", "x"]}, ["duplicate-item"]),
        ("text", ["type"]),
    ],
)
def test_values_are_checked_as_the_schema_says(value, broken):
    assert rules(value) == broken


def test_shapes_survive_the_compact_table():
    interner = Interner()
    number = interner.number(SHAPE)
    assert ShapeRows(json.loads(json.dumps(interner.rows))).shape(number) == SHAPE


def test_the_field_tables_are_small_and_share_the_pod_template():
    assert TABLES.stat().st_size < 100_000
    table = catalogue_table()
    job = table.find(VCJOB).shape.fields["spec"].fields["tasks"].items.fields["template"]
    template = table.find("flow.volcano.sh/v1alpha1/JobTemplate").shape.fields["spec"].fields["tasks"].items
    assert job is template.fields["template"]


@pytest.mark.parametrize(
    ("rule", "value", "expected"),
    [
        ("has(self.a)", {"a": 1}, True),
        ("!has(self.a) && has(self.b.c)", {"b": {"c": 0}}, True),
        ("(has(self.a) ? 1 : 0) + (has(self.b) ? 1 : 0) <= 1", {"a": 1, "b": 2}, False),
        ("self.size == 4 || self.name != 'x'", {"size": 3, "name": "x"}, False),
        ("size(self.items) - 1 >= 1", {"items": [1, 2]}, True),
        ("self.low < self.high", {"low": 1, "high": 2}, True),
    ],
)
def test_cel_rules_hold_or_not(rule, value, expected):
    assert holds(rule, value) is expected


@pytest.mark.parametrize("rule", ["self.all(x, x > 1)", "has(", "oldSelf.a == 1", "self.a < self.b", "#"])
def test_cel_that_is_not_understood_is_said_so(rule):
    with pytest.raises(UnknownExpression):
        holds(rule, {"a": 1})


def test_go_writes_zero_values_of_required_fields_and_drops_those_of_optional_ones():
    task = catalogue_table().find(VCJOB).shape.fields["spec"].fields["tasks"].items
    pod = {
        "hostNetwork": False,
        "nodeSelector": {},
        "tolerations": [],
        "securityContext": {},
        "terminationGracePeriodSeconds": 0,
        "containers": [{"name": "c", "env": [{"name": "A", "value": ""}], "securityContext": {"privileged": False}}],
    }
    assert round_trip({"replicas": 0, "minAvailable": 0, "template": {"spec": pod}}, task) == {
        "minAvailable": 0,
        "template": {
            "metadata": {},
            "spec": {
                "securityContext": {},
                "terminationGracePeriodSeconds": 0,
                "containers": [
                    {"name": "c", "env": [{"name": "A"}], "securityContext": {"privileged": False}, "resources": {}}
                ],
            },
        },
    }


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (8, "8"),
        (0.5, "0.5"),
        ("1000m", "1000m"),
        ("1.5Gi", "1536Mi"),
        ("0.5Ki", "512"),
        (" 1 ", "1"),
        ("x", "x"),
        (None, None),
    ],
)
def test_quantities_become_text(value, text):
    assert quantity_text(value) == text
