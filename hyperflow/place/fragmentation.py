"""How much whole space is free: entirely idle domains per tier, and the share of idle nodes outside them."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from hyperflow.place.cluster_state import ClusterState


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """Idle nodes, idle whole domains per tier, and the share of idle nodes in no idle domain of the lowest tier."""

    idle_nodes: int
    whole_domains: Mapping[int, int]
    fragmentation: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSpace:
    """Space before and after placement; `domains` counts all domains per tier."""

    cluster: str | None
    nodes: int
    domains: Mapping[int, int]
    tier_names: Mapping[int, str]
    before: Space
    after: Space

    def as_json(self) -> dict[str, object]:
        """Give the record for the `clusters` list of `place`."""
        tiers = [
            {
                "tier": tier,
                "name": self.tier_names.get(tier, ""),
                "domains": count,
                "whole_free_before": self.before.whole_domains.get(tier, 0),
                "whole_free_after": self.after.whole_domains.get(tier, 0),
            }
            for tier, count in sorted(self.domains.items())
        ]
        return {
            "cluster": self.cluster,
            "nodes": self.nodes,
            "idle_nodes_before": self.before.idle_nodes,
            "idle_nodes_after": self.after.idle_nodes,
            "fragmentation_before": self.before.fragmentation,
            "fragmentation_after": self.after.fragmentation,
            "tiers": tiers,
        }


def measure_space(state: ClusterState) -> ClusterSpace:
    """Measure the cluster as it is; `after` equals `before` until a caller replaces it."""
    room, tree = state.room, state.tree
    idle = room.idle[:, -1] >= room.allocatable[:, -1]
    counts: dict[int, int] = {}
    whole: dict[int, int] = {}
    inside = np.zeros(len(idle), dtype=np.bool_)
    lowest = min((d.tier for d in tree.domains[:-1]), default=None)
    for domain in tree.domains[:-1]:
        counts[domain.tier] = counts.get(domain.tier, 0) + 1
        nodes = np.array(domain.nodes, dtype=np.int64)
        if len(nodes) and bool(idle[nodes].all()):
            whole[domain.tier] = whole.get(domain.tier, 0) + 1
            if domain.tier == lowest:
                inside[nodes] = True
    idle_nodes = int(idle.sum())
    within = int((idle & inside).sum())
    fragmentation = 0.0 if not idle_nodes or lowest is None else round(1 - within / idle_nodes, 6)
    space = Space(idle_nodes=idle_nodes, whole_domains=whole, fragmentation=fragmentation)
    return ClusterSpace(
        cluster=state.cluster.name,
        nodes=len(idle),
        domains=counts,
        tier_names={d.tier: d.tier_name for d in tree.domains[:-1] if d.tier_name},
        before=space,
        after=space,
    )
