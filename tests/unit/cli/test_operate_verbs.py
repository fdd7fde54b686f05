"""The verbs submit, status, logs and delete as people type them."""

import json

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
