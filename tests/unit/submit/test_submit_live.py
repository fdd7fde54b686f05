"""Submitting, following and deleting on a server that behaves: order, adoption, refusal, and what is left behind."""

import json

import pytest

from hyperflow.errors import DegradedError, HyperFlowError, InfeasibleError, InputError
from hyperflow.inventory.bundle_reader import read_bundle
from hyperflow.submit.delete_job import delete_job
from hyperflow.submit.fallback import check_plans, run_plans
from hyperflow.submit.pod_logs import find_pod, read_log
from hyperflow.submit.snapshot import JobName, find_job, read_snapshot
from hyperflow.submit.states import judge_state
from hyperflow.submit.submit_bundle import apply_bundle, submit_bundle
from hyperflow.submit.watch import Limits, Pace, wait_for
from tests.api_server.answers import refuse
from tests.api_server.faults import Fault
from tests.live_plane import crd, live_plane, priority_class, queue, write_bundle
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


def test_a_bundle_runs_and_a_repeat_adopts_every_object(live, bundle):
    first = apply_bundle(live.plane, bundle)
    again = apply_bundle(live.plane, bundle)
    assert {deed for _, deed in first.objects} == {"created"}
    assert {deed for _, deed in again.objects} == {"adopted"}
    assert live.names("HyperJob") == [bundle.name]
    read_snapshot(live.plane, job_of(bundle))
    status = judge_state(read_snapshot(live.plane, job_of(bundle)))
    assert status.state == "RUNNING"
    assert [c.cluster for c in status.children] == ["beijing", "shanghai"]


def test_every_object_is_asked_for_dryly_and_strictly_before_anything_is_created(live, bundle):
    apply_bundle(live.plane, bundle)
    writes = [r for r in live.server.faults.requests if r.method == "PATCH"]
    half = len(bundle.documents)
    assert all(r.query.get("dryRun") == "All" for r in writes[:half])
    assert all("dryRun" not in r.query for r in writes[half:])
    assert {r.query["fieldValidation"] for r in writes} == {"Strict"}
    assert writes[-1].path.endswith(f"/hyperjobs/{bundle.name}")


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


def test_a_submitted_job_is_never_changed_in_place(live, bundle):
    apply_bundle(live.plane, bundle)
    store, kind = live.server.plane.store, live.server.plane.kind_named("HyperJob")
    job = store.get(kind, "default", bundle.name)
    job["spec"]["replicatedJobs"][0]["templateSpec"]["queue"] = "other"
    live.put(job)
    with pytest.raises(InputError) as caught:
        apply_bundle(live.plane, bundle)
    assert str(caught.value) == (
        f"error[HF511] {bundle.name} exists and differs in spec.replicatedJobs[beijing].templateSpec.queue, which "
        "cannot be changed\n  --> namespace default\n  got other, expected llm\n"
        f"  hint: hyperflow submit {bundle.folder} --replace deletes the job and makes it anew"
    )
    replaced = apply_bundle(live.plane, bundle, replace=True)
    assert ("HyperJob " + bundle.name, "created") in replaced.objects
    spec = store.get(kind, "default", bundle.name)["spec"]["replicatedJobs"][0]["templateSpec"]
    assert spec["queue"] == "llm"


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


def test_replace_makes_an_unchanged_job_anew(live, bundle):
    apply_bundle(live.plane, bundle)
    store, kind = live.server.plane.store, live.server.plane.kind_named("HyperJob")
    before = store.get(kind, "default", bundle.name)["metadata"]["uid"]
    apply_bundle(live.plane, bundle)
    assert store.get(kind, "default", bundle.name)["metadata"]["uid"] == before
    apply_bundle(live.plane, bundle, replace=True)
    assert store.get(kind, "default", bundle.name)["metadata"]["uid"] != before


def test_the_function_for_pipelines_submits_waits_and_prints_nothing(live, folder, bundle, monkeypatch, capsys):
    monkeypatch.setattr("hyperflow.submit.plane.WallClock.sleep", lambda _self, _seconds: None)
    for group in ("beijing", "shanghai"):
        live.controllers.script[f"{bundle.name}-{group}-0"] = ["Running", "Completed"]
    seen = []
    found = submit_bundle(folder, wait=True, on_status=lambda status: seen.append(status.state))
    assert found.status is not None
    assert (found.status.state, seen[-1]) == ("COMPLETED", "COMPLETED")
    assert capsys.readouterr() == ("", "")


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


