"""Submitting, following and deleting on any server: order, adoption, refusal, and what is left behind.

These tests go through REST alone: with KUBECONFIG set they ask a real API server (marker `cluster`), else our own.
"""

import pytest

from hyperflow.errors import DegradedError, HyperFlowError, InfeasibleError, InputError
from hyperflow.inventory.bundle_reader import read_bundle
from hyperflow.submit.delete_job import delete_job
from hyperflow.submit.fallback import check_plans, run_plans
from hyperflow.submit.snapshot import JobName, find_job, read_snapshot
from hyperflow.submit.states import judge_state
from hyperflow.submit.submit_bundle import apply_bundle, submit_bundle
from hyperflow.submit.watch import Limits, Pace, wait_for
from tests.live_plane import write_bundle
from tests.manifest_cases import two_cities

FAST = Pace(pause_seconds=1, quiet_seconds=1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, session_server):
    job = two_cities(**session_server.names_of_bundle)
    return write_bundle(tmp_path_factory.mktemp("bundle") / "out", job=job)


@pytest.fixture(scope="module")
def bundle(folder):
    return read_bundle(folder)


@pytest.fixture(scope="module")
def second(tmp_path_factory, session_server):
    job = two_cities(retries=1, **session_server.names_of_bundle)
    return read_bundle(write_bundle(tmp_path_factory.mktemp("second") / "out", job=job))


def job_of(bundle):
    return JobName(job=bundle.job, name=bundle.name, namespace=bundle.namespace)


def left(server):
    """What of a job is there, beside what other bundles share."""
    kinds = ("HyperJob", "PropagationPolicy", "ConfigMap", "Service", "MultiClusterService", "ResourceBinding", "Job")
    # a namespace of a real cluster has a ConfigMap of its own
    return [name for kind in kinds for name in server.names(kind) if name != "kube-root-ca.crt"]


def test_a_bundle_runs_and_a_repeat_adopts_every_object(any_server, bundle):
    first = apply_bundle(any_server.plane, bundle)
    again = apply_bundle(any_server.plane, bundle)
    assert {deed for _, deed in first.objects} == {"created"}
    assert {deed for _, deed in again.objects} == {"adopted"}
    assert any_server.names("HyperJob") == [bundle.name]
    read_snapshot(any_server.plane, job_of(bundle))
    status = judge_state(read_snapshot(any_server.plane, job_of(bundle)))
    assert status.state == "RUNNING"
    assert [c.cluster for c in status.children] == ["beijing", "shanghai"]


def test_every_object_is_asked_for_dryly_and_strictly_before_anything_is_created(any_server, bundle):
    apply_bundle(any_server.plane, bundle)
    writes = [r for r in any_server.requests if r.method == "PATCH"]
    half = len(bundle.documents)
    assert all(r.query.get("dryRun") == "All" for r in writes[:half])
    assert all("dryRun" not in r.query for r in writes[half:])
    assert {r.query["fieldValidation"] for r in writes} == {"Strict"}
    assert writes[-1].path.endswith(f"/hyperjobs/{bundle.name}")


def test_a_submitted_job_is_never_changed_in_place(any_server, bundle):
    apply_bundle(any_server.plane, bundle)
    job = any_server.get("HyperJob", bundle.name)
    job["spec"]["replicatedJobs"][0]["templateSpec"]["queue"] = "other"
    any_server.put(job)
    with pytest.raises(InputError) as caught:
        apply_bundle(any_server.plane, bundle)
    assert str(caught.value) == (
        f"error[HF511] {bundle.name} exists and differs in spec.replicatedJobs[beijing].templateSpec.queue, which "
        f"cannot be changed\n  --> namespace {any_server.namespace}\n  got other, expected {any_server.name}\n"
        f"  hint: hyperflow submit {bundle.folder} --replace deletes the job and makes it anew"
    )
    replaced = apply_bundle(any_server.plane, bundle, replace=True)
    assert ("HyperJob " + bundle.name, "created") in replaced.objects
    spec = any_server.get("HyperJob", bundle.name)["spec"]["replicatedJobs"][0]["templateSpec"]
    assert spec["queue"] == any_server.name


def test_replace_makes_an_unchanged_job_anew(any_server, bundle):
    apply_bundle(any_server.plane, bundle)
    before = any_server.get("HyperJob", bundle.name)["metadata"]["uid"]
    apply_bundle(any_server.plane, bundle)
    assert any_server.get("HyperJob", bundle.name)["metadata"]["uid"] == before
    apply_bundle(any_server.plane, bundle, replace=True)
    assert any_server.get("HyperJob", bundle.name)["metadata"]["uid"] != before


