import json
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from hyperflow.inventory.fleet import read_fleet
from hyperflow.inventory.hypernode_writer import discovery_yaml, hypernodes_yaml, names_pattern, node_selectors
from hyperflow.k8s.go_regex import compile_go_regex
from hyperflow.k8s.hypernode_selectors import NodeIndex, selector_fault

CLUSTERS = Path(__file__).parents[3] / ".." / "shared" / "third_party" / "clusters"
SHARED = pytest.mark.skipif(not CLUSTERS.is_dir(), reason="../shared is absent: real cluster files not tested")
GPU = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}


def _nodes_of_the_talk(node):
    return [
        node(f"node-region1-zone1-dc1-row{row}-rack{rack:02}-node{i:02}")
        for row in (1, 2)
        for rack in (1, 2, 3)
        for i in range(1, 19)
    ]


def test_the_names_of_the_talk_become_one_pattern_per_rack(read, node):
    fleet, _ = read(_nodes_of_the_talk(node))
    objects = list(yaml.safe_load_all(hypernodes_yaml(fleet)))
    assert [o["spec"]["tier"] for o in objects] == [1] * 6 + [2] * 2 + [3]
    assert objects[0] == {
        "apiVersion": "topology.volcano.sh/v1alpha1",
        "kind": "HyperNode",
        "metadata": {"name": "beijing-dc1-row1-rack01", "labels": {"hyperflow.io/cluster": "beijing"}},
        "spec": {
            "tier": 1,
            "tierName": "rack",
            "members": [
                {
                    "type": "Node",
                    "selector": {"regexMatch": {"pattern": "^node-region1-zone1-dc1-row1-rack01-node(0[1-9]|1[0-8])$"}},
                }
            ],
        },
    }


def _round_trip(tmp_path, sources, findings_allowed=("note", "warning")):
    fleet, _ = read_fleet(sources)
    written = tmp_path / "hypernodes.yaml"
    written.write_text(hypernodes_yaml(fleet))
    again, findings = read_fleet([*sources, written])
    assert {finding.severity for finding in findings} <= set(findings_allowed)
    strip = {"topology_labels": ()}
    return (
        [cluster.model_copy(update=strip) for cluster in fleet.clusters],
        [cluster.model_copy(update=strip) for cluster in again.clusters],
    )


def test_nodes_to_hypernodes_to_fleet_is_the_same_fleet(tmp_path, node):
    path = tmp_path / "beijing.json"
    path.write_text(json.dumps({"kind": "List", "items": _nodes_of_the_talk(node)}))
    before, after = _round_trip(tmp_path, [path])
    assert before == after


@SHARED
@pytest.mark.parametrize(
    "names",
    [
        ["nodes-eks-p4d.json"],
        ["nodes-eks-p6-b200.json"],
        ["nodes-gke-a3mega.json"],
        ["nodes-ascend.json"],
        ["nodes-gb200-nvl72-topograph.json"],
        ["nodes-eks-p4d.json", "nodes-gke-a3mega.json", "nodes-ascend.json"],
    ],
)
def test_real_nodes_to_hypernodes_to_fleet_is_the_same_fleet(tmp_path, names):
    before, after = _round_trip(tmp_path, [CLUSTERS / name for name in names])
    assert before == after


@SHARED
@pytest.mark.parametrize(
    "name", ["slurm-topology-tree.conf", "topograph-nvl72.yaml", "ibnetdiscover.out", "ufm-ports.json"]
)
def test_a_fabric_file_to_hypernodes_keeps_every_domain(tmp_path, name):
    fleet, _ = read_fleet([CLUSTERS / name])
    members = {m.name for h in fleet.clusters[0].hypernodes for m in h.members if m.type == "Node"}
    nodes = [{"kind": "Node", "metadata": {"name": node}, "status": {}} for node in sorted(members)]
    (tmp_path / "nodes.json").write_text(json.dumps(nodes))
    (tmp_path / "tree.yaml").write_text(hypernodes_yaml(fleet))
    again, findings = read_fleet([f"x={tmp_path / 'nodes.json'}", f"x={tmp_path / 'tree.yaml'}"])
    assert again.clusters[0].hypernodes == fleet.clusters[0].hypernodes
    assert not [finding for finding in findings if finding.severity == "error"]


