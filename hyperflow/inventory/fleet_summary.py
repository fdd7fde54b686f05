"""The fleet in short, as `hyperflow fleet` shows it: one entry per cluster."""

from typing import Any

from hyperflow.admission.karmada_estimator import estimate_replicas, foresee_refusal, models_patch, whole_node_request
from hyperflow.catalog.devices import device_resources
from hyperflow.spec.fleet import Cluster, Fleet, KarmadaView


def summarise_fleet(fleet: Fleet) -> list[dict[str, Any]]:
    """Give one JSON-ready mapping per cluster; None stands for unknown, or for several devices in one cluster."""
    return [_summarise(cluster) for cluster in fleet.clusters]


def _summarise(cluster: Cluster) -> dict[str, Any]:
    devices = {group.device for group in cluster.groups}
    sizes = {group.devices_per_node for group in cluster.groups}
    total, free = count_devices(cluster)
    summary: dict[str, Any] = {
        "name": cluster.name,
        "nodes_total": cluster.nodes_usable if _is_written(cluster) else cluster.nodes_total,
        "nodes_usable": usable_nodes(cluster),
        "device": devices.pop() if len(devices) == 1 else None,
        "devices_per_node": sizes.pop() if len(sizes) == 1 else None,
        "devices_total": total,
        "devices_free": free,
        "tiers": [
            {
                "tier": tier.tier,
                "name": tier.name,
                "domains": len(tier.domain_nodes),
                "largest_nodes": tier.largest_nodes if tier.known else None,
            }
            for tier in cluster.tiers
        ],
        "region": cluster.region,
        "groups": [
            {
                "device": group.device,
                "nodes": group.count,
                "devices_per_node": group.devices_per_node,
                "devices_free": group.free_devices,
                "nvlink_domain": group.nvlink_domain,
                "resource": group.resource,
                "network": group.network.value,
            }
            for group in cluster.groups
        ],
        "unidentified_devices": cluster.unidentified_devices,
        "excluded": [{"cause": e.cause, "nodes": list(e.nodes)} for e in cluster.excluded],
    }
    if cluster.karmada:
        summary["karmada"] = _summarise_karmada(cluster, cluster.karmada)
    return summary


def _is_written(cluster: Cluster) -> bool:
    return cluster.nodes_total is None and bool(cluster.groups)


def usable_nodes(cluster: Cluster) -> int | None:
    """Give the nodes that may run pods; None where only names or nothing is known."""
    if cluster.groups or cluster.excluded:
        return cluster.nodes_usable
    view = cluster.karmada
    if view is None:
        return None
    return 0 if view.unusable else view.nodes_ready


def count_devices(cluster: Cluster) -> tuple[int | None, int | None]:
    """Give the devices on usable nodes and the free ones among them; None where unknown.

    Where no nodes were read, Karmada's sums count.
    """
    if cluster.groups or cluster.excluded:
        free = [group.free_devices for group in cluster.groups]
        known = [count for count in free if count is not None]
        return cluster.devices_total, sum(known) if len(known) == len(free) else None
    view = cluster.karmada
    if view is None or view.allocatable is None:
        return cluster.unidentified_devices or None, None
    total = _sum_devices(view, view.allocatable)
    held = _sum_devices(view, view.allocated) + _sum_devices(view, view.allocating)
    return total, 0 if view.unusable else max(0, total - held)


def _sum_devices(view: KarmadaView, sums: dict[str, float]) -> int:
    return int(sum(sums.get(name, 0) for name in device_resources()))


def _summarise_karmada(cluster: Cluster, view: KarmadaView) -> dict[str, Any]:
    request = whole_node_request(cluster)
    refusal = foresee_refusal(cluster)
    estimate = estimate_replicas(view, request) if request and view.allocatable is not None else None
    return {
        "unusable": view.unusable or None,
        "nodes_ready": view.nodes_ready,
        "whole_node_pod": request or None,
        "whole_node_pods_possible": estimate.replicas if estimate else None,
        "refused": refusal.message if refusal else None,
        "patch": models_patch(cluster) if refusal else None,
    }
