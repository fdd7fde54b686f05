"""Submitting, following and deleting on a server that behaves: order, adoption, refusal, and what is left behind."""

import json

import pytest

from hyperflow.errors import HyperFlowError, InfeasibleError, InputError
from hyperflow.inventory.bundle_reader import read_bundle
from hyperflow.submit.pod_logs import find_pod, read_log
from hyperflow.submit.snapshot import JobName, read_snapshot
from hyperflow.submit.submit_bundle import apply_bundle
from hyperflow.submit.watch import Pace
from tests.api_server.answers import refuse
from tests.api_server.faults import Fault
from tests.live_plane import crd, live_plane, write_bundle
from tests.manifest_cases import two_cities

FAST = Pace(pause_seconds=1, quiet_seconds=1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_bundle(tmp_path_factory.mktemp("bundle") / "out")


@pytest.fixture(scope="module")
def bundle(folder):
    return read_bundle(folder)


@pytest.fixture
def live(tmp_path, monkeypatch):
    with live_plane(tmp_path, monkeypatch) as plane:
        yield plane


def job_of(bundle):
    return JobName(job=bundle.job, name=bundle.name, namespace=bundle.namespace)


def left(live):
    """What of a job is on the plane, beside what other bundles share."""
    kinds = ("HyperJob", "PropagationPolicy", "ConfigMap", "Service", "MultiClusterService", "ResourceBinding")
    jobs = [key for key in live.server.plane.store.objects if key[:2] == ("batch.volcano.sh", "jobs")]
    return [name for kind in kinds for name in live.names(kind)] + jobs


def test_a_denied_object_ends_the_submit_with_nothing_created(live, bundle):
    def deny(_verb, kind, _new, _old):
        if kind.kind == "HyperJob":
            return refuse(403, 'admission webhook "guard.example" denied the request: no', "Forbidden")
        return None

    live.server.plane.admit = deny
    with pytest.raises(HyperFlowError) as caught:
        apply_bundle(live.plane, bundle)
    assert caught.value.findings[0].code == "HF508"
    assert "guard.example denied to patch hyperjobs.training.volcano.sh: no" in str(caught.value)
    assert left(live) == []


def test_a_replacement_that_the_server_denies_leaves_the_old_job_running(live, bundle, second):
    apply_bundle(live.plane, bundle)

    def deny(_verb, kind, new, _old):
        if kind.kind == "HyperJob" and new["metadata"]["name"] == second.name:
            return refuse(403, 'admission webhook "guard.example" denied the request: no', "Forbidden")
        return None

    live.server.plane.admit = deny
    with pytest.raises(HyperFlowError):
        apply_bundle(live.plane, second, replace=True)
    assert live.names("HyperJob") == [bundle.name]


def test_an_old_job_crd_on_the_plane_is_found_though_only_the_controller_uses_it(tmp_path, monkeypatch, bundle):
    import copy

    from tests.live_plane import PLANE_CRDS

    old = copy.deepcopy(crd("batch.volcano.sh_jobs"))
    spec = old["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    del spec["priorityClassName"]
    crds = (PLANE_CRDS[0], old, *PLANE_CRDS[2:])
    with live_plane(tmp_path, monkeypatch, plane_crds=crds) as live, pytest.raises(InfeasibleError) as caught:
        apply_bundle(live.plane, bundle)
    assert caught.value.findings[0].message == "the plane's Job CRD drops spec.priorityClassName"


@pytest.fixture(scope="module")
def second(tmp_path_factory):
    resolved, plan = two_cities(retries=1)
    return read_bundle(write_bundle(tmp_path_factory.mktemp("second") / "out", job=(resolved, plan)))


def test_an_absent_kind_is_named(tmp_path, monkeypatch, bundle):
    with (
        live_plane(tmp_path, monkeypatch, plane_crds=("scheduling.volcano.sh_queues",)) as live,
        pytest.raises(HyperFlowError) as caught,
    ):
        live.server.after_request = lambda: None
        apply_bundle(live.plane, bundle)
    assert caught.value.findings[0].code == "HF507"


def test_logs_of_rank_zero_come_from_its_member(live, bundle):
    apply_bundle(live.plane, bundle)
    for _ in range(2):
        read_snapshot(live.plane, job_of(bundle))
    pod = find_pod(live.plane, job_of(bundle), None)
    assert (pod.rank, pod.cluster) == (0, "beijing")
    live.server.members["beijing"].logs[("default", pod.name)] = "step 1\nstep 2\n"
    assert list(read_log(live.plane, pod)) == ["step 1", "step 2"]
    assert find_pod(live.plane, job_of(bundle), "shanghai/0").rank == 1
    with pytest.raises(InputError) as caught:
        find_pod(live.plane, job_of(bundle), "shanghai/7")
    assert str(caught.value) == (
        f"error[HF520] job {bundle.name} has no pod 'shanghai/7'\n  got beijing/0, shanghai/0, expected one of them\n"
        '  hint: did you mean "shanghai/0"?'
    )


@pytest.mark.parametrize(
    "fault",
    [
        Fault(code=429, retry_after=3),
        Fault(code=500),
        Fault(code=503),
        Fault(code=409),
        Fault(drop=True),
        Fault(drop=True, before=False),
    ],
    ids=["429", "500", "503", "409", "dropped", "torn"],
)
@pytest.mark.parametrize("method", ["GET", "PATCH"])
def test_one_fault_is_ridden_out(live, bundle, fault, method):
    live.server.faults.once(fault, method, "hyperjobs")
    apply_bundle(live.plane, bundle)
    assert live.names("HyperJob") == [bundle.name]


def test_retry_after_is_honoured(live, bundle):
    live.server.faults.once(Fault(code=429, retry_after=9), "PATCH")
    plane = live.plane
    apply_bundle(plane, bundle)
    assert plane.clock.now() >= 9


def test_a_token_that_expires_is_read_anew_from_the_kubeconfig(live, bundle):
    plane = live.plane
    read_snapshot(plane, job_of(bundle))
    live.server.tokens = {"fresh"}
    live.kubeconfig.write_text(live.server.kubeconfig("fresh"))
    apply_bundle(plane, bundle)
    assert live.names("HyperJob") == [bundle.name]


def test_a_server_that_stays_down_is_given_up_with_a_finding(live, bundle):
    live.server.faults.rules.append(lambda _request: Fault(code=503))
    with pytest.raises(HyperFlowError) as caught:
        apply_bundle(live.plane, bundle)
    assert caught.value.findings[0].code == "HF503"


def test_a_bundle_changed_by_hand_is_refused(tmp_path, folder):
    import shutil

    changed = tmp_path / "changed"
    shutil.copytree(folder, changed)
    name = next(
        f["path"] for f in json.loads((changed / "bundle.json").read_text())["files"] if "hyperjob" in f["path"]
    )
    (changed / name).write_text((changed / name).read_text().replace("queue: llm", "queue: mine"))
    with pytest.raises(InputError) as caught:
        read_bundle(changed)
    assert str(caught.value) == (
        f"error[HF500] the bundle was changed after it was compiled: {name}\n  --> {changed}\n"
        "  hint: compile it again; use hf.patch(...) for changes, so that the plan and the files agree"
    )
    with pytest.raises(InputError) as caught:
        read_bundle(tmp_path / "nowhere")
    assert str(caught.value).startswith(f"error[HF500] {tmp_path}/nowhere is no bundle: it does not exist")


def test_a_crd_that_drops_a_field_is_found_before_anything_is_created(tmp_path, monkeypatch, bundle):
    import copy

    old = copy.deepcopy(crd("training.volcano.sh_hyperjobs"))
    template = old["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"][
        "replicatedJobs"
    ]["items"]["properties"]["templateSpec"]
    del template["properties"]["priorityClassName"]
    from tests.live_plane import PLANE_CRDS

    with live_plane(tmp_path, monkeypatch, plane_crds=(old, *PLANE_CRDS[1:])) as live:
        with pytest.raises(InfeasibleError) as caught:
            apply_bundle(live.plane, bundle)
        first = caught.value.findings[0]
        assert first.code == "HF506"
        assert first.message == "the plane's HyperJob CRD drops spec.replicatedJobs[0].templateSpec.priorityClassName"
        assert not [r for r in live.server.faults.requests if r.method != "GET"]


def test_a_default_beside_a_tier_name_is_a_finding():
    from hyperflow.admission.shapes import shape_of
    from hyperflow.submit.live_schemas import schema_findings

    schema = crd("training.volcano.sh_hyperjobs")["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    topology = {"mode": "hard"}
    document = {"kind": "HyperJob", "spec": {"replicatedJobs": [{"templateSpec": {"networkTopology": topology}}]}}
    found = schema_findings(document, shape_of(schema), "06-hyperjob.yaml", "plane")
    assert [f.as_text() for f in found] == [
        "error[HF522] the plane's HyperJob CRD sets spec.replicatedJobs[0].templateSpec.networkTopology."
        "highestTierAllowed to 1, which changes the job\n  --> 06-hyperjob.yaml\n"
        "  expected no default beside highestTierName\n"
        "  hint: hyperflow crd --context CONTEXT prints a CRD without this default"
    ]
