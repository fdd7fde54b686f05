"""Whether Karmada will dispatch a bundle's children to a cluster at all, told from the live Cluster object."""

from typing import Any

from hyperflow.admission.karmada_estimator import foresee_refusal
from hyperflow.errors import Finding
from hyperflow.inventory.readers.karmada import read_cluster_object
from hyperflow.json_tree import dig, mapping, text
from hyperflow.spec.fleet import Cluster
from hyperflow.submit.job_requests import requests_of
from hyperflow.submit.plane import Plane
from hyperflow.submit.server_kinds import CLUSTER

Json = dict[str, Any]


def dispatch_findings(plane: Plane, cluster: str, specs: list[tuple[str, Json]]) -> list[Finding]:
    """Find why Karmada would place nothing of the bundle there; the hint holds the patch that mends it."""
    found = plane.get(CLUSTER, cluster)
    if found is None:
        names = ", ".join(sorted(text(dig(c, "metadata", "name")) for c in plane.find(CLUSTER)[0]))
        message = f"no Cluster {cluster} is registered; there are {names or 'none'}"
        return [Finding(code="HF523", message=message, hint="karmadactl join, or compile for the clusters there are")]
    _, region, view, findings = read_cluster_object(found, "plane")
    if view is None:
        return list(findings)
    if view.unusable:
        return [Finding(code="HF523", message=view.unusable, hint=f"kubectl describe cluster {cluster}")]
    known = Cluster(name=cluster, region=region, karmada=view)
    refusals = [foresee_refusal(known, request, pods) for request, pods in map(_first_task, (s for _, s in specs))]
    return [refusal for refusal in refusals if refusal is not None]


def _first_task(spec: Json) -> tuple[dict[str, float], int]:
    """The request of one pod of the first task, and its replicas: all that Karmada looks at."""
    task = mapping(dig(spec, "tasks", 0))
    replicas = dig(task, "replicas")
    return requests_of({"tasks": [{**task, "replicas": 1}]}), replicas if isinstance(replicas, int) else 1
