"""What the HyperJob controller would make of a HyperJob: its children and their policies, for people to read.

The shape of the policy is constructDesiredPP's, the child's constructDesiredVCJob's (volcano-global 2ae7715,
pkg/reconciler/hyperjob). The controller also labels each child with a hash of its Go structure, which is left out.
"""

from dataclasses import dataclass

from hyperflow.ir.manifests import Manifests
from hyperflow.k8s.hyperjob import HyperJob, ReplicatedJob
from hyperflow.k8s.karmada import (
    ClusterAffinity,
    Placement,
    PropagationPolicy,
    PropagationSpec,
    ReplicaScheduling,
    ResourceSelector,
    SpreadConstraint,
)
from hyperflow.k8s.record import KubernetesObject, ObjectMeta
from hyperflow.k8s.volcano import VolcanoJob


@dataclass(frozen=True, slots=True, kw_only=True)
class Expansion:
    """Children and policies that a controller makes, and who claims each child."""

    objects: tuple[KubernetesObject, ...]
    claims: tuple[str, ...]


def expand(manifests: Manifests) -> Expansion:
    """Give the objects that appear on the plane besides those of the bundle; none without a HyperJob."""
    objects: list[KubernetesObject] = []
    claims: list[str] = []
    own = {
        selector.name: policy.metadata.name
        for policy in manifests.objects
        if isinstance(policy, PropagationPolicy)
        for selector in policy.spec.resource_selectors
        if selector.kind == "Job"
    }
    for item in manifests.objects:
        if isinstance(item, HyperJob):
            for child in item.spec.replicated_jobs:
                name = f"{item.metadata.name}-{child.name}-0"
                objects += [_child(item, child, name), _policy(item, child, name)]
                claims.append(
                    f"{name} is claimed by {own[name]}, which exists before it"
                    if name in own
                    else f"{name} is claimed by the controller's policy of that name"
                )
    return Expansion(objects=tuple(objects), claims=tuple(claims))


def _child(parent: HyperJob, child: ReplicatedJob, name: str) -> VolcanoJob:
    labels = {"volcano.sh/hyperjob-name": parent.metadata.name, "volcano.sh/replicatedjob-name": child.name}
    meta = ObjectMeta(name=name, namespace=parent.metadata.namespace, labels=labels)
    return VolcanoJob(metadata=meta, spec=child.template_spec)


def _policy(parent: HyperJob, child: ReplicatedJob, name: str) -> PropagationPolicy:
    namespace = parent.metadata.namespace
    selector = ResourceSelector(api_version="batch.volcano.sh/v1alpha1", kind="Job", namespace=namespace, name=name)
    return PropagationPolicy(
        metadata=ObjectMeta(name=name, namespace=namespace),
        spec=PropagationSpec(
            resource_selectors=(selector,),
            propagate_deps=True,
            placement=Placement(
                cluster_affinity=ClusterAffinity(cluster_names=child.cluster_names),
                spread_constraints=(SpreadConstraint(min_groups=1, max_groups=1),),
                replica_scheduling=ReplicaScheduling(
                    replica_scheduling_type="Divided", replica_division_preference="Aggregated"
                ),
            ),
        ),
    )
