"""The problem file of `hyperflow split`: the example of docs/planner.md, values without effect, limits, stdin."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from hyperflow.cli import main
from hyperflow.plan.problem_json import KEYS

PAGE = (Path(__file__).parents[3] / "docs" / "planner.md").read_text(encoding="utf-8")


def block(language):
    found = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)
    assert len(found) == 1
    return found[0]


def two(**more):
    stages = [{"name": "a", "device": "H100"}, {"name": "b", "device": "H100"}]
    return {"stages": stages, "layer_seconds": {"H100": [1.0] * 4}, **more}


@pytest.fixture
def split(tmp_path, monkeypatch, capsys):
    """Run the verb on a problem; gives the exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)

    def run(document, *options):
        text = document if isinstance(document, str) else json.dumps(document)
        Path("problem.json").write_text(text, encoding="utf-8")
        code = main(["split", "problem.json", *options])
        return code, *capsys.readouterr()

    return run


def untimed(text):
    return re.sub(r"\d+\.\d\d s\)", "T s)", text)


def test_the_example_of_the_page_prints_the_output_of_the_page(split):
    command, _, expected = block("console").partition("\n")
    code, out, err = split(block("json"))
    assert (command, code, err) == ("$ hyperflow split problem.json", 0, "")
    assert untimed(out) == untimed(expected)


def test_the_example_of_the_page_has_every_key():
    assert sorted(json.loads(block("json"))) == sorted(KEYS)


def test_the_help_points_to_the_page(capsys):
    with pytest.raises(SystemExit):
        main(["split", "--help"])
    assert "docs/planner.md, The problem file" in " ".join(capsys.readouterr().out.split())
    assert "\n## The problem file\n" in PAGE


def test_memory_without_layer_bytes_is_told_and_not_shown_as_kept(split):
    document = two()
    document["stages"][0]["memory_bytes"] = 1
    code, out, err = split(document)
    assert (code, out.splitlines()[1].split()[-1]) == (0, "-")
    assert err == (
        "warning[HF239] the memory of a limits nothing, since the problem has no layer_bytes\n"
        "  --> problem.json: stages[0].memory_bytes\n  hint: give layer_bytes, one number a layer\n"
    )


def test_layer_times_of_a_device_that_no_stage_has_are_a_note(split):
    code, _, err = split(two(layer_seconds={"H100": [1.0] * 4, "H10": [1.0] * 4}))
    assert (code, err) == (
        0,
        'note[HF239] no stage has the device "H10"\n  --> problem.json: layer_seconds.H10\n'
        '  hint: did you mean "H100"?\n',
    )


def test_layer_times_of_another_length_are_refused_even_for_a_device_that_no_stage_has(split):
    code, _, err = split(two(layer_seconds={"H100": [1.0] * 4, "A100": [1.0]}))
    assert code == 1
    assert err.startswith(
        "error[HF200] the lists of layer_seconds must be of one length, and not empty\n"
        "  --> problem.json: layer_seconds\n  got H100 4, A100 1\n"
    )


def test_a_tail_of_an_unknown_device_is_refused_with_the_nearest_name(split):
    code, _, err = split(two(last_stage_seconds_per_microbatch={"H10": 5}))
    assert (code, err) == (
        1,
        'error[HF200] layer_seconds has no device "H10"\n'
        '  --> problem.json: last_stage_seconds_per_microbatch.H10\n  hint: did you mean "H100"?\n',
    )


def test_numbers_that_would_overflow_are_refused_with_the_limit(split):
    code, _, err = split(two(microbatches=10**20, layer_seconds={"H100": [1e299, 1, 1, 1]}))
    assert (code, err) == (
        1,
        "error[HF200] microbatches is too large\n  --> problem.json: microbatches\n"
        "  got 100000000000000000000, expected an integer from 1 to 1000000000000000\n"
        "error[HF200] layer_seconds.H100[0] is too large\n  --> problem.json: layer_seconds.H100[0]\n"
        "  got 1e+299, expected a number from 0 to 1e+100\n",
    )


def test_numbers_at_the_limit_are_split_and_proven(split):
    code, out, _ = split(two(microbatches=10**15, layer_seconds={"H100": [1e100] * 4}), "--format", "json")
    document = json.loads(out)
    assert (code, document["split"], document["proven"]) == (0, [2, 2], True)
    assert document["objective_seconds"] == pytest.approx(4e100 + (1e15 - 1) * 2e100)


@pytest.mark.parametrize(
    ("change", "reason", "hint"),
    [
        (
            {"layer_seconds": {"H100": [1.0]}},
            "each of 2 stages holds at least 1 layer, and the model has 1 layer",
            "take at most 1 of the stages, or set min_layers to 0, so that stages may stay empty",
        ),
        (
            {"min_layers": 3},
            "each of 2 stages holds at least 3 layers, and the model has 4 layers",
            "take at most 1 of the stages, or lower min_layers to 2",
        ),
        (
            {"min_layers": 5, "stages": [{"name": "H100"}]},
            "the stage holds at least 5 layers, and the model has 4 layers",
            "lower min_layers to 4",
        ),
    ],
)
def test_too_few_layers_are_told_with_both_numbers_and_what_would_do(split, change, reason, hint):
    code, _, err = split(two(**change))
    assert (code, err) == (
        3,
        f"error[HF209] no split exists: these cannot hold together: {reason}\n  --> problem.json\n  hint: {hint}\n",
    )


@pytest.mark.parametrize("value", ["nan", "-1", "inf", "soon"])
def test_a_time_limit_that_is_no_number_of_seconds_is_a_usage_error(split, capsys, value):
    with pytest.raises(SystemExit) as ended:
        split(two(), f"--seconds={value}")
    assert ended.value.code == 2
    assert f"argument --seconds: '{value}' is no number of seconds such as 30" in capsys.readouterr().err


def test_what_is_absent_is_called_nothing(split):
    assert split("")[2] == "error[HF200] the problem must be a JSON object\n  --> problem.json\n  got nothing\n"
    assert split("{}")[2] == (
        "error[HF200] stages must be a list with at least one stage\n  --> problem.json: stages\n  got nothing\n"
        "error[HF200] layer_seconds must give a list of seconds for each device\n"
        "  --> problem.json: layer_seconds\n  got nothing\n"
    )


def test_a_second_problem_in_the_file_is_refused(split):
    code, _, err = split("stages: []\n---\nstages: []\n")
    assert (code, err) == (
        1,
        "error[HF200] a file holds one problem\n  --> problem.json\n  got 2 documents, expected one\n",
    )


def test_times_of_nanoseconds_are_shown_as_such(split):
    _, out, _ = split(two(layer_seconds={"H100": [1e-9] * 4}))
    assert out.splitlines()[1].split()[4:6] == ["2.0", "ns"]


def test_a_dash_reads_standard_input():
    shown = subprocess.run(
        [sys.executable, "-m", "hyperflow", "split", "-"],
        input=json.dumps(two(stages=[])),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (shown.returncode, shown.stdout) == (1, "")
    assert shown.stderr.startswith("error[HF200] stages must be a list with at least one stage\n  --> -: stages\n")
