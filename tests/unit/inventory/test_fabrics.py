import json

import pytest

from hyperflow.errors import InputError
from hyperflow.inventory.fleet import read_fleet


def _read(tmp_path, text, name="fabric.conf"):
    path = tmp_path / name
    path.write_text(text)
    fleet, findings = read_fleet([path])
    return fleet.clusters[0], {finding.code: finding for finding in findings}


def _refused(tmp_path, text, name="fabric.conf"):
    with pytest.raises(InputError) as caught:
        _read(tmp_path, text, name)
    return str(caught.value).replace(str(tmp_path / name), "FILE")


def _sizes(cluster):
    return [(tier.name, tier.domain_nodes) for tier in cluster.tiers]


def test_a_slurm_tree_with_comments_and_continued_lines_is_read(tmp_path):
    text = (
        "# core\nswitchname=core \\\n  Switches=s[1-2]\nSwitchName=s1 Nodes=n[1-3]\nSwitchName=s2 Nodes=n[4-5],gw # x\n"
    )
    cluster, _ = _read(tmp_path, text)
    assert _sizes(cluster) == [("leaf", (3, 3)), ("spine", (6,))]
    assert cluster.nodes_total == 6


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("SwitchName=s2 Nodes=n[9-1]", "the range '9-1' runs backwards"),
        ("SwitchName=s2", "s2 joins nothing"),
        ("SwitchName=s1 Nodes=n9", "s1 is given twice"),
        ("SwitchName=s2 Nodes", "'Nodes' is not KEY=VALUE"),
        ("LinkSpeed=1", "neither SwitchName, BlockName nor BlockSizes"),
        ("SwitchName=s2 Nodes=n[1-", "brackets do not match in 'n[1-'"),
    ],
)
def test_a_line_of_topology_conf_that_cannot_be_read_is_named(tmp_path, line, reason):
    assert _refused(tmp_path, f"SwitchName=s1 Nodes=n1\n{line}\n") == (
        f"error[HF337] cannot read this line: {reason}\n"
        "  --> FILE:2\n"
        f"  got {line}, expected SwitchName=NAME Switches=... or Nodes=..., BlockName=NAME Nodes=..., or BlockSizes=..."
    )


def test_blocks_smaller_than_slurm_takes_are_named(tmp_path):
    text = "BlockName=b1 Nodes=n[1-8]\nBlockName=b2 Nodes=n[9-12]\nBlockSizes=8,16\n"
    cluster, findings = _read(tmp_path, text)
    assert _sizes(cluster) == [("block", (8, 4))]
    assert findings["HF335"].message == "1 block with fewer nodes than the base block size 8"
    assert findings["HF335"].got == "b2"


def test_a_topograph_model_with_switches_over_nothing_is_read(tmp_path):
    text = """
switches: {core: {switches: [s1, s2]}, s1: {switches: [l1, l2]}, s2: {switches: [l3]}}
blocks: [{switch: l1, nodes: ["n[1-2]", n4]}, {switch: l3, nodes: [7]}]
"""
    cluster, _ = _read(tmp_path, text, "model.yaml")
    assert _sizes(cluster) == [("leaf", (3, 1)), ("spine", (3, 1)), ("core", (4,))]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("blocks: [{switch: l1, nodes: ['n[2-1]']}]", "blocks[0].nodes"),
        ("blocks: [{nodes: [n1]}]", "blocks[0]"),
        ("blocks: [{switch: l1, nodes: n1}]", "blocks[0]"),
        ("blocks: [3]", "blocks[0]"),
        ("blocks: none", "blocks"),
        ("switches: [a]\nblocks: []", "switches"),
        ("switches: {a: {switches: b}}\nblocks: []", "switches.a"),
    ],
)
def test_a_topograph_entry_that_cannot_be_read_is_named(tmp_path, text, place):
    assert _refused(tmp_path, text, "model.yaml").startswith(f"error[HF337] cannot read {place}\n  --> FILE: {place}\n")


def test_a_ring_of_switches_is_an_error_not_a_hang(tmp_path):
    text = "switches: {a: {switches: [b]}, b: {switches: [a, l]}}\nblocks: [{switch: l, nodes: [n1]}]"
    _, findings = _read(tmp_path, text, "model.yaml")
    assert findings["HF321"].severity == "error"


def _port(host, leaf, **more):
    return {"description": "Computer IB Port", "system_name": host, "peer_node_name": leaf, "tier": 1, **more}