def test_the_function_for_pipelines_submits_waits_and_prints_nothing(any_server, folder, bundle, monkeypatch, capsys):
    monkeypatch.setattr("hyperflow.submit.plane.WallClock.sleep", lambda _self, _seconds: None)
    for group in ("beijing", "shanghai"):
        any_server.controllers.script[f"{bundle.name}-{group}-0"] = ["Running", "Completed"]
    seen = []
    found = submit_bundle(folder, wait=True, on_status=lambda status: seen.append(status.state))
    assert found.status is not None
    assert (found.status.state, seen[-1]) == ("COMPLETED", "COMPLETED")
    assert capsys.readouterr() == ("", "")


def test_another_bundle_of_the_same_job_waits_for_replace(any_server, bundle, second):
    apply_bundle(any_server.plane, bundle)
    with pytest.raises(InputError) as caught:
        apply_bundle(any_server.plane, second)
    assert f"job toy8 is already submitted as {bundle.name}; a submitted job cannot be changed" in str(caught.value)
    apply_bundle(any_server.plane, second, replace=True)
    assert any_server.names("HyperJob") == [second.name]


@pytest.mark.parametrize(
    ("objects", "text"),
    [
        (
            lambda server: [server.priority_class()],
            "error[HF512] queue {name} does not take jobs here\n  --> context {context}\n"
            "  got no such queue, expected Open",
        ),
        (
            lambda server: [server.priority_class(), server.queue(state="Closed")],
            "error[HF512] queue {name} does not take jobs here\n  --> context {context}\n  got Closed, expected Open",
        ),
        (
            lambda server: [server.priority_class(), server.queue(state="")],
            "error[HF512] queue {name} does not take jobs here\n  --> context {context}\n"
            "  got no state after 120 s, expected Open",
        ),
        (
            lambda server: [server.queue()],
            "error[HF526] PriorityClass {name}-high does not exist here, so the job would wait for ever without a "
            "word\n  --> context {context}\n"
            "  hint: kubectl create priorityclass {name}-high --value=N, or leave priority= out",
        ),
    ],
    ids=["no-queue", "closed", "no-state", "no-priority"],
)
def test_a_queue_or_priority_class_that_would_hold_the_job_for_ever_stops_the_submit(any_server, bundle, objects, text):
    any_server.remove("Queue", any_server.name)
    any_server.remove("PriorityClass", f"{any_server.name}-high")
    any_server.put(*objects(any_server))
    with pytest.raises(InfeasibleError) as caught:
        apply_bundle(any_server.plane, bundle)
    assert str(caught.value).startswith(text.format(name=any_server.name, context=any_server.context))
    assert any_server.names("HyperJob") == []


def test_deleting_leaves_nothing_even_where_children_outlive_their_owner(any_server, bundle):
    any_server.controllers.orphan_children = True
    apply_bundle(any_server.plane, bundle)
    read_snapshot(any_server.plane, job_of(bundle))
    delete_job(any_server.plane, job_of(bundle))
    any_server.step()
    assert left(any_server) == []
    assert delete_job(any_server.plane, job_of(bundle)) == ()
    assert f"hyperflow-queue-{any_server.name}" in any_server.names("ClusterPropagationPolicy"), "shared objects stay"


def test_what_a_finalizer_holds_is_named(any_server, bundle):
    apply_bundle(any_server.plane, bundle)
    service = any_server.get("Service", f"{bundle.name}-rank0")
    service["metadata"]["finalizers"] = ["example.com/hold"]
    any_server.put(service)
    with pytest.raises(HyperFlowError) as caught:
        delete_job(any_server.plane, job_of(bundle), seconds=5)
    assert str(caught.value) == (
        f"error[HF518] 1 objects of {bundle.name} are still there after 5 s\n  --> namespace {any_server.namespace}\n"
        f"  got Service {bundle.name}-rank0, expected nothing\n"
        f"  hint: a finalizer holds them, or a member is down; run hyperflow delete {bundle.name} again later"
    )
    service = any_server.get("Service", f"{bundle.name}-rank0")
    service["metadata"]["finalizers"] = []
    service.pop("status", None)
    any_server.put(service)
    assert left(any_server) == []


def test_waiting_ends_with_completion(any_server, bundle):
    for group in ("beijing", "shanghai"):
        any_server.controllers.script[f"{bundle.name}-{group}-0"] = ["Running", "Completed"]
    apply_bundle(any_server.plane, bundle)
    seen = []
    status = wait_for(any_server.plane, job_of(bundle), pace=FAST, on_status=lambda s: seen.append(s.state))
    assert status.state == "COMPLETED"
    assert status.reason == "all 2 children completed"


