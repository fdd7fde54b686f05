"""Reports from saved and live objects, and a run's row that goes straight into evaluate and calibrate."""

import csv
import json
from pathlib import Path

import pytest

from hyperflow.cli import main
from tests.api_server.faults import Fault
from tests.live_plane import live_plane, write_bundle
from tests.unit.cli.test_report import TWO_RESTARTS, megatron
from tests.unit.report.test_job_history import FIRST, SECOND, at, event

JOB = """import hyperflow as hf
a, b = hf.Cluster("beijing", nodes=1, gpu="H100:8"), hf.Cluster("shanghai", nodes=1, gpu="B200:8")
@hf.job(name="toy", image="registry.example.com/train:1")
@hf.model({model})
@hf.parallel({parallel})
@hf.on({on})
def train():
    return {launch}
"""
MEGATRON = "hf.megatron(args={})"
TITAN = 'hf.torchtitan(module="llama3", config="x")'
ONE = {
    "model": 'preset="llama-3.1-8b", seq=8192', "parallel": "tp=4, pp=2, dp=1, global_batch_size=16", "on": "a",
    "launch": MEGATRON,
}  # fmt: skip


@pytest.fixture
def compiled(tmp_path, monkeypatch, capsys):
    """Compile a job file into `out` and write a log of ten steps of two seconds."""
    monkeypatch.chdir(tmp_path)
    Path("train.log").write_text("\n".join(megatron(step, 2 * step) for step in range(1, 11)))

    def compile_job(**parts):
        Path("job.py").write_text(JOB.format(**{**ONE, **parts}))
        assert main(["compile", "job.py", "-o", "out"]) == 0
        capsys.readouterr()
        return json.loads(Path("out/plan.json").read_text())

    return compile_job


def evaluated(capsys):
    capsys.readouterr()
    assert main(["evaluate", "row.csv", "--format", "json"]) == 0
    return json.loads(capsys.readouterr().out)["rows"]


def test_a_row_goes_straight_into_evaluate_and_is_predicted_as_the_plan_was(compiled, capsys):
    plan = compiled()
    assert main(["report", "out", "--log", "train.log", "--row", "row.csv"]) == 0
    assert capsys.readouterr().err == ""
    (row,) = evaluated(capsys)
    assert (row["skipped"], row["measured_seconds"]) == (None, 2.0)
    assert row["predicted_seconds"] == pytest.approx(plan["step_seconds"], rel=0.02)


def test_rows_are_added_to_one_table_and_fitted(compiled, capsys):
    compiled()
    for _ in range(4):
        assert main(["report", "out", "--log", "train.log", "--row", "row.csv"]) == 0
    assert len(evaluated(capsys)) == 4
    assert main(["calibrate", "row.csv", "-o", "fit.json"]) == 0
    Path("other.csv").write_text("a,b\n1,2\n")
    assert main(["report", "out", "--log", "train.log", "--row", "other.csv"]) == 1
    assert capsys.readouterr().err.endswith(
        "error[HF106] cannot write other.csv: it holds something else than rows of report\n  --> --row\n"
        "  hint: choose a new file, in a folder that you may write to\n"
    )
    assert Path("other.csv").read_text() == "a,b\n1,2\n"


def test_unequal_clusters_name_each_stages_device_and_are_told_but_not_fitted(compiled, capsys):
    link = 'a, b, links=[hf.link("beijing", "shanghai", gbps=100, rtt_ms=5)]'
    plan = compiled(on=link, parallel="tp=8, pp=2, dp=1, global_batch_size=16")
    devices = [stage["device"] for stage in plan["stages"]]
    assert len(set(devices)) == 2
    main(["report", "out", "--log", "train.log", "--row", "row.csv"])
    (cells,) = csv.DictReader(Path("row.csv").read_text().splitlines())
    assert (cells["gpu"], cells["quality"]) == ("/".join(devices), "C")
    assert cells["stage_layers"] == "/".join(str(stage["layers"]) for stage in plan["stages"])
    (row,) = evaluated(capsys)
    assert row["skipped"] is None
    assert main(["calibrate", "row.csv", "-o", "fit.json"]) == 1


def test_experts_are_told_by_their_own_columns(compiled, capsys):
    on = 'hf.Cluster("beijing", nodes=8, gpu="B200:8")'
    plan = compiled(
        model='preset="mixtral-8x7b", seq=4096', on=on, launch=TITAN,
        parallel='tp=8, pp=2, dp=4, ep=1, zero=2, global_batch_size=64',
    )  # fmt: skip
    main(["report", "out", "--log", "train.log", "--row", "row.csv"])
    (cells,) = csv.DictReader(Path("row.csv").read_text().splitlines())
    assert (cells["experts"], cells["topk"], cells["moe_ffn"]) == ("8", "2", "14336")
    assert "HF529" not in capsys.readouterr().err, "the row's parameters are the plan's"
    (row,) = evaluated(capsys)
    assert row["predicted_seconds"] == pytest.approx(plan["step_seconds"], rel=0.1)


