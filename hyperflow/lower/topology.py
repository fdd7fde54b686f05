"""Topology constraints: the job within a tier, groups of nodes within a closer one.

Order of closeness: a tensor-parallel group that spans nodes must stay in one scale-up domain, a stage where the user
asked for it, the whole job where the user asked for it. Left open, a job is soft where its cluster has tiers.
"""

from dataclasses import dataclass

from hyperflow.errors import Finding, InfeasibleError
from hyperflow.ir.resolved import ResolvedTier
from hyperflow.k8s.volcano import NetworkTopology, PartitionPolicy
from hyperflow.lower.draft import Draft
from hyperflow.lower.stage_groups import StageGroup, node_group_for
from hyperflow.lower.target_versions import everywhere
from hyperflow.spec.fleet import Cluster

LEAF_TIER = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupTopology:
    """What one child asks of the scheduler, and why."""

    job: NetworkTopology | None
    partition: PartitionPolicy | None
    reasons: tuple[str, ...]


def group_topology(draft: Draft, group: StageGroup, cluster: Cluster) -> GroupTopology:
    """Decide the constraints of a group on a cluster.

    Raises InfeasibleError (HF413) for partitions that do not divide the group or are wider than the job,
    (HF415) for a tier that the cluster lacks.
    """
    job, job_reason = _job_topology(draft, cluster)
    partition, partition_reason = _partition(draft, group, cluster, job)
    return GroupTopology(job=job, partition=partition, reasons=tuple(filter(None, (job_reason, partition_reason))))


def assumed_leaf_note(draft: Draft) -> tuple[Finding, ...]:
    """Warn (HF435) of clusters whose scale-up domains are taken to be the leaf HyperNodes, since no tier is known."""
    if draft.job.stage_tier is not None or _tensor_nodes(draft) <= 1:
        return ()
    return tuple(
        Finding(
            code="HF435",
            severity="warning",
            message=f"tier {LEAF_TIER} of {cluster.name} is taken to be its scale-up domains, "
            "as the fleet states no tiers",
            where="on",
            expected=f"HyperNodes of tier {LEAF_TIER}, one a scale-up domain",
            hint="without such HyperNodes the scheduler spreads a tensor-parallel group over any nodes",
            span=draft.job.job.sources.get("on"),
        )
        for cluster in {c.name: c for group in draft.groups for c in group.candidates}.values()
        if not cluster.tiers
    )


def wants_partitions(draft: Draft) -> str:
    """Say why the job needs partitions; empty when it needs none."""
    if draft.job.stage_tier is not None:
        return f"stages are held within {draft.job.stage_tier.name or 'a tier'} (topology.stage)"
    if _tensor_nodes(draft) > 1:
        return f"tp={draft.plan.degrees.tp} spans {_tensor_nodes(draft)} nodes of one scale-up domain"
    return ""


def _job_topology(draft: Draft, cluster: Cluster) -> tuple[NetworkTopology | None, str]:
    tier = draft.job.job_tier
    if tier is None:
        if not cluster.tiers or not everywhere(draft, "soft-as-virtual-top", cluster.name):
            return None, ""
        return NetworkTopology(mode="soft"), f"no tier was asked for: {cluster.name} packs the job softly"
    if tier.mode == "soft":
        return NetworkTopology(mode="soft"), f"soft as declared: {cluster.name} prefers close nodes and never blocks"
    number = _tier_number(draft, tier, cluster, "topology.job")
    return NetworkTopology(mode="hard", highest_tier_allowed=number), (
        f"job within tier {number} ({tier.name}) of {cluster.name}, as declared (hard)"
    )


def _partition(
    draft: Draft, group: StageGroup, cluster: Cluster, job: NetworkTopology | None
) -> tuple[PartitionPolicy | None, str]:
    tensor_nodes, stage_tier = _tensor_nodes(draft), draft.job.stage_tier
    if stage_tier is not None:
        size = _stage_nodes(group)
        topology = _stage_topology(draft, stage_tier, cluster)
        reason = f"each stage of {size} nodes is one partition, {_describe(topology)}, as declared"
    elif tensor_nodes > 1:
        size = tensor_nodes
        number = _scale_up_tier(draft, group, cluster, size)
        topology = NetworkTopology(mode="hard", highest_tier_allowed=number)
        reason = (
            f"each tensor-parallel group of {size} nodes is one partition within its scale-up domain, tier {number}"
        )
    else:
        return None, ""
    _check_sizes(draft, group, size)
    _check_tiers(draft, cluster, job, topology)
    total = group.nodes // size
    policy = PartitionPolicy(
        total_partitions=total, partition_size=size, min_partitions=total, network_topology=topology
    )
    return policy, reason


