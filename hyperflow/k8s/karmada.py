"""Karmada objects: propagation and override policies, and services over several clusters."""

from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from hyperflow.k8s.record import KubernetesObject, KubernetesRecord, LabelSelector


class ResourceSelector(KubernetesRecord):
    """Which objects a policy takes."""

    api_version: str
    kind: str
    namespace: str | None = None
    name: str | None = None
    label_selector: LabelSelector | None = None


class ClusterAffinity(KubernetesRecord):
    """One set of clusters; nothing outside it is used."""

    cluster_names: tuple[str, ...] = Field(min_length=1)


class ClusterAffinityTerm(KubernetesRecord):
    """One of several sets of clusters, tried in order."""

    affinity_name: str = Field(min_length=1, max_length=32)
    cluster_names: tuple[str, ...] = Field(min_length=1)


class SpreadConstraint(KubernetesRecord):
    """How many groups of clusters share the replicas."""

    spread_by_field: Literal["cluster"] = "cluster"
    min_groups: int = Field(ge=1)
    max_groups: int = Field(ge=1)


class ReplicaScheduling(KubernetesRecord):
    """Whether clusters share the replicas or each has a copy."""

    replica_scheduling_type: Literal["Divided", "Duplicated"]
    replica_division_preference: Literal["Aggregated"] | None = None


class Placement(KubernetesRecord):
    """Where the selected objects go; without an affinity, to every cluster."""

    cluster_affinity: ClusterAffinity | None = None
    cluster_affinities: tuple[ClusterAffinityTerm, ...] | None = None
    spread_constraints: tuple[SpreadConstraint, ...] | None = None
    replica_scheduling: ReplicaScheduling

    @model_validator(mode="after")
    def _has_one_kind_of_affinity(self) -> "Placement":
        if self.cluster_affinity and self.cluster_affinities:
            raise ValueError("clusterAffinity and clusterAffinities exclude each other")
        divided = self.replica_scheduling.replica_scheduling_type == "Divided"
        if divided and (self.replica_scheduling.replica_division_preference is None or not self.spread_constraints):
            raise ValueError("Divided needs Aggregated and a spread constraint, else Karmada tears the Job apart")
        names = [term.affinity_name for term in self.cluster_affinities or ()]
        if len(set(names)) != len(names):
            raise ValueError("two affinities have one name")
        return self


class PropagationSpec(KubernetesRecord):
    """What goes where; `priority` decides between policies that exist before the object does."""

    resource_selectors: tuple[ResourceSelector, ...] = Field(min_length=1)
    propagate_deps: bool | None = None
    priority: int | None = None
    conflict_resolution: Literal["Abort", "Overwrite"] | None = None
    placement: Placement


class PropagationPolicy(KubernetesObject):
    """Sends objects of its own namespace to clusters."""

    plural: ClassVar[str] = "propagationpolicies"

    api_version: Literal["policy.karmada.io/v1alpha1"] = "policy.karmada.io/v1alpha1"
    kind: Literal["PropagationPolicy"] = "PropagationPolicy"
    spec: PropagationSpec

    @model_validator(mode="after")
    def _selects_in_its_own_namespace(self) -> "PropagationPolicy":
        if any(selector.namespace != self.metadata.namespace for selector in self.spec.resource_selectors):
            raise ValueError("a selector's namespace must be the policy's")
        return self


class ClusterPropagationPolicy(KubernetesObject):
    """Sends cluster-scoped objects to clusters."""

    plural: ClassVar[str] = "clusterpropagationpolicies"

    api_version: Literal["policy.karmada.io/v1alpha1"] = "policy.karmada.io/v1alpha1"
    kind: Literal["ClusterPropagationPolicy"] = "ClusterPropagationPolicy"
    spec: PropagationSpec


class PlaintextOverrider(KubernetesRecord):
    """One JSON-patch operation."""

    path: str = Field(pattern="^/")
    operator: Literal["add", "remove", "replace"]
    value: Any = None

    @model_validator(mode="after")
    def _has_the_value_it_needs(self) -> "PlaintextOverrider":
        if self.operator != "remove" and self.value is None:
            raise ValueError(f"{self.operator} needs a value")
        return self


class Overriders(KubernetesRecord):
    """The changes of one rule."""

    plaintext: tuple[PlaintextOverrider, ...] = Field(min_length=1)


class OverrideRule(KubernetesRecord):
    """Changes for some clusters."""

    target_cluster: ClusterAffinity
    overriders: Overriders


class OverrideSpec(KubernetesRecord):
    """Which objects change, and how, by cluster."""

    resource_selectors: tuple[ResourceSelector, ...] = Field(min_length=1)
    override_rules: tuple[OverrideRule, ...] = Field(min_length=1)


class OverridePolicy(KubernetesObject):
    """Changes objects on their way to some clusters."""

    plural: ClassVar[str] = "overridepolicies"

    api_version: Literal["policy.karmada.io/v1alpha1"] = "policy.karmada.io/v1alpha1"
    kind: Literal["OverridePolicy"] = "OverridePolicy"
    spec: OverrideSpec


class ClusterSelector(KubernetesRecord):
    """One cluster by name."""

    name: str


class MultiClusterServiceSpec(KubernetesRecord):
    """Who offers a Service and who uses it."""

    types: tuple[Literal["CrossCluster"]] = ("CrossCluster",)
    provider_clusters: tuple[ClusterSelector, ...] = Field(min_length=1)
    consumer_clusters: tuple[ClusterSelector, ...] = Field(min_length=1)


class MultiClusterService(KubernetesObject):
    """Makes the Service of the same name reachable from other clusters."""

    plural: ClassVar[str] = "multiclusterservices"

    api_version: Literal["networking.karmada.io/v1alpha1"] = "networking.karmada.io/v1alpha1"
    kind: Literal["MultiClusterService"] = "MultiClusterService"
    spec: MultiClusterServiceSpec


class ServiceExport(KubernetesObject):
    """Offers the Service of the same name to other clusters."""

    plural: ClassVar[str] = "serviceexports"

    api_version: Literal["multicluster.x-k8s.io/v1alpha1"] = "multicluster.x-k8s.io/v1alpha1"
    kind: Literal["ServiceExport"] = "ServiceExport"


class ImportPort(KubernetesRecord):
    """One port of an imported Service."""

    name: str
    port: int = Field(ge=1, le=65535)
    protocol: Literal["TCP"] = "TCP"


class ServiceImportSpec(KubernetesRecord):
    """What an importing cluster sees."""

    type: Literal["ClusterSetIP"] = "ClusterSetIP"
    ports: tuple[ImportPort, ...] = Field(min_length=1)


class ServiceImport(KubernetesObject):
    """Brings an exported Service into clusters, as `derived-` and its name."""

    plural: ClassVar[str] = "serviceimports"

    api_version: Literal["multicluster.x-k8s.io/v1alpha1"] = "multicluster.x-k8s.io/v1alpha1"
    kind: Literal["ServiceImport"] = "ServiceImport"
    spec: ServiceImportSpec
