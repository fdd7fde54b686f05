"""Topology constraints: tier names become numbers, since targets drop names (trap T7)."""

from collections.abc import Sequence

from hyperflow.errors import Finding, nearest
from hyperflow.ir.resolved import ResolvedTier
from hyperflow.spec.fleet import Cluster
from hyperflow.spec.training_job import TrainingJob


def resolve_tier(
    job: TrainingJob, scope: str, clusters: Sequence[Cluster], found: list[Finding]
) -> ResolvedTier | None:
    """Give the constraint on `scope` (`job` or `stage`) with its tier number in each cluster.

    Appends HF126 for a tier that a cluster does not have, with the nearest name. None when nothing is asked for.
    """
    constraint = job.topology.job if scope == "job" else job.topology.stage
    if constraint is None:
        return None
    if constraint.mode == "soft" or constraint.tier is None:
        return ResolvedTier(mode=constraint.mode, name="", number_by_cluster={})
    numbers: dict[str, int] = {}
    for cluster in clusters:
        number = _number(constraint.tier, cluster)
        if number is None:
            found.append(_unknown_tier(job, scope, constraint.tier, cluster))
        else:
            numbers[cluster.name] = number
    return ResolvedTier(mode="hard", name=str(constraint.tier), number_by_cluster=numbers)


def _number(wanted: str | int, cluster: Cluster) -> int | None:
    known = {tier.tier for tier in cluster.tiers}
    if isinstance(wanted, int):
        return wanted if wanted in known else None
    return next((tier.tier for tier in cluster.tiers if tier.name == wanted), None)


def _unknown_tier(job: TrainingJob, scope: str, wanted: str | int, cluster: Cluster) -> Finding:
    tiers = ", ".join(f"{tier.name or 'tier'}({tier.tier})" for tier in cluster.tiers)
    near = nearest(str(wanted), [tier.name for tier in cluster.tiers]) or f"tiers: {tiers}"
    return Finding(
        code="HF126",
        message=f'unknown tier {wanted!r} in cluster "{cluster.name}"',
        where=f"@hf.topology({scope}=)",
        span=job.sources.get(f"topology.{scope}") or job.sources.get("topology"),
        got=str(wanted),
        expected=f"one of {tiers}" if tiers else "a cluster with tiers",
        hint=near if tiers else "hf.Cluster has no tiers; they are declared in a fleet file (docs/fleets.md)",
    )
