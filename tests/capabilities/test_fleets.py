"""Capability rows of fleets: E1, E9, E10, E11, B11, C4, F6, T8 and T12."""

import json

import pytest
import yaml

from hyperflow.cli import main
from hyperflow.inventory.fleet import load_fleet, read_fleet
from hyperflow.spec.fleet import LinkKind


def _node(name, product="NVIDIA-H100-80GB-HBM3", **labels):
    sizes = {"cpu": "192", "memory": "2000Gi", "nvidia.com/gpu": "8"}
    return {
        "kind": "Node",
        "apiVersion": "v1",
        "metadata": {"name": name, "labels": {"nvidia.com/gpu.product": product, **labels}},
        "status": {"allocatable": sizes, "conditions": [{"type": "Ready", "status": "True"}]},
    }


def _hypernode(name, tier, *members, **status):
    listed = [
        {"type": "HyperNode", "selector": {"exactMatch": {"name": member[1:]}}}
        if isinstance(member, str) and member.startswith("@")
        else {"type": "Node", "selector": {"exactMatch": {"name": member}} if isinstance(member, str) else member}
        for member in members
    ]
    head = {"apiVersion": "topology.volcano.sh/v1alpha1", "kind": "HyperNode", "metadata": {"name": name}}
    return {**head, "spec": {"tier": tier, "members": listed}, **status}


@pytest.fixture
def write(tmp_path):
    def write_objects(name, *objects):
        path = tmp_path / name
        path.write_text(json.dumps({"kind": "List", "items": list(objects)}))
        return str(path)

    return write_objects


def _errors(source):
    return {finding.code for finding in read_fleet([source])[1] if finding.severity == "error"}


def test_e1_hypernodes_are_written_with_patterns_that_match_exactly_their_nodes(write, tmp_path, capsys):
    names = [
        f"node-region1-zone1-dc1-row{r}-rack{k:02}-node{i:02}" for r in (1, 2) for k in (1, 2, 3) for i in range(1, 19)
    ]
    target = tmp_path / "hypernodes.yaml"
    assert main(["fleet", write("beijing.json", *map(_node, names)), "--hypernodes", str(target)]) == 0
    assert main(["lint", str(target), "--server", "member", "--strict"]) == 0  # as the CRD and its webhook judge
    objects = list(yaml.safe_load_all(target.read_text()))
    assert [o["spec"]["tier"] for o in objects] == [1] * 6 + [2] * 2 + [3]
    assert all(len(o["spec"]["members"]) == 1 for o in objects if o["spec"]["tier"] == 1)
    fleet, _ = load_fleet([str(tmp_path / "beijing.json"), str(target)])
    assert [tier.domain_nodes for tier in fleet.clusters[0].tiers] == [(18,) * 6, (54, 54), (108,)]


@pytest.mark.parametrize(
    ("tree", "code"),
    [
        ([_hypernode("r", 1, {"regexMatch": {"pattern": "^rack"}})], "HF325"),
        ([_hypernode("r", 1, "n1"), _hypernode("s", 1, "n1", "n2")], "HF326"),
        ([_hypernode("r", 1, "n1", "n2", "@s"), _hypernode("s", 2, "@r")], "HF321"),
    ],
)
def test_e1_no_match_two_leaves_and_a_ring_are_errors(write, tree, code):
    assert code in _errors(write("beijing.json", _node("n1"), _node("n2"), *tree))


def test_e9_nodes_to_hypernodes_and_discovery_and_back_are_the_same_tree(write, tmp_path, capsys):
    nodes = [_node(f"n{i}", **{"x.io/rack": f"r{i // 2}", "x.io/row": f"w{i // 4}"}) for i in range(8)]
    source = write("beijing.json", *nodes)
    files = {name: tmp_path / f"{name}.yaml" for name in ("hypernodes", "discovery")}
    arguments = [text for name, path in files.items() for text in (f"--{name}", str(path))]
    assert main(["fleet", source, *arguments]) == 0
    before, after = load_fleet([source])[0].clusters[0], load_fleet([source, files["hypernodes"]])[0].clusters[0]
    assert (before.tiers, before.hypernodes, before.groups) == (after.tiers, after.hypernodes, after.groups)
    settings = yaml.safe_load(yaml.safe_load(files["discovery"].read_text())["data"]["volcano-controller.conf"])
    (levels,) = settings["networkTopologyDiscovery"][0]["config"]["networkTopologyTypes"].values()
    assert [level["nodeLabel"] for level in levels] == ["x.io/row", "x.io/rack", "kubernetes.io/hostname"]


def test_e10_an_unhealthy_hypernode_is_left_out_and_named(write):
    sick = {"status": {"conditions": [{"type": "Healthy", "status": "False", "message": "links flap"}]}}
    tree = [_hypernode("r1", 1, "n1", "n2", **sick), _hypernode("r2", 1, "n3")]
    fleet, findings = read_fleet([write("beijing.json", *(_node(f"n{i}") for i in (1, 2, 3)), *tree)])
    assert fleet.clusters[0].nodes_usable == 1
    assert [tier.domain_nodes for tier in fleet.clusters[0].tiers] == [(1, 0)]
    assert fleet.clusters[0].excluded[0].nodes == ("n1", "n2")
    assert (
        "HyperNode r1 is unhealthy (Healthy=False: links flap)"
        in next(f for f in findings if f.code == "HF309").message
    )