def test_a_partial_failure_deletes_the_rest_or_keeps_it(any_server, bundle):
    lost = f"{bundle.name}-beijing-0"
    any_server.controllers.script[lost] = ["Running", "Failed"]
    apply_bundle(any_server.plane, bundle)
    with pytest.raises(DegradedError) as caught:
        wait_for(any_server.plane, job_of(bundle), pace=FAST)
    assert str(caught.value) == (
        f"error[HF515] job {bundle.name} lost a part and was deleted: {lost} failed; 1 pod of "
        f"{bundle.name}-shanghai-0 goes on and holds devices\n  --> namespace {any_server.namespace}\n"
        "  got DEGRADED, expected RUNNING\n  hint: on_partial_failure=keep lets the other children go on"
    )
    assert caught.value.exit_code == 5
    assert left(any_server) == []

    any_server.controllers.script[lost] = ["Running", "Failed"]
    any_server.controllers.script[f"{bundle.name}-shanghai-0"] = ["Running", "Completed"]
    apply_bundle(any_server.plane, bundle)
    with pytest.raises(DegradedError) as caught:
        wait_for(any_server.plane, job_of(bundle), limits=Limits(on_partial_failure="keep"), pace=FAST)
    assert caught.value.findings[0].code == "HF516"
    assert caught.value.findings[0].message.startswith(f"job {bundle.name} failed: ")
    assert any_server.names("HyperJob") == [bundle.name]


def test_a_phase_that_takes_too_long_ends_with_its_name_and_no_job(any_server, bundle):
    any_server.controllers.hold_member.add(f"{bundle.name}-shanghai-0")
    apply_bundle(any_server.plane, bundle)
    with pytest.raises(DegradedError) as caught:
        wait_for(any_server.plane, job_of(bundle), limits=Limits(rendezvous_seconds=0.5), pace=FAST)
    finding = caught.value.findings[0]
    assert finding.code == "HF517"
    assert finding.message.startswith(f"job {bundle.name} did not leave the phase rendezvous in 0.5 s and was deleted")
    assert left(any_server) == []


def test_the_next_plan_starts_only_when_nothing_of_the_first_is_left(any_server, bundle, second):
    any_server.controllers.hold_queue |= {f"{bundle.name}-beijing-0", f"{bundle.name}-shanghai-0"}
    for group in ("beijing", "shanghai"):
        any_server.controllers.script[f"{second.name}-{group}-0"] = ["Running", "Completed"]
    together = []

    def look(_step):
        together.append(len(any_server.names("HyperJob")))

    status = run_plans(
        any_server.plane, [bundle, second], Limits(queue_seconds=0.5), pace=FAST, on_step=look
    )  # fmt: skip
    assert (status.name, status.state) == (second.name, "COMPLETED")
    assert max(together) == 1


def test_fallbacks_must_be_other_bundles_of_the_same_job(bundle):
    with pytest.raises(InputError) as caught:
        check_plans([bundle, bundle])
    assert str(caught.value).startswith(f"error[HF527] {bundle.folder} is no fallback of {bundle.folder}")


def test_a_job_is_found_by_its_declared_name(any_server, bundle):
    apply_bundle(any_server.plane, bundle)
    assert find_job(any_server.plane, "toy8", any_server.namespace) == job_of(bundle)
    with pytest.raises(InputError) as caught:
        find_job(any_server.plane, "toy9", any_server.namespace)
    assert str(caught.value) == (
        f"error[HF514] no job 'toy9' in namespace {any_server.namespace}\n  --> context {any_server.context}\n"
        "  hint: hyperflow submit BUNDLE submits one; --namespace and --context choose where to look"
    )
    copy = any_server.get("HyperJob", bundle.name)
    copy["metadata"] = {"name": "toy8-zz", "labels": {"hyperflow.io/job": "toy8", "hyperflow.io/bundle": "toy8-zz"}}
    any_server.put(copy)
    with pytest.raises(InputError) as caught:
        find_job(any_server.plane, "toy8", any_server.namespace)
    assert str(caught.value) == (
        f"error[HF519] 'toy8' names 2 submitted jobs\n  got {bundle.name}, toy8-zz, expected one of them\n"
        "  hint: give the full name"
    )


def test_a_context_that_does_not_exist_is_a_finding(any_server):
    from hyperflow.submit.plane import connect
    from hyperflow.submit.server_kinds import QUEUE

    with pytest.raises(InputError) as caught:
        connect("mars").get(QUEUE, "llm")
    assert str(caught.value) == (
        "error[HF502] no connection settings for context 'mars': Invalid kube-config file. Expected object with name "
        "mars in {}/contexts list\n  --> kubeconfig\n  hint: kubectl config get-contexts lists the contexts; "
        "KUBECONFIG names the file"
    ).replace("{}", str(any_server.kubeconfig))
