"""The Job of one stage group: typed, with everything that a webhook would add written out."""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from hyperflow.errors import Finding, InputError, SourceSpan, raise_errors
from hyperflow.k8s.record import ObjectMeta
from hyperflow.k8s.volcano import JobSpec, VolcanoJob
from hyperflow.lower.draft import TASK_NAME, Draft
from hyperflow.lower.launch import LaunchRecipe
from hyperflow.lower.lifecycle import job_policies, max_retry
from hyperflow.lower.patches import apply_patches, guilty_patch
from hyperflow.lower.pod import pod_template
from hyperflow.lower.rendezvous import Rendezvous
from hyperflow.lower.stage_groups import StageGroup
from hyperflow.lower.topology import group_topology
from hyperflow.spec.fleet import Cluster

TASK_MAX_RETRY = 3
SERVICE_FLAGS = ("--disable-network-policy=true", "--publish-not-ready-addresses=true")
HOSTS_LIMIT_BYTES = 100_000
"""A variable may hold 128 KiB on Linux (MAX_ARG_STRLEN); the list of hosts is left out well before."""


def job_spec(
    draft: Draft, group: StageGroup, cluster: Cluster, recipe: LaunchRecipe, rendezvous: Rendezvous
) -> JobSpec:
    """Give the group's Job spec for a cluster, user patches applied.

    Raises InputError: HF410 for a patch that makes it invalid, HF412 for a plugin that would form a world of its own,
    HF414 for an elastic job under a topology constraint.
    """
    topology = group_topology(draft, group, cluster)
    task: dict[str, Any] = {
        "name": TASK_NAME,
        "replicas": group.nodes,
        "minAvailable": group.nodes,
        "maxRetry": TASK_MAX_RETRY,
        "template": pod_template(draft, group, cluster, recipe, rendezvous),
    }
    if topology.partition:
        task["partitionPolicy"] = topology.partition.model_dump(by_alias=True, exclude_none=True)
    spec: dict[str, Any] = {
        "schedulerName": "volcano",
        "queue": draft.job.job.queue,
        "minAvailable": group.nodes,
        "maxRetry": max_retry(draft.job),
        "plugins": {"env": [], "svc": _service_flags(draft, group)},
        "policies": [policy.model_dump(by_alias=True, exclude_none=True) for policy in job_policies(draft.job)],
        "tasks": [task],
    }
    if draft.job.job.priority:
        spec["priorityClassName"] = draft.job.job.priority
    if topology.job:
        spec["networkTopology"] = topology.job.model_dump(by_alias=True, exclude_none=True)
    patched = apply_patches(draft, cluster.name, spec)
    try:
        typed = JobSpec.model_validate(patched)
    except ValidationError as error:
        raise InputError([_invalid(draft, fault) for fault in _own_faults(error)]) from None
    raise_errors(_check_patched(draft, typed))
    return typed


def volcano_job(draft: Draft, group: StageGroup, spec: JobSpec, labels: Mapping[str, str]) -> VolcanoJob:
    """Wrap the spec as an object of its own."""
    annotations = dict(draft.job.job.annotations) or None
    meta = ObjectMeta(
        name=draft.child_name(group), namespace=draft.namespace, labels=dict(labels), annotations=annotations
    )
    return VolcanoJob(metadata=meta, spec=spec)


def _service_flags(draft: Draft, group: StageGroup) -> list[str]:
    host = 2 * len(draft.child_name(group)) + len(TASK_NAME) + len(str(group.nodes)) + 4
    leave_out = host * group.nodes > HOSTS_LIMIT_BYTES
    return [*SERVICE_FLAGS, *(["--inject-hosts-env=false"] if leave_out else [])]


def _check_patched(draft: Draft, spec: JobSpec) -> list[Finding]:
    """Find what a patch broke that the object alone cannot know."""
    findings: list[Finding] = []
    if len(draft.groups) > 1:
        findings += [
            _own_world(draft, name) for name in ("pytorch", "tensorflow", "mpi") if name in (spec.plugins or {})
        ]
    loose = [task for task in spec.tasks if task.min_available < task.replicas and not task.partition_policy]
    partitioned = any(task.partition_policy for task in spec.tasks)
    elastic = bool(loose) or (spec.min_available < sum(task.replicas for task in spec.tasks) and not partitioned)
    if spec.network_topology and elastic:
        findings.append(
            Finding(
                code="HF414",
                message="an elastic Job under a topology constraint never runs: its domain needs room for all its pods",
                where="patch",
                got=f"minAvailable {spec.min_available}",
                expected="minAvailable equal to replicas, or partitions with a smaller minPartitions",
                hint="leave minAvailable alone, or drop hf.topology",
                span=_patch_span(draft, "minAvailable"),
            )
        )
    return findings


def _own_world(draft: Draft, plugin: str) -> Finding:
    return Finding(
        code="HF412",
        message=f"the plugin {plugin!r} makes each of the {len(draft.groups)} children a world of its own",
        where="patch",
        got=f"plugins.{plugin}",
        expected="the plugins env and svc only",
        hint="leave it out; ranks, world size and master address are set for all children together",
        span=_patch_span(draft, plugin),
    )


def _patch_span(draft: Draft, word: str) -> SourceSpan | None:
    patch = guilty_patch(draft, word)
    return draft.job.job.sources.get(f"patch.{patch.path}") if patch else None


def _invalid(draft: Draft, fault: dict[str, Any]) -> Finding:
    path = ".".join(str(step) for step in fault["loc"])
    reason = str(fault["msg"]).removeprefix("Value error, ")
    patch = guilty_patch(draft, f"{path} {reason}")
    return Finding(
        code="HF410",
        message=f"the Job is not valid at {path or 'its spec'}: {reason}",
        where="patch" if draft.job.job.patches else draft.job.job.name,
        got=patch.path if patch else None,
        hint="correct the patch" if draft.job.job.patches else "",
        span=draft.job.job.sources.get(f"patch.{patch.path}") if patch else None,
    )


def _own_faults(error: ValidationError) -> list[dict[str, Any]]:
    """The faults of a validation, without those of a whole that only follow from its parts'."""
    faults: list[dict[str, Any]] = [dict(fault) for fault in error.errors(include_url=False)]
    paths: list[tuple[str | int, ...]] = [tuple(fault["loc"]) for fault in faults]
    return [
        fault
        for fault, own in zip(faults, paths, strict=True)
        if not any(len(path) > len(own) and path[: len(own)] == own for path in paths)
    ]
