"""`compile --kfp` writes the job as a pipeline beside its bundle, which stays a bundle."""

import dataclasses
import json

import pytest
import yaml

from hyperflow.catalog.calibration import default_calibration
from hyperflow.cli import main
from hyperflow.inventory.calibration_file import calibration_text
from hyperflow.kfp_steps.packed_job import open_packed
from hyperflow.kfp_steps.prepare import JobInputs, compiled
from tests.kfp_cases import ROOT

pytest.importorskip("kfp", reason="not tested: pipelines, since kfp is absent")


def test_the_pipeline_lies_beside_the_bundle_and_carries_the_settings(write_job, tmp_path, capsys):
    write_job()
    arguments = ["compile", "job.py", "-o", "made", "--set", "job.queue=other", "--kfp", "--format", "json"]
    assert main(arguments) == 0
    first = (tmp_path / "made.pipeline.yaml").read_text()
    document = json.loads(capsys.readouterr().out)
    assert document["files"][-1] == "made.pipeline.yaml"
    assert not (tmp_path / "made" / "made.pipeline.yaml").exists()
    assert open_packed(packed_in(tmp_path / "made.pipeline.yaml"))["job"]["queue"] == "other"
    assert main(arguments) == 0
    assert (tmp_path / "made.pipeline.yaml").read_text() == first


def test_check_writes_no_pipeline(write_job, tmp_path, capsys):
    write_job()
    assert main(["compile", "job.py", "--check", "--kfp"]) == 0
    assert list(tmp_path.glob("*.yaml")) == []
    assert "pipeline" not in capsys.readouterr().out.rpartition("mode ")[2]


def files_of(folder):
    return {path.name: path.read_text() for path in folder.iterdir() if path.suffix in (".yaml", ".csv")}


def packed_in(path):
    tasks = yaml.safe_load(path.read_text())["components"]["comp-exit-handler-1"]["dag"]["tasks"]
    return tasks["hyperflow-train"]["inputs"]["parameters"]["job"]["runtimeValue"]["constant"]


def test_mode_profile_calibration_and_templates_travel_with_the_job(write_job, tmp_path, capsys):
    write_job()
    slower = ",".join(("H100", "8", "1", "0.5", "1.0"))
    (tmp_path / "measured.csv").write_text(f"device,tp,micro_batch_size,forward_seconds,backward_seconds\n{slower}\n")
    half = dataclasses.replace(default_calibration(), memory_fraction=0.5)
    (tmp_path / "half.yaml").write_text(calibration_text(half))
    (tmp_path / "own").mkdir()
    usual = (ROOT / "templates" / "job.yaml.j2").read_text()
    (tmp_path / "own" / "job.yaml.j2").write_text("# ours\n" + usual)
    chosen = ["--mode", "direct", "--profile", "measured.csv", "--calibration", "half.yaml", "--templates", "own"]
    assert main(["compile", "job.py", "-o", "usual"]) == 0
    assert main(["compile", "job.py", "-o", "made", "--kfp", *chosen]) == 0
    capsys.readouterr()
    step = compiled(JobInputs(packed=packed_in(tmp_path / "made.pipeline.yaml")))
    there = {file.path: file.text for file in step.needed_bundle.files}
    here = files_of(tmp_path / "made")
    assert {name: there[name] for name in here} == here
    assert any("# ours" in text for text in here.values())
    assert step.options.profile is not None
    assert step.options.calibration.memory_fraction == 0.5
    assert files_of(tmp_path / "usual") != here


def test_the_exit_handler_looks_where_the_job_lives(write_job, tmp_path):
    write_job(text=(ROOT / "examples" / "03_tiny_local" / "job.py").read_text())
    assert main(["compile", "job.py", "-o", "made", "--kfp", "--set", "job.namespace=team-a"]) == 0
    tasks = yaml.safe_load((tmp_path / "made.pipeline.yaml").read_text())["root"]["dag"]["tasks"]
    namespace = tasks["hyperflow-cleanup"]["inputs"]["parameters"]["namespace"]
    assert namespace == {"runtimeValue": {"constant": "team-a"}}


def test_a_compile_that_stops_early_writes_no_pipeline(write_job, capsys):
    write_job()
    assert main(["compile", "job.py", "--kfp", "--stop-after", "plan"]) == 2
    assert capsys.readouterr().err == (
        "error[HF563] --kfp cannot be combined with --stop-after\n"
        "  --> --kfp\n"
        "  got --stop-after plan, expected every pass\n"
        "  hint: leave --stop-after out: a pipeline is written for a job that passed every pass\n"
    )
