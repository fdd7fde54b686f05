"""The verbs submit, status, logs and delete as people type them."""

import json
from pathlib import Path

import pytest

from hyperflow.cli import main
from tests.live_plane import live_plane, write_bundle


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return str(write_bundle(tmp_path_factory.mktemp("bundle") / "out"))


@pytest.fixture
def live(tmp_path, monkeypatch):
    with live_plane(tmp_path, monkeypatch) as plane:
        yield plane


def test_submit_shows_the_plan_and_needs_yes_where_nobody_can_answer(live, folder, capsys):
    assert main(["submit", folder]) == 2
    shown = capsys.readouterr()
    assert "STAGE  CLUSTER   DEVICE  LAYERS  NODES  IDLE" in shown.out
    assert shown.err.startswith("error[HF513] submit toy8-")
    assert "nobody can answer here, because this is no terminal\n  hint: add --yes" in shown.err
    assert live.names("HyperJob") == []


def test_submit_status_logs_and_delete_in_turn(live, folder, capsys):
    assert main(["submit", folder, "--yes", "--format", "json"]) == 0
    submitted = json.loads(capsys.readouterr().out)
    name = submitted["name"]
    assert submitted["next"] == [f"hyperflow {verb} {name}" for verb in ("status", "logs", "delete")]
    main(["status", "toy8"])
    capsys.readouterr()
    assert main(["status", "toy8", "--format", "json"]) == 0
    status = json.loads(capsys.readouterr().out)
    assert (status["state"], status["findings"]) == ("RUNNING", [])
    assert main(["status", folder]) == 0
    assert f"{name}: RUNNING  2 of 2 pods run" in capsys.readouterr().out
    assert main(["logs", "toy8"]) == 0
    assert "shanghai/0  shanghai" in capsys.readouterr().out
    pod = f"{name}-beijing-0-node-0"
    live.server.members["beijing"].logs[("default", pod)] = "iteration 1\n"
    assert main(["logs", "toy8", "rank0"]) == 0
    assert capsys.readouterr().out == "iteration 1\n"
    live.controllers.script[f"{name}-shanghai-0"] = ["Failed"]
    main(["status", "toy8"])
    assert main(["status", "toy8"]) == 5
    assert main(["delete", "toy8"]) == 2
    assert main(["delete", "toy8", "--yes"]) == 0
    assert live.names("HyperJob") == []
    capsys.readouterr()
    assert main(["status", "toy8"]) == 1
    assert "error[HF514] no job 'toy8' in namespace default" in capsys.readouterr().err


def test_submit_wait_ends_with_the_job_and_prints_one_document(live, folder, capsys, monkeypatch):
    monkeypatch.setattr("hyperflow.submit.plane.WallClock.sleep", lambda _self, _seconds: None)
    name = json.loads((Path(folder) / "bundle.json").read_text())["name"]
    for group in ("beijing", "shanghai"):
        live.controllers.script[f"{name}-{group}-0"] = ["Running", "Completed"]
    assert main(["submit", folder, "--yes", "--wait", "--format", "json"]) == 0
    shown = capsys.readouterr()
    assert json.loads(shown.out)["state"] == "COMPLETED"
    assert "created HyperJob" in shown.err


def test_submit_wait_of_a_job_that_loses_a_part_prints_its_last_state(live, folder, capsys, monkeypatch):
    monkeypatch.setattr("hyperflow.submit.plane.WallClock.sleep", lambda _self, _seconds: None)
    name = json.loads((Path(folder) / "bundle.json").read_text())["name"]
    live.controllers.script[f"{name}-shanghai-0"] = ["Running", "Failed"]
    assert main(["submit", folder, "--yes", "--wait", "--format", "json"]) == 5
    document = json.loads(capsys.readouterr().out)
    assert (document["state"], document["findings"][0]["code"]) == ("DEGRADED", "HF515")
    assert document["next"][0] == f"hyperflow logs {name} shanghai/0"
    assert live.names("HyperJob") == []


def test_a_dry_run_prints_the_manifests_or_asks_the_server_and_changes_nothing(live, folder, capsys):
    import yaml

    assert main(["submit", folder, "--dry-run"]) == 0
    kinds = [document["kind"] for document in yaml.safe_load_all(capsys.readouterr().out)]
    assert (len(kinds), kinds[-1]) == (7, "HyperJob")
    assert live.server.faults.requests == []
    assert main(["submit", folder, "--dry-run=server"]) == 0
    assert capsys.readouterr().out.startswith("plane would take all 7 objects of toy8-")
    assert live.names("HyperJob") == []


def test_delete_finishes_what_an_earlier_delete_left(live, folder, capsys):
    main(["submit", folder, "--yes"])
    (name,) = live.names("HyperJob")
    plane = live.server.plane
    plane.store.delete(plane.kind_named("HyperJob"), "default", name, {})
    assert main(["status", "toy8"]) == 1
    assert main(["delete", "toy8", "--yes"]) == 0
    assert live.names("ConfigMap") == []


def test_ctrl_c_leaves_the_job_and_says_how_to_come_back(live, folder, capsys, monkeypatch):
    def interrupted(*_args, **_kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("hyperflow.submit.fallback.wait_for", interrupted)
    assert main(["submit", folder, "--yes", "--wait"]) == 0
    (name,) = live.names("HyperJob")
    shown = capsys.readouterr().err
    assert f"detached; the job goes on. Come back with\n  hyperflow status {name} --watch\n" in shown


def test_what_may_not_be_read_is_noted(live, folder, capsys):
    from tests.api_server.faults import Fault

    main(["submit", folder, "--yes"])
    live.server.faults.rules.append(lambda r: Fault(code=403) if r.path.endswith("/queues") else None)
    capsys.readouterr()
    assert main(["status", "toy8"]) == 0
    assert capsys.readouterr().err == (
        "note[HF524] not readable, so not looked at: queues.scheduling.volcano.sh (forbidden)\n  --> context plane\n"
        "  hint: reasons may be missing; hyperflow doctor BUNDLE lists the rights\n"
    )


def test_no_output_ever_shows_the_token(live, folder, capsys):
    live.server.tokens = {"another"}
    assert main(["submit", folder, "--yes"]) == 1
    shown = capsys.readouterr()
    assert "HF504" in shown.err
    assert "test-token" not in shown.out + shown.err
