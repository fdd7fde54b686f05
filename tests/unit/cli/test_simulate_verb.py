import json

import pytest

from hyperflow.cli import main

_ROWS = [
    {"id": "plain", "schedule": "1F1B", "p": 2, "m": 32, "F": [40, 40], "B": [40, 40], "W": [20, 20], "comm": [50]},
    {"schedule": "1F1B", "p": 2, "m": 32, "F": [40, 40], "B": [40, 40], "W": [20, 20], "comm": [50], "warmup": [3, 1]},
    {"id": "few", "schedule": "DualPipeV", "p": 2, "m": 3, "F": [2, 2], "B": [2, 2], "W": [2, 2], "comm": [0]},
]


@pytest.fixture
def cases(tmp_path):
    path = tmp_path / "cases.json"
    path.write_text(json.dumps({"rows": _ROWS}))
    return str(path)


def _json(capsys, *argv) -> tuple[int, dict]:
    code = main(["simulate", *argv, "--format", "json"])
    return code, json.loads(capsys.readouterr().out)


def test_results_come_in_order_with_refusals_in_place(cases, capsys):
    code, document = _json(capsys, cases)
    assert code == 0
    assert [(r["id"], r["makespan"]) for r in document["results"]] == [("plain", 4900), (1, 3400), ("few", None)]
    assert document["results"][0]["peak_until_W"] == [2, 1]
    assert document["results"][0]["idle_per_rank"] == [1700, 1700]
    assert document["results"][2]["error"] == (
        "schedule: DualPipeV needs at least as many micro-batches as its 4 stages (got m=3, p=2)"
    )
    assert [(f["code"], f["where"]) for f in document["findings"]] == [("HF653", "case few, schedule")]


def test_the_table_shows_whole_micro_batches_and_refusals_on_stderr(cases, capsys):
    assert main(["simulate", cases]) == 0
    shown = capsys.readouterr()
    assert shown.out.splitlines()[1].split() == [
        "plain", "1F1B", "2", "1", "32", "4900", "4900", "34.7%", "35%", "35%", "2", "1"
    ]  # fmt: skip
    assert shown.err.startswith("error[HF653] DualPipeV needs at least as many micro-batches as its 4 stages")


def test_exit_is_1_only_when_all_cases_are_refused(cases, capsys):
    assert _json(capsys, cases, "--case", "few")[0] == 1
    assert _json(capsys, cases, "--case", "few", "--case", "1")[0] == 0


def test_an_unknown_case_is_a_usage_error_with_the_nearest(cases, capsys):
    code, document = _json(capsys, cases, "--case", "plane")
    assert code == 2
    [finding] = document["findings"]
    assert (finding["code"], finding["message"]) == ("HF659", "no case has the id plane")
    assert finding["hint"] == 'did you mean "plain"?'


def test_blocking_sends_and_queued_links_slow_the_pipeline(cases, capsys):
    plain, blocking, queued = (
        _json(capsys, cases, "--case", "1", *flags)[1]["results"][0]["makespan"]
        for flags in ((), ("--blocking-sends",), ("--queue-transfers",))
    )
    # A rank that waits for its send of 50 each way takes 100 + 50 a micro-batch, and the ramp adds to it.
    assert plain == 3400
    assert blocking >= 32 * 150
    assert queued == 3400  # one transfer of 50 per 100 of work: the link is never asked for two at a time


def test_automatic_warmups_hide_the_boundary_within_the_memory(cases, capsys, tmp_path):
    path = tmp_path / "auto.json"
    rows = [{**_ROWS[0], "warmup": "auto", "mem_limit": limit, "clusters": ["a", "b"]} for limit in (2, 3, None)]
    path.write_text(json.dumps([*rows, {**_ROWS[0], "schedule": "GPipe", "warmup": "auto"}]))
    code, document = _json(capsys, str(path))
    assert code == 0
    results = document["results"]
    assert [(r["makespan"], r["warmup"]) for r in results[:3]] == [(4900, None), (3400, [3, 1]), (3400, [3, 1])]
    assert results[1]["idle_by_cluster"] == {"a": 200 / 3400, "b": 200 / 3400}
    assert results[3]["error"].startswith("warmup: these warm-up depths cannot run: GPipe has its own warm-up")
    assert [f["message"] for f in document["findings"] if f["code"] == "HF660"][1] == (
        "Warm-up depths 3, 1 (forwards before a rank's first backward) shorten the 1F1B period by 33%; no link delay "
        "is left in it. torchtitan runs this order from a compute-only schedule file (pipeline_parallel_schedule_csv). "
        "Megatron cannot: its 1F1B always warms up by p - r and has no flag for other depths, so it pays the delay."
    )


def test_one_picture_compares_the_named_cases(cases, capsys, tmp_path):
    path = tmp_path / "both.svg"
    assert main(["simulate", cases, "--case", "plain", "--case", "1", "--svg", str(path), "--unit", "ms"]) == 0
    text = path.read_text()
    assert text.count('class="text title"') == 2
    assert "4900 ms for 32 micro-batches, idle 35%" in text
    assert "3400 ms for 32 micro-batches, idle 6%" in text


def test_the_order_is_exported_for_pytorch(cases, tmp_path):
    path = tmp_path / "order.csv"
    assert main(["simulate", cases, "--case", "1", "--csv", str(path)]) == 0
    assert path.read_text().splitlines()[0].startswith("0F0,0F1,0F2,0B0,0F3,0B1,")


def test_a_picture_that_cannot_be_written_is_one_finding(cases, capsys, tmp_path):
    path = tmp_path / "absent" / "x.svg"
    assert main(["simulate", cases, "--svg", str(path)]) == 1
    assert capsys.readouterr().err == (
        f"error[HF658] cannot write {path}: No such file or directory\n"
        f"  --> {path}\n"
        "  hint: give a path in a directory that exists and may be written\n"
    )


def test_a_file_without_cases_is_one_finding(tmp_path, capsys):
    path = tmp_path / "x.json"
    path.write_text("3")
    code, document = _json(capsys, str(path))
    assert (code, [f["code"] for f in document["findings"]]) == (1, ["HF651"])
