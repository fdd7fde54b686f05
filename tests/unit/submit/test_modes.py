"""The other ways a bundle is carried: Jobs with policies of their own, one plain Job, and fallback clusters."""

import pytest

from hyperflow.inventory.bundle_reader import read_bundle
from hyperflow.submit.delete_job import delete_job
from hyperflow.submit.doctor import examine
from hyperflow.submit.snapshot import JobName, find_job, read_snapshot
from hyperflow.submit.states import judge_state
from hyperflow.submit.submit_bundle import apply_bundle
from tests.live_plane import MEMBER_CRDS, live_plane, write_bundle
from tests.manifest_cases import one_city, two_cities
from tests.soak_runs import leftovers
from tests.unit.submit.test_doctor import claim


def read(folder, **settings):
    return read_bundle(write_bundle(folder / "out", **settings))


def job_of(bundle):
    return JobName(job=bundle.job, name=bundle.name, namespace=bundle.namespace)


def test_direct_jobs_run_under_their_own_policies_and_leave_nothing(tmp_path, monkeypatch):
    bundle = read(tmp_path, mode="direct")
    with live_plane(tmp_path, monkeypatch) as live:
        assert {deed for _, deed in apply_bundle(live.plane, bundle).objects} == {"created"}
        assert find_job(live.plane, "toy8", "default") == job_of(bundle)
        for _ in range(2):
            status = judge_state(read_snapshot(live.plane, job_of(bundle)))
        assert (status.state, [c.cluster for c in status.children]) == ("RUNNING", ["beijing", "shanghai"])
        live.controllers.script[f"{bundle.name}-shanghai-0"] = ["Failed"]
        for _ in range(2):
            status = judge_state(read_snapshot(live.plane, job_of(bundle)))
        assert (status.state, status.partial_failure) == ("DEGRADED", True)
        delete_job(live.plane, job_of(bundle))
        live.controllers.step()
        assert leftovers(live) == []


def test_a_direct_job_whose_submit_was_interrupted_is_not_said_to_run(tmp_path, monkeypatch):
    bundle = read(tmp_path, mode="direct")
    with live_plane(tmp_path, monkeypatch) as live:
        for document in bundle.documents[:-1]:
            live.plane.apply(document.value)
        for _ in range(3):
            status = judge_state(read_snapshot(live.plane, job_of(bundle)))
        assert (status.state, [c.phase for c in status.children]) == ("PENDING", ["Running", "Absent"])
        assert status.children[1].reason == (
            "it was never applied, because a submit was interrupted; run hyperflow submit BUNDLE again"
        )


def test_doctor_finds_the_clusters_of_direct_jobs_in_their_policies(tmp_path, monkeypatch):
    bundle = read(tmp_path, mode="direct")
    with live_plane(tmp_path, monkeypatch) as live:
        servers = {cell.server for cell in examine(live.plane, bundle)}
        assert servers == {"plane", "beijing", "shanghai"}


@pytest.fixture
def alone(tmp_path, monkeypatch):
    """A cluster with Volcano and no Karmada."""
    with live_plane(tmp_path, monkeypatch, members=(), plane_crds=MEMBER_CRDS) as live:
        live.server.after_request = lambda: None
        yield live


def test_one_job_on_one_cluster_needs_no_plane(tmp_path, alone):
    bundle = read(tmp_path, job=one_city())
    assert bundle.mode == "single"
    apply_bundle(alone.plane, bundle)
    status = judge_state(read_snapshot(alone.plane, job_of(bundle)))
    assert (status.state, status.reason) == ("PENDING", f"{bundle.jobs[0].name}: the member's controller has not made "
                                                        "its pods yet")  # fmt: skip
    kind = next(k for k in alone.server.plane.kinds if k.resource == "jobs.batch.volcano.sh")
    stored = alone.server.plane.store.get(kind, "default", bundle.jobs[0].name)
    alone.put({**stored, "status": {"state": {"phase": "Running"}, "running": 2}})
    assert judge_state(read_snapshot(alone.plane, job_of(bundle))).state == "RUNNING"
    (cell,) = [c for c in examine(alone.plane, bundle) if c.state == "bad"]
    assert (cell.detail, cell.fix) == (
        "PersistentVolumeClaim ckpt does not exist", "create it in namespace default there"
    )  # fmt: skip
    alone.put(claim("ckpt"))
    assert [c for c in examine(alone.plane, bundle) if c.state == "bad"] == []
    alone.server.plane.store.delete(alone.server.plane.kind_named("PersistentVolumeClaim"), "default", "ckpt", {})
    delete_job(alone.plane, job_of(bundle))
    assert leftovers(alone) == []


def test_a_child_with_fallback_clusters_keeps_its_own_policy_through_submit_and_delete(tmp_path, monkeypatch):
    from tests.manifest_cases import BEIJING, SHANGHAI, cluster, fleet, job, plan

    chengdu = cluster("chengdu", "H100")
    resolved = job(fleet(BEIJING, SHANGHAI, chengdu), fallback={"shanghai": ("chengdu",)})
    bundle = read(tmp_path, job=(resolved, plan([("beijing", "B200", [6]), ("shanghai", "H100", [2])])))
    with live_plane(tmp_path, monkeypatch, members=("beijing", "shanghai", "chengdu")) as live:
        apply_bundle(live.plane, bundle)
        assert f"{bundle.name}-shanghai-0-own" in live.names("PropagationPolicy")
        assert {"shanghai", "chengdu"} <= {cell.server for cell in examine(live.plane, bundle)}
        delete_job(live.plane, job_of(bundle))
        live.controllers.step()
        assert leftovers(live) == []


def test_what_the_user_declared_of_a_partial_failure_is_in_the_bundle():
    from hyperflow.ir.bundle import Bundle
    from hyperflow.report.bundle_pages import _index

    resolved, _ = two_cities()
    bundle = Bundle(job="a", name="a-1", namespace="default", mode="hyperjob", mode_reason="", files=())
    assert _index(bundle, resolved, ())["guard"] == {"on_partial_failure": "abort"}
