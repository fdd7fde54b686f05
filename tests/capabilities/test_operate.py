"""Rows of docs/capabilities.md about running jobs."""

import copy
import json
from pathlib import Path

import pytest

from hyperflow.admission.karmada_estimator import foresee_refusal
from hyperflow.cli import main
from hyperflow.errors import DegradedError, HyperFlowError, InfeasibleError
from hyperflow.inventory.bundle_reader import read_bundle
from hyperflow.submit.snapshot import JobName
from hyperflow.submit.states import judge_state
from hyperflow.submit.submit_bundle import apply_bundle
from hyperflow.submit.watch import Pace, wait_for
from tests.live_plane import PLANE_CRDS, crd, live_plane, write_bundle
from tests.manifest_cases import two_cities

ROOT = Path(__file__).parents[2]
FAST = Pace(pause_seconds=0.01, quiet_seconds=1)


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    return read_bundle(write_bundle(tmp_path_factory.mktemp("bundle") / "out"))


@pytest.fixture
def live(tmp_path, monkeypatch):
    with live_plane(tmp_path, monkeypatch) as plane:
        yield plane


def submitted(live, bundle, **scripts):
    """Submit, let the children take their phases, and give the JSON of `status`."""
    for group, phases in scripts.items():
        live.controllers.script[f"{bundle.name}-{group}-0"] = list(phases)
    apply_bundle(live.plane, bundle)
    return JobName(job=bundle.job, name=bundle.name, namespace=bundle.namespace)


def shown(capsys, *arguments):
    capsys.readouterr()
    code = main([*arguments, "--format", "json"])
    return code, json.loads(capsys.readouterr().out)


