"""The verbs place and demo: exit codes, one JSON document, tables, files."""

import json
from xml.etree import ElementTree

import pytest

from hyperflow.cli import main

KEYS = {"job", "cluster", "verdict", "pods_placed", "pods_total", "looks_like", "domain", "tier", "nodes", "partitions"}


@pytest.fixture
def demo(tmp_path, capsys):
    assert main(["demo", "topology", "-o", str(tmp_path)]) == 0
    assert "118 nodes, 9 HyperNodes" in capsys.readouterr().out
    return tmp_path


def _place(folder, jobs, *more):
    return ["place", str(folder / "nodes.yaml"), str(folder / "hypernodes.yaml"), str(folder / jobs), *more]


def test_the_demo_places_three_racks_as_one_json_document(demo, capsys):
    assert main(_place(demo, "jobs-racks.yaml", "--format", "json")) == 0
    document = json.loads(capsys.readouterr().out)
    assert all(set(p) >= {*KEYS, "reason"} for p in document["placements"])
    assert {(p["verdict"], p["pods_placed"], p["tier"]) for p in document["placements"]} == {("fits", 18, 1)}
    assert len({p["domain"] for p in document["placements"]}) == 3
    space = document["clusters"][0]
    assert [t["whole_free_after"] for t in space["tiers"]] == [3, 1, 0]
    assert (space["idle_nodes_before"], space["idle_nodes_after"]) == (118, 64)
    assert document["findings"] == []


def test_the_table_tells_a_stranger_where_jobs_go(demo, capsys):
    assert main(_place(demo, "jobs-rows.yaml")) == 0
    shown = capsys.readouterr().out
    assert "row-job-1  -        fits     54/54  row1       2  running" in shown
    assert "whole domains free, tier 1, rack: 6 -> 0 of 6" in shown


def test_waiting_jobs_exit_with_three(demo, capsys):
    both = [*_place(demo, "jobs-rows.yaml"), str(demo / "jobs-racks.yaml"), "--format", "json"]
    assert main(both) == 3
    verdicts = [p["verdict"] for p in json.loads(capsys.readouterr().out)["placements"]]
    assert verdicts == ["fits", "fits", "later", "later", "later"]


def test_unreadable_input_exits_with_one(tmp_path, capsys):
    broken = tmp_path / "broken.yaml"
    broken.write_text("kind: [")
    assert main(["place", str(broken), "--format", "json"]) == 1
    assert json.loads(capsys.readouterr().out)["findings"][0]["code"] == "HF102"
    broken.write_text("kind: Node\nmetadata: {name: a}\n")
    assert main(["place", str(broken)]) == 1
    assert "error[HF353] no job was given" in capsys.readouterr().err


def test_demo_sizes_must_be_positive(tmp_path, capsys):
    assert main(["demo", "topology", "--rows", "0", "--extra", "-1", "-o", str(tmp_path / "d")]) == 1
    assert capsys.readouterr().err == (
        "error[HF373] the demo needs positive sizes\n  got --rows 0, --extra -1\n"
        "  hint: at least 1 row, rack and node; 0 or more extra nodes\n"
    )
    assert not (tmp_path / "d").exists()


def test_the_demo_is_written_byte_for_byte_the_same(demo, tmp_path):
    before = {p.name: p.read_bytes() for p in demo.iterdir()}
    main(["demo", "topology", "-o", str(tmp_path)])
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before
    assert sorted(before) == sorted(
        ["hypernodes.yaml", "jobs-racks.svg", "jobs-racks.yaml", "jobs-rows.svg", "jobs-rows.yaml", "nodes.yaml"]
    )


def test_the_picture_is_written_on_request(demo, tmp_path):
    path = tmp_path / "rows.svg"
    assert main(_place(demo, "jobs-rows.yaml", "--svg", str(path))) == 0
    assert ElementTree.fromstring(path.read_text()).tag.endswith("svg")