def test_rails_that_share_hosts_are_one_leaf_group(tmp_path):
    ports = [_port(f"h{i}", f"leaf{i // 2}-rail{r}") for i in range(4) for r in range(2)]
    cluster, _ = _read(tmp_path, json.dumps(ports), "ufm.json")
    assert _sizes(cluster) == [("leaf", (2, 2)), ("spine", (4,))]


def test_a_ufm_list_without_computers_is_refused(tmp_path):
    ports = [{"description": "Switch IB Port", "system_name": "leaf0", "peer_node_name": "spine0"}]
    assert _refused(tmp_path, json.dumps(ports), "ufm.json") == (
        "error[HF335] no topology can be read from it: no port of a computer\n"
        "  --> FILE\n"
        "  hint: give the output for the whole fabric, switches included"
    )


LEAF = 'Switch\t4 "S-{0}"\t\t# "MF0;leaf-{0}:MQM/U1" enhanced port 0 lid 1 lmc 0\n'
HOST = '[{0}]\t"H-{1}"[1]({1}) \t\t# "{2}" lid 2 4xNDR\n'
UPLINK = '[4]\t"S-{0}"[1]\t\t# "MF0;spine:MQM/U1" lid 3 4xNDR\n'


def _fabric(*leaves):
    return "".join(
        LEAF.format(f"{i:04x}")
        + "".join(HOST.format(k + 1, f"{i:02x}{k:02x}ff", name) for k, name in enumerate(names))
        + UPLINK.format("beef")
        for i, names in enumerate(leaves)
    )


def test_ibnetdiscover_leaves_of_different_rails_merge_by_their_hosts(tmp_path):
    text = _fabric(["a1 mlx5_0", "a2 mlx5_0"], ["a1 mlx5_1", "a2 mlx5_1"], ["b1 HCA-1"])
    cluster, _ = _read(tmp_path, text)
    assert _sizes(cluster) == [("leaf", (2, 1)), ("spine", (3,))]


def test_cards_without_a_host_name_are_counted_and_said(tmp_path):
    text = _fabric(["a1 mlx5_0", "MT4129 ConnectX7   Mellanox Technologies", "localhost HCA-1"])
    cluster, findings = _read(tmp_path, text)
    assert cluster.nodes_total == 1
    assert findings["HF336"].message == "2 network cards without the name of a node, left out"
    assert findings["HF336"].got == ("H-0001ff 'MT4129 ConnectX7   Mellanox Technologies', H-0002ff 'localhost HCA-1'")


def test_ibnetdiscover_that_is_cut_off_is_refused(tmp_path):
    text = _fabric(["a1 mlx5_0"])[:-30]
    assert _refused(tmp_path, text).startswith(
        "error[HF337] cannot read this line of ibnetdiscover; is the file cut off?\n  --> FILE:3\n"
    )


def _nmx(name, domain="d1", **more):
    return {"Name": name, "DomainUUID": domain, "GpuIDList": ["a", "b"], "Health": "HEALTHY", **more}


def test_nvlink_domains_of_nmx_are_read_and_sick_nodes_named(tmp_path):
    nodes = [_nmx("n1"), _nmx("n2"), _nmx("n3", "d2"), _nmx("n4", Health="UNHEALTHY")]
    cluster, findings = _read(tmp_path, json.dumps(nodes), "nmx.json")
    assert _sizes(cluster) == [("nvlink", (2, 1))]
    assert cluster.unidentified_devices == 8
    assert (findings["HF309"].message, findings["HF309"].got) == ("1 unhealthy node left out", "n4")


def test_a_fabric_file_gives_the_tree_of_the_cluster_whose_nodes_it_names(tmp_path, node):
    nodes = {"kind": "NodeList", "items": [node(f"n{i}") for i in range(1, 5)]}
    other = {"kind": "NodeList", "items": [node(f"m{i}") for i in range(1, 5)]}
    for name, value in (("one.json", nodes), ("two.json", other)):
        (tmp_path / name).write_text(json.dumps(value))
    (tmp_path / "topology.conf").write_text("SwitchName=s1 Nodes=m[1-2]\nSwitchName=s2 Nodes=m[3-4]\n")
    fleet, findings = read_fleet([tmp_path / "one.json", tmp_path / "two.json", tmp_path / "topology.conf"])
    assert [len(cluster.tiers) for cluster in fleet.clusters] == [0, 1]
    assert [h.name for h in fleet.clusters[1].hypernodes] == ["two-s1", "two-s2"]
    assert next(f for f in findings if f.code == "HF349").as_text() == (
        "note[HF349] the tiers are read from Slurm topology.conf; Volcano knows them only once HyperNodes exist\n"
        "  --> cluster two\n"
        "  hint: write them with --hypernodes FILE, or let Volcano find them with --discovery FILE"
    )
