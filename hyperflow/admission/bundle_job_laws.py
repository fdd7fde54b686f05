"""Laws about each Job: all defaults written, gangs whole, failures answered, nothing a target drops."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from hyperflow.admission.bundle_breach import Breach
from hyperflow.admission.bundle_view import BundleView, JobView
from hyperflow.json_tree import dig, is_sequence, mapping, sequence, text

EVENTS = {"*", "PodPending", "PodFailed", "PodEvicted", "Unknown", "TaskCompleted", "TaskFailed", "JobUpdated"}
ACTIONS = {
    "AbortJob", "RestartJob", "RestartTask", "RestartPod", "TerminateJob", "CompleteJob", "ResumeJob",
    "RestartPartition",
}  # fmt: skip
OWN_WORLD_PLUGINS = ("pytorch", "tensorflow", "mpi", "ray", "hcclrank")
PLUGINS = {"ssh", "env", "svc", *OWN_WORLD_PLUGINS}
SERVICE_FLAGS = ("--disable-network-policy=true", "--publish-not-ready-addresses=true")
KNOWN_SERVICE_FLAGS = {"--disable-network-policy", "--publish-not-ready-addresses", "--inject-hosts-env"}


def defaults_are_written(view: BundleView) -> Iterator[Breach]:
    """What a webhook adds makes every later change of a HyperJob fail (rules 2.1, 3.4)."""
    for job in view.jobs:
        for field in ("queue", "schedulerName", "maxRetry", "minAvailable", "plugins", "policies"):
            if field not in job.spec:
                yield _missing(job, field)
        for index, task in enumerate(job.tasks):
            for field in ("name", "replicas", "minAvailable", "maxRetry"):
                if field not in task:
                    yield _missing(job, f"tasks[{index}].{field}")
        for path, pod in job.pods():
            if pod.get("hostNetwork") and pod.get("dnsPolicy") != "ClusterFirstWithHostNet":
                yield Breach(
                    where=f"{job.source.file}: {path}.dnsPolicy",
                    message="the host network needs dnsPolicy ClusterFirstWithHostNet",
                    effect="node rank 0 cannot be found by name, and later changes fail",
                )


def retries_are_what_they_seem(view: BundleView) -> Iterator[Breach]:
    """maxRetry 0 becomes 3 on the server (run)."""
    for job in view.jobs:
        for path, value in [("maxRetry", job.spec.get("maxRetry")), *_task_values(job, "maxRetry")]:
            if isinstance(value, int) and value < 1:
                yield _breach(job, path, f"{path} is {value}", "the server makes it 3")


def gangs_are_whole(view: BundleView) -> Iterator[Breach]:
    """Half a gang trains nothing: each needed pod counts in minAvailable (D4, facts 2)."""
    for job in view.jobs:
        needed = 0
        for index, task in enumerate(job.tasks):
            replicas, least, policy = task.get("replicas"), task.get("minAvailable"), task.get("partitionPolicy")
            wanted: Any = replicas
            if policy:
                least_partitions, size = dig(policy, "minPartitions"), dig(policy, "partitionSize")
                wanted = (
                    least_partitions * size if isinstance(least_partitions, int) and isinstance(size, int) else None
                )
            if least != wanted:
                path = f"tasks[{index}].minAvailable"
                yield _breach(job, path, f"{path} is {least}, the gang needs {wanted}", "part of it starts and waits")
            needed += wanted if isinstance(wanted, int) else 0
        if job.spec.get("minAvailable") != needed:
            message = f"minAvailable is {job.spec.get('minAvailable')}, the gang needs {needed}"
            yield _breach(job, "minAvailable", message, "part of it starts and waits")


def largest_task_stands_first(view: BundleView) -> Iterator[Breach]:
    """Karmada's interpreter counts the first task alone (rules 0.5)."""
    for job in view.jobs:
        replicas = [task.get("replicas") for task in job.tasks]
        if replicas and replicas[0] != max(replicas, key=lambda n: n if isinstance(n, int) else 0):
            effect = "the plane believes that the job needs fewer pods"
            yield _breach(job, "tasks[0]", "a smaller task stands before the largest", effect)


def policies_are_taken(view: BundleView) -> Iterator[Breach]:
    """Events, actions, exit codes and their combinations that both webhooks take (rules 2.1, facts 2)."""
    for job in view.jobs:
        for prefix, policies in [("policies", job.spec.get("policies")), *_task_values(job, "policies")]:
            seen: Counter[str] = Counter()
            for index, item in enumerate(sequence(policies)):
                path = f"{prefix}[{index}]"
                events = [text(dig(item, "event"))] if dig(item, "event") else []
                events += [text(event) for event in sequence(dig(item, "events"))]
                seen.update(
                    [*events, *([f"code {dig(item, 'exitCode')}"] if dig(item, "exitCode") is not None else [])]
                )
                for message, effect in _policy_faults(item, events):
                    yield _breach(job, path, message, effect)
            for trigger, count in seen.items():
                if count > 1 or (trigger == "*" and len(seen) > 1):
                    yield _breach(job, prefix, f"{trigger} stands beside another policy for it", "the child is denied")


