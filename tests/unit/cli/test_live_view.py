"""What a person at a terminal sees of a job, and what Ctrl-C says."""

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from hyperflow.cli import main
from hyperflow.cli.status_view import live_table
from hyperflow.submit.plane import Plane
from hyperflow.submit.states import ChildStatus, JobStatus
from tests.live_plane import live_plane, write_bundle


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return str(write_bundle(tmp_path_factory.mktemp("bundle") / "out"))


@pytest.fixture
def live(tmp_path, monkeypatch):
    with live_plane(tmp_path, monkeypatch) as plane:
        yield plane


def status_of(children, reason):
    return JobStatus(
        job="toy8", name="toy8-71ce0ab", namespace="default", state="PENDING", reason=reason, children=children, next=()
    )


def child(name, reason, phase="Pending"):
    return ChildStatus(
        name=f"toy8-71ce0ab-{name}", cluster=name.partition("-")[0], phase=phase, running=0, total=4, reason=reason
    )


def shown(status, width=60):
    console = Console(file=io.StringIO(), width=width, force_terminal=False)
    console.print(live_table(status, {}))
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


def test_a_terminal_of_60_columns_shows_short_names_and_each_reason_once():
    full = "the member's scheduler finds no room: 3/4 nodes are unavailable"
    children = (child("beijing-0", full), child("beijing-1", full), child("shanghai-0", "", "Running"))
    assert shown(status_of(children, "2 of 3 children wait")) == [
        "toy8-71ce0ab: PENDING",
        "2 of 3 children wait",
        "",
        " CHILD        CLUSTER    PHASE     RUNNING",
        " ─────────────────────────────────────────",
        " beijing-0    beijing    Pending       0/4",
        " beijing-1    beijing    Pending       0/4",
        " shanghai-0   shanghai   Running       0/4",
        "",
        "beijing-0 and 1 more: the member's scheduler finds no room:",
        "3/4 nodes are unavailable",
    ]


def test_five_hundred_children_fit_a_screen_and_those_that_wait_come_first():
    children = tuple(child(f"c{i % 7}-{i}", f"reason {i}" if i >= 480 else "") for i in range(500))
    lines = shown(status_of(children, "20 wait"), 80)
    assert lines[5].split() == ["c4-480", "c4", "Pending", "0/4"]
    assert [line.strip() for line in lines if line.strip().startswith("and ")] == [
        "and 460 more", "and 12 more reasons",
    ]  # fmt: skip


def test_ctrl_c_while_waiting_says_how_to_come_back(live, folder, capsys, monkeypatch):
    name = json.loads((Path(folder) / "bundle.json").read_text())["name"]

    def interrupted(*_given, **_more):
        raise KeyboardInterrupt

    monkeypatch.setattr(Plane, "watch", interrupted)
    assert main(["submit", folder, "--yes", "--wait"]) == 0
    assert capsys.readouterr().err.endswith(
        f"\ndetached; the job goes on. Come back with\n  hyperflow status {name} --watch\n"
        f"or end it with\n  hyperflow delete {name}\n"
    )
    assert live.names("HyperJob") == [name]


@pytest.mark.parametrize("wait", [[], ["--wait"]])
def test_ctrl_c_while_submitting_does_not_say_that_the_job_goes_on(live, folder, capsys, monkeypatch, wait):
    name = json.loads((Path(folder) / "bundle.json").read_text())["name"]
    real = Plane.apply

    def interrupted(self, document, **more):
        if document["kind"] == "Service" and not more.get("dry_run"):
            raise KeyboardInterrupt
        return real(self, document, **more)

    monkeypatch.setattr(Plane, "apply", interrupted)
    with pytest.raises(KeyboardInterrupt):
        main(["submit", folder, "--yes", *wait])
    assert capsys.readouterr().err.endswith(
        "\ninterrupted while submitting; what was applied stays. Run the same command again to go on,\n"
        f"or take it away with\n  hyperflow delete {name}\n"
    )
    assert live.names("HyperJob") == []
    assert main(["delete", name, "--yes"]) == 0
    assert f"{name} is gone (1 objects deleted)" in capsys.readouterr().out
