"""How pods find node rank 0: one address for all children, whatever their cluster.

Every way needs pod addresses (or node addresses with the host network) that are routable between the clusters: after
the rendezvous NCCL and Gloo connect pod to pod.
"""

import re
from dataclasses import dataclass

from hyperflow.catalog.targets import assumed_versions, first_version, has_feature
from hyperflow.errors import Finding, InfeasibleError, InputError
from hyperflow.ir.manifests import FeatureNeed
from hyperflow.k8s.core import Service, ServicePort, ServiceSpec
from hyperflow.k8s.karmada import (
    ClusterSelector,
    ImportPort,
    MultiClusterService,
    MultiClusterServiceSpec,
    ServiceExport,
    ServiceImport,
    ServiceImportSpec,
)
from hyperflow.k8s.record import KubernetesObject, ObjectMeta
from hyperflow.lower.draft import TASK_NAME, Draft
from hyperflow.lower.propagation import duplicate_policy, select

PORT = 29500
PORT_NAME = "rendezvous"
KINDS = ("mcs", "service-export", "hostnetwork", "address=HOST:PORT")
_ADDRESS = re.compile(r"address=(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?):(\d{1,5})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendezvous:
    """Where node rank 0 is, and the objects that make it reachable."""

    address: str
    port: int
    host_network: bool
    objects: tuple[KubernetesObject, ...] = ()
    needs: tuple[FeatureNeed, ...] = ()
    story: str = ""


def plan_rendezvous(draft: Draft) -> Rendezvous:
    """Choose the address of node rank 0 and lower what it needs.

    Raises InputError or InfeasibleError (HF411) when a cluster has no route to node rank 0.
    """
    wanted = draft.job.job.on.rendezvous
    host_network = wanted == "hostnetwork"
    given = _ADDRESS.fullmatch(wanted)
    if given and 0 < int(given[3]) <= 65535:
        return Rendezvous(
            address=given[1].strip("[]"),
            port=int(given[3]),
            host_network=False,
            story=f"node rank 0 is expected at {given[1]}:{given[3]}, as declared; nothing is created for it",
        )
    if wanted not in ("mcs", "service-export", "hostnetwork"):
        raise InputError(_no_route(draft, wanted, "this is no known way", "one of " + ", ".join(KINDS)))
    if draft.mode == "single":
        child = draft.child_name(draft.rank_zero)
        return Rendezvous(
            address=f"{child}-{TASK_NAME}-0.{child}.{draft.namespace}.svc",
            port=PORT,
            host_network=host_network,
            story="all pods are in one cluster; node rank 0 has a name of the Job's own headless Service",
        )
    if wanted == "service-export":
        return _exported(draft)
    return _multi_cluster_service(draft, host_network=host_network)


def _multi_cluster_service(draft: Draft, *, host_network: bool) -> Rendezvous:
    name = draft.rank_zero_name
    service = _service(draft)
    address = f"{name}.{draft.namespace}.svc"
    providers = tuple(cluster.name for cluster in draft.rank_zero.candidates)
    if draft.all_clusters == providers and len(providers) == 1:
        policy = duplicate_policy(draft, name, (select(service),), providers)
        story = "all children are in one cluster; a Service leads to node rank 0"
        return Rendezvous(address=address, port=PORT, host_network=host_network, objects=(service, policy), story=story)
    _check_karmada(draft)
    consumers = [cluster for cluster in draft.all_clusters if providers != (cluster,)]
    multi = MultiClusterService(
        metadata=ObjectMeta(name=name, namespace=draft.namespace, labels=draft.labels),
        spec=MultiClusterServiceSpec(
            provider_clusters=tuple(ClusterSelector(name=cluster) for cluster in providers),
            consumer_clusters=tuple(ClusterSelector(name=cluster) for cluster in consumers),
        ),
    )
    network = "node" if host_network else "pod"
    return Rendezvous(
        address=address,
        port=PORT,
        host_network=host_network,
        objects=(service, multi),
        needs=(
            FeatureNeed(product="karmada", feature="multi-cluster-service", cluster=None, needed_by="on.rendezvous"),
        ),
        story=f"MultiClusterService {name} leads every cluster to node rank 0 in {providers[0]}; "
        f"{network} addresses must be routable between the clusters",
    )


def _exported(draft: Draft) -> Rendezvous:
    """ServiceExport on the provider; ServiceImport everywhere, so that one name works in all clusters.

    Karmada derives the Service `derived-{name}` and its endpoints from the import and carries them as its
    dependencies (pkg/controllers/mcs/service_import_controller.go), hence propagateDeps.
    """
    name = draft.rank_zero_name
    service = _service(draft)
    meta = ObjectMeta(name=name, namespace=draft.namespace, labels=draft.labels)
    export = ServiceExport(metadata=meta)
    port = ImportPort(name=PORT_NAME, port=PORT)
    imported = ServiceImport(metadata=meta, spec=ServiceImportSpec(ports=(port,)))
    providers = tuple(cluster.name for cluster in draft.rank_zero.candidates)
    exporting = duplicate_policy(draft, f"{name}-export", (select(service), select(export)), providers)
    importing = duplicate_policy(draft, f"{name}-import", (select(imported),), draft.all_clusters, propagate_deps=True)
    return Rendezvous(
        address=f"derived-{name}.{draft.namespace}.svc",
        port=PORT,
        host_network=False,
        objects=(service, export, exporting, imported, importing),
        story=f"Service {name} is exported from {providers[0]} and imported everywhere as derived-{name}; "
        "pod addresses must be routable between the clusters",
    )


def _service(draft: Draft) -> Service:
    """The Service in front of the one pod that is node rank 0; reachable before it is ready."""
    return Service(
        metadata=ObjectMeta(name=draft.rank_zero_name, namespace=draft.namespace, labels=draft.labels),
        spec=ServiceSpec(
            selector={
                "volcano.sh/job-name": draft.child_name(draft.rank_zero),
                "volcano.sh/task-index": "0",
                "volcano.sh/task-spec": TASK_NAME,
            },
            ports=(ServicePort(name=PORT_NAME, port=PORT, target_port=PORT),),
            publish_not_ready_addresses=True,
        ),
    )


def _check_karmada(draft: Draft) -> None:
    feature = "multi-cluster-service-provider-clusters"
    version = assumed_versions(draft.job.fleet.versions)[0].karmada or ""
    if not has_feature("karmada", feature, version):
        need = f"Karmada {first_version('karmada', feature)} or later for {draft.job.job.on.rendezvous!r}"
        finding = _no_route(draft, draft.job.job.on.rendezvous, f"the plane runs Karmada {version}", need)
        raise InfeasibleError(finding)


def _no_route(draft: Draft, wanted: str, reason: str, expected: str) -> Finding:
    far = next((group.cluster.name for group in draft.groups if group.cluster != draft.rank_zero.cluster), None)
    return Finding(
        code="HF411",
        message=f"no route from {far or 'the pods'} to rank 0: {reason}",
        where="on.rendezvous",
        got=repr(wanted),
        expected=expected,
        hint='use rendezvous="mcs", or "address=HOST:PORT" of a load balancer in front of node rank 0',
        span=draft.job.job.sources.get("on.rendezvous"),
    )
