"""Room for one child in a cluster under the job's hard tier."""

from hyperflow.ir.resolved import ResolvedJob, ResolvedTier
from hyperflow.place.feasibility import can_place
from hyperflow.spec.fleet import Cluster, NodeGroup


def nodes_for_one_child(job: ResolvedJob, cluster: Cluster, group: NodeGroup, nodes: int) -> int:
    """Give how many of so many nodes one child may take: those of the largest domain of the job's hard tier."""
    tier = hard_tier_number(job.job_tier, cluster)
    if tier is None:
        return nodes
    low, high = 0, nodes
    while low < high:
        middle = (low + high + 1) // 2
        if can_place(cluster, middle, job_tier=tier, device=group.device).fits:
            low = middle
        else:
            high = middle - 1
    return low


def hard_tier_number(tier: ResolvedTier | None, cluster: Cluster) -> int | None:
    """The tier number of a hard constraint in a cluster; None where there is none."""
    return tier.number_by_cluster.get(cluster.name) if tier is not None and tier.mode == "hard" else None
