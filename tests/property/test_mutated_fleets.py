"""Broken copies of every kind of fleet source: each is read or refused with a finding, never a crash."""

import copy
import json
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hyperflow.errors import InputError
from hyperflow.inventory.fleet import read_fleet, write_fleet
from hyperflow.inventory.fleet_summary import summarise_fleet
from hyperflow.inventory.hypernode_writer import discovery_yaml, hypernodes_yaml

CLUSTERS = Path(__file__).parents[2] / ".." / "shared" / "third_party" / "clusters"
SMALL = sorted(path for path in CLUSTERS.glob("*") if path.stat().st_size < 70_000) if CLUSTERS.is_dir() else []
needs_shared = pytest.mark.skipif(not SMALL, reason="../shared is absent: broken copies of real files not tested")
SLOW = (HealthCheck.function_scoped_fixture, HealthCheck.too_slow)

FLEET = {
    "schema_version": "hyperflow.fleet/v1",
    "versions": {"volcano": "1.15.1", "hyperjob_crd": "patched"},
    "clusters": [
        {
            "name": "a",
            "groups": [
                {
                    "device": "H100",
                    "node_names": ["n[1-4]"],
                    "devices_per_node": 8,
                    "allocatable": {"cpu": 192, "memory": "2000GiB"},
                    "taints": [{"key": "k", "value": "v", "effect": "NoExecute"}],
                    "labels": {"x": "y"},
                    "network_gbps": 400,
                }
            ],
            "excluded": [{"cause": "cordoned", "nodes": ["n5"]}],
            "tiers": [{"tier": 1, "name": "rack", "domain_nodes": [2, 2]}],
            "hypernodes": [
                {"name": "r1", "tier": 1, "nodes": ["n[1-2]"]},
                {"name": "t", "tier": 2, "hypernodes": ["r1"]},
            ],
            "topology_labels": [["x.io/rack"]],
            "karmada": {
                "resource_models": [{"grade": 0, "ranges": {"cpu": [0, None]}}],
                "modelings": {0: 3},
                "allocatable": {"memory": "32Ti"},
            },
            "quotas": {"q": {"nvidia.com/gpu": 8}},
        },
        {"name": "b"},
    ],
    "links": [{"a": "a", "b": "b", "gbps": 100, "rtt_ms": 25, "curve": [{"size": "1MiB", "ms": 2}]}],
}
ODD = st.sampled_from(
    [None, True, -1, 0, 1.5, 10**30, "", "x", "٣", "192G", "1e400", "a" * 300, [], {}, [None], {"n[1": 1}, "n[1-3]"]
)  # fmt: skip


def places(value, path=()):
    """Give the path of every value inside a parsed document."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places(inner, (*path, key))


def changed(document, path, odd):
    """Give a copy with one value replaced; replacing by an Ellipsis removes it."""
    result = copy.deepcopy(document)
    if not path:
        return odd
    target = result
    for key in path[:-1]:
        target = target[key]
    target[path[-1]] = odd
    return result


def read_all_ways(path):
    """Read, sum up and write a source as the command does."""
    try:
        fleet, findings = read_fleet([path])
    except InputError as error:
        assert error.findings
        assert len(str(error)) < 200_000
        return
    json.dumps(summarise_fleet(fleet), allow_nan=False)
    hypernodes_yaml(fleet)
    discovery_yaml(fleet)
    text = write_fleet(fleet)
    if any(finding.severity == "error" for finding in findings):
        return
    again = path.with_name("again.yaml")
    again.write_text(text)
    assert read_fleet([again])[0] == fleet


@settings(max_examples=150, derandomize=True, deadline=None, suppress_health_check=SLOW)
@given(st.sampled_from(sorted(places(FLEET), key=str)), ODD)
def test_a_fleet_file_with_one_odd_value_is_read_or_refused(tmp_path, place, odd):
    path = tmp_path / "fleet.yaml"
    path.write_text(yaml.safe_dump(changed(FLEET, place, odd)))
    read_all_ways(path)


def _documents(path):
    text = path.read_text()
    return json.loads(text) if path.suffix == ".json" else list(yaml.safe_load_all(text))


def _shortened(document):
    """Keep the first nodes of a list only, so that a hundred copies stay quick."""
    if isinstance(document, dict) and len(document.get("items") or []) > 6:
        return {**document, "items": document["items"][:6]}
    return document


@needs_shared
@settings(max_examples=250, derandomize=True, deadline=None, suppress_health_check=SLOW)
@given(st.data())
def test_a_real_file_with_one_odd_value_is_read_or_refused(tmp_path, data):
    source = data.draw(st.sampled_from([path for path in SMALL if path.suffix in (".json", ".yaml")]))
    document = _shortened(_documents(source))
    place = data.draw(st.sampled_from(list(places(document))))
    broken = changed(document, place, data.draw(ODD))
    path = tmp_path / "broken.yaml"
    if source.suffix == ".yaml" and isinstance(broken, list):
        path.write_text(yaml.safe_dump_all(broken))
    else:
        path.write_text(json.dumps(broken))
    read_all_ways(path)


@needs_shared
@settings(max_examples=150, derandomize=True, deadline=None, suppress_health_check=SLOW)
@given(st.data())
def test_a_real_file_with_text_cut_out_or_put_in_is_read_or_refused(tmp_path, data):
    source = data.draw(st.sampled_from([path for path in SMALL if path.stat().st_size < 10_000]))
    text = source.read_text()
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.one_of(st.just(len(text)), st.integers(start, min(len(text), start + 40))))
    put = data.draw(st.sampled_from(["", '"', "{", "]", "\n", "\t", "&a", "*a", "[9-1]", "=", "\x00", "é", "- "]))
    path = tmp_path / ("broken" + source.suffix)
    path.write_text(text[:start] + put + text[end:])
    read_all_ways(path)
