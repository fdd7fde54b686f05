"""The kinds that HyperFlow asks a server for, and where each is served."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hyperflow.errors import Finding, InputError
from hyperflow.json_tree import text

_SERVED: dict[tuple[str, str], tuple[str, bool]] = {
    ("v1", "Namespace"): ("namespaces", False),
    ("v1", "Node"): ("nodes", False),
    ("v1", "Pod"): ("pods", True),
    ("v1", "Event"): ("events", True),
    ("v1", "Service"): ("services", True),
    ("v1", "ConfigMap"): ("configmaps", True),
    ("v1", "Secret"): ("secrets", True),
    ("v1", "PersistentVolumeClaim"): ("persistentvolumeclaims", True),
    ("v1", "ServiceAccount"): ("serviceaccounts", True),
    ("apps/v1", "Deployment"): ("deployments", True),
    ("networking.k8s.io/v1", "NetworkPolicy"): ("networkpolicies", True),
    ("scheduling.k8s.io/v1", "PriorityClass"): ("priorityclasses", False),
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"): ("customresourcedefinitions", False),
    ("training.volcano.sh/v1alpha1", "HyperJob"): ("hyperjobs", True),
    ("batch.volcano.sh/v1alpha1", "Job"): ("jobs", True),
    ("scheduling.volcano.sh/v1beta1", "Queue"): ("queues", False),
    ("scheduling.volcano.sh/v1beta1", "PodGroup"): ("podgroups", True),
    ("topology.volcano.sh/v1alpha1", "HyperNode"): ("hypernodes", False),
    ("cluster.karmada.io/v1alpha1", "Cluster"): ("clusters", False),
    ("policy.karmada.io/v1alpha1", "PropagationPolicy"): ("propagationpolicies", True),
    ("policy.karmada.io/v1alpha1", "ClusterPropagationPolicy"): ("clusterpropagationpolicies", False),
    ("policy.karmada.io/v1alpha1", "OverridePolicy"): ("overridepolicies", True),
    ("policy.karmada.io/v1alpha1", "ClusterOverridePolicy"): ("clusteroverridepolicies", False),
    ("work.karmada.io/v1alpha2", "ResourceBinding"): ("resourcebindings", True),
    ("networking.karmada.io/v1alpha1", "MultiClusterService"): ("multiclusterservices", True),
    ("multicluster.x-k8s.io/v1alpha1", "ServiceExport"): ("serviceexports", True),
    ("multicluster.x-k8s.io/v1alpha1", "ServiceImport"): ("serviceimports", True),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerKind:
    """One served kind; `resource` is its name as messages and RBAC rules write it."""

    api_version: str
    kind: str
    plural: str
    namespaced: bool

    @property
    def group(self) -> str:
        """The API group, empty for the core group."""
        group, slash, _ = self.api_version.rpartition("/")
        return group if slash else ""

    @property
    def resource(self) -> str:
        """The plural with its group."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def path(self, namespace: str = "", name: str = "") -> str:
        """Give the path of one object, or of all."""
        path = f"/apis/{self.api_version}" if self.group else f"/api/{self.api_version}"
        if self.namespaced and namespace:
            path += f"/namespaces/{namespace}"
        path += f"/{self.plural}"
        return f"{path}/{name}" if name else path


def _kind(kind: str) -> ServerKind:
    (api_version, plural, namespaced) = next((v, p, n) for (v, k), (p, n) in _SERVED.items() if k == kind)
    return ServerKind(api_version=api_version, kind=kind, plural=plural, namespaced=namespaced)


NAMESPACE, NODE, POD, EVENT, CONFIG_MAP = map(_kind, ("Namespace", "Node", "Pod", "Event", "ConfigMap"))
HYPERJOB, JOB, QUEUE, POD_GROUP, HYPERNODE = map(_kind, ("HyperJob", "Job", "Queue", "PodGroup", "HyperNode"))
BINDING, CLUSTER, PRIORITY_CLASS = map(_kind, ("ResourceBinding", "Cluster", "PriorityClass"))
CRD, DEPLOYMENT = map(_kind, ("CustomResourceDefinition", "Deployment"))
POLICY, OVERRIDE, SERVICE = map(_kind, ("PropagationPolicy", "OverridePolicy", "Service"))
COMPANIONS = tuple(
    map(_kind, ("MultiClusterService", "ServiceExport", "ServiceImport", "Service", "OverridePolicy", "ConfigMap"))
)


def kind_of(document: Mapping[str, Any]) -> ServerKind:
    """Give the served kind of a document; raises InputError (HF501) for one that HyperFlow never writes."""
    key = (text(document.get("apiVersion")), text(document.get("kind")))
    if key not in _SERVED:
        raise InputError(
            Finding(
                code="HF501",
                message=f"HyperFlow does not submit objects of kind {key[1] or 'none'} ({key[0] or 'no apiVersion'})",
                expected=", ".join(sorted({kind for _, kind in _SERVED})),
                hint="apply the object yourself, before the bundle",
            )
        )
    plural, namespaced = _SERVED[key]
    return ServerKind(api_version=key[0], kind=key[1], plural=plural, namespaced=namespaced)