def without(document, *names):
    """A CRD whose HyperJob template lacks some fields."""
    old = copy.deepcopy(document)
    spec = old["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    template = spec["replicatedJobs"]["items"]["properties"]["templateSpec"]["properties"]
    for name in names:
        del template[name]
    return old


def test_t1_a_crd_that_drops_a_needed_field_stops_the_submit_before_anything_is_created(tmp_path, monkeypatch, bundle):
    stale = without(crd(PLANE_CRDS[0]), "priorityClassName")
    with live_plane(tmp_path, monkeypatch, plane_crds=(stale, *PLANE_CRDS[1:])) as live:
        with pytest.raises(
            InfeasibleError, match=r"CRD drops spec\.replicatedJobs\[0\]\.templateSpec\.priorityClassName"
        ):
            apply_bundle(live.plane, bundle)
        assert [r for r in live.server.faults.requests if r.method != "GET"] == []
    with live_plane(tmp_path, monkeypatch) as live:
        apply_bundle(live.plane, bundle)
        writes = [r for r in live.server.faults.requests if r.method == "PATCH"]
        assert {r.query["fieldValidation"] for r in writes} == {"Strict"}


def test_t2_doctor_exits_with_3_and_names_the_cluster_whose_crd_is_too_old(live, bundle, capsys):
    member = live.server.members["shanghai"]
    kind = member.kind_named("CustomResourceDefinition")
    old = copy.deepcopy(crd("batch.volcano.sh_jobs"))
    spec = old["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    del spec["plugins"]
    member.store.replace(kind, {**member.store.get(kind, "", "jobs.batch.volcano.sh"), "spec": old["spec"]}, "test")
    code, document = shown(capsys, "doctor", bundle.folder)
    red = {(c["server"], c["check"]): c["detail"] for c in document["checks"] if c["state"] == "bad"}
    assert code == 3
    assert red["shanghai", "vcjob fields"] == "shanghai's Job CRD drops spec.plugins"
    assert ("beijing", "vcjob fields") not in red


def test_t6_a_dead_cluster_beside_a_living_one_is_degraded_with_exit_5_and_aborted(live, bundle, capsys):
    job = submitted(live, bundle, beijing=["Failed"])
    main(["status", "toy8"])
    main(["status", "toy8"])
    code, document = shown(capsys, "status", "toy8")
    assert (code, document["state"]) == (5, "DEGRADED")
    with pytest.raises(DegradedError):
        wait_for(live.plane, job, pace=FAST)
    assert live.names("HyperJob") == []


def test_t8_doctor_prints_the_patch_that_lets_karmada_dispatch():
    from hyperflow.inventory.readers.karmada import read_cluster_object
    from hyperflow.spec.fleet import Cluster
    from tests.unit.submit.test_doctor import CPU_ONLY, cluster

    name, _, view, _ = read_cluster_object(cluster("beijing", CPU_ONLY), "plane")
    finding = foresee_refusal(Cluster(name=name, karmada=view), {"nvidia.com/gpu": 8.0}, 1)
    assert finding is not None
    assert finding.message == "beijing will be refused by Karmada: nvidia.com/gpu not in its resource models"
    assert finding.hint.startswith("kubectl patch cluster beijing --type merge -p ")


def test_t10_an_unknown_field_is_a_schema_finding_after_one_try(tmp_path, monkeypatch, bundle):
    stale = without(crd(PLANE_CRDS[0]), "priorityClassName")
    with live_plane(tmp_path, monkeypatch, plane_crds=(stale, *PLANE_CRDS[1:])) as live:
        hyperjob = bundle.jobs[0].value
        with pytest.raises(HyperFlowError) as caught:
            live.plane.apply(hyperjob)
        assert caught.value.findings[0].code == "HF506"
        assert "templateSpec.priorityClassName" in caught.value.findings[0].message
        assert len(live.server.faults.requests) == 1


def test_t13_fewer_running_pods_than_asked_for_is_degraded():
    from tests.unit.submit.test_states import dispatched

    status = judge_state(dispatched(job_status={"state": {"phase": "Running"}, "running": 2}))
    assert (status.state, status.children[0].running, status.children[0].total) == ("DEGRADED", 2, 3)


def test_t14_a_silent_wait_is_explained_with_the_command_that_mends_it():
    from tests.unit.submit.test_states import queue, suspended

    status = judge_state(suspended({"q": queue()}, {}, priorityClassName="nope"))
    assert status.children[0].reason.endswith("kubectl create priorityclass nope --value=N")
    status = judge_state(suspended({"q": queue(capability={"nvidia.com/gpu": "16"})}))
    assert "it asks for 32 nvidia.com/gpu, the queue's capability is 16" in status.reason


def test_a4_status_is_a_table_of_child_cluster_phase_and_counts(live, bundle, capsys):
    submitted(live, bundle)
    main(["status", "toy8"])
    code, document = shown(capsys, "status", "toy8")
    assert (code, document["state"]) == (0, "RUNNING")
    assert [(c["cluster"], c["phase"], c["running"], c["total"]) for c in document["children"]] == [
        ("beijing", "Running", 1, 1),
        ("shanghai", "Running", 1, 1),
    ]


def test_c7_docs_say_that_a_running_child_is_not_moved():
    page = " ".join((ROOT / "docs" / "operate.md").read_text().split())
    assert "HyperFlow does not move a running child" in page
    assert "--on-partial-failure" in page


def test_d2_a_suspended_binding_is_told_with_its_queue_and_the_next_command(live, bundle, capsys):
    live.controllers.hold_queue |= {f"{bundle.name}-beijing-0", f"{bundle.name}-shanghai-0"}
    submitted(live, bundle)
    _, document = shown(capsys, "status", "toy8")
    assert document["state"] == "QUEUED"
    assert "waiting in queue llm (global), not scheduled yet" in document["reason"]
    assert document["next"][0] == f"hyperflow status {bundle.name} --watch"


def test_d3_a_closed_queue_of_the_plane_is_a_doctor_error(live, bundle, capsys):
    from tests.live_plane import queue

    live.put(queue(state="Closed"))
    code, document = shown(capsys, "doctor", bundle.folder)
    (cell,) = [c for c in document["checks"] if (c["server"], c["check"]) == ("plane", "queue")]
    assert (code, cell["state"], cell["detail"]) == (3, "bad", "queue llm is Closed, not Open")


def test_d4_a_gang_over_clusters_is_guarded_by_a_barrier_a_timeout_and_a_note():
    from hyperflow.lower.lower_job import lower

    manifests = lower(*two_cities())
    job = next(o for o in manifests.objects if o.kind_name == "HyperJob").document()
    for item in job["spec"]["replicatedJobs"]:
        task = item["templateSpec"]["tasks"][0]
        assert item["templateSpec"]["minAvailable"] == task["replicas"]
    assert any("gang is per cluster only" in f.message for f in manifests.findings)


def test_e8_doctor_looks_for_hypernodes_and_the_scheduler_plugin(live, bundle, capsys):
    _, document = shown(capsys, "doctor", bundle.folder)
    checks = {c["check"] for c in document["checks"] if c["server"] == "beijing"}
    assert {"vcjob fields", "HyperNode tiers", "scheduler plugin"} <= checks


def test_h1_report_prints_measured_mfu_beside_the_predicted_one(bundle, tmp_path, capsys):
    log = tmp_path / "train.log"
    log.write_text("".join(f"iteration {i}/9 | elapsed time per iteration (ms): 2244.0 |\n" for i in range(1, 5)))
    _, document = shown(capsys, "report", bundle.folder, "--log", str(log))
    assert document["predicted"]["mfu"] == 0.4
    assert document["measured"]["mfu"] == pytest.approx(0.2)


def test_h2_goodput_and_ettr_of_two_restarts_are_those_worked_out_by_hand(bundle, tmp_path, capsys):
    from tests.unit.cli.test_report import TWO_RESTARTS

    log = tmp_path / "train.log"
    log.write_text("\n".join(TWO_RESTARTS))
    _, document = shown(capsys, "report", bundle.folder, "--log", str(log))
    assert document["measured"]["goodput"] == pytest.approx(16 / 46)
    assert document["measured"]["ettr"] == pytest.approx(16 / 46)


def test_h2_objects_and_events_tell_what_a_log_cannot(tmp_path, capsys):
    from tests.unit.report.test_job_history import FIRST, SECOND, event

    file = tmp_path / "objects.json"
    file.write_text(json.dumps({"kind": "List", "items": [FIRST, SECOND, event("toy-1-a-0-node-0", "Evict", 99)]}))
    _, document = shown(capsys, "report", "toy-1", "--events", str(file))
    history = document["history"]
    assert (history["waiting_seconds"], history["running_seconds"], history["available"]) == (30.0, 150.0, 0.75)
    assert (history["restarts"], history["evicted_pods"]) == (1, 1)
    assert "at the same time" in document["definitions"]["running"]
