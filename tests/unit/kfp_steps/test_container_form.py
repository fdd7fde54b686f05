"""The container form of a component: its compiled command, run here, keeps the contract of the lightweight form."""

import json
import subprocess
import sys

import pytest
import yaml

pytest.importorskip("kfp", reason="not tested: the container form of components, since kfp is absent")

from kfp import dsl, local
from kfp.local import subprocess_task_handler

import hyperflow.kfp_steps as hfk
from hyperflow.errors import UsageError
from hyperflow.kfp_steps.container_main import main
from tests.kfp_cases import ROOT, alone_here, write_tiny
from tests.kfp_golden import COMPONENTS, IMAGE

FORMS = ("component", "container")
SCRIPT = """
import os, pathlib
if os.environ["RANK"] == "0":
    pathlib.Path("note").write_text(os.environ["NOTE"])
    pathlib.Path("table").write_text(os.environ["TABLE"])
    print("step 1 loss 1 step_seconds 0.5")
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder in which kfp's local runner takes container commands too; an image is not needed to run them."""
    alone_here(monkeypatch)
    monkeypatch.chdir(tmp_path)
    handler = subprocess_task_handler.SubprocessTaskHandler
    monkeypatch.setattr(handler, "validate_not_container_component", lambda *_: None)
    local.init(
        runner=local.SubprocessRunner(use_venv=False), pipeline_root=str(tmp_path / "pipeline"), raise_on_error=True
    )
    return tmp_path


def output_of(folder, task):
    return json.loads(next((folder / "pipeline").glob(f"*/{task}/executor_output.json")).read_text())


@pytest.mark.parametrize("name", sorted(path.parent.name for path in COMPONENTS.glob("*/component.py")))
def test_both_forms_have_the_same_inputs_and_outputs(name):
    light, container = (yaml.safe_load((COMPONENTS / name / f"{form}.yaml").read_text()) for form in FORMS)
    for part in ("inputDefinitions", "outputDefinitions"):
        assert light["root"].get(part) == container["root"].get(part)


def test_i3_a_pipeline_of_container_forms_trains_and_cleans_up(here):
    note = '{"a": "b"} say "hi" \'x\' \u00fcn\u00ef $HOME {{x}}'
    where = {"backend": f"local:{here}/jobs"}
    form = {"image": IMAGE, "container": True}
    step = hfk.step(
        write_tiny(here, SCRIPT),
        inputs={"note": hfk.value("env.NOTE"), "table": hfk.value("env.TABLE", dict)},
        work_dir=str(here),
        poll_seconds=0.2,
        **where,
        **form,
    )

    @dsl.pipeline(name="containers")
    def pipeline():
        with dsl.ExitHandler(hfk.cleanup(on_success="delete", **where, **form)):
            step(note=note, table={"n": 3})

    pipeline()
    assert (here / "note").read_text() == note
    assert (here / "table").read_text() == '{"n":3}'
    made = output_of(here, "train-tiny")
    assert made["parameterValues"]["state"] == "COMPLETED"
    assert made["parameterValues"]["checkpoint_uri"] == "s3://checkpoints/tiny"
    artifacts = {name: item["artifacts"][0] for name, item in made["artifacts"].items()}
    assert artifacts["checkpoint"]["uri"] == "s3://checkpoints/tiny"
    assert artifacts["metrics"]["metadata"]["measured_step_seconds"] == 0.5
    task = here / "pipeline" / next((here / "pipeline").iterdir()).name / "train-tiny"
    assert "<h1>tiny-" in (task / "plan").read_text()
    assert output_of(here, "hyperflow-cleanup")["parameterValues"] == {"deleted_jobs": 1}
    assert list((here / "jobs").iterdir()) == []


def test_the_plan_and_discover_containers_give_the_outputs_of_their_bodies(here):
    form = {"image": IMAGE, "container": True}
    job = hfk.pack_job(write_tiny(here))
    source = str(ROOT / "examples" / "02_llama70b" / "fleet.yaml")

    @dsl.pipeline(name="containers")
    def pipeline():
        hfk.component("hyperflow_plan", **form)(job=job, values={"parallel.dp": 64})
        hfk.discover(sources=[source], **form)

    pipeline()
    planned = output_of(here, "hyperflow-plan")["parameterValues"]
    assert planned == {
        "feasible": False,
        "predicted_step_seconds": 0.0,
        "reason": "global_batch_size=16 is no multiple of dp x micro_batch_size",
    }
    assert output_of(here, "hyperflow-discover")["parameterValues"]["devices"] > 0


def test_a_job_that_fails_ends_the_container_with_its_code_and_no_output(tmp_path, monkeypatch):
    alone_here(monkeypatch)
    packed = hfk.pack_job(write_tiny(tmp_path, "import sys; sys.exit(78)"))
    given = executor_input(tmp_path, job=packed, values={}, **OPTIONS, backend=f"local:{tmp_path}/jobs")
    paths = [item for name in ARTIFACTS for item in ("--path", name, str(tmp_path / name))]
    command = [sys.executable, "-m", "hyperflow.kfp_steps.container_main", "train", "--executor_input", given, *paths]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False, timeout=120)
    assert done.returncode == 5
    assert "error[HF560] job tiny" in done.stdout
    assert done.stderr == ""
    assert not (tmp_path / "out.json").exists()


ARTIFACTS = ("checkpoint", "plan", "timeline", "metrics", "status")
OPTIONS = {
    "run_id": "run-1",
    "context": "",
    "plan_at": "compile",
    "fleet_file": "",
    "work_dir": "",
    "poll_seconds": 0.05,
    "queue_timeout_seconds": 0,
    "run_timeout_seconds": 0,
    "on_cancel": "delete",
    "on_failure": "delete",
    "must_complete": True,
}


def executor_input(folder, **values):
    artifacts = {name: {"artifacts": [{"uri": "minio://mlpipeline/v2/" + name}]} for name in ARTIFACTS}
    outputs = {"outputFile": str(folder / "out.json"), "artifacts": artifacts}
    return json.dumps({"inputs": {"parameterValues": values}, "outputs": outputs})


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ("{", "it is no JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
        ("{}", "it names no outputs.outputFile"),
        (
            '{"outputs": {"outputFile": "out.json"}}',
            "it lacks context, sources, fleet",
        ),
    ],
)
def test_a_container_without_kfps_inputs_says_so(given, reason, capsys):
    with pytest.raises(SystemExit) as end:
        main(["discover", "--executor_input", given])
    assert end.value.code == 1
    assert capsys.readouterr().out == (
        f"error[HF565] the container of a component was not started as kfp starts it: {reason}\n"
        "  --> --executor_input\n"
        "  expected what kfp puts for {{$}} in the compiled component\n"
        "  hint: make the component with hyperflow.kfp_steps.component(name, image=..., container=True)\n"
    )


def test_a_container_needs_an_image_and_takes_no_settings_of_the_task(tmp_path):
    with pytest.raises(UsageError) as caught:
        hfk.component("hyperflow_train", container=True)
    assert str(caught.value) == (
        "error[HF564] the container form of a component installs nothing, so it needs an image that has HyperFlow\n"
        "  --> image\n  got None, expected the name of an image\n  hint: components/deploy/Dockerfile builds one"
    )
    with pytest.raises(UsageError) as caught:
        hfk.step(write_tiny(tmp_path), image=IMAGE, container=True, pass_on=["env"])
    assert str(caught.value) == (
        "error[HF564] kfp passes the settings of a task on to lightweight components only\n"
        "  --> step(pass_on)\n  got env, expected no pass_on with container=True\n"
        "  hint: leave container out, or set these in the job's decorators"
    )
