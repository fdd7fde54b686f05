"""Would a child job ever fit in an empty cluster? The question of the planner, answered on fleet records alone."""

from collections.abc import Sequence
from dataclasses import dataclass

from hyperflow.place.domains import DomainTree, build_tree
from hyperflow.spec.fleet import Cluster, NodeGroup


@dataclass(frozen=True, slots=True, kw_only=True)
class Feasibility:
    """Whether a child fits, and if not, what is missing.

    `domain` is the domain that would take it, or the largest allowed one; `domain_nodes` counts the nodes of that
    domain that may be used, `missing_nodes` how many more it would need. `domain` is None for the whole cluster.
    `exact` is False where nesting or the names of usable nodes are not known and had to be assumed.
    """

    fits: bool
    cluster: str
    nodes_wanted: int
    domain: str | None
    domain_nodes: int
    missing_nodes: int
    reason: str
    hint: str = ""
    exact: bool = True


def can_place(
    cluster: Cluster,
    nodes: int,
    *,
    job_tier: int | None = None,
    partition_tier: int | None = None,
    partition_nodes: int | None = None,
    device: str | None = None,
) -> Feasibility:
    """Say whether `nodes` whole nodes fit in the cluster when nothing else runs there.

    `job_tier` and `partition_tier` are hard highestTierAllowed numbers (None: no such limit); `partition_nodes` is
    the size of one partition and must divide `nodes`. `device` keeps to the node groups of one device. A tier above
    the highest one allows the whole cluster, as in the scheduler.

    Raises ValueError when `nodes` is not positive or no multiple of `partition_nodes`.
    """
    size = partition_nodes or nodes
    if nodes <= 0 or size <= 0 or nodes % size:
        raise ValueError(f"{nodes} nodes are no whole number of partitions of {size}")
    groups = [g for g in cluster.groups if device is None or g.device == device]
    usable = sum(g.count for g in groups)
    if usable < nodes:
        return _refuse(cluster, nodes, None, usable, nodes - usable, f"{cluster.name} has {usable} usable nodes", "")
    if cluster.hypernodes:
        return _by_tree(cluster, groups, nodes, size, job_tier, partition_tier)
    if cluster.tiers:
        return _by_counts(cluster, nodes, size, job_tier, partition_tier)
    if (job_tier is not None and job_tier < 1) or (partition_tier is not None and partition_tier < 1):
        why = f"{cluster.name} has no HyperNodes, so the whole cluster is tier 1 and nothing is in tier 0"
        return _refuse(cluster, nodes, None, 0, nodes, why, "use tier 1 or leave the topology out")
    why = f"{cluster.name} has no HyperNodes: any {nodes} of its {usable} nodes may be used, however far apart"
    return _accept(cluster, nodes, None, usable, why if job_tier is not None else f"{usable} usable nodes")


def _by_tree(
    cluster: Cluster,
    groups: Sequence[NodeGroup],
    nodes: int,
    size: int,
    job_tier: int | None,
    partition_tier: int | None,
) -> Feasibility:
    named = sorted({name for g in groups for name in g.node_names})
    unnamed = not named
    if unnamed:
        named = sorted({m.name for h in cluster.hypernodes for m in h.members if m.type == "Node"})
    tree = build_tree(cluster.hypernodes, named)
    if tree.frozen and (job_tier is not None or partition_tier is not None):
        hint = "mend the tree: no job with a topology is placed before"
        return _refuse(cluster, nodes, None, 0, nodes, tree.frozen, hint)
    capacity = partition_capacity(tree, [1] * len(named), size, partition_tier)
    allowed = [i for i, d in enumerate(tree.domains) if job_tier is None or d.tier <= job_tier]
    if job_tier is None or job_tier >= tree.highest_tier:
        allowed = [tree.top]
    if not allowed:
        lowest = min(d.tier for d in tree.domains)
        why = f"no domain of {cluster.name} has tier {job_tier} or lower: the lowest is tier {lowest}"
        return _refuse(cluster, nodes, None, 0, nodes, why, f"use tier {lowest} or higher")
    best = max(allowed, key=lambda i: (capacity[i] * size, len(tree.domains[i].nodes), tree.domains[i].name or ""))
    fitting = [i for i in allowed if capacity[i] * size >= nodes]
    if fitting:
        chosen = min(fitting, key=lambda i: (tree.domains[i].tier, len(tree.domains[i].nodes), tree.domains[i].name))
        domain = tree.domains[chosen]
        why = f"fits in {describe(tree, chosen)}"
        return _accept(cluster, nodes, domain.name, len(domain.nodes), why, exact=not unnamed)
    found = len(tree.domains[best].nodes) if size == nodes and partition_tier is None else capacity[best] * size
    what = f"the largest allowed domain is {describe(tree, best)}"
    if size != nodes:
        what += f" and takes {capacity[best]} of {nodes // size} partitions of {size} nodes"
    hint = _tree_hint(tree, capacity, nodes, size)
    return _refuse(cluster, nodes, tree.domains[best].name, found, nodes - found, what, hint)


