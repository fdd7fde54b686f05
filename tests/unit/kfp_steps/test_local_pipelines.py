"""The example pipelines run to their end on this machine: success, failure with its cleanup, fallback."""

import json

import pytest

pytest.importorskip("kfp", reason="not tested: running pipelines on this machine, since kfp is absent")

from tests.kfp_cases import EXAMPLE, alone_here, write_tiny
from tests.kfp_golden import load
from tests.live_plane import live_plane, queue


@pytest.fixture
def here(tmp_path, monkeypatch):
    alone_here(monkeypatch)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def outputs_of(folder, task):
    """Parameters and metadata of artifacts that a task has left."""
    path = next((folder / "pipeline").glob(f"*/{task}/executor_output.json"))
    made = json.loads(path.read_text())
    artifacts = {name: item["artifacts"][0] for name, item in made.get("artifacts", {}).items()}
    return made.get("parameterValues", {}), artifacts


def test_i3_prepare_train_evaluate_runs_to_its_end_and_finds_the_line(here):
    load(EXAMPLE / "pipeline.py").run_here(here)
    parameters, artifacts = outputs_of(here, "train-line")
    assert parameters["state"] == "COMPLETED"
    assert artifacts["checkpoint"]["uri"] == f"{here}/checkpoints"
    assert artifacts["metrics"]["metadata"]["measured_step_seconds"] > 0
    slope, _ = outputs_of(here, "evaluate")
    assert slope["Output"] == pytest.approx(3, abs=0.01)
    assert len(list((here / "jobs").iterdir())) == 1


def test_i3_a_job_that_fails_fails_the_pipeline_and_the_exit_handler_runs(here, capfd):
    module = load(EXAMPLE / "pipeline.py")
    with pytest.raises(RuntimeError, match="train-line"):
        module.run_here(here, fail_at_step=3)
    shown = capfd.readouterr().out
    assert "error[HF560] job line-" in shown
    assert "hyperflow: run FAILED: no job is left" in shown
    assert list((here / "jobs").iterdir()) == []
    assert list((here / "pipeline").glob("*/evaluate")) == []


def test_the_fallback_trains_where_the_first_job_did_not_complete(here):
    load(EXAMPLE / "fallback.py").run_here(here, fail_at_step=3)
    # both clusters fail on purpose; whether one look sees both is a matter of chance
    assert outputs_of(here, "train-line")[0]["state"] in ("DEGRADED", "FAILED")
    assert outputs_of(here, "train-line-2")[0]["state"] == "COMPLETED"
    assert outputs_of(here, "train-line-2")[1]["checkpoint"]["metadata"]["dp"] == 1


def test_the_sweep_trains_with_the_layout_of_the_shorter_predicted_step(here):
    load(EXAMPLE / "sweep.py").run_here(here)
    picked, _ = outputs_of(here, "pick")
    trained, artifacts = outputs_of(here, "train-line")
    assert trained["state"] == "COMPLETED"
    assert trained["predicted_step_seconds"] == pytest.approx(picked["step_seconds"])
    layout = artifacts["checkpoint"]["metadata"]
    assert (layout["tp"], layout["dp"]) == (picked["tp"], picked["dp"])


def test_quotes_json_and_unicode_reach_the_training_as_they_left_a_component(here):
    from kfp import dsl, local

    import hyperflow.kfp_steps as hfk

    script = """
    import os, pathlib
    if os.environ["RANK"] == "0":
        pathlib.Path("note").write_text(os.environ["NOTE"])
        pathlib.Path("conf").write_text(os.environ["CONF"])
    """
    inputs = {"note": hfk.value("env.NOTE"), "conf": hfk.value("env.CONF", dict)}
    step = hfk.step(
        write_tiny(here, script), inputs=inputs, backend=f"local:{here}/jobs", work_dir=str(here), poll_seconds=0.2
    )
    note = '{"a": "b"} say "hi" \'x\' \u00fcn\u00ef $HOME {{x}}'

    @dsl.component(base_image="python:3.12")
    def pass_on(text: str) -> str:
        return text

    @dsl.pipeline(name="quotes")
    def pipeline():
        step(note=pass_on(text=note).output, conf={"a": {"b": '"q"'}, "n": 3})

    local.init(runner=local.SubprocessRunner(use_venv=False), pipeline_root=str(here / "pipeline"), raise_on_error=True)
    pipeline()
    assert (here / "note").read_text() == note
    assert json.loads((here / "conf").read_text()) == {"a": {"b": '"q"'}, "n": 3}


class EveryChild(dict):
    """A script for the controllers of the plane: each child runs and completes, whatever its name."""

    def get(self, name, _default=None):
        return self.setdefault(name, ["Running", "Completed"])


class FirstJobFails(EveryChild):
    """The children of the first job fail, those of any later one complete."""

    def get(self, name, _default=None):
        job = name.rsplit("-", 2)[0]
        first = self.setdefault("first", job)
        return self.setdefault(name, ["Running", "Failed" if job == first else "Completed"])


@pytest.fixture
def plane(here, monkeypatch):
    from kfp import local

    local.init(runner=local.SubprocessRunner(use_venv=False), pipeline_root=str(here / "pipeline"), raise_on_error=True)
    with live_plane(here, monkeypatch, members=("north", "south")) as live:
        live.put(queue("default"))
        live.controllers.script = EveryChild()
        yield live


ON_PLANE = {"backend": "plane", "poll_seconds": 0.2}


def test_i3_the_pipeline_runs_on_a_plane(here, plane):
    (here / "checkpoints").mkdir()
    (here / "checkpoints" / "line.json").write_text('{"slope": 3.0, "layers": [3, 5]}')  # what the training would leave
    load(EXAMPLE / "pipeline.py").pipeline(checkpoints=f"{here}/checkpoints", **ON_PLANE)
    (name,) = plane.names("HyperJob")
    parameters, artifacts = outputs_of(here, "train-line")
    assert parameters["state"] == "COMPLETED"
    assert artifacts["checkpoint"]["metadata"]["hyperflow_bundle"] == name
    assert outputs_of(here, "evaluate")[0]["Output"] == 3.0


def test_the_sweep_runs_on_a_plane(here, plane):
    load(EXAMPLE / "sweep.py").pipeline(**ON_PLANE)
    trained, artifacts = outputs_of(here, "train-line")
    assert trained["state"] == "COMPLETED"
    assert plane.names("HyperJob") == [artifacts["checkpoint"]["metadata"]["hyperflow_bundle"]]


def test_the_fallback_that_fits_one_cluster_reaches_it_through_the_plane(here, plane, capfd):
    plane.controllers.script = FirstJobFails()
    load(EXAMPLE / "fallback.py").pipeline(**ON_PLANE)
    assert outputs_of(here, "train-line")[0]["state"] == "FAILED"
    trained, artifacts = outputs_of(here, "train-line-2")
    assert trained["state"] == "COMPLETED"
    bundle = artifacts["checkpoint"]["metadata"]["hyperflow_bundle"]
    assert (plane.names("HyperJob"), plane.names("Job")) == ([], [f"{bundle}-south-0"])
    assert f"{bundle}-south-0" in plane.names("PropagationPolicy")
    assert "applied there; on this plane it needs policies, so it is compiled as direct" in capfd.readouterr().out