def _tensor_nodes(draft: Draft) -> int:
    """Nodes that one tensor-parallel group spans."""
    return -(-draft.plan.degrees.tp // draft.groups[0].devices_per_node)


def _stage_nodes(group: StageGroup) -> int:
    return max(1, max(stage.nodes for stage in group.stages))


def _stage_topology(draft: Draft, tier: ResolvedTier, cluster: Cluster) -> NetworkTopology:
    if tier.mode == "soft":
        return NetworkTopology(mode="soft")
    return NetworkTopology(mode="hard", highest_tier_allowed=_tier_number(draft, tier, cluster, "topology.stage"))


def _tier_number(draft: Draft, tier: ResolvedTier, cluster: Cluster, source: str) -> int:
    number = tier.number_by_cluster.get(cluster.name)
    if number is None or number < 1:
        known = ", ".join(f"{t.name or 'unnamed'}({t.tier})" for t in cluster.tiers) or "none"
        raise InfeasibleError(
            Finding(
                code="HF415",
                message=f"cluster {cluster.name!r} has no usable tier {tier.name!r}",
                where=source,
                got=tier.name,
                expected=f"one of its tiers: {known}",
                hint="the scheduler would apply no limit at all; name a tier of every cluster, fallbacks included",
                span=draft.job.job.sources.get(source),
            )
        )
    return number


def _scale_up_tier(draft: Draft, group: StageGroup, cluster: Cluster, nodes: int) -> int:
    """The lowest tier whose domains hold the tensor-parallel group and lie inside one scale-up domain."""
    node_group = node_group_for(cluster, group.device, group.devices_per_node)
    domain = node_group.nvlink_domain if node_group else None
    limit = domain // node_group.devices_per_node if node_group and domain else 1
    for tier in sorted(cluster.tiers, key=lambda tier: tier.tier):
        if tier.tier >= 1 and nodes <= tier.largest_nodes <= limit:
            return tier.tier
    if not cluster.tiers and nodes <= limit:
        return LEAF_TIER
    raise InfeasibleError(
        Finding(
            code="HF415",
            message=f"cluster {cluster.name!r} has no HyperNode tier that matches its scale-up domain of {limit} nodes",
            where="parallel.tp",
            got=f"tp={draft.plan.degrees.tp}, which spans {nodes} nodes",
            expected=f"a tier whose domains have {nodes} to {limit} nodes",
            hint="give the scale-up domains HyperNodes of their own, or choose a tp that fits one node",
            span=draft.job.job.sources.get("parallel.tp"),
        )
    )


def _check_sizes(draft: Draft, group: StageGroup, size: int) -> None:
    if group.nodes % size == 0:
        return
    below = max(n for n in range(1, size + 1) if group.nodes % n == 0)
    above = min(n for n in range(size, group.nodes + 1) if group.nodes % n == 0)
    raise InfeasibleError(
        Finding(
            code="HF413",
            message=f"{group.nodes} nodes on {group.cluster.name} do not divide into partitions of {size}",
            where="topology.stage",
            got=f"{group.nodes} nodes, partitions of {size}",
            expected=f"partitions of {below} or {above}",
            hint="change dp or tp so that stages have equal numbers of nodes",
            span=draft.job.job.sources.get("topology.stage"),
        )
    )


def _check_tiers(draft: Draft, cluster: Cluster, job: NetworkTopology | None, partition: NetworkTopology) -> None:
    inner, outer = partition.highest_tier_allowed, job.highest_tier_allowed if job else None
    if inner is None or outer is None or inner <= outer:
        return
    raise InfeasibleError(
        Finding(
            code="HF413",
            message=f"on {cluster.name} a stage may spread over tier {inner} while the job is held within tier {outer}",
            where="topology.stage",
            got=f"stage tier {inner}, job tier {outer}",
            expected=f"a stage tier of at most {outer}",
            hint="the job's tier wins; give the stage a closer tier",
            span=draft.job.job.sources.get("topology.stage"),
        )
    )


def _describe(topology: NetworkTopology) -> str:
    return f"hard within tier {topology.highest_tier_allowed}" if topology.mode == "hard" else "soft"
