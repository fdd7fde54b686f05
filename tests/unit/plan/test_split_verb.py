"""`hyperflow split`: what it prints for right, wrong and impossible problems."""

import json

import pytest

from hyperflow.cli import main


def run(capsys, tmp_path, document, *options):
    path = tmp_path / "problem.json"
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    code = main(["split", str(path), "--format", "json", *options])
    out, err = capsys.readouterr()
    return code, json.loads(out), err.replace(str(tmp_path), "DIR")


def talk(**more):
    return {
        "microbatches": 32,
        "stages": [{"name": "beijing", "device": "B200"}, {"name": "shanghai", "device": "H100"}],
        "layer_seconds": {"B200": [1 / 3] * 8, "H100": [1.0] * 8},
        **more,
    }


def test_b3_three_to_one_gives_six_and_two(capsys, tmp_path):
    code, document, _ = run(capsys, tmp_path, talk())
    assert (code, document["order"], document["split"], document["proven"]) == (
        0,
        ["beijing", "shanghai"],
        [6, 2],
        True,
    )
    assert document["objective_seconds"] == pytest.approx(4 + 31 * 2)
    assert document["bound"] == pytest.approx(document["objective_seconds"])


def test_stdout_is_one_json_document_although_the_solver_prints_a_banner(capfd, tmp_path):
    path = tmp_path / "problem.json"
    path.write_text(json.dumps(talk()))
    main(["split", str(path), "--format", "json"])
    json.loads(capfd.readouterr().out)


def test_all_faults_are_told_at_once(capsys, tmp_path):
    code, document, err = run(
        capsys,
        tmp_path,
        talk(microbatch=3, microbatches=0, objective="1f1c", layer_bytes=[1, 2], boundary_seconds=["a"]),
    )
    assert code == 1
    assert [f["code"] for f in document["findings"]] == ["HF200"] * 5
    assert 'error[HF200] unknown key "microbatch"\n  --> DIR/problem.json: microbatch\n' in err
    assert (
        "error[HF200] objective is unknown\n  --> DIR/problem.json: objective\n"
        "  got '1f1c', expected bottleneck or 1f1b or 1f1b-links\n  hint: did you mean \"1f1b\"?\n" in err
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"stages": []}, "stages must be a list with at least one stage"),
        ({"stages": [{"name": "a", "device": "X"}]}, 'layer_seconds has no device "X"'),
        ({"stages": [{"name": "a", "device": "B200"}] * 2}, 'two stages are called "a"'),
        (
            {"layer_seconds": {"B200": [1, 2], "H100": [1]}},
            "the lists of layer_seconds must be of one length, and not empty",
        ),
        ({"layer_seconds": {"B200": [1, "x"], "H100": [1, 1]}}, "layer_seconds.B200[1] must be a finite number"),
        ({"layer_seconds": {"B200": [1, -1], "H100": [1, 1]}}, "layer_seconds.B200[1] must be a finite number"),
        ({"layer_seconds": 3}, "layer_seconds must give a list of seconds for each device"),
        ({"boundary_seconds": [1, 2]}, "one number for each cut between neighbouring stages"),
        ({"boundary_seconds": [[1], [2]]}, "one row for each layer a cut can follow"),
        ({"boundary_seconds": {"beijing-shanghai": 1}}, "the key must read A->B"),
        ({"boundary_seconds": {"beijing->shanghia": 1}}, 'unknown stage "shanghia"'),
        ({"boundary_seconds": {}}, "neighbouring stages have no boundary: beijing->shanghai"),
        ({"min_layers": 1.5}, "min_layers must be a whole number"),
        ({"last_stage_seconds_per_microbatch": None}, "last_stage_seconds_per_microbatch must be a finite number"),
    ],
)
def test_a_wrong_field_is_named(capsys, tmp_path, change, message):
    code, document, _ = run(capsys, tmp_path, talk(**change))
    assert code == 1
    assert message in [f["message"] for f in document["findings"]]


