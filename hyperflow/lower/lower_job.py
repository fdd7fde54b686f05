"""Lowering: a resolved job and its plan become typed objects in apply order."""

import hashlib
from dataclasses import replace
from typing import TypeVar

from hyperflow.catalog.targets import assumed_versions
from hyperflow.errors import Finding, raise_errors
from hyperflow.ir.manifests import Child, Manifests
from hyperflow.ir.plan import Plan
from hyperflow.ir.resolved import ResolvedJob
from hyperflow.json_tree import dig, mapping
from hyperflow.k8s.hyperjob import HyperJob, HyperJobSpec, ReplicatedJob
from hyperflow.k8s.record import KubernetesObject, ObjectMeta
from hyperflow.k8s.volcano import JobSpec
from hyperflow.lower.checkpoints import check_checkpoints
from hyperflow.lower.comm_contract import comm_contract, comm_text
from hyperflow.lower.companions import companion_policy, launch_config
from hyperflow.lower.data_claims import data_claims
from hyperflow.lower.draft import HASH_LENGTH, Draft, content_hash
from hyperflow.lower.environment import check_environment
from hyperflow.lower.launch import LaunchRecipe
from hyperflow.lower.launch_script import launch_recipe
from hyperflow.lower.lifecycle import failure_story
from hyperflow.lower.modes import assumption_note, choose_mode, feature_needs
from hyperflow.lower.names import check_names
from hyperflow.lower.overrides import fallback_overrides
from hyperflow.lower.patches import patch_story
from hyperflow.lower.placement_checks import check_placement
from hyperflow.lower.propagation import child_policy, shared_policies
from hyperflow.lower.rendezvous import Rendezvous, plan_rendezvous
from hyperflow.lower.stage_groups import StageGroup, group_stages
from hyperflow.lower.timeouts import check_timeouts, rendezvous_seconds
from hyperflow.lower.topology import assumed_leaf_note, group_topology
from hyperflow.lower.volcano_job import job_spec, volcano_job

Kind = TypeVar("Kind", bound=KubernetesObject)

IGNORED_FIELDS = "minAvailable of the HyperJob is written for people; volcano-global 2ae7715 reads it nowhere"


def lower(job: ResolvedJob, plan: Plan, mode: str = "auto") -> Manifests:
    """Lower a plan in mode `auto`, `hyperjob` or `direct`; names end in a hash of the content.

    Raises InputError, InfeasibleError or UsageError with all findings of the first part that fails.
    """
    groups = group_stages(job, plan)
    base = job.job.name
    draft = Draft(job=job, plan=plan, mode="", name=f"{base}-{'0' * HASH_LENGTH}", groups=groups)
    chosen, reason = choose_mode(draft, mode)
    draft = replace(draft, mode=chosen)
    early = [*check_names(draft), *check_environment(draft), *check_placement(draft)]
    raise_errors(early)
    recipe = launch_recipe(job, plan)
    provisional = _objects(draft, recipe, plan_rendezvous(draft))
    final = replace(draft, name=f"{base}-{content_hash(item.document() for item in provisional)}")
    rendezvous = plan_rendezvous(final)
    topologies = [group_topology(final, group, group.cluster) for group in groups]
    uses_topology = any(t.job or t.partition for t in topologies)
    specs = [job_spec(final, group, group.cluster, recipe, rendezvous) for group in groups]
    needs = feature_needs(final, uses_topology, any(t.partition for t in topologies))
    findings = [*early, *recipe.findings, *check_timeouts(job), *check_checkpoints(job, plan)]
    return Manifests(
        job=base,
        name=final.name,
        namespace=final.namespace,
        content_hash=final.name.rsplit("-", 1)[1],
        mode=chosen,
        mode_reason=reason,
        objects=_objects(final, recipe, rendezvous),
        children=tuple(_child(final, group) for group in groups),
        launch_script=launch_config(final, recipe).data["launch.sh"],
        hyperjob_crd=assumed_versions(job.fleet.versions)[0].hyperjob_crd or "shipped",
        comm=comm_contract(final),
        needs=(*rendezvous.needs, *needs),
        story=_story(final, rendezvous, specs, [reason for t in topologies for reason in t.reasons]),
        findings=(*findings, *assumed_leaf_note(final), *_gang_note(final), *assumption_note(final)),
    )


