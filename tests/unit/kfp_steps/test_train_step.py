"""The step runs a job to its end on this machine: outputs, failure, retry, cancel, settings of the task."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hyperflow.dsl.discover import load_job
from hyperflow.errors import InputError
from hyperflow.kfp_steps.component_body import cleanup, discover, plan
from hyperflow.kfp_steps.follow import FollowPolicy
from hyperflow.kfp_steps.local_backend import LocalBackend, LocalPlace
from hyperflow.kfp_steps.outputs import point_to
from hyperflow.kfp_steps.pack_job import pack_job
from hyperflow.kfp_steps.prepare import JobInputs, compiled
from hyperflow.kfp_steps.run_names import RUN_LABEL, run_key
from hyperflow.kfp_steps.train_step import run_train
from tests.kfp_cases import ROOT, SCRIPT_JOB, FileArtifact, alone_here, outputs_in, write_tiny

WORKS = """
import os, pathlib
print(f"rank {os.environ['RANK']} says {os.environ['GIVEN']}")
for step in (1, 2, 3):
    print(f"step {step} loss 1 step_seconds 0.5")
with pathlib.Path("runs.txt").open("a") as file:
    file.write(os.environ["RANK"])
"""
FAILS = "import sys; print('cannot go on'); sys.exit(78)"
KEEPS = SCRIPT_JOB.replace("@hf.env(", '@hf.guard(on_partial_failure="keep")\n@hf.env(')
"""Its parts run on when one has failed, so that both have failed in the end."""
NASTY = '{"a": "b"} \'c\' ünï $HOME'


@pytest.fixture
def run(tmp_path, monkeypatch):
    alone_here(monkeypatch)

    def call(script, run_id="run-1", job=SCRIPT_JOB, **options):
        job = write_tiny(tmp_path, script, job)
        outputs = outputs_in(tmp_path)
        policy = FollowPolicy(poll_seconds=0.05, **options.pop("policy", {}))
        inputs = JobInputs(packed=pack_job(job), values={"env.GIVEN": NASTY}, run_id=run_id)
        backend = f"local:{tmp_path}/jobs"
        try:
            return run_train(inputs, policy, outputs, backend=backend, work_dir=str(tmp_path), **options), outputs
        except SystemExit as end:
            return end.code, outputs

    return call


def test_i3_a_job_that_completes_leaves_all_outputs(run, tmp_path, capfd):
    (state, seconds, uri), outputs = run(WORKS)
    assert state == "COMPLETED"
    printed = capfd.readouterr().out
    assert f"[north/0] rank 0 says {NASTY}" in printed
    assert f"[south/0] rank 1 says {NASTY}" in printed
    assert outputs.checkpoint.uri == uri == "s3://checkpoints/tiny"
    assert sum(outputs.checkpoint.metadata["layers"]) == 8
    assert "<h1>tiny-" in outputs.plan.text
    fetched = re.findall(r"(?:src|href)=|url\((?!#)|@import|<script", outputs.plan.text)
    assert fetched == []  # the UI shows the page in a frame that may fetch nothing and run nothing
    assert "| COMPLETED |" in outputs.timeline.text
    figures = outputs.metrics.metadata
    assert figures["predicted_step_seconds"] == pytest.approx(seconds, rel=1e-5)
    assert figures["measured_step_seconds"] == 0.5
    assert figures["measured_mfu"] == pytest.approx(figures["predicted_mfu"] * seconds / 0.5, rel=1e-4)
    status = json.loads(outputs.status.text)
    assert (status["state"], status["adopted"]) == ("COMPLETED", False)
    assert [child["phase"] for child in status["children"]] == ["Completed", "Completed"]


def test_on_a_cluster_the_checkpoint_stays_in_the_pipelines_root_and_holds_the_uri(tmp_path):
    root = "minio://mlpipeline/v2/artifacts/tiny/checkpoint"
    artifact = FileArtifact(str(tmp_path / "checkpoint"), root)
    point_to(artifact, "s3://checkpoints/tiny")
    assert (artifact.uri, artifact.metadata) == (root, {"checkpoint_uri": "s3://checkpoints/tiny"})
    assert json.loads(artifact.text) == artifact.metadata


def test_a_retry_takes_the_job_over_and_trains_nothing_again(run, tmp_path):
    first, _ = run(WORKS)
    second, outputs = run(WORKS)
    assert first == second
    assert json.loads(outputs.status.text)["adopted"] is True
    assert sorted((tmp_path / "runs.txt").read_text()) == ["0", "1"]
    run(WORKS, run_id="run-2")
    assert sorted((tmp_path / "runs.txt").read_text()) == ["0", "0", "1", "1"]


def test_a_job_that_fails_fails_the_step_and_is_deleted(run, tmp_path, capsys):
    code, outputs = run(FAILS, job=KEEPS)
    status = json.loads(outputs.status.text)
    assert code == 5
    assert status["state"] == "FAILED"
    name = status["job"]
    assert capsys.readouterr().out.endswith(
        f"hyperflow: deleting {name} (on_failure=delete)\n"
        f"error[HF560] job {name} ended FAILED: {status['reason']}\n"
        f"  --> {name}\n"
        "  got FAILED, expected COMPLETED\n"
        "  hint: read the log above from the first failure on\n"
    )
    assert list((tmp_path / "jobs").iterdir()) == []


def test_a_job_of_which_one_part_has_failed_is_left_while_the_other_runs_on(run, tmp_path):
    script = """
    import os, pathlib, sys, time
    pathlib.Path("pid-" + os.environ["RANK"]).write_text(str(os.getpid()))
    if os.environ["RANK"] == "1":
        time.sleep(600)
    while not pathlib.Path("pid-1").exists():
        time.sleep(0.05)
    sys.exit(78)
    """
    (state, *_), outputs = run(script, must_complete=False)
    status = json.loads(outputs.status.text)
    assert state == "DEGRADED"
    assert [(child["cluster"], child["phase"], child["running"]) for child in status["children"]] == [
        ("north", "Terminated", 0),
        ("south", "Running", 1),
    ]
    assert [pid for pid in map(int, (p.read_text() for p in tmp_path.glob("pid-*"))) if is_alive(pid)] == []
    assert list((tmp_path / "jobs").iterdir()) == []


def test_a_kept_failure_is_found_by_the_cleanup_of_its_run_only(run, tmp_path):
    (state, *_), _ = run(FAILS, job=KEEPS, policy={"on_failure": "keep"}, must_complete=False)
    run(WORKS, run_id="run-2")
    place = LocalPlace(tmp_path / "jobs")
    assert state == "FAILED"
    assert len(place.jobs_with_label(RUN_LABEL, run_key("run-1"))) == 1
    rest = {"backend": f"local:{tmp_path}/jobs", "context": "", "namespace": "", "on_success": "keep"}
    assert cleanup(run_id="run-1", run_state="FAILED", on_failure="keep", **rest).deleted_jobs == 0
    assert cleanup(run_id="run-1", run_state="SUCCEEDED", on_failure="delete", **rest).deleted_jobs == 0
    assert cleanup(run_id="run-1", run_state="FAILED", on_failure="delete", **rest).deleted_jobs == 1
    assert place.jobs_with_label(RUN_LABEL, run_key("run-1")) == []
    assert len(place.jobs_with_label(RUN_LABEL, run_key("run-2"))) == 1


def test_a_run_that_takes_too_long_is_ended_with_all_its_processes(run, tmp_path):
    script = """
    import os, time, pathlib
    pathlib.Path("pid-" + os.environ["RANK"]).write_text(str(os.getpid()))
    time.sleep(600)
    """
    (state, *_), outputs = run(script, policy={"run_timeout_seconds": 3}, must_complete=False)
    assert state == "TIMED_OUT"
    assert json.loads(outputs.status.text)["reason"] == "still RUNNING after run_timeout_seconds = 3.00 s"
    pids = [int(path.read_text()) for path in tmp_path.glob("pid-*")]
    assert len(pids) == 2
    assert [pid for pid in pids if is_alive(pid)] == []


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


CANCELLED = """
import sys
from pathlib import Path
from hyperflow.dsl.discover import load_job
from hyperflow.kfp_steps.follow import FollowPolicy
from hyperflow.kfp_steps.pack_job import pack_job
from hyperflow.kfp_steps.prepare import JobInputs
from hyperflow.kfp_steps.train_step import run_train
from tests.kfp_cases import outputs_in

