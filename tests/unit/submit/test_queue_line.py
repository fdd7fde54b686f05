"""The place in a queue: the order in which real schedulers take jobs, both numbers, and what may not be read."""

import json
from dataclasses import replace

import pytest

from hyperflow.inventory.bundle_reader import read_bundle
from hyperflow.submit.queue_line import QueueEntry, QueueView, entry_of, line_of
from hyperflow.submit.queue_views import read_member_view
from hyperflow.submit.snapshot import JobName, MemberView, read_snapshot
from hyperflow.submit.states import judge_state
from hyperflow.submit.submit_bundle import apply_bundle
from tests.api_server.faults import Fault
from tests.live_plane import live_plane, priority_class, queue, write_bundle
from tests.unit.submit.test_states import dispatched, pod_group

GPU = "nvidia.com/gpu"


def entry(name, gpus, state="waiting", *, priority=0, created="2026-11-30T12:00:00Z", queue="llm", namespace="ml"):
    return QueueEntry(
        namespace=namespace, name=name, queue=queue, needs={GPU: float(gpus)}, state=state, priority=priority,
        created=created,
    )  # fmt: skip


def view(*entries, total=64.0, capability=None, **settings):
    spec = {"capability": {GPU: str(capability)}} if capability else {}
    return QueueView(
        server="beijing", entries=entries, queues={"llm": {"spec": spec}}, total={GPU: total} if total else None,
        **settings,
    )  # fmt: skip


def places(shown, queue="llm"):
    found = [e for e in shown.entries if e.queue == queue and e.state != "running"]
    return {e.name: line_of(shown, e).place for e in found}


def test_priority_goes_before_age_and_age_before_name():
    shown = view(
        entry("old", 8),
        entry("older", 8, created="2026-11-30T11:00:00Z"),
        entry("high", 8, priority=1000, created="2026-11-30T13:00:00Z"),
        entry("b", 8, created="2026-11-30T12:30:00Z"),
        entry("a", 8, created="2026-11-30T12:30:00Z"),
        entry("elsewhere", 8, queue="default", created="2026-11-30T10:00:00Z"),
        entry("runs", 8, "running"),
    )
    assert places(shown) == {"high": 1, "older": 2, "old": 3, "a": 4, "b": 5}


def test_jobs_of_one_age_are_taken_by_namespace_then_name():
    shown = view(entry("a", 8, namespace="z"), entry("b", 8, namespace="y"))
    assert places(shown) == {"b": 1, "a": 2}


def test_the_job_that_enters_first_in_the_recorded_run_stands_first(shared):
    scenarios = json.loads((shared / "data" / "scheduler_placements.json").read_text())["scenarios"]
    steps = next(s for s in scenarios if s["id"] == "priority-order")["steps"]
    values = {"low": 10, "high": 1000}
    submitted = [(i, job) for i, step in enumerate(steps) for job in step.get("submitted") or []]
    waiting = [
        entry(job["metadata"]["name"], 8, priority=values.get(job["spec"].get("priorityClassName"), 0),
              created=f"2026-11-30T12:00:0{i}Z")
        for i, job in submitted
        if steps[-2]["result"][job["metadata"]["name"]]["podgroup"] == "Pending"
    ]  # fmt: skip
    first = min(places(view(*waiting)).items(), key=lambda item: item[1])[0]
    assert len(waiting) == 2
    entered = [e.name for e in waiting if steps[-1]["result"][e.name]["podgroup"] == "Running"]
    assert entered == [first]


def test_the_line_says_place_both_numbers_and_who_is_before():
    own = entry("mine", 32, created="2026-11-30T13:00:00Z")
    shown = view(own, entry("runs", 40, "running"), entry("in", 8, "entered"), entry("big", 64, priority=9))
    assert line_of(shown, own).as_text() == (
        "3 of 3 waiting in queue llm, 1 of them entered and wait for nodes; it needs 32 nvidia.com/gpu, the queue has "
        "16 nvidia.com/gpu free of 64 nvidia.com/gpu; before it: ml/big needs 64 nvidia.com/gpu, ml/in needs 8 "
        "nvidia.com/gpu"
    )


