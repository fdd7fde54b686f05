"""submit, status, delete, diff and doctor as people type them, on any server: ours, or a real one by KUBECONFIG."""

import json
from pathlib import Path

import pytest

from hyperflow.cli import main
from hyperflow.inventory.bundle_reader import read_bundle
from hyperflow.ir.resolved import ResolvedTier
from hyperflow.submit.doctor import examine
from tests.live_plane import write_bundle
from tests.manifest_cases import one_city, two_cities
from tests.unit.submit.test_doctor import hypernode, scheduler

ROWS = ResolvedTier(mode="hard", name="row", number_by_cluster={"beijing": 2})


@pytest.fixture(scope="module")
def folder(tmp_path_factory, session_server):
    job = two_cities(**session_server.names_of_bundle)
    return str(write_bundle(tmp_path_factory.mktemp("bundle") / "out", job=job))


@pytest.fixture(scope="module")
def alone(tmp_path_factory, session_server):
    """A bundle for the one cluster that the server is, with a hard tier."""
    resolved, plan = one_city(job_tier=ROWS, **session_server.names_of_bundle)
    return read_bundle(write_bundle(tmp_path_factory.mktemp("alone") / "out", job=(resolved, plan)))


def test_submit_shows_the_plan_and_needs_yes_where_nobody_can_answer(any_server, folder, capsys):
    assert main(["submit", folder]) == 2
    shown = capsys.readouterr()
    assert "STAGE  CLUSTER   DEVICE  LAYERS  NODES  IDLE" in shown.out
    assert shown.err.startswith("error[HF513] submit toy8-")
    assert "nobody can answer here, because this is no terminal\n  hint: add --yes" in shown.err
    assert any_server.names("HyperJob") == []


def test_submit_wait_ends_with_the_job_and_prints_one_document(any_server, folder, capsys, monkeypatch):
    monkeypatch.setattr("hyperflow.submit.plane.WallClock.sleep", lambda _self, _seconds: None)
    name = json.loads((Path(folder) / "bundle.json").read_text())["name"]
    for group in ("beijing", "shanghai"):
        any_server.controllers.script[f"{name}-{group}-0"] = ["Running", "Completed"]
    assert main(["submit", folder, "--yes", "--wait", "--format", "json"]) == 0
    shown = capsys.readouterr()
    assert json.loads(shown.out)["state"] == "COMPLETED"
    assert "created HyperJob" in shown.err


def test_submit_wait_of_a_job_that_loses_a_part_prints_its_last_state(any_server, folder, capsys, monkeypatch):
    monkeypatch.setattr("hyperflow.submit.plane.WallClock.sleep", lambda _self, _seconds: None)
    name = json.loads((Path(folder) / "bundle.json").read_text())["name"]
    any_server.controllers.script[f"{name}-shanghai-0"] = ["Running", "Failed"]
    assert main(["submit", folder, "--yes", "--wait", "--format", "json"]) == 5
    document = json.loads(capsys.readouterr().out)
    assert (document["state"], document["findings"][0]["code"]) == ("DEGRADED", "HF515")
    assert document["next"][0] == f"hyperflow logs {name} shanghai/0 --namespace {any_server.namespace}"
    assert any_server.names("HyperJob") == []


def test_a_dry_run_prints_the_manifests_or_asks_the_server_and_changes_nothing(any_server, folder, capsys):
    import yaml

    assert main(["submit", folder, "--dry-run"]) == 0
    kinds = [document["kind"] for document in yaml.safe_load_all(capsys.readouterr().out)]
    assert (len(kinds), kinds[-1]) == (7, "HyperJob")
    assert any_server.requests == []
    assert main(["submit", folder, "--dry-run=server"]) == 0
    assert capsys.readouterr().out.startswith(f"{any_server.context} would take all 7 objects of toy8-")
    assert any_server.names("HyperJob") == []


def test_delete_finishes_what_an_earlier_delete_left(any_server, folder, capsys):
    main(["submit", folder, "--yes"])
    (name,) = any_server.names("HyperJob")
    any_server.remove("HyperJob", name)
    where = ["--namespace", any_server.namespace]
    assert main(["status", "toy8", *where]) == 1
    assert main(["delete", "toy8", "--yes", *where]) == 0
    assert [name for name in any_server.names("ConfigMap") if name.startswith("toy8")] == []