folder = Path(sys.argv[1])
inputs = JobInputs(packed=pack_job(load_job(str(folder / "job.py"))), run_id="run-1")
policy = FollowPolicy(poll_seconds=0.05, on_cancel=sys.argv[2])
print(run_train(inputs, policy, outputs_in(folder), backend=f"local:{folder}/jobs", work_dir=str(folder)))
"""


@pytest.mark.parametrize("choice", ["delete", "keep"])
def test_a_cancelled_step_follows_on_cancel_and_a_restarted_one_takes_the_kept_job_over(tmp_path, monkeypatch, choice):
    alone_here(monkeypatch)
    write_tiny(
        tmp_path,
        """
        import pathlib, time
        print("I am here", flush=True)
        while not pathlib.Path("go").exists():
            time.sleep(0.05)
        """,
    )
    command = [sys.executable, "-c", CANCELLED, str(tmp_path), choice]
    step = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=os.environ)
    assert step.stdout is not None
    wait_for_line(step.stdout, "I am here")
    step.send_signal(signal.SIGTERM)
    rest = step.stdout.read()
    assert step.wait(30) == 143
    assert f"hyperflow: cancelled; {choice} tiny-" in rest
    jobs = list((tmp_path / "jobs").iterdir())
    if choice == "delete":
        assert jobs == []
        return
    assert len(jobs) == 1
    (tmp_path / "go").touch()
    again = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True, timeout=60)
    assert f"hyperflow: took over {jobs[0].name}" in again.stdout
    assert "TrainResult(state='COMPLETED', " in again.stdout


def wait_for_line(stream, text):
    deadline = time.monotonic() + 60
    for line in stream:
        if text in line:
            return
        assert time.monotonic() < deadline
    pytest.fail(f"the step ended before it said {text!r}")


def test_a_job_that_was_never_started_is_deleted_without_touching_others(tmp_path):
    other = tmp_path / "jobs" / "other"
    other.mkdir(parents=True)
    LocalBackend(tmp_path / "jobs", tmp_path, print).delete()
    assert other.is_dir()


TASK = {
    "env": [
        {"name": "FROM_TASK", "value": 'a "b"'},
        {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
    ],
    "tolerations": [{"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}],
    "volumes": [{"name": "scratch", "persistentVolumeClaim": {"claimName": "scratch"}}],
    "volume_mounts": [{"name": "scratch", "mountPath": "/scratch"}],
    "node_selector": {"pool": "train"},
    "resources": {"limits": {"cpu": "8", "nvidia.com/gpu": "99"}, "requests": {"memory": "1Gi"}},
}


def test_i4_settings_of_the_task_reach_every_training_pod(tmp_path):
    done = compiled(JobInputs(packed=pack_job(write_tiny(tmp_path)), task=TASK))
    parts = done.needed_manifests.objects[-1].document()["spec"]["replicatedJobs"]
    assert len(parts) == 2
    for part in parts:
        pod = part["templateSpec"]["tasks"][0]["template"]["spec"]
        container = pod["containers"][0]
        assert container["env"][-2:] == TASK["env"]
        assert pod["tolerations"] == TASK["tolerations"]
        assert TASK["volumes"][0] in pod["volumes"]
        assert TASK["volume_mounts"][0] in container["volumeMounts"]
        assert pod["nodeSelector"]["pool"] == "train"
        assert container["resources"]["limits"] == {"nvidia.com/gpu": "1", "cpu": "8"}
        assert container["resources"]["requests"]["memory"] == "1Gi"


def test_i4_a_setting_that_the_job_has_already_is_refused(tmp_path):
    with pytest.raises(InputError) as caught:
        compiled(JobInputs(packed=pack_job(write_tiny(tmp_path)), task={"env": [{"name": "MODE", "value": "x"}]}))
    assert [finding.as_text() for finding in caught.value.findings] == [
        "error[HF558] the task sets env 'MODE', which the job has already\n"
        "  --> task_config.env\n"
        "  got MODE\n"
        "  hint: set it once: in the job's decorators or on the task"
    ]


def test_a_plan_step_says_why_there_is_no_plan(tmp_path):
    job = pack_job(write_tiny(tmp_path))
    rest = {"context": "", "plan_at": "compile", "fleet_file": ""}
    files = {name: FileArtifact(str(tmp_path / name)) for name in ("plan", "metrics")}
    feasible, seconds, reason = plan(job=job, values={}, **rest, **files)
    assert (feasible, reason) == (True, "")
    assert seconds == pytest.approx(files["metrics"].metadata["predicted_step_seconds"], rel=1e-5)
    feasible, seconds, reason = plan(job=job, values={"parallel.dp": 64}, **rest, **files)
    assert (feasible, seconds) == (False, 0.0)
    assert reason == "global_batch_size=16 is no multiple of dp x micro_batch_size"
    page = files["plan"].text
    assert page.startswith('<!doctype html><html lang="en"><head><meta charset="utf-8">')
    assert '<h1>tiny: no plan</h1><pre class="error">error[HF206] global_batch_size=16' in page


def test_a_discovered_fleet_can_be_planned_for(tmp_path):
    source = ROOT / "examples" / "02_llama70b" / "fleet.yaml"
    fleet = FileArtifact(str(tmp_path / "fleet.yaml"))
    devices = discover(context="", sources=[str(source)], fleet=fleet).devices
    packed = pack_job(load_job(str(source.with_name("job.py"))), plan="runtime")
    there = compiled(JobInputs(packed=packed, plan="runtime", fleet_file=fleet.path))
    assert devices == sum(cluster.devices_total for cluster in there.job.on.fleet.clusters) > 0


def test_a_mistake_prints_its_finding_and_no_traceback(run, tmp_path, capsys):
    write_tiny(tmp_path, job=SCRIPT_JOB)
    packed = pack_job(load_job(str(tmp_path / "job.py")))
    with pytest.raises(SystemExit) as end:
        run_train(
            JobInputs(packed=packed, values={"parallel.dp": "x"}),
            FollowPolicy(),
            outputs_in(tmp_path),
            backend=f"local:{tmp_path}/jobs",
        )
    assert end.value.code == 1
    assert capsys.readouterr().out.startswith("error[HF112] @hf.parallel(dp=): 'x' does not fit\n  --> --set:1:")
