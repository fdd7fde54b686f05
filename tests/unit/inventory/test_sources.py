import json

import pytest

from hyperflow.errors import InputError
from hyperflow.inventory.fleet import load_fleet, read_fleet, write_fleet


def _write(tmp_path, name, *objects):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"kind": "List", "items": list(objects)}))
    return str(path)


def _codes(findings):
    return [finding.code for finding in findings]


def test_nodes_hypernodes_and_links_by_hand_make_one_fleet(tmp_path, node, hypernode):
    beijing = _write(tmp_path, "a.json", node("n1"), node("n2"))
    tree = _write(tmp_path, "b.json", hypernode("rack", 1, ["n1", "n2"], "rack"))
    shanghai = _write(tmp_path, "c.json", node("m1", {"nvidia.com/gpu.product": "NVIDIA-B200"}))
    links = tmp_path / "links.yaml"
    links.write_text(
        "schema_version: hyperflow.fleet/v1\n"
        "versions: {karmada: 1.19.0}\n"
        "clusters: [{name: beijing, versions: {volcano: 1.15.1}, price_per_device_hour: 2}]\n"
        "links: [{a: beijing, b: shanghai, gbps: 100, rtt_ms: 25}]\n"
    )
    fleet, _ = load_fleet([f"beijing={beijing}", f"beijing={tree}", f"shanghai={shanghai}", links])
    assert [(c.name, c.devices_total, len(c.tiers)) for c in fleet.clusters] == [("beijing", 16, 1), ("shanghai", 8, 0)]
    assert fleet.cluster("beijing").versions.volcano == "1.15.1"
    assert fleet.cluster("beijing").price_per_device_hour == 2
    assert fleet.link("beijing", "shanghai").round_trip_seconds == 0.025
    assert fleet.versions.karmada == "1.19.0"
    path = tmp_path / "fleet.yaml"
    path.write_text(write_fleet(fleet))
    assert load_fleet([path])[0] == fleet


def test_the_cluster_label_of_nodes_names_their_cluster(tmp_path, node):
    labels = {"nvidia.com/gpu.product": "NVIDIA-H200"}
    nodes = [node(f"n{i}", labels | {"hyperflow.io/cluster": c}) for i, c in enumerate(("x", "y", "y"))]
    fleet, _ = load_fleet([_write(tmp_path, "all.json", *nodes)])
    assert [(c.name, c.nodes_usable) for c in fleet.clusters] == [("x", 1), ("y", 2)]


def test_a_bare_list_of_nodes_is_read(tmp_path, node):
    path = tmp_path / "items.json"
    path.write_text(json.dumps([node("n1"), node("n2")]))
    assert load_fleet([path])[0].clusters[0].nodes_usable == 2


def test_yaml_and_json_of_one_list_are_the_same(tmp_path, node):
    import yaml

    nodes = [node("n1"), node("n2")]
    as_json = _write(tmp_path, "beijing.json", *nodes)
    as_yaml = tmp_path / "beijing.yaml"
    as_yaml.write_text(yaml.safe_dump({"kind": "NodeList", "items": nodes}))
    assert load_fleet([as_json])[0] == load_fleet([as_yaml])[0]


def test_objects_of_other_kinds_are_counted_and_left_out(tmp_path, node):
    path = _write(tmp_path, "a.json", node("n1"), {"kind": "Service"}, {"kind": "Service"}, {"kind": "Secret"})
    _, findings = load_fleet([path])
    assert findings[0].as_text() == (
        f"note[HF300] some objects say nothing of a fleet and are left out\n  --> {path}\n  got 2 x Service, 1 x Secret"
    )


@pytest.mark.parametrize(
    ("text", "got"),
    [
        ("", "it is empty"),
        ("# only a comment\n", "it is empty"),
        ('{"kind": "NodeList", "items": []}', "it is empty"),
        ("[]", "1 x an empty list"),
        ("just words", "1 x just words"),
        ("kind: Service\n---\nkind: Job\n", "1 x Service, 1 x Job"),
        ("a: 1", "1 x an object without a kind"),
        ("[1, 2]", "1 x a list of something else"),
        ("kind: [Node]", "1 x an object without a kind"),
    ],
)
def test_a_source_of_no_use_is_refused_with_what_it_holds(tmp_path, text, got):
    path = tmp_path / "x.yaml"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        load_fleet([path])
    (finding,) = caught.value.findings
    assert (finding.code, finding.message, finding.got) == ("HF300", "nothing here that describes a fleet", got)


def test_a_cluster_object_of_another_project_is_no_karmada_cluster(tmp_path):
    path = _write(tmp_path, "a.json", {"kind": "Cluster", "apiVersion": "cluster.x-k8s.io/v1beta1", "metadata": {}})
    with pytest.raises(InputError) as caught:
        load_fleet([path])
    assert caught.value.findings[0].got == "1 x Cluster"