def failures_are_answered(view: BundleView) -> Iterator[Breach]:
    """A failed pod without a matching policy leaves the Job Running for ever (T13)."""
    for job in view.jobs:
        events = {text(dig(p, "event")) for p in sequence(job.spec.get("policies"))}
        events |= {text(e) for p in sequence(job.spec.get("policies")) for e in sequence(dig(p, "events"))}
        for event in ("PodFailed", "PodEvicted"):
            if event not in events and "*" not in events:
                yield _breach(job, "policies", f"no policy answers {event}", "the Job stays Running for ever")
        for path, pod in job.pods():
            if pod.get("restartPolicy") != "Never":
                effect = "a failed rank restarts alone and its peers hang"
                message = f"restartPolicy is {pod.get('restartPolicy')}"
                yield Breach(where=f"{job.source.file}: {path}", message=message, effect=effect)


def plugins_fit_one_world(view: BundleView) -> Iterator[Breach]:
    """Ranks are set for all children together; plugins that set them per Job break that (rules 0.2, T5)."""
    for job in view.jobs:
        plugins = mapping(job.spec.get("plugins"))
        for name, flags in plugins.items():
            if name not in PLUGINS:
                yield _breach(job, f"plugins.{name}", f"there is no plugin {name!r}", "the child is denied")
            elif not is_sequence(flags):
                yield _breach(job, f"plugins.{name}", f"the plugin {name!r} has no list of flags", "it is dropped")
            if name in OWN_WORLD_PLUGINS and len(view.jobs) > 1:
                effect = "each child forms a world of its own"
                yield _breach(job, f"plugins.{name}", f"the plugin {name!r} sets ranks per Job", effect)
        if "env" not in plugins:
            yield _breach(job, "plugins", "the plugin env is missing", "pods do not know their rank")


def service_plugin_lets_peers_in(view: BundleView) -> Iterator[Breach]:
    """Its NetworkPolicy lets in pods of the same Job alone, and names come up late by default (rules 0.3)."""
    for job in view.jobs:
        flags = sequence(mapping(job.spec.get("plugins")).get("svc"))
        for flag in SERVICE_FLAGS:
            if flag not in flags:
                yield _breach(job, "plugins.svc", f"the flag {flag} is missing", "peers cannot reach the pods")
        for flag in flags:
            if text(flag).split("=")[0] not in KNOWN_SERVICE_FLAGS:
                yield _breach(job, "plugins.svc", f"the plugin svc has no flag {flag}", "it is accepted and ignored")


def finished_jobs_stay(view: BundleView) -> Iterator[Breach]:
    """In a HyperJob a deleted child is made again and trains twice; else Karmada strips the field (rules 0.8, 6)."""
    for job in view.jobs:
        if job.spec.get("ttlSecondsAfterFinished") is not None and view.mode != "single":
            effect = "the training runs twice" if job.in_hyperjob else "Karmada strips the field"
            yield _breach(job, "ttlSecondsAfterFinished", "ttlSecondsAfterFinished is set", effect)


def tasks_do_not_wait_for_each_other(view: BundleView) -> Iterator[Breach]:
    """dependsOn and a gang over all tasks wait for each other (rules 2.1)."""
    for job in view.jobs:
        for path, value in _task_values(job, "dependsOn"):
            if value:
                yield _breach(job, path, "a task waits for another of its gang", "neither starts")


def _policy_faults(item: object, events: list[str]) -> Iterator[tuple[str, str]]:
    code, action = dig(item, "exitCode"), text(dig(item, "action"))
    if bool(events) == (code is not None):
        yield "a policy needs exactly one of event, events and exitCode", "the child is denied"
    if code == 0:
        yield "exit code 0 is no failure", "the child is denied"
    for event in events:
        if event not in EVENTS:
            yield f"the event {event!r} is not allowed", "the child is denied"
    if action not in ACTIONS:
        yield f"there is no action {action!r}", "nothing happens when a pod fails"
    if action == "RestartPartition":
        yield "the plane does not know the action RestartPartition", "the child is denied on the plane"
    if action == "ResumeJob" and "PodFailed" in events:
        yield "ResumeJob is no answer to PodFailed", "the Job stays as it is"
    if "PodPending" in events and not dig(item, "timeout"):
        yield "PodPending without a timeout", "the policy is ignored"


def _task_values(job: JobView, field: str) -> list[tuple[str, Any]]:
    return [(f"tasks[{index}].{field}", task.get(field)) for index, task in enumerate(job.tasks)]


def _missing(job: JobView, path: str) -> Breach:
    return _breach(job, path, f"{path} is not written", "the webhook adds it, and later changes fail for ever")


def _breach(job: JobView, path: str, message: str, effect: str) -> Breach:
    return Breach(where=f"{job.where}.{path}", message=message, effect=effect)


JOB_LAWS = (
    defaults_are_written,
    retries_are_what_they_seem,
    gangs_are_whole,
    largest_task_stands_first,
    policies_are_taken,
    failures_are_answered,
    plugins_fit_one_world,
    service_plugin_lets_peers_in,
    finished_jobs_stay,
    tasks_do_not_wait_for_each_other,
)