def _objects(draft: Draft, recipe: LaunchRecipe, rendezvous: Rendezvous) -> tuple[KubernetesObject, ...]:
    """All objects in apply order: policies and companions first, what starts pods last."""
    config = launch_config(draft, recipe)
    specs = [job_spec(draft, group, group.cluster, recipe, rendezvous) for group in draft.groups]
    if draft.mode == "single":
        job = volcano_job(draft, draft.groups[0], specs[0], draft.labels)
        return (config, _with_digest(draft, job))
    others = [
        {c.name: job_spec(draft, group, c, recipe, rendezvous) for c in group.fallbacks} for group in draft.groups
    ]
    companions = companion_policy(draft, config, [*specs, *(spec for found in others for spec in found.values())])
    overrides = [
        fallback_overrides(draft, group, spec, found)
        for group, spec, found in zip(draft.groups, specs, others, strict=True)
    ]
    before: list[KubernetesObject] = [
        *shared_policies(draft),
        config,
        *rendezvous.objects,
        companions,
        *data_claims(draft),
    ]
    before += filter(None, overrides)
    if draft.mode == "hyperjob":
        own = [child_policy(draft, group) for group in draft.groups if group.fallbacks]
        return (*before, *own, _with_digest(draft, _hyperjob(draft, specs)))
    policies = [child_policy(draft, group) for group in draft.groups]
    jobs = [
        _with_digest(draft, volcano_job(draft, group, spec, draft.labels))
        for group, spec in zip(draft.groups, specs, strict=True)
    ]
    return (*before, *policies, *jobs)


def _hyperjob(draft: Draft, specs: list[JobSpec]) -> HyperJob:
    children = tuple(
        ReplicatedJob(
            name=group.name, cluster_names=tuple(cluster.name for cluster in group.candidates), template_spec=spec
        )
        for group, spec in zip(draft.groups, specs, strict=True)
    )
    annotations = dict(draft.job.job.annotations) or None
    meta = ObjectMeta(name=draft.name, namespace=draft.namespace, labels=draft.labels, annotations=annotations)
    return HyperJob(metadata=meta, spec=HyperJobSpec(min_available=len(children), replicated_jobs=children))


def _with_digest(draft: Draft, item: Kind) -> Kind:
    """Note the digest of the communication contract on what starts pods."""
    digest = hashlib.sha256(comm_text(comm_contract(draft)).encode()).hexdigest()[:16]
    annotations = {**(item.metadata.annotations or {}), "hyperflow.io/comm-digest": f"sha256:{digest}"}
    return item.model_copy(update={"metadata": item.metadata.model_copy(update={"annotations": annotations})})


def _child(draft: Draft, group: StageGroup) -> Child:
    return Child(
        name=draft.child_name(group),
        group=group.name,
        cluster=group.cluster.name,
        fallbacks=tuple(cluster.name for cluster in group.fallbacks),
        stages=group.stage_indices,
        nodes=group.nodes,
        node_rank_offset=group.node_rank_offset,
        devices_per_node=group.devices_per_node,
    )


def _story(draft: Draft, rendezvous: Rendezvous, specs: list[JobSpec], reasons: list[str]) -> tuple[str, ...]:
    pinned = [
        f"{draft.child_name(group)} is pinned (hard) to {group.cluster.name}"
        if not group.fallbacks
        else f"{draft.child_name(group)} goes to the first of {', '.join(c.name for c in group.candidates)} with room"
        for group in draft.groups
    ]
    crd = assumed_versions(draft.job.fleet.versions)[0].hyperjob_crd
    ignored = [f"meant for the {crd} HyperJob CRD", IGNORED_FIELDS] if draft.mode == "hyperjob" else []
    failure = failure_story(draft.job, len(draft.groups))
    sums = [_request_sum(draft, group, spec) for group, spec in zip(draft.groups, specs, strict=True)]
    return (*pinned, *sums, rendezvous.story, *reasons, failure, *ignored, *patch_story(draft))


def _request_sum(draft: Draft, group: StageGroup, spec: JobSpec) -> str:
    """Say what a child asks of its cluster: pods times requests."""
    requests = mapping(dig(spec.tasks[0].template.spec, "containers", 0, "resources", "requests"))
    shown = ", ".join(f"{value} {name}" for name, value in requests.items())
    return f"{draft.child_name(group)} asks for {group.nodes} pods of {shown} each"


def _gang_note(draft: Draft) -> tuple[Finding, ...]:
    """Say (HF421) what a partial start costs: nothing rolls back across clusters."""
    if len(draft.groups) == 1:
        return ()
    seconds = rendezvous_seconds(draft.job)
    largest = max(draft.groups, key=lambda group: group.nodes * group.devices_per_node)
    hours = (draft.nodes - min(group.nodes for group in draft.groups)) * largest.devices_per_node * seconds / 3600
    return (
        Finding(
            code="HF421",
            severity="note",
            message=f"the gang is per cluster only; a partial start costs up to {hours:.1f} device-hours before the "
            f"rendezvous times out after {seconds} s",
            where="guard.rendezvous_timeout",
            hint="a shorter hf.guard(rendezvous_timeout=...) costs less and forgives less",
            span=draft.job.job.sources.get("guard.rendezvous_timeout"),
        ),
    )
