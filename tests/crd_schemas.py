"""The CRD files beside the checkout, and a walk over what a schema does not know."""

from pathlib import Path

import pytest
import yaml

CRDS = Path(__file__).parents[2] / "shared" / "third_party" / "crds"
_loaded = {}


def schema_of(kind, group):
    """The schema of a kind from the CRD files; skips the test when they are not there."""
    if not CRDS.is_dir():
        pytest.skip("the CRD files are not beside the checkout: nothing was compared with the servers' schemas")
    if not _loaded:
        for path in sorted(CRDS.glob("*.yaml")):
            crd = yaml.load(path.read_text(), Loader=yaml.CSafeLoader)
            for version in crd["spec"]["versions"]:
                key = (crd["spec"]["names"]["kind"], f"{crd['spec']['group']}/{version['name']}")
                _loaded[key] = version["schema"]["openAPIV3Schema"]
    return _loaded.get((kind, group))


def unknown_fields(value, schema, path=""):
    """Paths of the fields that the schema would prune."""
    if schema.get("x-kubernetes-preserve-unknown-fields"):
        return []
    if isinstance(value, dict):
        known, rest = schema.get("properties", {}), schema.get("additionalProperties")
        found = []
        for key, item in value.items():
            inner = known.get(key) or (rest if isinstance(rest, dict) else None)
            if inner is None and path:
                found.append(f"{path}.{key}")
            elif inner is not None and not (path == "" and key == "metadata"):
                found += unknown_fields(item, inner, f"{path}.{key}")
        return found
    if isinstance(value, list):
        return [
            p for i, item in enumerate(value) for p in unknown_fields(item, schema.get("items", {}), f"{path}[{i}]")
        ]
    return []
