"""`compile --kfp` writes the job as a pipeline beside its bundle, which stays a bundle."""

import json

import pytest
import yaml

from hyperflow.cli import main
from hyperflow.kfp_steps.packed_job import open_packed

pytest.importorskip("kfp", reason="not tested: pipelines, since kfp is absent")


def test_the_pipeline_lies_beside_the_bundle_and_carries_the_settings(write_job, tmp_path, capsys):
    write_job()
    arguments = ["compile", "job.py", "-o", "made", "--set", "job.queue=other", "--kfp", "--format", "json"]
    assert main(arguments) == 0
    first = (tmp_path / "made.pipeline.yaml").read_text()
    document = json.loads(capsys.readouterr().out)
    assert document["files"][-1] == "made.pipeline.yaml"
    assert not (tmp_path / "made" / "made.pipeline.yaml").exists()
    tasks = yaml.safe_load(first)["components"]["comp-exit-handler-1"]["dag"]["tasks"]
    packed = tasks["hyperflow-train"]["inputs"]["parameters"]["job"]["runtimeValue"]["constant"]
    assert open_packed(packed)["job"]["queue"] == "other"
    assert main(arguments) == 0
    assert (tmp_path / "made.pipeline.yaml").read_text() == first


def test_check_writes_no_pipeline(write_job, tmp_path, capsys):
    write_job()
    assert main(["compile", "job.py", "--check", "--kfp"]) == 0
    assert list(tmp_path.glob("*.yaml")) == []
    assert "pipeline" not in capsys.readouterr().out.rpartition("mode ")[2]


def test_options_that_the_step_would_not_follow_are_refused(write_job, capsys):
    write_job()
    assert main(["compile", "job.py", "--kfp", "--mode", "direct", "--profile", "p.csv"]) == 2
    assert capsys.readouterr().err == (
        "error[HF563] --kfp cannot be combined with --profile, --mode\n"
        "  --> --kfp\n"
        "  got --profile, --mode, expected none of --templates, --calibration, --profile and --mode\n"
        "  hint: the step plans and renders again in the pipeline, and has only the declaration\n"
    )