def test_a_row_that_evaluate_will_skip_says_so_at_once(compiled, capsys):
    compiled()
    plan = json.loads(Path("out/plan.json").read_text())
    plan["model"]["heads"] = None
    Path("out/plan.json").write_text(json.dumps(plan))
    index = json.loads(Path("out/bundle.json").read_text())
    index["files"] = [item for item in index["files"] if item["path"] != "plan.json"]
    Path("out/bundle.json").write_text(json.dumps(index))
    assert main(["report", "out", "--log", "train.log", "--row", "row.csv"]) == 0
    assert capsys.readouterr().err == (
        "note[HF529] hyperflow evaluate will skip the row: not stated: heads\n  --> row.csv\n"
        "  hint: correct the cells, or describe the model in the catalogue's run sources\n"
    )


def test_saved_objects_alone_tell_waiting_restarts_and_the_bound_of_both_ratios(tmp_path, capsys):
    file = tmp_path / "objects.json"
    items = [FIRST, SECOND, event("toy-1-a-0-node-0", "Evict", 99)]
    file.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": items}))
    assert main(["report", "toy-1", "--events", str(file)]) == 0
    shown = capsys.readouterr().out
    assert shown.splitlines()[:8] == [
        "                      PREDICTED       MEASURED",
        "wall seconds                  -            200",
        "waiting seconds               -             30",
        "running seconds               -            150",
        "available                     -          75.0%",
        "goodput, ETTR                 -  at most 75.0%",
        "restarts of children          -              1",
        "evicted pods                  -              1",
    ]
    assert "running: seconds in which all children ran at the same time\n" in shown
    assert main(["report", "toy-2", "--events", str(file)]) == 1
    assert capsys.readouterr().err == (
        f"error[HF530] no object of the job toy-2 is there to tell its history\n  --> {file}\n"
        "  expected its HyperJob or Jobs, with their events and pods\n  hint: kubectl get "
        "events,jobs.batch.volcano.sh,hyperjobs,pods -o json > FILE, on the plane and on each member\n"
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return str(write_bundle(tmp_path_factory.mktemp("bundle") / "out"))


def test_a_log_with_objects_counts_from_the_submission_and_sorts_lost_steps_by_cause(folder, tmp_path, capsys):
    name = json.loads((Path(folder) / "bundle.json").read_text())["name"]
    first = json.loads(json.dumps(FIRST).replace("toy-1", name))
    file, log = tmp_path / "objects.json", tmp_path / "train.log"
    file.write_text(json.dumps(first))
    log.write_text("\n".join(TWO_RESTARTS))
    evicted = tmp_path / "events.json"
    evicted.write_text(json.dumps(event(f"{name}-a-0-node-0", "Evict", 12)))
    arguments = ["report", folder, "--log", str(log), "--events", str(file), "--events", str(evicted)]
    assert main([*arguments, "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    # the child was made at second 0, the first step begins at second 0 as well: 46 s in all, as without events
    assert document["measured"]["ettr"] == pytest.approx(16 / 46)
    assert document["history"]["lost_steps"] == {"by_eviction": 2, "by_restart": 1}
    assert document["history"]["evicted_pods"] == 1
    assert document["predicted"]["step_seconds"] == 1.122
    assert set(document["definitions"]) >= {"goodput", "ETTR", "available", "evicted"}


def test_the_live_job_is_read_by_bundle_or_by_name(folder, tmp_path, monkeypatch, capsys):
    with live_plane(tmp_path, monkeypatch) as live:
        main(["submit", folder, "--yes"])
        for _ in range(3):
            main(["status", "toy8"])
        (name,) = live.names("HyperJob")
        member = live.server.members["beijing"]
        job = member.store.get(live.controllers._job(member), "default", f"{name}-beijing-0")
        job["status"] |= {"conditions": [{"status": "Running", "lastTransitionTime": at(30)}], "retryCount": 2}
        member.put(job)
        gone = event(f"{name}-beijing-0-node-0", "Evict", 40)
        member.put({**gone, "metadata": {"name": "gone", "namespace": "default"}})
        for target in (folder, "toy8"):
            capsys.readouterr()
            assert main(["report", target, "--format", "json"]) == 0
            document = json.loads(capsys.readouterr().out)
            assert (document["job"], document["measured"], document["findings"]) == ("toy8", None, [])
            assert (document["history"]["restarts"], document["history"]["evicted_pods"]) == (2, 1)
        assert document["predicted"]["step_seconds"] is None, "a name alone has no plan"
        live.server.faults.rules.append(
            lambda r: Fault(code=403) if "/proxy/" in r.path and r.path.endswith("/events") else None
        )
        assert main(["report", "toy8"]) == 0
        assert "note[HF524] not readable, so not counted: events of beijing (forbidden), events of shanghai" in (
            capsys.readouterr().err
        )


def test_a_row_needs_a_bundle_and_a_log(folder, capsys):
    assert main(["report", folder, "--row", "row.csv"]) == 2
    assert capsys.readouterr().err == (
        "error[HF100] --row needs a bundle and --log\n  --> report\n"
        "  hint: hyperflow report BUNDLE --log FILE --row FILE\n"
    )
