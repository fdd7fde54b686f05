"""The step on a plane that behaves: runs, adopts, tells why it waits, leaves a degraded job, cleans up."""

import json
import os
import signal

import pytest

from hyperflow.errors import HyperFlowError
from hyperflow.kfp_steps import train_step
from hyperflow.kfp_steps.component_body import cleanup
from hyperflow.kfp_steps.follow import FollowPolicy
from hyperflow.kfp_steps.pack_job import pack_job
from hyperflow.kfp_steps.prepare import JobInputs, compiled
from hyperflow.kfp_steps.train_step import run_train
from tests.kfp_cases import outputs_in, write_tiny
from tests.live_plane import live_plane, queue


@pytest.fixture
def live(tmp_path, monkeypatch):
    with live_plane(tmp_path, monkeypatch, members=("north", "south")) as plane:
        plane.put(queue("default"))
        yield plane


@pytest.fixture
def run(tmp_path, live):
    packed = pack_job(write_tiny(tmp_path))
    inputs = JobInputs(packed=packed, run_id="run-1", values={"env.RATE": 'a "b"'})
    name = compiled(inputs).needed_bundle.name

    def call(phases=None, must_complete=True, **policy):
        live.controllers.script = {f"{name}-{group}-0": list(found) for group, found in (phases or {}).items()}
        outputs = outputs_in(tmp_path)
        settings = FollowPolicy(**{"poll_seconds": 0.05, **policy})
        try:
            return run_train(inputs, settings, outputs, backend="plane", must_complete=must_complete), outputs
        except SystemExit as end:
            return end.code, outputs

    call.job = name
    return call


def left(live):
    """Objects of the job that are still on the plane, beside what other bundles share."""
    kinds = ("HyperJob", "PropagationPolicy", "ConfigMap", "Service", "MultiClusterService", "ResourceBinding")
    jobs = [key for key in live.server.plane.store.objects if key[:2] == ("batch.volcano.sh", "jobs")]
    return [name for kind in kinds for name in live.names(kind)] + jobs


BOTH_COMPLETE = {"north": ["Running", "Completed"], "south": ["Running", "Completed"]}


def test_i3_a_job_on_a_plane_is_followed_to_its_end_and_adopted_by_a_retry(run, live):
    (state, *_), outputs = run(BOTH_COMPLETE)
    first = json.loads(outputs.status.text)
    assert (state, first["job"], first["adopted"]) == ("COMPLETED", run.job, False)
    assert [(child["cluster"], child["phase"]) for child in first["children"]] == [
        ("north", "Completed"),
        ("south", "Completed"),
    ]
    (state, *_), outputs = run(BOTH_COMPLETE)
    assert (state, json.loads(outputs.status.text)["adopted"]) == ("COMPLETED", True)
    assert live.names("HyperJob") == [run.job]


def test_the_log_of_rank_0_is_printed_and_step_times_of_the_last_rank_are_measured(run, live, capsys):
    logs = live.server.members["south"].logs
    logs["default", f"{run.job}-south-0-node-0"] = "".join(
        f"iteration {n}/ 3 | elapsed time per iteration (ms): {ms} |\n" for n, ms in ((1, 9000), (2, 700), (3, 700))
    )
    live.server.members["north"].logs["default", f"{run.job}-north-0-node-0"] = "rank 0 loads the data\n"
    _, outputs = run(BOTH_COMPLETE)
    assert outputs.metrics.metadata["measured_step_seconds"] == 0.7
    assert "[rank 0] rank 0 loads the data\n" in capsys.readouterr().out


def test_i3_a_degraded_job_fails_the_step_at_the_first_look_and_leaves_nothing(run, live, capsys):
    code, outputs = run({"north": ["Running", "Failed"], "south": ["Running"]})
    status = json.loads(outputs.status.text)
    assert (code, status["state"]) == (5, "DEGRADED")
    assert sum(event["state"] == "DEGRADED" for event in status["events"]) == 1
    assert f"error[HF560] job {run.job} ended DEGRADED: " in capsys.readouterr().out
    assert left(live) == []


