"""Sites: equal nodes of one cluster that can hold stages, and what joins two of them."""

from collections.abc import Sequence
from dataclasses import dataclass

from hyperflow.ir.resolved import ResolvedJob
from hyperflow.plan.domain_room import nodes_for_one_child
from hyperflow.spec.fleet import Cluster, Fleet, Link, NodeGroup


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """Nodes of one device type in one cluster. `domain` is the number of devices in its fastest fabric.

    `nodes` counts the free ones where the fleet knows them, within the queue's quota and the job's hard tier. `name`
    is the cluster's, with the device where a cluster has several types.
    """

    name: str
    cluster: str
    device: str
    nodes: int
    devices_per_node: int
    domain: int
    has_data: bool
    price_per_device_hour: float | None
    network_bytes_per_second: float | None

    @property
    def devices(self) -> int:
        """Devices that a plan may take."""
        return self.nodes * self.devices_per_node

    def pod_devices(self, stage_devices: int) -> int:
        """Devices of one pod: a whole node, or a whole stage where that is smaller."""
        return min(self.devices_per_node, stage_devices)

    def stages(self, stage_devices: int, tp: int) -> int:
        """Stages of so many devices that fit; a stage takes whole nodes, or a part of one node.

        A tensor-parallel group wider than a node stays inside one fast domain, so that the rest of each domain, where
        tp does not divide it, is left over.
        """
        if stage_devices >= self.devices_per_node:
            if stage_devices % self.devices_per_node:
                return 0
            if tp > self.devices_per_node:
                whole, rest = divmod(self.devices, self.domain)
                return (whole * (self.domain // tp) + rest // tp) * tp // stage_devices
            return self.nodes // (stage_devices // self.devices_per_node)
        return self.nodes * (self.devices_per_node // stage_devices)


def find_sites(job: ResolvedJob) -> tuple[Site, ...]:
    """Give the sites that a plan may use, in the user's order: all but those named as fallbacks only."""
    first = {name for cluster in job.clusters for name in (cluster.name,) if fallbacks_of(job, cluster.name)}
    spare = {name for names in job.job.fallback.values() for name in names} - first
    return tuple(site for site in all_sites(job) if site.cluster not in spare)


def fallbacks_of(job: ResolvedJob, cluster: str) -> tuple[str, ...]:
    """The fallbacks of a cluster in order; a keyword may write its name with underscores."""
    return job.job.fallback.get(cluster) or job.job.fallback.get(cluster.replace("-", "_")) or ()


def all_sites(job: ResolvedJob) -> tuple[Site, ...]:
    """Give the sites of all candidate clusters, in the user's order."""
    return tuple(
        _site(job, cluster, group)
        for cluster in job.clusters
        for group in cluster.groups
        if _nodes(job, cluster, group)
    )


def _site(job: ResolvedJob, cluster: Cluster, group: NodeGroup) -> Site:
    data = job.job.data
    several = len({other.device for other in cluster.groups}) > 1
    return Site(
        name=f"{cluster.name}/{group.device}" if several else cluster.name,
        cluster=cluster.name,
        device=group.device,
        nodes=_nodes(job, cluster, group),
        devices_per_node=group.devices_per_node,
        domain=max(group.devices_per_node, group.nvlink_domain or 0),
        has_data=data is None or data.at == "all" or cluster.name in data.at,
        price_per_device_hour=cluster.price_per_device_hour,
        network_bytes_per_second=group.network_bytes_per_second_per_device,
    )


def _nodes(job: ResolvedJob, cluster: Cluster, group: NodeGroup) -> int:
    devices = group.count * group.devices_per_node
    if group.free_devices is not None:
        devices = min(devices, group.free_devices)
    quota = cluster.quotas.get(job.job.queue, {}).get(group.resource)
    if quota is not None:
        devices = min(devices, int(quota))
    return nodes_for_one_child(job, cluster, group, devices // group.devices_per_node)


def link_between(job: ResolvedJob, a: str, b: str) -> Link | None:
    """Give the link of two clusters; None when none is declared or its round trip exceeds `max_rtt_ms`."""
    link = job.fleet.link(a, b)
    limit = job.job.on.max_rtt_ms
    if link is None or (limit is not None and link.round_trip_seconds > limit * 1e-3):
        return None
    return link


def transfer_seconds(link: Link, size: float) -> float:
    """One-way seconds of a message: half the round trip and the transfer, or the measured curve.

    Between measured points the curve is linear; beyond the last one it goes on with the last slope.
    """
    if not link.curve:
        return link.round_trip_seconds / 2 + size / link.bytes_per_second
    points = sorted(link.curve)
    if len(points) == 1 or size <= points[0][0]:
        return points[0][1]
    upper = next((i for i, point in enumerate(points) if point[0] >= size), len(points) - 1)
    (x0, y0), (x1, y1) = points[upper - 1], points[upper]
    return y0 + (y1 - y0) * (size - x0) / (x1 - x0) if x1 > x0 else y1


def unlinked_pairs(job: ResolvedJob, fleet: Fleet, clusters: Sequence[str]) -> list[tuple[str, str, str]]:
    """Give the pairs of clusters that may not be neighbours, each with the reason."""
    pairs: list[tuple[str, str, str]] = []
    for i, a in enumerate(clusters):
        for b in clusters[i + 1 :]:
            link = fleet.link(a, b)
            if link is None:
                pairs.append((a, b, "no link is declared"))
            elif link_between(job, a, b) is None:
                milliseconds = link.round_trip_seconds * 1e3
                pairs.append((a, b, f"round trip {milliseconds:g} ms, max_rtt_ms={job.job.on.max_rtt_ms:g}"))
    return pairs
