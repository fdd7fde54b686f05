"""What the mutating webhooks write into a new object; `added` of the verdict is read off the result.

Sources: Volcano pkg/webhooks/admission/{jobs,queues}/mutate, Karmada pkg/webhook/*/mutating.go, as recorded on
2026-11-30. Each function changes the document in place; the caller hands in a copy.
"""

import re
from collections.abc import Callable
from typing import Any

from hyperflow.admission.go_values import round_trip
from hyperflow.admission.shapes import Shape
from hyperflow.admission.tables import Server
from hyperflow.json_tree import dig, is_mapping, is_sequence, mapping, sequence, text

DEFAULT_MAX_RETRY = 3
_WITH_SERVICE = ("tensorflow", "mpi", "pytorch", "ray")
_DURATION = re.compile(r"[-+]?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)")

Mutation = Callable[[dict[str, Any], Shape, Server], None]


def is_go_duration(value: object) -> bool:
    """Say whether Go's time.ParseDuration reads the text."""
    return isinstance(value, str) and _DURATION.fullmatch(value) is not None


def mutate_job(document: dict[str, Any], shape: Shape, server: Server) -> None:
    """Fill in queue, scheduler, retries, task names, minAvailable and the plugins that others need."""
    spec = document.get("spec")
    if not is_mapping(spec):
        return
    spec["queue"] = spec.get("queue") or "default"
    spec["schedulerName"] = spec.get("schedulerName") or "volcano"
    spec["maxRetry"] = spec.get("maxRetry") or DEFAULT_MAX_RETRY
    tasks = spec.get("tasks")
    if is_sequence(tasks) and all(map(is_mapping, tasks)):
        patched = [_mutate_task(task, index, server) for index, task in enumerate(tasks)]
        if any(patched):
            spec["tasks"] = round_trip(tasks, shape.fields["spec"].fields["tasks"])
        if not spec.get("minAvailable"):
            spec["minAvailable"] = sum(_whole(task.get("minAvailable")) for task in tasks)
    plugins = spec.get("plugins")
    if is_mapping(plugins):
        if any(name in plugins for name in _WITH_SERVICE):
            plugins.setdefault("svc", [])
        if "mpi" in plugins:
            plugins.setdefault("ssh", [])


def _mutate_task(task: dict[str, Any], index: int, server: Server) -> bool:
    before = dict(task)
    task["name"] = task.get("name") or f"default{index}"
    pod = dig(task, "template", "spec")
    host_network = is_mapping(pod) and pod.get("hostNetwork") is True and not pod.get("dnsPolicy")
    if host_network:
        pod["dnsPolicy"] = "ClusterFirstWithHostNet"
    if task.get("minAvailable") is None:
        partitions = mapping(task.get("partitionPolicy"))
        gang = _whole(partitions.get("minPartitions")) * _whole(partitions.get("partitionSize"))
        task["minAvailable"] = gang if gang and server == "member" else _whole(task.get("replicas"))
    task["maxRetry"] = task.get("maxRetry") or DEFAULT_MAX_RETRY
    return before != task or host_network


def _whole(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def mutate_queue(document: dict[str, Any], shape: Shape, server: Server) -> None:
    """Make the queue reclaimable, give it weight 1, and let a hierarchy start at the root."""
    spec = document.get("spec")
    if is_mapping(spec):
        spec.setdefault("reclaimable", True)
        spec["weight"] = spec.get("weight") or 1
    annotations = mapping(mapping(document.get("metadata")).get("annotations"))
    hierarchy, weights = (text(annotations.get(f"volcano.sh/hierarchy{end}")) for end in ("", "-weights"))
    if hierarchy and weights and not hierarchy.startswith("root"):
        annotations["volcano.sh/hierarchy"] = f"root/{hierarchy}"
        annotations["volcano.sh/hierarchy-weights"] = f"1/{weights}"


def mutate_propagation(document: dict[str, Any], shape: Shape, server: Server) -> None:
    """Fill in the selectors' namespace, spread by cluster, the division preference and the failover's grace period."""
    written = round_trip(document.get("spec"), shape.fields["spec"])
    if not is_mapping(written):
        return
    document["spec"] = written
    namespace = text(dig(document, "metadata", "namespace"))
    if namespace:
        _fill_namespaces(written, namespace)
    for spread in map(mapping, sequence(dig(written, "placement", "spreadConstraints"))):
        if not spread.get("spreadByField") and not spread.get("spreadByLabel"):
            spread["spreadByField"] = "cluster"
        spread["minGroups"] = spread.get("minGroups") or 1
    scheduling = dig(written, "placement", "replicaScheduling")
    divided = is_mapping(scheduling) and scheduling.get("replicaSchedulingType") == "Divided"
    if divided and not scheduling.get("replicaDivisionPreference"):
        scheduling["replicaDivisionPreference"] = "Weighted"
    application = dig(written, "failover", "application")
    if is_mapping(application) and application.get("purgeMode") in ("Gracefully", "Graciously"):
        application.setdefault("gracePeriodSeconds", 600)


def _fill_namespaces(spec: dict[str, Any], namespace: str) -> None:
    for selector in sequence(spec.get("resourceSelectors")):
        if is_mapping(selector) and not selector.get("namespace"):
            selector["namespace"] = namespace


def mutate_override(document: dict[str, Any], shape: Shape, server: Server) -> None:
    """Fill in the selectors' namespace."""
    written = round_trip(document.get("spec"), shape.fields["spec"])
    if is_mapping(written):
        document["spec"] = written
        _fill_namespaces(written, text(dig(document, "metadata", "namespace")))


def mutate_service(document: dict[str, Any], shape: Shape, server: Server) -> None:
    """Write a MultiClusterService out of its Go type."""
    document["spec"] = round_trip(document.get("spec"), shape.fields["spec"])


MUTATIONS: dict[str, Mutation] = {
    "batch.volcano.sh/Job": mutate_job,
    "scheduling.volcano.sh/Queue": mutate_queue,
    "policy.karmada.io/PropagationPolicy": mutate_propagation,
    "policy.karmada.io/ClusterPropagationPolicy": mutate_propagation,
    "policy.karmada.io/OverridePolicy": mutate_override,
    "networking.karmada.io/MultiClusterService": mutate_service,
}
"""The mutating webhook of a kind, by group and kind. Volcano's run on creation alone, Karmada's on updates too."""


def differences(before: object, after: object, path: str = "") -> dict[str, Any]:
    """Give what `after` holds that `before` does not, by path, and "<removed>" for what it lost."""
    if is_mapping(before) and is_mapping(after):
        found: dict[str, Any] = {}
        for name in [*after, *(name for name in before if name not in after)]:
            where = f"{path}.{name}" if path else str(name)
            if name not in after:
                found[where] = "<removed>"
            elif name in before:
                found |= differences(before[name], after[name], where)
            elif is_mapping(after[name]) and after[name]:
                found |= differences({}, after[name], where)
            else:
                found[where] = after[name]
        return found
    if is_sequence(before) and is_sequence(after) and len(before) == len(after):
        pairs = enumerate(zip(before, after, strict=True))
        return {k: v for i, (old, new) in pairs for k, v in differences(old, new, f"{path}[{i}]").items()}
    same = before == after and isinstance(before, bool) == isinstance(after, bool)
    return {} if same else {path: after}
