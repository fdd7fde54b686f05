"""States of recorded and imagined jobs: the truth, the reason with its numbers, the next command."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from hyperflow.submit.snapshot import MemberView, Snapshot
from hyperflow.submit.states import judge_state

RUNS = Path(__file__).parents[3] / ".." / "shared" / "data" / "control_plane_runs.json"
needs_runs = pytest.mark.skipif(not RUNS.exists(), reason="the recorded runs are not here")
_latest = {}


def recorded(run_id):
    """A snapshot of a recorded run, as a client sees it who may not read the members."""
    submitted = {}
    for run in json.loads(RUNS.read_text())["runs"]:
        if "submitted" in run:
            submitted = run["submitted"]
        if run["id"] == run_id:
            break
    documents = submitted if isinstance(submitted, list) else [submitted]
    hyperjob = next((d for d in documents if d["kind"] == "HyperJob"), None)
    name = documents[-1]["metadata"]["name"]
    states = {name: {"phase": phase} for jobs in (run.get("member_jobs") or {}).values() for name, phase in jobs}
    for item in (run.get("hyperjob_status") or {}).get("replicatedJobsStatus", []):
        states |= item.get("jobStates", {})
    children = run.get("children") or {b["name"].removesuffix("-job"): {} for b in run.get("bindings") or []}
    jobs = [
        {"metadata": {"name": child}, "spec": spec or _template(hyperjob, child),
         "status": {"state": {"phase": states[child]["phase"]}} if states.get(child, {}).get("phase") else {}}
        for child, spec in children.items()
        if hyperjob is None or child.startswith(f"{name}-")
    ]  # fmt: skip
    bindings = [
        {"metadata": {"name": b["name"]}, "spec": {"clusters": b.get("clusters"), "suspension": b.get("suspension")}}
        for b in run.get("bindings") or []
    ]
    events = [
        {"involvedObject": {"kind": e["on"].split("/")[0], "name": e["on"].split("/")[1]}, **e}
        for e in run.get("events") or []
    ]
    whole = None if hyperjob is None else {**hyperjob, "status": run.get("hyperjob_status") or {}}
    return Snapshot(
        name=name, namespace="default", hyperjob=whole, jobs=tuple(jobs), bindings=tuple(bindings),
        events=tuple(events), queues=None, priority_classes=None,
    )  # fmt: skip


def _template(hyperjob, child):
    group = child.removeprefix(f"{hyperjob['metadata']['name']}-").rpartition("-")[0]
    return next(r["templateSpec"] for r in hyperjob["spec"]["replicatedJobs"] if r["name"] == group)


@needs_runs
@pytest.mark.parametrize(
    ("run", "state"),
    [
        ("restart-0", "RUNNING"),
        ("restart-1", "RUNNING"),
        ("restart-exhausted", "DEGRADED"),
        ("other-succeeded", "FAILED"),
        ("one-completed", "RUNNING"),
        ("all-completed", "COMPLETED"),
        ("queue-missing", "PENDING"),
        ("second-template-bad", "DEGRADED"),
        ("replicas-0", "COMPLETED"),
        ("no-replicatedjobs", "PENDING"),
        ("second-child-does-not-fit", "PENDING"),
        ("tier-too-small", "PENDING"),
        ("small-task-first", "RUNNING"),
        ("queue-capability-exceeded", "QUEUED"),
        ("priorityclass-unknown", "QUEUED"),
        ("patched-crd-partition-and-tier-name", "RUNNING"),
    ],
)
def test_a_recorded_run_has_its_state(run, state):
    assert judge_state(recorded(run)).state == state


@needs_runs
def test_a_failed_child_beside_a_running_one_is_told_with_what_still_holds_devices():
    status = judge_state(recorded("restart-exhausted"))
    assert status.reason == "ha-s0-0 failed; 2 pods of ha-s1-0 go on and hold devices"
    assert status.partial_failure
    assert status.next == ("hyperflow logs ha s0/0", "hyperflow delete ha")


@needs_runs
def test_a_denied_child_is_explained_from_the_only_event_there_is():
    child = judge_state(recorded("second-template-bad")).children[1]
    denied = 'admission webhook "validatejob.volcano.sh" denied the request: duplicated task name w;'
    assert (child.phase, child.reason) == ("Absent", denied)


@needs_runs
def test_a_child_made_again_after_completion_is_no_completed_job():
    snapshot = recorded("ttl-in-hyperjob")
    again = {**snapshot.jobs[0], "status": {"state": {"phase": "Pending"}}}
    status = judge_state(replace(snapshot, jobs=(again,)))
    assert status.state == "DEGRADED"
    assert status.reason == "the HyperJob says Completed, but ht-s0-0 was made again and is Pending"


def queue(**spec):
    return {"metadata": {"name": "q"}, "spec": spec, "status": {"state": "Open"}}


def suspended(queues, classes=None, **spec):
    """A job of one child of 4 pods with 8 GPUs each whose binding the dispatcher holds back."""
    pod = {"containers": [{"name": "c", "resources": {"limits": {"nvidia.com/gpu": "8"}}}]}
    job_spec = {"queue": "q", "tasks": [{"name": "w", "replicas": 4, "template": {"spec": pod}}], **spec}
    return Snapshot(
        name="a",
        namespace="default",
        jobs=({"metadata": {"name": "a-0"}, "spec": job_spec},),
        bindings=({"metadata": {"name": "a-0-job"}, "spec": {"suspension": {"scheduling": True}}},),
        queues=queues,
        priority_classes=classes,
    )


@pytest.mark.parametrize(
    ("snapshot", "reason"),
    [
        (suspended({"q": queue()}), "waiting in queue q (global), not scheduled yet"),
        (suspended({}), "queue q does not exist on the plane"),
        (
            suspended({"q": {**queue(), "status": {"state": "Closed"}}}),
            "queue q is Closed on the plane; it must be Open",
        ),
        (
            suspended({"q": queue(capability={"nvidia.com/gpu": "16"})}),
            "queue q can never hold it: it asks for 32 nvidia.com/gpu, the queue's capability is 16; "
            "kubectl edit queue q on the plane",
        ),
        (
            suspended({"q": queue()}, {}, priorityClassName="nope"),
            "PriorityClass nope does not exist on the plane, so the dispatcher skips it for ever; "
            "kubectl create priorityclass nope --value=N",
        ),
    ],
)
def test_a_suspended_binding_is_explained_from_queue_and_priority_class(snapshot, reason):
    status = judge_state(snapshot)
    assert status.state == "QUEUED"
    assert status.children[0].reason == reason


def dispatched(group=None, pods=(), job_status=None, **binding_status):
    """One child that the dispatcher has let go to beijing."""
    job = {"metadata": {"name": "a-0"}, "spec": {"tasks": [{"name": "w", "replicas": 3}]}, "status": job_status or {}}
    binding = {"metadata": {"name": "a-0-job"}, "spec": {"clusters": [{"name": "beijing"}]}, "status": binding_status}
    view = MemberView(jobs=(job,), pod_groups=(group,) if group else (), pods=tuple(pods))
    return Snapshot(
        name="a", namespace="ml", jobs=(job,), bindings=(binding,), members={"beijing": view}
    )  # fmt: skip


def pod_group(phase, **conditions):
    listed = [{"type": kind, "status": "True", "message": message} for kind, message in conditions.items()]
    status = {"phase": phase, "conditions": listed}
    return {"metadata": {"name": "a-0-uid"}, "spec": {"minMember": 3}, "status": status}


PULLING = {
    "metadata": {"name": "a-0-w-1", "labels": {"volcano.sh/job-name": "a-0"}},
    "status": {
        "containerStatuses": [{"state": {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}}]
    },
}


@pytest.mark.parametrize(
    ("snapshot", "reason"),
    [
        (
            dispatched(pod_group("Pending")),
            "it has not entered the queue of its cluster: its 3 pods ask for more than the cluster or the queue has "
            "left (running and waiting jobs counted)",
        ),
        (
            dispatched(pod_group("Inqueue", Unschedulable="3/3 tasks in gang unschedulable")),
            "the member's scheduler finds no room: 3/3 tasks in gang unschedulable",
        ),
        (dispatched(pod_group("Running"), [PULLING]), "pod a-0-w-1 is ImagePullBackOff: no such image"),
        (
            dispatched(aggregatedStatus=[{"clusterName": "beijing", "applied": False, "appliedMessage": "denied"}]),
            "beijing refused it: denied",
        ),
    ],
)
def test_a_child_that_waits_in_its_member_is_explained_from_there(snapshot, reason):
    status = judge_state(snapshot)
    assert status.state == "PENDING"
    assert status.children[0].reason == reason
    assert status.next == ("hyperflow status a --watch --namespace ml", "hyperflow delete a --namespace ml")


def test_a_member_that_karmada_finds_no_room_in_is_named_with_its_words():
    snapshot = dispatched()
    binding = {"metadata": {"name": "a-0-job"}, "spec": {}}
    event = {
        "involvedObject": {"name": "a-0"},
        "reason": "ScheduleBindingFailed",
        "message": "no enough resource when selecting 1 clusters",
    }
    child = judge_state(replace(snapshot, bindings=(binding,), events=(event,))).children[0]
    assert child.phase == "Unscheduled"
    assert child.reason == (
        "Karmada finds no cluster: no enough resource when selecting 1 clusters; hyperflow doctor BUNDLE tells which "
        "cluster refuses it and prints the patch"
    )


def test_fewer_running_pods_than_asked_for_is_degraded():
    status = judge_state(dispatched(job_status={"state": {"phase": "Running"}, "running": 2}))
    assert status.state == "DEGRADED"
    assert status.children[0].reason == (
        "2 of 3 pods run; the others ended and no policy answers, so the running ones wait for ever"
    )


def test_pods_that_succeeded_are_not_missed():
    snapshot = dispatched(job_status={"state": {"phase": "Running"}, "running": 2, "succeeded": 1})
    assert judge_state(snapshot).state == "RUNNING"


def test_a_phase_that_nobody_knows_is_said_to_be_unknown():
    assert judge_state(dispatched(job_status={"state": {"phase": "Dreaming"}})).state == "UNKNOWN"


def test_nothing_there_is_unknown():
    assert judge_state(Snapshot(name="a", namespace="default")).state == "UNKNOWN"


def test_the_json_of_a_status_has_the_promised_keys():
    document = judge_state(dispatched(job_status={"state": {"phase": "Running"}, "running": 3})).as_json()
    assert document["state"] == "RUNNING"
    assert document["children"] == [
        {
            "name": "a-0",
            "cluster": "beijing",
            "phase": "Running",
            "running": 3,
            "total": 3,
            "reason": "",
            "restarts": 0,
            "line": None,
        },
    ]