def test_all_unreadable_sources_are_told_in_one_run(tmp_path):
    (tmp_path / "b.yaml").write_text("kind: Service")
    with pytest.raises(InputError) as caught:
        load_fleet([tmp_path / "a.json", tmp_path / "b.yaml"])
    assert _codes(caught.value.findings) == ["HF101", "HF300"]


def test_two_files_of_one_name_do_not_merge_unseen(tmp_path, node):
    first = _write(tmp_path, "a/nodes.json", node("n1"))
    second = _write(tmp_path, "b/nodes.json", node("n2"))
    with pytest.raises(InputError) as caught:
        load_fleet([first, second])
    assert caught.value.findings[0].as_text() == (
        "error[HF304] two files would both be cluster 'nodes'\n"
        f"  --> {second}\n"
        f"  got {first} and {second}\n"
        f"  hint: name the cluster of each: hyperflow fleet NAME={first} OTHER={second}"
    )
    fleet, _ = load_fleet([f"x={first}", f"x={second}"])
    assert fleet.clusters[0].nodes_usable == 2


def test_hypernodes_of_nodes_that_two_clusters_have_need_a_name(tmp_path, node, hypernode):
    first, second = (_write(tmp_path, f"{name}.json", node("n1")) for name in "ab")
    tree = _write(tmp_path, "tree.json", hypernode("rack", 1, ["n1"]))
    with pytest.raises(InputError) as caught:
        load_fleet([first, second, tree])
    assert (
        caught.value.findings[0].message == "its nodes are in several clusters, so it is unclear which one it describes"
    )
    fleet, _ = load_fleet([first, second, f"b={tree}"])
    assert [len(cluster.tiers) for cluster in fleet.clusters] == [0, 1]


def test_two_clusters_of_one_name_are_refused(tmp_path):
    text = "schema_version: hyperflow.fleet/v1\nclusters: [{name: beijing}, {name: beijing}]\n"
    path = tmp_path / "fleet.yaml"
    path.write_text(text)
    _, findings = read_fleet([path])
    assert _codes(findings) == ["HF304"]


def test_what_a_fleet_file_and_a_node_list_both_state_is_said(tmp_path, node):
    nodes = _write(tmp_path, "a.json", node("n1"))
    written = tmp_path / "fleet.yaml"
    written.write_text(
        "schema_version: hyperflow.fleet/v1\n"
        "clusters: [{name: beijing, groups: [{device: H100, count: 9, devices_per_node: 8}]}]\n"
    )
    fleet, findings = load_fleet([f"beijing={nodes}", written])
    assert fleet.clusters[0].nodes_usable == 1
    assert next(f for f in findings if f.code == "HF346").as_text() == (
        "warning[HF346] the fleet file's `groups` are not used: other sources state them\n"
        "  --> cluster beijing\n"
        "  expected one source\n"
        "  hint: remove `groups` there, or leave out the other source"
    )


def test_a_fabric_file_gives_the_tree_to_groups_written_by_hand(tmp_path):
    (tmp_path / "topology.conf").write_text("SwitchName=s1 Nodes=n[1-2]\nSwitchName=s2 Nodes=n[3-4]\n")
    written = tmp_path / "fleet.yaml"
    written.write_text(
        "schema_version: hyperflow.fleet/v1\n"
        "clusters: [{name: x, groups: [{device: B200, node_names: ['n[1-4]'], devices_per_node: 8}]}]\n"
    )
    fleet, _ = load_fleet([written, tmp_path / "topology.conf"])
    assert [tier.domain_nodes for tier in fleet.clusters[0].tiers] == [(2, 2)]


def test_a_tree_in_a_fleet_file_is_held_to_the_laws_of_trees(tmp_path):
    path = tmp_path / "fleet.yaml"
    path.write_text(
        "schema_version: hyperflow.fleet/v1\n"
        "clusters:\n"
        "  - {name: x, hypernodes: [{name: a, tier: 2, hypernodes: [b]}, {name: b, tier: 1, hypernodes: [a]}]}\n"
    )
    with pytest.raises(InputError) as caught:
        load_fleet([path])
    assert "HF321" in _codes(caught.value.findings)


def test_an_alias_bomb_is_refused_or_read_without_growing(tmp_path):
    lines = ["a0: &a0 [x, x]"] + [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 30)]
    for text in ("\n".join([*lines, "kind: *a29"]), "\n".join([*lines, "schema_version: *a29", "clusters: *a28"])):
        path = tmp_path / "bomb.yaml"
        path.write_text(text)
        with pytest.raises(InputError) as caught:
            load_fleet([path])
        assert len(str(caught.value)) < 10_000


def test_anchors_in_a_fleet_file_are_read(tmp_path):
    path = tmp_path / "fleet.yaml"
    path.write_text(
        "schema_version: hyperflow.fleet/v1\n"
        "clusters:\n"
        "  - {name: a, groups: &g [{device: H100, count: 2, devices_per_node: 8}]}\n"
        "  - {name: b, groups: *g}\n"
    )
    fleet, _ = load_fleet([path])
    assert [cluster.devices_total for cluster in fleet.clusters] == [16, 16]