def test_another_bundle_of_the_same_job_waits_for_replace(live, bundle, second):
    apply_bundle(live.plane, bundle)
    with pytest.raises(InputError) as caught:
        apply_bundle(live.plane, second)
    assert f"job toy8 is already submitted as {bundle.name}; a submitted job cannot be changed" in str(caught.value)
    apply_bundle(live.plane, second, replace=True)
    assert live.names("HyperJob") == [second.name]


@pytest.mark.parametrize(
    ("objects", "text"),
    [
        (
            [priority_class()],
            "error[HF512] queue llm does not take jobs here\n  --> context plane\n  got no such queue, expected Open",
        ),
        (
            [priority_class(), queue(state="Closed")],
            "error[HF512] queue llm does not take jobs here\n  --> context plane\n  got Closed, expected Open",
        ),
        (
            [priority_class(), queue(state="")],
            "error[HF512] queue llm does not take jobs here\n  --> context plane\n"
            "  got no state after 120 s, expected Open",
        ),
        (
            [queue()],
            "error[HF526] PriorityClass high does not exist here, so the job would wait for ever without a word\n"
            "  --> context plane\n  hint: kubectl create priorityclass high --value=N, or leave priority= out",
        ),
    ],
)
def test_a_queue_or_priority_class_that_would_hold_the_job_for_ever_stops_the_submit(
    tmp_path, monkeypatch, bundle, objects, text
):
    with live_plane(tmp_path, monkeypatch, with_queue=False) as live:
        live.put(*objects)
        with pytest.raises(InfeasibleError) as caught:
            apply_bundle(live.plane, bundle)
        assert str(caught.value).startswith(text)
        assert live.names("HyperJob") == []


def test_an_absent_kind_is_named(tmp_path, monkeypatch, bundle):
    with (
        live_plane(tmp_path, monkeypatch, plane_crds=("scheduling.volcano.sh_queues",)) as live,
        pytest.raises(HyperFlowError) as caught,
    ):
        live.server.after_request = lambda: None
        apply_bundle(live.plane, bundle)
    assert caught.value.findings[0].code == "HF507"


def test_deleting_leaves_nothing_even_where_children_outlive_their_owner(live, bundle):
    live.controllers.orphan_children = True
    apply_bundle(live.plane, bundle)
    read_snapshot(live.plane, job_of(bundle))
    delete_job(live.plane, job_of(bundle))
    live.controllers.step()
    assert left(live) == []
    assert delete_job(live.plane, job_of(bundle)) == ()
    assert "hyperflow-queue-llm" in live.names("ClusterPropagationPolicy"), "shared objects stay"


def test_what_a_finalizer_holds_is_named(live, bundle):
    apply_bundle(live.plane, bundle)
    store, kind = live.server.plane.store, live.server.plane.kind_named("Service")
    service = store.get(kind, "default", f"{bundle.name}-rank0")
    service["metadata"]["finalizers"] = ["example.com/hold"]
    live.put(service)
    with pytest.raises(HyperFlowError) as caught:
        delete_job(live.plane, job_of(bundle), seconds=5)
    assert str(caught.value) == (
        f"error[HF518] 1 objects of {bundle.name} are still there after 5 s\n  --> namespace default\n"
        f"  got Service {bundle.name}-rank0, expected nothing\n"
        f"  hint: a finalizer holds them, or a member is down; run hyperflow delete {bundle.name} again later"
    )


def test_waiting_ends_with_completion(live, bundle):
    for group in ("beijing", "shanghai"):
        live.controllers.script[f"{bundle.name}-{group}-0"] = ["Running", "Completed"]
    apply_bundle(live.plane, bundle)
    seen = []
    status = wait_for(live.plane, job_of(bundle), pace=FAST, on_status=lambda s: seen.append(s.state))
    assert status.state == "COMPLETED"
    assert status.reason == "all 2 children completed"