def test_of_a_long_line_only_its_head_is_told():
    ahead = [entry(f"a{i:03}", 1, created="2026-11-30T11:00:00Z") for i in range(300)]
    own = entry("mine", 1)
    line = line_of(view(*ahead, own), own)
    assert (line.place, line.of, len(line.before)) == (301, 301, 20)
    assert line.as_text().endswith("ml/a002 needs 1 nvidia.com/gpu and 297 more")


def test_a_capability_and_the_guarantee_of_another_queue_lower_what_is_free():
    own = entry("mine", 32)
    assert dict(line_of(view(own, capability=16), own).free) == {GPU: 16.0}
    guaranteed = {"llm": {}, "res": {"spec": {"guarantee": {"resource": {GPU: "40"}}}}}
    kept_out = replace(view(own), queues=guaranteed)
    assert dict(line_of(kept_out, own).free) == {GPU: 24.0}
    assert dict(line_of(replace(kept_out, heeds_guarantees=False), own).free) == {GPU: 64.0}


def test_an_own_share_that_was_entered_is_not_counted_against_itself():
    own = entry("mine", 32, "entered")
    assert dict(line_of(view(own), own).free) == {GPU: 64.0}


def test_what_is_not_known_is_not_made_up():
    own = entry("mine", 32)
    text = line_of(view(own, total=None, refused=("you may not list nodes of beijing (forbidden)",)), own).as_text()
    assert text == (
        "1 of 1 waiting in queue llm; it needs 32 nvidia.com/gpu; what the queue has free is not known; "
        "you may not list nodes of beijing (forbidden)"
    )


def test_a_pod_group_is_the_one_with_the_shortest_rest_behind_the_jobs_name():
    shown = view(entry("a-1-0123", 8), entry("a-0123", 16))
    assert entry_of(shown, "ml", "a").name == "a-0123"
    assert entry_of(shown, "ml", "a-1").name == "a-1-0123"
    assert entry_of(shown, "other", "a") is None


def test_a_child_that_has_not_entered_its_clusters_queue_is_queued_and_one_that_entered_is_pending():
    snapshot = dispatched(pod_group("Pending"))
    waits = view(entry("a-0-uid", 24), entry("runs", 48, "running"))
    seen = replace(snapshot, members={"beijing": replace(snapshot.members["beijing"], line=waits)})
    status = judge_state(seen)
    assert (status.state, status.reason) == (
        "QUEUED",
        "a-0: it has not entered the queue of its cluster: 1 of 1 waiting in queue llm; it needs 24 nvidia.com/gpu, "
        "the queue has 16 nvidia.com/gpu free of 64 nvidia.com/gpu",
    )
    assert status.as_json()["children"][0]["line"] == {
        "queue": "llm", "server": "beijing", "place": 1, "of": 1, "needs": {GPU: 24.0}, "free": {GPU: 16.0},
        "before": [], "unread": [],
    }  # fmt: skip
    group = pod_group("Inqueue", Unschedulable="3/3 tasks in gang unschedulable")
    entered = MemberView(
        jobs=snapshot.jobs, pod_groups=(group,), line=view(entry("a-0-uid", 24, "entered"))
    )  # fmt: skip
    status = judge_state(replace(snapshot, members={"beijing": entered}))
    assert status.state == "PENDING"
    assert status.children[0].reason.startswith(
        "the member's scheduler finds no room: 3/3 tasks in gang unschedulable: 1 of 1 waiting in queue llm, 1 of them"
    )


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    return read_bundle(write_bundle(tmp_path_factory.mktemp("bundle") / "out"))


@pytest.fixture
def live(tmp_path, monkeypatch):
    with live_plane(tmp_path, monkeypatch) as plane:
        yield plane