def test_hypernodes_of_one_name_in_two_clusters_get_their_cluster_as_prefix(tmp_path, node, hypernode):
    sources = []
    for cluster in ("a", "b"):
        path = tmp_path / f"{cluster}.json"
        objects = [node(f"{cluster}1"), hypernode("rack", 1, [f"{cluster}1"]), hypernode("row", 2, ["@rack"])]
        path.write_text(json.dumps({"kind": "List", "items": objects}))
        sources.append(f"{cluster}={path}")
    objects = list(yaml.safe_load_all(hypernodes_yaml(read_fleet(sources)[0])))
    assert [o["metadata"]["name"] for o in objects] == ["a-rack", "a-row", "b-rack", "b-row"]
    assert objects[3]["spec"]["members"][0]["selector"]["exactMatch"]["name"] == "b-rack"


def test_a_pattern_that_would_match_another_node_is_not_used():
    nodes = ["n1", "n2", "n3"]
    assert node_selectors(nodes, NodeIndex({name: {} for name in (*nodes, "n30")})) == [
        {"regexMatch": {"pattern": "^n[1-3]$"}}
    ]
    assert node_selectors(["n1", "n2"], NodeIndex({name: {} for name in nodes})) == [
        {"exactMatch": {"name": n}} for n in ("n1", "n2")
    ]


@settings(max_examples=200, derandomize=True, deadline=None)
@given(st.sets(st.integers(0, 1200), min_size=1, max_size=60), st.integers(0, 5), st.sampled_from(["", ".x", "-ib"]))
def test_a_pattern_matches_exactly_its_names(numbers, width, tail):
    def name(number):
        return f"gpu.{str(number).zfill(width)}{tail}"

    pattern = names_pattern([name(number) for number in numbers])
    assert selector_fault({"regexMatch": {"pattern": pattern}}) == ""
    regex = compile_go_regex(pattern)
    matched = {number for number in range(1300) if regex.search(name(number))}
    assert matched == numbers
    assert not regex.search("gpuX" + name(min(numbers))[4:])


def _discover(config, nodes):
    """Build domains from labels as Volcano's label discovery does: bottom to top, one domain per label value."""
    domains = set()
    for levels in config.values():
        keys = [level["nodeLabel"] for level in levels]
        assert keys[-1] == "kubernetes.io/hostname"
        for tier, key in enumerate(reversed(keys[:-1]), start=1):
            values = {n["metadata"]["labels"].get(key) for n in nodes} - {None}
            for value in values:
                members = frozenset(n["metadata"]["name"] for n in nodes if n["metadata"]["labels"].get(key) == value)
                domains.add((tier, members))
    return domains


@SHARED
@pytest.mark.parametrize("name", ["nodes-eks-p4d.json", "nodes-gke-a3mega.json", "nodes-ascend.json"])
def test_volcano_would_discover_the_same_domains_from_the_written_configuration(name):
    from hyperflow.inventory.hypernode_tree import nodes_below

    fleet, _ = read_fleet([CLUSTERS / name])
    text, findings = discovery_yaml(fleet)
    config_map = yaml.safe_load(text)
    assert (config_map["metadata"]["name"], findings) == ("volcano-controller-configmap", [])
    (source,) = yaml.safe_load(config_map["data"]["volcano-controller.conf"])["networkTopologyDiscovery"]
    assert (source["source"], source["enabled"]) == ("label", True)
    types = source["config"]["networkTopologyTypes"]
    assert all(len(type_name) <= 20 for type_name in types)
    hypernodes = fleet.clusters[0].hypernodes
    below = nodes_below(hypernodes)
    nodes = json.loads((CLUSTERS / name).read_text())["items"]
    assert _discover(types, nodes) == {(h.tier, below[h.name]) for h in hypernodes}


def test_a_cluster_without_topology_labels_has_no_label_discovery(read, node):
    text, findings = discovery_yaml(read(_nodes_of_the_talk(node))[0])
    assert text == ""
    assert findings[0].as_text() == (
        "warning[HF349] its tiers do not come from node labels, so no label discovery can be written for it\n"
        "  --> cluster beijing\n"
        "  hint: write HyperNodes with --hypernodes instead"
    )