def test_a_partial_failure_deletes_the_rest_or_keeps_it(live, bundle):
    lost = f"{bundle.name}-beijing-0"
    live.controllers.script[lost] = ["Running", "Failed"]
    apply_bundle(live.plane, bundle)
    with pytest.raises(DegradedError) as caught:
        wait_for(live.plane, job_of(bundle), pace=FAST)
    assert str(caught.value) == (
        f"error[HF515] job {bundle.name} lost a part and was deleted: {lost} failed; 1 pods of "
        f"{bundle.name}-shanghai-0 go on and hold devices\n  --> namespace default\n"
        "  got DEGRADED, expected RUNNING\n  hint: on_partial_failure=keep lets the other children go on"
    )
    assert caught.value.exit_code == 5
    assert left(live) == []

    live.controllers.script[lost] = ["Running", "Failed"]
    live.controllers.script[f"{bundle.name}-shanghai-0"] = ["Running", "Completed"]
    apply_bundle(live.plane, bundle)
    with pytest.raises(DegradedError) as caught:
        wait_for(live.plane, job_of(bundle), limits=Limits(on_partial_failure="keep"), pace=FAST)
    assert caught.value.findings[0].code == "HF516"
    assert caught.value.findings[0].message.startswith(f"job {bundle.name} failed: ")
    assert live.names("HyperJob") == [bundle.name]


def test_a_phase_that_takes_too_long_ends_with_its_name_and_no_job(live, bundle):
    live.controllers.hold_member.add(f"{bundle.name}-shanghai-0")
    apply_bundle(live.plane, bundle)
    with pytest.raises(DegradedError) as caught:
        wait_for(live.plane, job_of(bundle), limits=Limits(rendezvous_seconds=0.5), pace=FAST)
    finding = caught.value.findings[0]
    assert finding.code == "HF517"
    assert finding.message.startswith(f"job {bundle.name} did not leave the phase rendezvous in 0.5 s and was deleted")
    assert left(live) == []


def test_the_next_plan_starts_only_when_nothing_of_the_first_is_left(live, bundle, second):
    live.controllers.hold_queue |= {f"{bundle.name}-beijing-0", f"{bundle.name}-shanghai-0"}
    for group in ("beijing", "shanghai"):
        live.controllers.script[f"{second.name}-{group}-0"] = ["Running", "Completed"]
    together = []

    def look(_step):
        together.append(len(live.names("HyperJob")))

    status = run_plans(
        live.plane, [bundle, second], Limits(queue_seconds=0.5), pace=FAST, on_step=look
    )  # fmt: skip
    assert (status.name, status.state) == (second.name, "COMPLETED")
    assert max(together) == 1


def test_fallbacks_must_be_other_bundles_of_the_same_job(bundle):
    with pytest.raises(InputError) as caught:
        check_plans([bundle, bundle])
    assert str(caught.value).startswith(f"error[HF527] {bundle.folder} is no fallback of {bundle.folder}")


def test_a_job_is_found_by_its_declared_name(live, bundle):
    apply_bundle(live.plane, bundle)
    assert find_job(live.plane, "toy8", "default") == job_of(bundle)
    with pytest.raises(InputError) as caught:
        find_job(live.plane, "toy9", "default")
    assert str(caught.value) == (
        "error[HF514] no job 'toy9' in namespace default\n  --> context plane\n"
        "  hint: hyperflow submit BUNDLE submits one; --namespace and --context choose where to look"
    )
    store, kind = live.server.plane.store, live.server.plane.kind_named("HyperJob")
    copy = store.get(kind, "default", bundle.name)
    copy["metadata"] = {"name": "toy8-zz", "labels": {"hyperflow.io/job": "toy8", "hyperflow.io/bundle": "toy8-zz"}}
    live.put(copy)
    with pytest.raises(InputError) as caught:
        find_job(live.plane, "toy8", "default")
    assert str(caught.value) == (
        f"error[HF519] 'toy8' names 2 submitted jobs\n  got {bundle.name}, toy8-zz, expected one of them\n"
        "  hint: give the full name"
    )


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


def test_a_context_that_does_not_exist_is_a_finding(live):
    from hyperflow.submit.plane import connect
    from hyperflow.submit.server_kinds import QUEUE

    with pytest.raises(InputError) as caught:
        connect("mars").get(QUEUE, "llm")
    assert str(caught.value) == (
        "error[HF502] no connection settings for context 'mars': Invalid kube-config file. Expected object with name "
        "mars in {}/contexts list\n  --> kubeconfig\n  hint: kubectl config get-contexts lists the contexts; "
        "KUBECONFIG names the file"
    ).replace("{}", str(live.kubeconfig))


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
    assert str(caught.value).startswith(f"error[HF500] {tmp_path}/nowhere is no bundle: it has no bundle.json")


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