def partition_capacity(tree: DomainTree, slots: Sequence[int], size: int, partition_tier: int | None) -> list[int]:
    """Give for each domain how many groups of `size` equal pods it takes, each inside one domain of the tier.

    `slots` is the number of such pods that each node takes. Without a tier a group may span the domain.
    """
    capacity: list[int] = []
    for domain in tree.domains:
        if partition_tier is None or domain.tier <= partition_tier:
            capacity.append(sum(slots[n] for n in domain.nodes) // size)
        else:
            capacity.append(sum(capacity[child] for child in domain.children))
    return capacity


def describe(tree: DomainTree, at: int) -> str:
    """Name a domain for people: `l0 (tier 1, rack, 18 nodes)`."""
    domain = tree.domains[at]
    if domain.name is None:
        return f"the whole cluster ({len(domain.nodes)} nodes)"
    parts = [f"tier {domain.tier}", *([domain.tier_name] if domain.tier_name else []), f"{len(domain.nodes)} nodes"]
    return f"{domain.name} ({', '.join(parts)})"


def _tree_hint(tree: DomainTree, capacity: Sequence[int], nodes: int, size: int) -> str:
    wider = [i for i in range(len(tree.domains)) if capacity[i] * size >= nodes]
    if not wider:
        largest = max(range(len(tree.domains)), key=lambda i: capacity[i])
        return f"at most {capacity[largest] * size} nodes fit under this partition tier"
    nearest = min(wider, key=lambda i: (tree.domains[i].tier, len(tree.domains[i].nodes)))
    domain = tree.domains[nearest]
    if domain.name is None:
        return f"use tier {domain.tier} (the whole cluster, {len(domain.nodes)} nodes) or soft"
    name = f"{domain.tier_name}, " if domain.tier_name else ""
    return f"use tier {domain.tier} ({name}{len(domain.nodes)} nodes) or soft"


def _by_counts(
    cluster: Cluster, nodes: int, size: int, job_tier: int | None, partition_tier: int | None
) -> Feasibility:
    tiers = {t.tier: t for t in cluster.tiers}
    highest = max(tiers)
    if job_tier is not None and job_tier <= highest:
        allowed = [t for t in tiers.values() if t.tier <= job_tier]
        largest = max((t.largest_nodes for t in allowed), default=0)
        if largest < nodes:
            what = f"the largest domain of tier {job_tier} or lower has {largest} nodes"
            wider = [t for t in tiers.values() if t.largest_nodes >= nodes]
            best = min(wider, key=lambda t: t.tier, default=None)
            name = f"{best.name}, " if best and best.name else ""
            hint = f"use tier {best.tier} ({name}{best.largest_nodes} nodes) or soft" if best else "use soft"
            return _refuse(cluster, nodes, None, largest, nodes - largest, what, hint)
    if partition_tier is not None and partition_tier <= highest:
        domains = (
            tiers[max(t for t in tiers if t <= partition_tier)].domain_nodes if min(tiers) <= partition_tier else ()
        )
        whole = sum(count // size for count in domains)
        if whole * size < nodes:
            what = f"tier {partition_tier} takes {whole} partitions of {size} nodes, {nodes // size} are needed"
            hint = f"use partitions of at most {max(domains, default=0)} nodes or a higher partition tier"
            return _refuse(cluster, nodes, None, whole * size, nodes - whole * size, what, hint)
    reason = "fits by the number of nodes per domain; which domains lie in which is not known"
    return _accept(cluster, nodes, None, nodes, reason, exact=partition_tier is None)


def _accept(
    cluster: Cluster, nodes: int, domain: str | None, domain_nodes: int, reason: str, exact: bool = True
) -> Feasibility:
    return Feasibility(
        fits=True, cluster=cluster.name, nodes_wanted=nodes, domain=domain, domain_nodes=domain_nodes,
        missing_nodes=0, reason=reason, exact=exact,
    )  # fmt: skip


def _refuse(
    cluster: Cluster, nodes: int, domain: str | None, found: int, missing: int, what: str, hint: str
) -> Feasibility:
    return Feasibility(
        fits=False, cluster=cluster.name, nodes_wanted=nodes, domain=domain, domain_nodes=found,
        missing_nodes=missing, reason=f"can never fit: {nodes} nodes wanted, {what}", hint=hint,
    )  # fmt: skip
