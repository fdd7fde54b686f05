import csv
import io
import json

import pytest

from hyperflow.cli import main
from hyperflow.cli.evaluate import CONVENTIONS

ROW = {
    "id": "1", "source": "own cluster", "model": "Llama3.1-8B", "layers": "32", "hidden": "4096", "ffn": "14336",
    "heads": "32", "kv_heads": "8", "vocab": "128256", "seq_len": "8192", "gated_mlp": "1", "gpu": "H100",
    "n_gpus": "16", "tp": "2", "pp": "2", "dp": "4", "micro_batch": "1", "global_batch": "32", "precision": "bf16",
    "iter_time_s": "2.5", "iter_time_kind": "measured", "peak_mem_GiB": "30", "recompute": "", "zero": "1",
}  # fmt: skip


def table(tmp_path, *changes):
    text = io.StringIO()
    writer = csv.DictWriter(text, list(ROW))
    writer.writeheader()
    for change in changes or [{}]:
        writer.writerow(ROW | change)
    path = tmp_path / "runs.csv"
    path.write_text(text.getvalue())
    return str(path)


def run_json(capsys, *argv):
    code = main([*argv, "--format", "json"])
    return code, json.loads(capsys.readouterr().out)


def test_evaluate_prints_rows_and_one_summary_per_source(tmp_path, capsys):
    code, document = run_json(capsys, "evaluate", table(tmp_path, {}, {"id": "2", "precision": "nvfp4"}))
    assert code == 0
    first, second = document["rows"]
    assert (first["id"], first["skipped"], second["skipped"]) == ("1", None, "precision not modelled: nvfp4")
    assert first["predicted_seconds_low"] < first["predicted_seconds"] < first["predicted_seconds_high"]
    assert first["gpu_hours_per_1000_steps"] == pytest.approx(first["predicted_seconds"] * 16 * 1000 / 3600)
    used, skipped = document["summary"]
    error = abs(first["predicted_seconds"] / 2.5 - 1)
    assert (used["source"], used["rows"], used["time_mape"]) == ("own cluster", 1, pytest.approx(error))
    assert (skipped["skipped"], skipped["skipped_why"]) == (1, {"precision not modelled: nvfp4": 1})


def test_evaluate_reports_a_bad_row_and_still_the_others(tmp_path, capsys):
    code, document = run_json(capsys, "evaluate", table(tmp_path, {"layers": "x"}, {"id": "2"}))
    assert code == 1
    assert [row["skipped"] for row in document["rows"]] == ["bad cell in layers", None]
    assert [finding["code"] for finding in document["findings"]] == ["HF601"]


def test_evaluate_shows_tables_to_people(tmp_path, capsys):
    assert main(["evaluate", "--rows", table(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "Llama3.1-8B" in shown
    assert shown.splitlines()[-1].split()[:5] == ["own", "cluster", "H100-80GB-SXM", "dense", "16-bit"]


def test_findings_alike_are_told_once_to_people_and_each_to_machines(tmp_path, capsys):
    runs = table(tmp_path, {"gpu": "Z9000"}, {"gpu": "Z9000"}, {"gpu": "Z9001"}, {"gpu": "H200"})
    assert main(["evaluate", runs]) == 0
    shown = capsys.readouterr()
    assert shown.err.count("warning[HF603]") == 2
    assert "'Z9000' is not in the catalogue, the row is skipped (1 more rows alike)" in shown.err
    assert "H200-SXM (uncalibrated)" in shown.out
    assert len(run_json(capsys, "evaluate", runs)[1]["findings"]) == 3


def test_evaluate_without_a_table_is_a_usage_error(capsys):
    """HF605: the whole text."""
    assert main(["evaluate"]) == 2
    assert capsys.readouterr().err == (
        "error[HF605] evaluate needs a table of runs\n  hint: give RUNS.csv, or --template\n"
    )


EMPTY = {"conventions": CONVENTIONS, "rows": [], "summary": [], "findings": []}


def test_money_follows_the_price_of_an_hour(tmp_path, capsys):
    _, document = run_json(capsys, "evaluate", table(tmp_path), "--price", "2.5")
    row = document["rows"][0]
    assert row["money_per_1000_steps"] == pytest.approx(2.5 * row["gpu_hours_per_1000_steps"])
    assert run_json(capsys, "evaluate", table(tmp_path))[1]["rows"][0]["money_per_1000_steps"] is None


def test_evaluate_template_is_a_header_that_evaluate_reads(tmp_path, capsys):
    assert main(["evaluate", "--template"]) == 0
    path = tmp_path / "template.csv"
    path.write_text(capsys.readouterr().out)
    assert run_json(capsys, "evaluate", str(path)) == (0, EMPTY)


def test_measured_layers_replace_computed_ones(tmp_path, capsys):
    layer = {"device": "H100", "tp": 2, "micro_batch_size": 1, "forward_seconds": 1.0, "backward_seconds": 2.0}
    profile = tmp_path / "profile.json"
    profile.write_text(json.dumps({"layers": [layer]}))
    _, document = run_json(capsys, "evaluate", table(tmp_path), "--profile", str(profile))
    # 16 layers of 3 s a stage; 8 micro-batches and one more stage to fill; ends, links and optimizer come on top.
    assert 16 * 3 * 9 < document["rows"][0]["predicted_seconds"] < 16 * 3 * 9 * 1.01


def measured_runs():
    """Runs that slow down as tokens and layers grow, as runs of one device do."""
    for number, (layers, batch, factor) in enumerate(
        [(16, 32, 1), (32, 32, 2), (32, 64, 4), (48, 64, 6), (24, 32, 1.5)]
    ):
        yield {"id": str(number), "model": f"m{layers}", "layers": str(layers), "global_batch": str(batch),
               "iter_time_s": str(1.3 * factor)}  # fmt: skip


def test_calibrate_writes_constants_that_evaluate_reads_and_that_fit_better(tmp_path, capsys):
    runs, output = table(tmp_path, *measured_runs()), str(tmp_path / "calibration.yaml")
    _, before = run_json(capsys, "evaluate", runs)
    code, document = run_json(capsys, "calibrate", runs, "-o", output)
    assert (code, document["rows_fitted"]) == (0, 5)
    assert {row["device"] for row in document["left_out"]} == {"H100-80GB-SXM"}
    assert sum(row["rows"] for row in document["left_out"]) == 5
    _, after = run_json(capsys, "evaluate", runs, "--calibration", output)
    assert after["summary"][0]["time_mape"] < before["summary"][0]["time_mape"]
    assert after["rows"][0]["calibrated"] is True


def test_calibrate_needs_enough_runs_of_one_device(tmp_path, capsys):
    """HF606: the whole text."""
    runs = table(tmp_path, {}, {"id": "2"})
    assert main(["calibrate", runs, "-o", str(tmp_path / "c.yaml")]) == 1
    assert capsys.readouterr().err == (
        "error[HF606] too few runs to fit any device: H100-80GB-SXM: 2\n"
        f"  --> {runs}\n"
        "  got H100-80GB-SXM: 2, expected at least 4 runs on one device\n"
        "  hint: add rows with iter_time_s; different models, degrees and batch sizes tell most\n"
    )


def test_calibrate_says_when_it_cannot_write(tmp_path, capsys):
    """HF607: the whole text."""
    output = str(tmp_path / "absent" / "c.yaml")
    assert main(["calibrate", table(tmp_path, *measured_runs()), "-o", output]) == 1
    assert capsys.readouterr().err.endswith(
        f"error[HF607] cannot write {output}: No such file or directory\n"
        f"  --> {output}\n"
        "  hint: give a path that can be written\n"
    )
