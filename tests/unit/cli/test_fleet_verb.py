import json

import pytest
import yaml

from hyperflow.cli import main

NODE = {
    "kind": "Node",
    "metadata": {
        "name": "n1",
        "labels": {"nvidia.com/gpu.product": "NVIDIA-H200", "x.io/rack": "r1", "kubernetes.io/hostname": "n1"},
    },
    "spec": {"taints": [{"key": "team", "value": "a", "effect": "NoSchedule"}]},
    "status": {
        "allocatable": {"cpu": "192", "memory": "2000Gi", "nvidia.com/gpu": "8"},
        "conditions": [{"type": "Ready", "status": "True"}],
    },
}


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "beijing.json"
    path.write_text(json.dumps(NODE))
    return str(path)


def test_json_is_one_document_with_the_contracts_keys(source, capsys):
    assert main(["fleet", source, "--tolerate", "team", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    (cluster,) = document["clusters"]
    keys = ["name", "nodes_total", "nodes_usable", "device", "devices_per_node", "devices_total", "devices_free"]
    assert [cluster[key] for key in keys] == ["beijing", 1, 1, "H200-SXM", 8, 8, None]
    assert cluster["tiers"] == [{"tier": 1, "name": "rack", "domains": 1, "largest_nodes": 1}]
    assert [finding["code"] for finding in document["findings"]] == ["HF349", "HF347"]


def test_the_table_shows_what_is_unknown_as_unknown(source, capsys):
    assert main(["fleet", source, "--tolerate", "team=a"]) == 0
    assert capsys.readouterr().out == (
        "CLUSTER  NODES  USABLE  DEVICE    PER NODE  DEVICES  FREE  TIERS (domains x largest)\n"
        "beijing      1       1  H200-SXM         8        8     ?  1 rack 1x1\n"
    )


def test_a_mixed_cluster_shows_a_row_for_each_kind_of_node(source, tmp_path, capsys):
    other = json.loads(json.dumps(NODE))
    other["metadata"]["name"] = "n2"
    other["metadata"]["labels"]["nvidia.com/gpu.product"] = "NVIDIA-B200"
    path = tmp_path / "mixed.json"
    path.write_text(json.dumps([NODE, other]))
    assert main(["fleet", str(path), "--tolerate", "team"]) == 0
    assert capsys.readouterr().out == (
        "CLUSTER  NODES  USABLE  DEVICE      PER NODE  DEVICES  FREE  TIERS (domains x largest)\n"
        "mixed        2       2  mixed              8       16     ?  1 rack 1x2\n"
        "                     1    B200-SXM         8        8     ?\n"
        "                     1    H200-SXM         8        8     ?\n"
    )


def test_warnings_end_with_four_only_when_strict(source, capsys):
    assert main(["fleet", source]) == 0
    assert "HF312" in capsys.readouterr().err
    assert main(["fleet", source, "--strict"]) == 4


def test_errors_still_show_the_fleet_and_end_with_one(tmp_path, capsys):
    members = [{"type": "HyperNode", "selector": {"exactMatch": {"name": "a"}}}]
    ring = {"apiVersion": "topology.volcano.sh/v1alpha1", "kind": "HyperNode", "metadata": {"name": "a"}}
    path = tmp_path / "ring.json"
    path.write_text(json.dumps({**ring, "spec": {"tier": 1, "members": members}}))
    output = tmp_path / "out.yaml"
    assert main(["fleet", str(path), "--format", "json", "-o", str(output)]) == 1
    document = json.loads(capsys.readouterr().out)
    assert [finding["code"] for finding in document["findings"]] == ["HF321"]
    assert document["clusters"][0]["name"] == "ring"
    assert not output.exists()


def test_no_source_is_a_usage_error(capsys):
    assert main(["fleet"]) == 2
    assert capsys.readouterr().err == (
        "error[HF300] no source is given\n  hint: hyperflow fleet nodes.json, or hyperflow fleet --context NAME\n"
    )


def test_an_unreadable_source_is_one_json_document_too(capsys):
    assert main(["fleet", "absent.json", "--format", "json"]) == 1
    assert [finding["code"] for finding in json.loads(capsys.readouterr().out)["findings"]] == ["HF101"]


def test_all_files_are_written(source, tmp_path, capsys):
    names = [tmp_path / name for name in ("fleet.yaml", "hypernodes.yaml", "discovery.yaml")]
    fleet, hypernodes, discovery = map(str, names)
    arguments = ["-o", fleet, "--hypernodes", hypernodes, "--discovery", discovery]
    assert main(["fleet", source, "--tolerate", "team", *arguments]) == 0
    assert [yaml.safe_load(path.read_text()) is not None for path in names] == [True] * 3
    capsys.readouterr()
    assert main(["fleet", fleet, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["clusters"][0]["devices_total"] == 8


def test_a_path_that_cannot_be_written_is_named(source, tmp_path, capsys):
    assert main(["fleet", source, "-o", str(tmp_path / "no" / "fleet.yaml")]) == 1
    assert "error[HF101] cannot write" in capsys.readouterr().err
