"""The search for domains: low tier first, fullest first, every group of pods whole inside one domain.

The order is the scheduler's (volcano allocate action and network-topology-aware plugin): for the job, domains of its
tier or lower whose idle sums hold the job's minimum, tier by tier upwards; inside one of them, for each group, domains
whose idle sums hold all the group's pods, again tier by tier. Among equals the choice is chance there; here the name
decides, or its reverse, so that a second run shows whether chance matters.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hyperflow.place.domains import DomainTree
from hyperflow.place.gang import Gang, Group, Pod, groups_of, minimum_resources
from hyperflow.place.records import JobRecord, TopologyLimit
from hyperflow.place.room import Counts, Numbers, Room

Bound = list[tuple[Pod, int]]  # pods and the index of their node


def resolve_tier(tree: DomainTree, limit: TopologyLimit | None) -> int | None:
    """Give the highest allowed tier as a number; None where nothing is limited (no tier, or a name nobody has)."""
    if limit is None:
        return None
    if limit.mode == "soft":
        return tree.highest_tier
    if limit.tier is not None:
        return limit.tier
    return tree.tier_names.get(limit.tier_name or "")


@dataclass(slots=True, kw_only=True)
class Demand:
    """One distinct pod shape of a job: how many such pods each node and each domain still takes."""

    row: Numbers
    usable: NDArray[np.bool_]
    slots: Counts
    by_domain: Counts


class Search:
    """Places one job in a room. `quota` is what its queue may still be given, a row of the room."""

    def __init__(self, room: Room, job: JobRecord, quota: Numbers, *, reverse: bool = False) -> None:
        self.room, self.job, self.reverse = room, job, reverse
        self.quota = quota.copy()
        self.gang = Gang(job)
        self.groups = groups_of(job)
        self.tied = 0
        self._demands: list[Demand] = []
        self._demand_of: list[Demand] = []
        known: dict[object, Demand] = {}
        for task in job.tasks:
            if task.shape not in known:
                row = room.vector(task.shape.demand)
                usable = room.usable(task.shape)
                slots = np.where(usable, room.slots(row), 0)
                by_domain = room.sum_by_domain(slots.astype(np.float64)).astype(np.int64)
                known[task.shape] = Demand(row=row, usable=usable, slots=slots, by_domain=by_domain)
            self._demand_of.append(known[task.shape])
        self._demands = list(known.values())

    def demand_of(self, task: int) -> Demand:
        """Give the demand of a task's pods."""
        return self._demand_of[task]

    def place(self) -> tuple[Bound, dict[int, Bound]]:
        """Place the job as the scheduler would; give all bound pods, and those of each partition. Empty: not ready."""
        tree = self.room.tree
        has_topology = self.job.topology is not None or any(g.limit is not None for g in self.groups)
        if tree.frozen and has_topology:
            return [], {}
        tier = resolve_tier(tree, self.job.topology)
        partitioned = any(g.partition is not None for g in self.groups)
        if not self.groups and not self.gang.ready():
            return [], {}
        if tier is None and not partitioned:
            bound = self._fill(tree.top, self.groups[0], until_ready=True) if self.groups else []
            placed = ({0: bound} if bound else {}) if self.gang.ready() else None
            home = tree.top
        else:
            home, placed = self._place_job(tier)
        if placed is None:
            return [], {}
        self._extend(home, tier, placed)
        everything = [item for bound in placed.values() for item in bound]
        for task, free in enumerate(self.gang.best_effort):
            pods = tuple((task, index) for index in range(self.job.tasks[task].replicas))
            if free and pods:
                everything += self._fill(tree.top, Group(pods=pods, limit=None, whole=False), until_ready=False)
        parts = {at: bound for at, bound in placed.items() if self.groups[at].partition is not None}
        return everything, parts

    def _place_job(self, tier: int | None) -> tuple[int, dict[int, Bound] | None]:
        """Try the job's domains tier by tier; give the chosen one with what was placed in it, or None."""
        tree = self.room.tree
        if self.gang.ready():
            return tree.top, {}
        covered = self.room.holds(self.room.vector(minimum_resources(self.job)))
        for candidates in self._tiers(tree.top, tier):
            eligible = candidates[covered[candidates] | (tier is None)]
            eligible = self._promising(eligible)
            if not len(eligible):
                continue
            best = self._best_of(eligible)
            if best is not None:
                return best
        return tree.top, None

    def _best_of(self, domains: Counts) -> tuple[int, dict[int, Bound]] | None:
        """Place the job in the most promising of the domains that make it ready."""
        scores = self._estimate(domains)
        for domain in self._rank(domains, scores):
            placed = self._try(domain)
            if placed is not None:
                self._count_ties(domains, scores, domain)
                return domain, placed
        return None

    def _estimate(self, domains: Counts) -> Numbers:
        """Score job domains as the scheduler does: by the domains that their groups would go to.

        With partitions that is the fullest domain inside that takes the first one, and then the job domain's own
        fullness: an estimate of the sum over all partitions, which the scheduler finds by placing all of them.
        """
        first = self.groups[0]
        wanted = self._sum(first.pods)
        tier = resolve_tier(self.room.tree, first.limit)
        if first.partition is None or tier is None:
            return self.room.fullness(wanted, domains)
        everywhere = np.arange(len(self.room.tree.domains), dtype=np.int64)
        inner = self.room.fullness(wanted, everywhere)
        inner[(self.room.tiers > tier) | (self._demand_of[first.pods[0][0]].by_domain < len(first.pods))] = -1.0
        under = [self.room.allowed(int(domain), tier) for domain in domains]
        best = np.array([max((float(inner[level].max()) for level in levels), default=-1.0) for levels in under])
        return best + 1e-6 * self.room.fullness(wanted, domains)

    def _tiers(self, root: int, tier: int | None) -> Iterator[Counts]:
        """Give the domains below a root that the tier allows, tier by tier upwards; without a tier the root alone."""
        if tier is None:
            yield np.array([root], dtype=np.int64)
            return
        yield from self.room.allowed(root, tier)

    def _promising(self, domains: Counts) -> Counts:
        """Leave out domains that cannot hold the job's pods whatever the order, by counts of each shape."""
        tree = self.room.tree
        keep = np.ones(len(domains), dtype=np.bool_)
        for task, record in enumerate(self.job.tasks):
            if record.partition is None or not record.shape.demand or tree.overlapping:
                continue
            rule = record.partition
            tier = resolve_tier(tree, rule.topology)
            slots = self._demand_of[task].by_domain
            capacity = self.room.partitions(slots, rule.size, tier)
            least = max(rule.minimum, -(-self.least(task) // rule.size))
            keep &= capacity[domains] >= least
        if len(self.groups) == 1 and len(self._demands) == 1:
            keep &= self._demands[0].by_domain[domains] >= min(self.job.minimum, len(self.groups[0].pods))
        return domains[keep]

    def least(self, task: int) -> int:
        """How many pods of the task must run for the job to be ready."""
        others = sum(t.replicas for at, t in enumerate(self.job.tasks) if at != task)
        own = self.job.tasks[task]
        by_sum = max(0, self.job.minimum - others)
        return max(by_sum, own.minimum if self.job.minimum >= sum(t.minimum for t in self.job.tasks) else 0)

    def _rank(self, domains: Counts, scores: Numbers) -> list[int]:
        """Order domains by score, then by name (or the reverse)."""
        rank = self.room.name_rank[domains]
        order = np.lexsort((-rank if self.reverse else rank, -scores))
        return [int(d) for d in domains[order]]

    def _try(self, domain: int) -> dict[int, Bound] | None:
        """Place groups inside the domain until the job is ready; None, and nothing placed, when it is not."""
        placed: dict[int, Bound] = {}
        for at, group in enumerate(self.groups):
            bound = self._place_group(group, domain)
            if bound:
                placed[at] = bound
            if self.gang.ready():
                return placed
        for at, bound in placed.items():
            self._undo(self.groups[at], bound)
        return None

    def _place_group(self, group: Group, root: int) -> Bound:
        """Place one group in the lowest tier's fullest domain under the root that takes it; empty when none does."""
        wanted = self._sum(group.pods)
        tier = resolve_tier(self.room.tree, group.limit)
        covered = self.room.holds(wanted) if tier is not None else None
        for candidates in self._tiers(root, tier):
            eligible = candidates if covered is None else candidates[covered[candidates]]
            eligible = eligible[self._counts_suffice(group, eligible)]
            if not len(eligible):
                continue
            scores = self.room.fullness(wanted, eligible)
            ranked = self._rank(eligible, scores)
            for domain in ranked:
                bound = self._fill(domain, group, until_ready=True)
                if bound:
                    self._count_ties(eligible, scores, domain)
                    return bound
        return []

    def _count_ties(self, domains: Counts, scores: Numbers, chosen: int) -> None:
        """Note how many others were as good as the chosen domain."""
        score = float(scores[domains == chosen][0])
        self.tied += int(np.sum(np.abs(scores - score) <= 1e-9)) - 1

    def _counts_suffice(self, group: Group, domains: Counts) -> NDArray[np.bool_]:
        keep = np.ones(len(domains), dtype=np.bool_)
        if group.whole:
            demand = self._demand_of[group.pods[0][0]]
            keep &= demand.by_domain[domains] >= len(group.pods)
        return keep

    def _sum(self, pods: Sequence[Pod]) -> Numbers:
        counts: dict[int, int] = {}
        for task, _ in pods:
            counts[task] = counts.get(task, 0) + 1
        total: Numbers = np.zeros(len(self.room.resources))
        for task, count in counts.items():
            total += self._demand_of[task].row * count
        return total

    def _extend(self, home: int, tier: int | None, placed: dict[int, Bound]) -> None:
        """Place what is left of a job that is ready, inside the highest allowed domain around its home."""
        tree = self.room.tree
        root = home
        for ancestor in tree.ancestors(home):
            if tier is None or tree.domains[ancestor].tier <= tier:
                root = ancestor
            else:
                break
        for at, group in enumerate(self.groups):
            done = {pod for pod, _ in placed.get(at, [])}
            left = Group(
                pods=tuple(pod for pod in group.pods if pod not in done),
                limit=group.limit,
                whole=group.whole,
                partition=group.partition,
            )
            if not left.pods or (group.whole and done):
                continue
            if group.whole:
                bound = self._place_group(left, root)
            else:
                bound = self._fill(root, left, until_ready=False)
            if bound:
                placed.setdefault(at, []).extend(bound)

    def _fill(self, domain: int, group: Group, *, until_ready: bool) -> Bound:
        """Put the group's pods on nodes of the domain, fullest first.

        A whole group is placed entirely or not at all. Otherwise pods are placed until the job is ready (nothing is
        kept when it does not become so and has no partitions), or as many as fit.
        """
        whole_job = not group.whole and all(g.partition is None for g in self.groups)
        kinds = {id(self._demand_of[task]) for task, _ in group.pods}
        if len(kinds) == 1:
            pods = group.pods[: self._until_ready(group)] if until_ready and whole_job else group.pods
            bound = self._fill_alike(domain, group, pods)
        else:
            bound = self._fill_mixed(domain, group, until_ready and whole_job)
        complete = len(bound) == len(group.pods)
        if (group.whole and not complete) or (until_ready and whole_job and not self.gang.ready()):
            self._undo(group, bound)
            return []
        return bound

    def _until_ready(self, group: Group) -> int:
        """Give how many of the group's pods, in order, make the job ready."""
        count = 0
        while count < len(group.pods) and not self.gang.ready():
            self.gang.note_pod(group.pods[count])
            count += 1
        for pod in group.pods[:count]:
            self.gang.note_pod(pod, -1)
        return count

    def _fill_alike(self, domain: int, group: Group, pods: Sequence[Pod]) -> Bound:
        """All pods have one shape: nodes are filled one after the other."""
        demand = self._demand_of[pods[0][0]] if pods else None
        if demand is None:
            return []
        allowed = self._quota_pods(demand.row)
        must = len(pods) if group.whole or len(pods) < len(group.pods) else 0
        if min(allowed, int(demand.by_domain[domain])) < must:
            return []
        nodes = self.room.nodes_of[domain]
        nodes = self._node_order(demand, nodes[demand.slots[nodes] > 0])
        slots = demand.slots[nodes]
        wanted = min(allowed, len(pods))
        counts = np.clip(wanted - (np.cumsum(slots) - slots), 0, slots)
        used = counts > 0
        nodes, counts = nodes[used], counts[used]
        self._take(demand.row, nodes, counts)
        bound = list(zip(pods, np.repeat(nodes, counts).tolist(), strict=False))
        self.gang.note(group, pods[: len(bound)])
        return bound

    def _fill_mixed(self, domain: int, group: Group, stop_when_ready: bool) -> Bound:
        """Pods of several shapes: one at a time in task order, each on the fullest node that takes it."""
        nodes = self.room.nodes_of[domain]
        bound: Bound = []
        failed: set[int] = set()
        for pod in group.pods:
            if stop_when_ready and self.gang.ready():
                break
            demand = self._demand_of[pod[0]]
            if pod[0] in failed or self._quota_pods(demand.row) < 1:
                continue
            fitting = nodes[demand.slots[nodes] > 0]
            if not len(fitting):
                failed.add(pod[0])
                if self.job.minimum >= self.job.num_pods:
                    break
                continue
            node = self._node_order(demand, fitting)[:1]
            bound.append((pod, int(node[0])))
            self._take(demand.row, node, np.ones(1, dtype=np.int64))
            self.gang.note_pod(pod)
        return bound

    def _node_order(self, demand: Demand, nodes: Counts) -> Counts:
        """Order nodes: those in no HyperNode, then fullest lowest domain, then fullest node, then name."""
        leaves = self.room.leaf_of[nodes]
        outside = leaves == self.room.tree.top
        leaf_score = self.room.fullness(demand.row, leaves)
        node_score = self.room.node_fullness(demand.row, nodes)
        ties = -nodes if self.reverse else nodes
        order = np.lexsort((ties, -node_score, -leaves if self.reverse else leaves, -leaf_score, ~outside))
        return nodes[order]

    def _quota_pods(self, row: Numbers) -> int:
        wanted = np.flatnonzero(row[:-1] > 0)
        if not len(wanted):
            return self.job.num_pods
        most = np.floor(self.quota[wanted] / row[wanted] + 1e-9).min()
        return int(max(0, min(most, self.job.num_pods)))

    def _take(self, row: Numbers, nodes: Counts, counts: Counts) -> None:
        """Use room on nodes, and recount the slots of these and of their domains."""
        self.room.take(nodes, row, counts)
        self.quota -= row * counts.sum()
        for demand in self._demands:
            now = np.where(demand.usable[nodes], self.room.slots(demand.row, nodes), 0)
            change = now - demand.slots[nodes]
            demand.slots[nodes] = now
            demand.by_domain += self.room.spread(nodes, change).astype(np.int64)

    def _undo(self, group: Group, bound: Bound) -> None:
        by_task: dict[int, list[int]] = {}
        for (task, _), node in bound:
            by_task.setdefault(task, []).append(node)
        for task, held in by_task.items():
            nodes, counts = np.unique(np.array(held, dtype=np.int64), return_counts=True)
            self._take(self._demand_of[task].row, nodes, -counts)
        self.gang.note(group, [pod for pod, _ in bound], -1)