def test_e11_every_link_is_one_kind_with_rate_and_latency(tmp_path):
    links = [f"{{a: x, b: y{i}, kind: {kind.value}, gbps: 100, rtt_ms: 1}}" for i, kind in enumerate(LinkKind)]
    clusters = ", ".join(f"{{name: {name}}}" for name in ("x", *(f"y{i}" for i in range(len(links)))))
    path = tmp_path / "fleet.yaml"
    path.write_text(f"schema_version: hyperflow.fleet/v1\nclusters: [{clusters}]\nlinks: [{', '.join(links)}]\n")
    fleet, _ = load_fleet([path])
    assert [(link.kind, link.bytes_per_second, link.round_trip_seconds) for link in fleet.links] == [
        (kind, 12.5e9, 0.001) for kind in LinkKind
    ]


def _cluster(name, allocatable, allocated, models=None):
    spec = {"resourceModels": models} if models else {}
    summary = {"allocatable": {"nvidia.com/gpu": allocatable, "cpu": "1000", "memory": "4Ti"}, "allocated": allocated}
    status = {"conditions": [{"type": "Ready", "status": "True"}], "resourceSummary": summary}
    head = {"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": name}}
    return {**head, "spec": spec, "status": status}


@pytest.mark.parametrize(
    ("allocated", "free"), [({}, 16), ({"nvidia.com/gpu": "12"}, 4), ({"nvidia.com/gpu": "20"}, 0)]
)
def test_b11_free_devices_follow_what_karmada_says_is_taken(write, allocated, free):
    labels = {"hyperflow.io/cluster": "beijing"}
    source = write("all.json", _node("n1", **labels), _node("n2", **labels), _cluster("beijing", "16", allocated))
    assert load_fleet([source])[0].clusters[0].groups[0].free_devices == free


def test_c4_a_link_to_a_cluster_that_is_not_there_is_an_error(tmp_path):
    path = tmp_path / "fleet.yaml"
    path.write_text(
        "schema_version: hyperflow.fleet/v1\nclusters: [{name: a}]\nlinks: [{a: a, b: c, gbps: 1, rtt_ms: 1}]\n"
    )
    assert _errors(path) == {"HF305"}


@pytest.mark.parametrize(("nodes", "noted"), [(5000, False), (5001, True)])
def test_f6_more_than_5000_nodes_are_noted(write, nodes, noted):
    _, findings = read_fleet([write("beijing.json", *(_node(f"n{i}") for i in range(nodes)))])
    assert ("HF344" in {finding.code for finding in findings}) == noted


def test_t8_the_default_models_are_foreseen_to_refuse_gpus_with_the_patch(write, capsys):
    grades = [{"grade": 0, "ranges": [{"name": "cpu", "min": "0", "max": "9223372036854775807"}]}]
    labels = {"hyperflow.io/cluster": "beijing"}
    cluster = _cluster("beijing", "8", {}, grades)
    cluster["status"]["resourceSummary"]["allocatableModelings"] = [{"grade": 0, "count": 1}]
    source = write("all.json", _node("n1", **labels), cluster)
    assert main(["fleet", source, "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    refused = document["clusters"][0]["karmada"]
    assert refused["refused"] == "beijing will be refused by Karmada: memory, nvidia.com/gpu not in its resource models"
    assert [r["name"] for r in refused["patch"]["spec"]["resourceModels"][1]["ranges"]] == [
        "cpu",
        "memory",
        "nvidia.com/gpu",
    ]


T8_JOB = """
import hyperflow as hf

@hf.job(image="r/t:1")
@hf.model(layers=8, hidden=1024, ffn=4096, heads=8, vocab=32000, seq=1024)
@hf.parallel(tp=8, dp=1)
@hf.on(hf.Fleet.load("all.json"))
def train():
    return hf.megatron()
"""


def test_t8_compile_warns_that_karmada_would_refuse_a_cluster(write, tmp_path, monkeypatch, capsys):
    grades = [{"grade": 0, "ranges": [{"name": "cpu", "min": "0", "max": "9223372036854775807"}]}]
    labels = {"hyperflow.io/cluster": "beijing"}
    cluster = _cluster("beijing", "8", {}, grades)
    cluster["status"]["resourceSummary"]["allocatableModelings"] = [{"grade": 0, "count": 1}]
    write("all.json", _node("n1", **labels), cluster)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job.py").write_text(T8_JOB)
    assert main(["compile", "job.py", "--check", "--format", "json"]) == 0
    (refused,) = [f for f in json.loads(capsys.readouterr().out)["findings"] if f["code"] == "HF340"]
    assert refused["severity"] == "warning"
    assert refused["message"] == "beijing will be refused by Karmada: memory, nvidia.com/gpu not in its resource models"
    assert refused["hint"].startswith("kubectl patch cluster beijing --type merge -p '{")


def test_t12_two_parents_are_an_error_that_names_the_harm(write):
    tree = [_hypernode("r", 1, "n1"), _hypernode("a", 2, "@r"), _hypernode("b", 2, "@r")]
    _, findings = read_fleet([write("beijing.json", _node("n1"), *tree)])
    finding = next(f for f in findings if f.code == "HF320")
    assert finding.severity == "error"
    assert "every hard job of this cluster waits for ever" in finding.message
