"""From a parsed document back to a typed object."""

from pydantic import ValidationError

from hyperflow.json_tree import mapping, text
from hyperflow.k8s.core import ConfigMap, Service
from hyperflow.k8s.data_source import DataSourceClaim
from hyperflow.k8s.hyperjob import HyperJob
from hyperflow.k8s.karmada import (
    ClusterPropagationPolicy,
    MultiClusterService,
    OverridePolicy,
    PropagationPolicy,
    ServiceExport,
    ServiceImport,
)
from hyperflow.k8s.record import KubernetesObject
from hyperflow.k8s.volcano import VolcanoJob

KINDS: tuple[type[KubernetesObject], ...] = (
    ConfigMap,
    Service,
    DataSourceClaim,
    HyperJob,
    VolcanoJob,
    PropagationPolicy,
    ClusterPropagationPolicy,
    OverridePolicy,
    MultiClusterService,
    ServiceExport,
    ServiceImport,
)
_BY_KIND = {
    (str(kind.model_fields["api_version"].default), str(kind.model_fields["kind"].default)): kind for kind in KINDS
}


def parse_object(document: object) -> KubernetesObject:
    """Read a document as the typed object of its kind.

    Raises ValueError with every reason, one a line: a kind we never write, an unknown field, a law of the object.
    """
    tree = mapping(document)
    key = (text(tree.get("apiVersion")), text(tree.get("kind")))
    if key not in _BY_KIND:
        raise ValueError(f"kind {key[1] or 'absent'} of {key[0] or 'no apiVersion'} is none that a bundle holds")
    try:
        return _BY_KIND[key].model_validate(tree)
    except ValidationError as error:
        reasons = [f"{'.'.join(str(step) for step in e['loc'])}: {e['msg']}" for e in error.errors(include_url=False)]
        raise ValueError("\n".join(reasons)) from None
