"""Why a child does not run yet, from what the servers show; most of these waits come without any event.

Seen on a real plane (2026-11-30): a suspended binding says nothing of a full queue or an unknown PriorityClass, a bad
template shows only as an event on the HyperJob, a member that has no room shows only its PodGroup's phase.
"""

from typing import Any

from hyperflow.json_tree import dig, mapping, sequence, text
from hyperflow.submit.job_requests import amounts_of, requests_of
from hyperflow.submit.queue_line import QueueLine, entry_of, line_of
from hyperflow.submit.snapshot import MemberView, Snapshot

Json = dict[str, Any]
_NOISE = ("already exists", "skip schedule deleting")


def explain_wait(
    snapshot: Snapshot, name: str, spec: Json, job: Json | None, binding: Json | None, view: MemberView | None
) -> tuple[str, QueueLine | None]:
    """Give the reason in words, and the place in the queue where it waits in one that can be read."""
    if job is None:
        return _not_made(snapshot, name), None
    if binding is not None and dig(binding, "spec", "suspension", "scheduling") is True:
        return _suspended(snapshot, name, spec)
    if binding is not None and not sequence(dig(binding, "spec", "clusters")):
        return _unscheduled(snapshot, name, binding), None
    refused = _refused_by_member(snapshot, name, binding)
    if refused:
        return refused, None
    if view is None:
        cluster = text(dig(binding, "spec", "clusters", 0, "name"))
        if cluster:
            return f"dispatched to {cluster}; it waits there (the member's PodGroup cannot be read from here)", None
        if snapshot.hyperjob is not None and snapshot.bindings is not None:
            return "no ResourceBinding: no PropagationPolicy claims it", None
        return "not started yet", None
    return _in_member(name, snapshot.namespace, view)


def _warnings(snapshot: Snapshot, names: set[str], reasons: tuple[str, ...]) -> list[str]:
    """Messages of Warning events about the named objects, newest last."""
    found = [
        event
        for event in snapshot.events
        if text(event.get("reason")) in reasons
        and text(dig(event, "involvedObject", "name")) in names
        and not any(noise in text(event.get("message")) for noise in _NOISE)
    ]
    found.sort(key=lambda event: text(event.get("lastTimestamp")) or text(event.get("eventTime")))
    return [text(event.get("message")) for event in found]


def _not_made(snapshot: Snapshot, name: str) -> str:
    if snapshot.hyperjob is None:
        return "it was never applied, because a submit was interrupted; run hyperflow submit BUNDLE again"
    messages = _warnings(snapshot, {snapshot.name}, ("FailedCreateVCJob", "FailedCreatePP"))
    own = [message for message in messages if f" {name}:" in message]
    if own:
        return own[-1].partition(f"{name}: ")[2]
    if messages:
        return f"the controller stops at an earlier child: {messages[-1]}"
    return (
        "the HyperJob controller has not made it; volcano-global must run with "
        "--controllers=dispatcher,reconciler --reconcilers=hyperjob"
    )


def _suspended(snapshot: Snapshot, name: str, spec: Json) -> tuple[str, QueueLine | None]:
    queue = text(spec.get("queue"), "default")
    priority = text(spec.get("priorityClassName"))
    if priority and snapshot.priority_classes is not None and priority not in snapshot.priority_classes:
        return (
            f"PriorityClass {priority} does not exist on the plane, so the dispatcher skips it for ever; "
            f"kubectl create priorityclass {priority} --value=N"
        ), None
    if snapshot.queues is not None:
        known = snapshot.queues.get(queue)
        if known is None:
            return f"queue {queue} does not exist on the plane", None
        state = text(dig(known, "status", "state"), "Open")
        if state != "Open":
            return f"queue {queue} is {state} on the plane; it must be Open", None
        over = _over_capability(known, spec)
        if over:
            return f"queue {queue} can never hold it: {over}; kubectl edit queue {queue} on the plane", None
    own = entry_of(snapshot.line, snapshot.namespace, name)
    line = line_of(snapshot.line, own) if snapshot.line and own else None
    place = f", {line.as_text(named=False)}" if line else ""
    return f"waiting in queue {queue} (global), not scheduled yet{place}", line


