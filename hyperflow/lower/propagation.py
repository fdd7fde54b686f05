"""Karmada policies: one cluster for each child, copies for what pods need, own policies for shared objects."""

import re
from collections.abc import Sequence

from hyperflow.k8s.karmada import (
    ClusterAffinity,
    ClusterAffinityTerm,
    ClusterPropagationPolicy,
    Placement,
    PropagationPolicy,
    PropagationSpec,
    ReplicaScheduling,
    ResourceSelector,
    SpreadConstraint,
)
from hyperflow.k8s.record import KubernetesObject, ObjectMeta
from hyperflow.lower.draft import Draft
from hyperflow.lower.stage_groups import StageGroup

FALLBACK_PRIORITY = 10


def select(item: KubernetesObject) -> ResourceSelector:
    """Select one object of ours by name."""
    return ResourceSelector(
        api_version=item.group_version, kind=item.kind_name, namespace=item.metadata.namespace, name=item.metadata.name
    )


def select_child(draft: Draft, group: StageGroup) -> ResourceSelector:
    """Select the group's VolcanoJob by the name it has or will have."""
    return ResourceSelector(
        api_version="batch.volcano.sh/v1alpha1", kind="Job", namespace=draft.namespace, name=draft.child_name(group)
    )


def duplicate_policy(
    draft: Draft,
    name: str,
    selectors: Sequence[ResourceSelector],
    clusters: Sequence[str],
    *,
    propagate_deps: bool = False,
) -> PropagationPolicy:
    """Copy the selected objects to each of the clusters."""
    return PropagationPolicy(
        metadata=ObjectMeta(name=name, namespace=draft.namespace, labels=draft.labels),
        spec=PropagationSpec(
            resource_selectors=tuple(selectors),
            propagate_deps=propagate_deps or None,
            placement=Placement(
                cluster_affinity=ClusterAffinity(cluster_names=tuple(clusters)),
                replica_scheduling=ReplicaScheduling(replica_scheduling_type="Duplicated"),
            ),
        ),
    )


def child_policy(draft: Draft, group: StageGroup) -> PropagationPolicy:
    """Send the group's VolcanoJob to one cluster: the only one, or the first of the fallbacks that has room.

    The shape is the HyperJob controller's: Divided and Aggregated over exactly one cluster.
    """
    fallbacks = len(group.candidates) > 1
    return PropagationPolicy(
        metadata=ObjectMeta(
            name=f"{draft.child_name(group)}-own" if draft.mode == "hyperjob" else draft.child_name(group),
            namespace=draft.namespace,
            labels=draft.labels,
        ),
        spec=PropagationSpec(
            resource_selectors=(select_child(draft, group),),
            propagate_deps=True,
            priority=FALLBACK_PRIORITY if fallbacks else None,
            placement=one_cluster_placement([cluster.name for cluster in group.candidates]),
        ),
    )


def one_cluster_placement(clusters: Sequence[str]) -> Placement:
    """Place all pods on exactly one cluster, tried in order."""
    terms = tuple(
        ClusterAffinityTerm(affinity_name=affinity_name(index, name), cluster_names=(name,))
        for index, name in enumerate(clusters)
    )
    return Placement(
        cluster_affinity=ClusterAffinity(cluster_names=tuple(clusters)) if len(clusters) == 1 else None,
        cluster_affinities=terms if len(clusters) > 1 else None,
        spread_constraints=(SpreadConstraint(min_groups=1, max_groups=1),),
        replica_scheduling=ReplicaScheduling(
            replica_scheduling_type="Divided", replica_division_preference="Aggregated"
        ),
    )


def affinity_name(index: int, cluster: str) -> str:
    """Name one group of clusters within the 32 characters that Karmada allows.

    >>> affinity_name(0, "beijing"), len(affinity_name(11, "c" * 48))
    ('0-beijing', 32)
    """
    return f"{index}-{cluster}"[:32].rstrip("-.")


def shared_policies(draft: Draft) -> tuple[ClusterPropagationPolicy, ...]:
    """Send the priority class and the queue, which other jobs use too, to all clusters.

    One policy an object, named for it and equal in every bundle: the first policy that claims an object keeps it, so
    a policy of one job's clusters would starve the next job's.
    """
    job = draft.job.job
    shared: list[tuple[str, str, str]] = []
    if job.priority and not job.priority.startswith("system-"):
        shared.append(("scheduling.k8s.io/v1", "PriorityClass", job.priority))
    if job.queue not in ("default", "root"):
        shared.append(("scheduling.volcano.sh/v1beta1", "Queue", job.queue))
    return tuple(_shared_policy(*names) for names in shared)


def _shared_policy(api_version: str, kind: str, name: str) -> ClusterPropagationPolicy:
    return ClusterPropagationPolicy(
        metadata=ObjectMeta(
            name=f"hyperflow-{kind.lower()}-{_plain(name)}",
            annotations={"hyperflow.io/shared": "used by every bundle that names this object"},
        ),
        spec=PropagationSpec(
            resource_selectors=(ResourceSelector(api_version=api_version, kind=kind, name=name),),
            placement=Placement(replica_scheduling=ReplicaScheduling(replica_scheduling_type="Duplicated")),
        ),
    )


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9.-]", "-", name)[:200]