def test_the_step_says_why_the_job_waits_and_gives_up_in_time(run, live, capsys):
    live.controllers.hold_queue |= {f"{run.job}-north-0", f"{run.job}-south-0"}
    (state, *_), outputs = run(must_complete=False, queue_timeout_seconds=0.5)
    status = json.loads(outputs.status.text)
    waited = [event for event in status["events"] if event["state"] == "QUEUED"]
    assert state == "TIMED_OUT"
    assert waited
    assert "default" in waited[-1]["reason"]
    assert f"QUEUED after queue_timeout_seconds = 500.00 ms: {waited[-1]['reason']}" in status["reason"]
    assert left(live) == []


@pytest.fixture
def when_told(monkeypatch):
    """Do something when the step prints a line with these words; nothing depends on how quick the machine is."""
    told = []

    def install(words, deed):
        def say(line):
            told.append(line)
            if words in line:
                deed()

        monkeypatch.setattr(train_step, "say", say)
        return told

    return install


def end_this_process():
    os.kill(os.getpid(), signal.SIGTERM)


@pytest.mark.parametrize("choice", ["delete", "keep"])
def test_i3_a_cancelled_step_follows_on_cancel(run, live, choice, when_told):
    when_told("hyperflow: RUNNING", end_this_process)
    code, _ = run({}, on_cancel=choice)
    assert code == 143
    assert live.names("HyperJob") == ([] if choice == "delete" else [run.job])
    assert (left(live) == []) == (choice == "delete")


def test_the_cleanup_finds_the_jobs_of_its_run_by_label(run, live):
    run({"north": ["Running", "Failed"], "south": ["Running"]}, on_failure="keep")
    rest = {"backend": "plane", "context": "", "run_state": "FAILED", "on_failure": "delete", "on_success": "keep"}
    assert live.names("HyperJob") == [run.job]
    assert cleanup(run_id="another", namespace="default", **rest).deleted_jobs == 0
    assert cleanup(run_id="run-1", namespace="default", **rest).deleted_jobs == 1
    assert left(live) == []


def test_a_job_that_somebody_deletes_ends_the_step(run, live, when_told):
    when_told("hyperflow: RUNNING", lambda: cleanup_now("run-1"))
    (state, *_), outputs = run({}, must_complete=False)
    assert (state, json.loads(outputs.status.text)["reason"]) == ("FAILED", "somebody deleted the job")


def cleanup_now(run_id):
    cleanup(
        run_id=run_id,
        backend="plane",
        context="",
        namespace="default",
        run_state="FAILED",
        on_failure="delete",
        on_success="keep",
    )


def test_a_plane_without_the_crd_is_refused_before_anything_is_made(tmp_path, monkeypatch, capsys):
    from tests.live_plane import PLANE_CRDS

    crds = [name for name in PLANE_CRDS if "hyperjobs" not in name]
    with live_plane(tmp_path, monkeypatch, members=("north", "south"), plane_crds=crds) as live:
        live.server.after_request = lambda: None  # the controllers have nothing to control here
        live.put(queue("default"))
        inputs = JobInputs(packed=pack_job(write_tiny(tmp_path)), run_id="run-1")
        with pytest.raises((SystemExit, HyperFlowError)) as end:
            run_train(inputs, FollowPolicy(), outputs_in(tmp_path), backend="plane")
        assert end.value.code == 3
        assert "hyperjobs" in capsys.readouterr().out.lower()
        assert live.names("ConfigMap") == []


def test_a_cancel_while_the_bundle_is_applied_deletes_what_there_is(run, live, when_told):
    told = when_told("created Service", end_this_process)
    code, _ = run({})
    assert code == 143
    assert any("created Service" in line for line in told)
    assert left(live) == []