def _over_capability(queue: Json, spec: Json) -> str:
    asked = requests_of(spec)
    for resource, most in sorted(amounts_of(dig(queue, "spec", "capability")).items()):
        wanted = asked.get(resource, 0.0)
        if wanted > most:
            return f"it asks for {wanted:g} {resource}, the queue's capability is {most:g}"
    return ""


def _unscheduled(snapshot: Snapshot, name: str, binding: Json) -> str:
    messages = _warnings(snapshot, {name, f"{name}-job"}, ("ScheduleBindingFailed",))
    for condition in sequence(dig(binding, "status", "conditions")):
        if dig(condition, "type") == "Scheduled" and dig(condition, "status") == "False":
            messages.append(text(dig(condition, "message")))
    if not messages:
        return "Karmada has not chosen a cluster yet"
    hint = "; hyperflow doctor BUNDLE tells which cluster refuses it and prints the patch"
    return f"Karmada finds no cluster: {messages[-1]}" + (hint if "no enough resource" in messages[-1] else "")


def _refused_by_member(snapshot: Snapshot, name: str, binding: Json | None) -> str:
    for item in sequence(dig(binding, "status", "aggregatedStatus")):
        if dig(item, "applied") is False:
            return f"{text(dig(item, 'clusterName'))} refused it: {text(dig(item, 'appliedMessage'))}"
    if sequence(dig(binding, "status", "aggregatedStatus")):
        return ""
    failed = _warnings(snapshot, {name, f"{name}-job"}, ("SyncFailed", "SyncWorkFailed"))
    return failed[-1] if failed else ""


def _in_member(name: str, namespace: str, view: MemberView) -> tuple[str, QueueLine | None]:
    group = next((g for g in view.pod_groups if text(dig(g, "metadata", "name")).startswith(f"{name}-")), None)
    pods = [p for p in view.pods if text(dig(p, "metadata", "labels", "volcano.sh/job-name")) == name]
    stuck = _stuck_container(pods)
    if stuck:
        return stuck, None
    phase = text(dig(group, "status", "phase"))
    own = entry_of(view.line, namespace, name)
    line = line_of(view.line, own) if view.line and own and own.state != "running" else None
    place = f": {line.as_text()}" if line else ""
    for condition in sequence(dig(group, "status", "conditions")):
        if dig(condition, "type") == "Unschedulable" and dig(condition, "status") == "True" and phase != "Running":
            return f"the member's scheduler finds no room: {text(dig(condition, 'message'))}{place}", line
    needed = dig(group, "spec", "minMember")
    if phase == "Pending" and not pods:
        asked = (
            f"its {needed} pods ask for more than the cluster or the queue has left (running and waiting jobs counted)"
        )
        return f"it has not entered the queue of its cluster: {line.as_text() if line else asked}", line
    if phase == "Inqueue":
        return f"it entered the queue of its cluster; {_scheduled(pods)} of {needed} pods have a node{place}", line
    return "the member's controller has not made its pods yet" if group is None else "its pods are starting", None


def _stuck_container(pods: list[Json]) -> str:
    for pod in pods:
        statuses = [dig(pod, "status", f"{which}ontainerStatuses") for which in ("initC", "c")]
        for status in (item for listed in statuses for item in sequence(listed)):
            waiting = mapping(dig(status, "state", "waiting"))
            if text(waiting.get("reason")) not in ("", "ContainerCreating", "PodInitializing"):
                said = f": {text(waiting.get('message'))}" if waiting.get("message") else ""
                return f"pod {text(dig(pod, 'metadata', 'name'))} is {text(waiting.get('reason'))}{said}"
    return ""


def _scheduled(pods: list[Json]) -> int:
    return sum(1 for pod in pods if text(dig(pod, "spec", "nodeName")))