def test_ctrl_c_leaves_the_job_and_says_how_to_come_back(any_server, folder, capsys, monkeypatch):
    def interrupted(*_args, **_kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("hyperflow.submit.fallback.wait_for", interrupted)
    assert main(["submit", folder, "--yes", "--wait"]) == 0
    (name,) = any_server.names("HyperJob")
    shown = capsys.readouterr().err
    again = f"hyperflow status {name} --watch --namespace {any_server.namespace}"
    assert f"detached; the job goes on. Come back with\n  {again}\n" in shown


def test_diff_with_the_live_objects_marks_what_cannot_be_changed(any_server, folder, capsys):
    assert main(["diff", folder, "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert len(document["absent"]) == 7
    main(["submit", folder, "--yes"])
    capsys.readouterr()
    assert main(["diff", folder]) == 0
    assert capsys.readouterr().out == "no difference\n"
    (name,) = any_server.names("HyperJob")
    job = any_server.get("HyperJob", name)
    template = job["spec"]["replicatedJobs"][0]["templateSpec"]
    template["tasks"][0]["replicas"] = 3
    template["tasks"][0]["template"]["spec"]["containers"][0]["image"] = "other"
    any_server.put(job)
    assert main(["diff", folder, "--format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)["changes"]
    assert {(row["path"].rpartition(".")[2], row["immutable"]) for row in rows} == {
        ("replicas", False),
        ("image", True),
    }


def test_status_tells_each_child_and_a_lost_part_ends_with_5(any_server, folder, capsys):
    where = ["--namespace", any_server.namespace]
    assert main(["submit", folder, "--yes"]) == 0
    (name,) = any_server.names("HyperJob")
    main(["status", "toy8", *where])
    capsys.readouterr()
    assert main(["status", "toy8", *where, "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["state"] == "RUNNING"
    assert [(c["cluster"], c["phase"], c["running"], c["total"]) for c in document["children"]] == [
        ("beijing", "Running", 1, 1),
        ("shanghai", "Running", 1, 1),
    ]
    any_server.controllers.script[f"{name}-shanghai-0"] = ["Failed"]
    main(["status", folder])
    assert main(["status", folder]) == 5
    assert f"{name}: DEGRADED  {name}-shanghai-0 failed" in capsys.readouterr().out
    assert main(["delete", "toy8", *where]) == 2
    assert main(["delete", "toy8", "--yes", *where]) == 0
    assert any_server.names("HyperJob") == []
    capsys.readouterr()
    assert main(["status", "toy8", *where]) == 1
    assert f"error[HF514] no job 'toy8' in namespace {any_server.namespace}" in capsys.readouterr().err


def test_a_job_that_the_dispatcher_holds_back_is_queued_with_its_place(any_server, folder, capsys):
    name = json.loads((Path(folder) / "bundle.json").read_text())["name"]
    any_server.controllers.hold_queue |= {f"{name}-beijing-0", f"{name}-shanghai-0"}
    main(["submit", folder, "--yes"])
    capsys.readouterr()
    assert main(["status", folder, "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["state"] == "QUEUED"
    line = document["children"][1]["line"]
    assert (line["queue"], line["place"], line["of"]) == (any_server.name, 2, 2)


def cells(any_server, bundle):
    return {cell.check: (cell.state, cell.detail) for cell in examine(any_server.plane, bundle)}


def test_doctor_finds_on_one_server_what_its_objects_lack(any_server, alone):
    namespace = any_server.namespace
    any_server.put(hypernode(f"{any_server.name}-leaf", 1), hypernode(f"{any_server.name}-top", 2))
    found = cells(any_server, alone)
    for check in ("namespace", "rights", "CRD fields", "vcjob fields", "queue", "PriorityClass", "HyperNode tiers"):
        assert found[check] == ("ok", ""), check
    any_server.put(any_server.queue(state="Closed"))
    any_server.remove("PriorityClass", f"{any_server.name}-high")
    any_server.remove("HyperNode", f"{any_server.name}-top")
    found = cells(any_server, alone)
    assert found["queue"] == ("bad", f"queue {any_server.name} is Closed, not Open")
    assert found["PriorityClass"] == ("bad", f"PriorityClass {any_server.name}-high does not exist")
    any_server.put({**scheduler("- name: gang"), "metadata": {"name": "volcano-scheduler-x", "namespace": namespace}})
    assert cells(any_server, alone)["scheduler plugin"][0] == "bad"
    any_server.put(any_server.queue(), child_of(any_server))
    assert cells(any_server, alone)["queue"] == (
        "bad", f"queue {any_server.name} has child queues, so it takes no jobs"
    )  # fmt: skip


def child_of(any_server):
    child = any_server.queue(parent=any_server.name)
    return {**child, "metadata": {"name": f"{any_server.name}-child"}}


def test_doctor_exits_with_3_and_prints_the_fix_beside_the_red_cell(any_server, alone, capsys):
    any_server.remove("Queue", any_server.name)
    assert main(["doctor", alone.folder]) == 3
    shown = capsys.readouterr()
    assert shown.out.splitlines()[0].split() == ["CHECK", "cluster"]
    assert (
        f"error[HF523] queue: queue {any_server.name} does not exist\n  --> cluster\n"
        f"  hint: create the Queue {any_server.name} on cluster\n"
    ) in shown.err


def test_status_shows_the_plans_layers_and_nodes_beside_the_phase(any_server, folder, capsys):
    main(["submit", folder, "--yes"])
    main(["status", folder])
    capsys.readouterr()
    assert main(["status", "toy8", "--namespace", any_server.namespace]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == ["CHILD", "CLUSTER", "LAYERS", "NODES", "PHASE", "RUNNING", "REASON"]
    assert [line.split()[1:6] for line in lines[2:4]] == [
        ["beijing", "6", "1", "Running", "1/1"],
        ["shanghai", "2", "1", "Running", "1/1"],
    ]
    assert main(["delete", "toy8", "--namespace", any_server.namespace, "--yes"]) == 0
    capsys.readouterr()
    assert main(["status", folder]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[0].endswith(": UNKNOWN  the job is not there (any more), or may not be read")
    assert shown[1:] == ["  hyperflow submit BUNDLE"]