def test_nan_is_no_number(capsys, tmp_path):
    text = json.dumps(talk()).replace("1.0, 1.0]", "1.0, NaN]")
    code, document, _ = run(capsys, tmp_path, text)
    assert (code, document["findings"][0]["message"]) == (1, "layer_seconds.H100[7] must be a finite number")


def test_a_number_beyond_all_floats_is_refused(capsys, tmp_path):
    code, document, _ = run(capsys, tmp_path, talk(layer_seconds={"B200": [10**400] * 8, "H100": [1.0] * 8}))
    assert (code, document["findings"][0]["message"]) == (1, "layer_seconds.B200[0] is too large")


@pytest.mark.parametrize("text", ["[]", "3", "null", ""])
def test_a_problem_that_is_no_object_is_refused(capsys, tmp_path, text):
    code, document, _ = run(capsys, tmp_path, text)
    assert (code, document["findings"][0]["message"]) == (1, "the problem must be a JSON object")


def test_an_impossible_problem_names_the_conflict_and_the_smallest_change(capsys, tmp_path):
    stages = [
        {"name": "a", "device": "B200", "memory_bytes": 3e9},
        {"name": "b", "device": "H100", "memory_bytes": 4e9},
    ]
    code, document, err = run(capsys, tmp_path, talk(stages=stages, layer_bytes=[1e9] * 8))
    assert (code, document["split"], document["proven"]) == (3, None, True)
    assert [c["stage"] for c in document["conflicts"]] == ["a", "b"]
    assert document["smallest_change"]["more_bytes"] == pytest.approx(1e9, rel=1e-3)
    assert err == (
        "error[HF209] no split exists: these cannot hold together: "
        "a has 3000000000 bytes, room for 3 of 8 layers at most; "
        "b has 4000000000 bytes, room for 4 of 8 layers at most\n  --> DIR/problem.json\n"
        "  hint: 1.0 GB more on a (4.0 GB in all) would do\n"
    )


def test_more_stages_than_layers_conflict_with_the_least_number_of_layers(capsys, tmp_path):
    code, document, _ = run(capsys, tmp_path, talk(layer_seconds={"B200": [1.0], "H100": [1.0]}))
    assert (code, [c["text"] for c in document["conflicts"]]) == (
        3,
        ["each of 2 stages holds at least 1 layer, and the model has 1 layer"],
    )


def test_no_time_gives_no_claim(capsys, tmp_path):
    code, document, err = run(capsys, tmp_path, talk(), "--seconds", "0")
    assert (code, document["proven"], document["split"]) == (3, False, None)
    assert err == (
        "error[HF202] the time limit ended the search before it found a split\n  --> DIR/problem.json\n"
        "  hint: raise --seconds, or fix the order\n"
    )


def test_a_free_order_avoids_stages_without_a_link_and_says_so(capsys, tmp_path):
    stages = [{"name": n, "device": "B200"} for n in "abc"]
    links = {"a->c": 0.1, "c->b": 0.1}
    code, document, _ = run(capsys, tmp_path, talk(stages=stages, order="free", boundary_seconds=links))
    assert (code, document["order"]) == (0, ["a", "c", "b"])
    assert document["findings"][0] == {
        "code": "HF201",
        "severity": "note",
        "message": "stages without a boundary in boundary_seconds are never made neighbours: a->b",
        "where": str(tmp_path / "problem.json") + ": boundary_seconds",
        "got": None,
        "expected": None,
        "hint": "",
    }


def test_the_table_is_for_reading(capsys, tmp_path):
    path = tmp_path / "problem.json"
    path.write_text(json.dumps(talk()))
    assert main(["split", str(path)]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[:3] == [
        "#  STAGE     DEVICE  LAYERS    TIME  BUSY  MEMORY",
        "0  beijing   B200         6  2.00 s  100%  -",
        "1  shanghai  H100         2  2.00 s  100%  -",
    ]
    assert out[3].startswith("objective 66.00 s, proven optimal (HiGHS and exact search, ")