def held(name, gpus, *, namespace="other", suspended=True, queue="llm"):
    """A job of somebody else on the plane with its binding."""
    pod = {"containers": [{"name": "c", "image": "i", "resources": {"limits": {GPU: str(gpus)}}}]}
    task = {"name": "w", "replicas": 1, "template": {"spec": pod}}
    meta = {"namespace": namespace, "creationTimestamp": "2020-01-01T00:00:00Z"}
    job = {
        "apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": name, **meta},
        "spec": {"queue": queue, "tasks": [task]},
    }  # fmt: skip
    binding = {
        "apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
        "metadata": {"name": f"{name}-job", **meta},
        "spec": {"resource": {"apiVersion": job["apiVersion"], "kind": "Job", "name": name},
                 "suspension": {"scheduling": suspended}},
    }  # fmt: skip
    return job, binding


def waiting_status(live, bundle):
    live.controllers.hold_queue |= {f"{bundle.name}-{city}-0" for city in ("beijing", "shanghai")} | {"theirs", "runs"}
    apply_bundle(live.plane, bundle)
    return judge_state(read_snapshot(live.plane, JobName(job=bundle.job, name=bundle.name, namespace="default")))


def test_other_namespaces_count_in_the_dispatchers_line_and_other_queues_do_not(live, bundle):
    live.put(queue(capability={GPU: "24"}))
    for obj in (*held("theirs", 8), *held("runs", 8, suspended=False), *held("else", 8, queue="default")):
        live.put(obj)
    status = waiting_status(live, bundle)
    assert status.state == "QUEUED"
    line = status.children[0].line
    assert (line.place, line.of, line.queue) == (1, 3, "llm"), "the job's PriorityClass is worth 1000"
    assert (line.needs[GPU], line.free[GPU], line.ceiling[GPU]) == (8.0, 16.0, 24.0)
    assert [e.name for e in status.children[1].line.before] == [f"{bundle.name}-beijing-0"]


def test_without_the_right_to_list_everywhere_the_own_namespace_is_counted_and_that_is_said(live, bundle):
    for obj in held("theirs", 8):
        live.put(obj)

    def refused(request):
        everywhere = request.path in ("/apis/work.karmada.io/v1alpha2/resourcebindings",)
        return Fault(code=403) if everywhere and request.method == "GET" else None

    live.server.faults.rules.append(refused)
    status = waiting_status(live, bundle)
    assert (
        "waiting in queue llm (global), not scheduled yet, 1 of 2 waiting (only namespace default was counted)"
        in status.reason
    )
    assert (
        "you may not list resourcebindings.work.karmada.io in all namespaces of the plane (forbidden)" in status.reason
    )


def test_a_clusters_line_is_read_with_its_nodes_queues_and_priorities(live):
    member = live.server.members["beijing"]
    member.put(queue(capability={GPU: "40"}))
    member.put(priority_class())
    for i in range(4):
        member.put(
            {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"n{i}"},
             "status": {"allocatable": {GPU: "8", "pods": "110"},
                        "conditions": [{"type": "Ready", "status": "False" if i == 3 else "True"}]}}
        )  # fmt: skip
    for namespace, name, phase, gpus in (("default", "mine-uid", "Pending", 16), ("other", "theirs", "Running", 16)):
        member.put(
            {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup",
             "metadata": {"name": name, "namespace": namespace},
             "spec": {"queue": "llm", "priorityClassName": "high", "minMember": 2,
                      "minResources": {GPU: str(gpus), f"requests.{GPU}": str(gpus), "pods": "2"}},
             "status": {"phase": phase}}
        )  # fmt: skip
    shown = read_member_view(live.plane.member("beijing"), "beijing", "default")
    line = line_of(shown, entry_of(shown, "default", "mine"))
    assert (line.place, line.of, line.refused) == (1, 1, ())
    assert (dict(line.needs), dict(line.free), dict(line.ceiling)) == ({GPU: 16.0}, {GPU: 8.0}, {GPU: 24.0})
