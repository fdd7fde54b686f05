"""comm.json obeys its schema in docs/."""

import json
from pathlib import Path

import pytest

from hyperflow.lower.comm_contract import comm_text
from hyperflow.lower.lower_job import lower
from tests.manifest_golden import CASES

SCHEMA = json.loads((Path(__file__).parents[3] / "docs" / "comm.schema.json").read_text())
TYPES = {"object": dict, "array": list, "string": str, "integer": int, "null": type(None)}


def faults(value, schema, path="$"):
    """What a JSON document breaks of the keywords that the schema uses."""
    found = []
    names = schema.get("type", [])
    wanted = tuple(TYPES[name] for name in ([names] if isinstance(names, str) else names))
    if wanted and (not isinstance(value, wanted) or isinstance(value, bool)):
        return [f"{path}: is no {names}"]
    if "const" in schema and value != schema["const"]:
        found.append(f"{path}: is not {schema['const']}")
    if "enum" in schema and value not in schema["enum"]:
        found.append(f"{path}: is none of {schema['enum']}")
    if isinstance(value, int) and value < schema.get("minimum", value):
        found.append(f"{path}: is below {schema['minimum']}")
    if isinstance(value, str | list):
        least, most = schema.get("minItems", schema.get("minLength", 0)), schema.get("maxItems", len(value))
        found += [] if least <= len(value) <= most else [f"{path}: has {len(value)} items"]
    if isinstance(value, list):
        found += [f for i, item in enumerate(value) for f in faults(item, schema.get("items", {}), f"{path}[{i}]")]
    if isinstance(value, dict):
        known = schema.get("properties", {})
        found += [f"{path}: lacks {key}" for key in schema.get("required", []) if key not in value]
        found += [f"{path}: knows no {key}" for key in value if key not in known]
        found += [f for key in value if key in known for f in faults(value[key], known[key], f"{path}.{key}")]
    return found


@pytest.mark.parametrize("name", CASES)
def test_f1_contract_obeys_its_schema(name):
    build, mode = CASES[name]
    assert faults(json.loads(comm_text(lower(*build(), mode).comm)), SCHEMA) == []


def test_schema_notices_what_is_wrong():
    document = json.loads(comm_text(lower(*CASES["two_clusters"][0]()).comm))
    document["groups"][0]["kind"] = "xp"
    del document["world_size"]
    document["links"][0]["bytes_per_step"] = -1
    assert faults(document, SCHEMA) == [
        "$: lacks world_size",
        "$.links[0].bytes_per_step: is below 0",
        "$.groups[0].kind: is none of ['tp', 'cp', 'ep', 'dp', 'pp']",
    ]
