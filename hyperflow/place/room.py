"""What is free: idle resources per node and per domain, kept up to date while pods are placed and taken back."""

from collections.abc import Iterable, Mapping, Sequence
from copy import copy

import numpy as np
from numpy.typing import NDArray

from hyperflow.place.domains import DomainTree
from hyperflow.place.predicates import why_not
from hyperflow.place.records import NodeRecord, PodShape

Numbers = NDArray[np.float64]
Counts = NDArray[np.int64]
UNLIMITED = 1_000_000
PODS = "pods"
PACKED = ("cpu", "memory")  # the resources by which the scheduler packs HyperNodes unless configured otherwise
_ROUNDING = 1e-9


class Room:
    """Idle resources of one cluster; `resources` fixes the columns, `pods` last."""

    def __init__(self, nodes: Sequence[NodeRecord], tree: DomainTree, resources: Iterable[str]) -> None:
        self.nodes = nodes
        self.tree = tree
        self.resources = (*sorted(set(resources) - {PODS}), PODS)
        self.column = {name: at for at, name in enumerate(self.resources)}
        self.allocatable: Numbers = np.zeros((len(nodes), len(self.resources)))
        for at, node in enumerate(nodes):
            for name, amount in node.allocatable.items():
                if name in self.column:
                    self.allocatable[at, self.column[name]] = amount
            if PODS not in node.allocatable:
                self.allocatable[at, -1] = UNLIMITED
        self.idle: Numbers = self.allocatable.copy()
        self._flat = np.array([n for d in tree.domains for n in d.nodes], dtype=np.int64)
        sizes = np.array([len(d.nodes) for d in tree.domains], dtype=np.int64)
        self._filled = sizes > 0
        self._starts = (np.cumsum(sizes) - sizes)[self._filled]
        self._num_domains = len(tree.domains)
        depth = max((len(own) for own in tree.owners), default=1)
        padded = [(*own, *[self._num_domains] * (depth - len(own))) for own in tree.owners]
        self._owners = np.array(padded, dtype=np.int64).reshape(len(nodes), depth)
        self.domain_allocatable: Numbers = self.sum_by_domain(self.allocatable)
        self.domain_idle: Numbers = self.domain_allocatable.copy()
        self.nodes_of = [np.array(d.nodes, dtype=np.int64) for d in tree.domains]
        self.tiers = np.array([d.tier for d in tree.domains], dtype=np.int64)
        self.leaf_of = np.array([own[0] for own in tree.owners], dtype=np.int64)
        self.name_rank = np.argsort(np.argsort([d.name or "~" for d in tree.domains]))
        self._allowed: dict[tuple[int, int], list[Counts]] = {}
        self._masks: dict[PodShape, NDArray[np.bool_]] = {}

    def emptied(self) -> "Room":
        """Give the same cluster with nothing running."""
        room = copy(self)
        room.idle = self.allocatable.copy()
        room.domain_idle = self.domain_allocatable.copy()
        return room

    def copied(self) -> "Room":
        """Give a copy whose use does not touch this one."""
        room = self.emptied()
        room.idle = self.idle.copy()
        room.domain_idle = self.domain_idle.copy()
        return room

    def sum_by_domain(self, values: Numbers) -> Numbers:
        """Sum a value per node (rows) over the nodes of every domain."""
        shape = (len(self._filled), *values.shape[1:])
        sums: Numbers = np.zeros(shape)
        if len(self._flat):
            sums[self._filled] = np.add.reduceat(values[self._flat], self._starts, axis=0)
        return sums

    def vector(self, amounts: Mapping[str, float], num_pods: int = 1) -> Numbers:
        """Turn named amounts into a row; only resources of the room's columns count."""
        row: Numbers = np.zeros(len(self.resources))
        for name, amount in amounts.items():
            if name in self.column:
                row[self.column[name]] = amount
        row[-1] = num_pods
        return row

    def take(self, nodes: Counts, demand: Numbers, counts: Counts) -> None:
        """Use (or with negative counts give back) room for pods on nodes; a node stands at most once."""
        self.idle[nodes] -= counts[:, None] * demand
        self.domain_idle -= self.spread(nodes, counts)[:, None] * demand

    def spread(self, nodes: Counts, values: Counts) -> Numbers:
        """Sum values of some nodes over every domain that holds them."""
        weights = np.repeat(values, self._owners.shape[1])
        sums = np.bincount(self._owners[nodes].ravel(), weights, self._num_domains + 1)
        return sums[: self._num_domains].astype(np.float64)

    def usable(self, shape: PodShape) -> NDArray[np.bool_]:
        """Say for every node whether the shape's rules allow it, resources apart."""
        key = PodShape(
            requests=(),
            node_selector=shape.node_selector,
            affinity=shape.affinity,
            tolerations=shape.tolerations,
        )
        if key not in self._masks:
            self._masks[key] = np.array([not why_not(node, key) for node in self.nodes], dtype=np.bool_)
        return self._masks[key]

    def slots(self, demand: Numbers, nodes: Counts | None = None) -> Counts:
        """Give how many pods of the demand each node still takes, its rules apart."""
        idle = self.idle if nodes is None else self.idle[nodes]
        wanted = np.flatnonzero(demand > 0)
        slack = _ROUNDING * (self.allocatable if nodes is None else self.allocatable[nodes])[:, wanted]
        fits = np.floor((idle[:, wanted] + slack) / demand[wanted]).min(axis=1, initial=UNLIMITED)
        return np.maximum(fits, 0).astype(np.int64)

    def holds(self, demand: Numbers) -> NDArray[np.bool_]:
        """Say for every domain whether the sum of what is idle covers the demand (pods are not summed)."""
        wanted = np.flatnonzero(demand[:-1] > 0)
        slack = _ROUNDING * self.domain_allocatable[:, wanted]
        covered: NDArray[np.bool_] = np.all(self.domain_idle[:, wanted] + slack >= demand[wanted], axis=1)
        return covered

    def allowed(self, root: int, tier: int) -> list[Counts]:
        """Give the domains below the root (itself included) of at most the tier, one array per tier, upwards."""
        if (root, tier) not in self._allowed:
            under = np.array(self.tree.under(root), dtype=np.int64)
            under = under[self.tiers[under] <= tier]
            found = [under[self.tiers[under] == level] for level in sorted(set(self.tiers[under].tolist()))]
            self._allowed[root, tier] = found
        return self._allowed[root, tier]

    def partitions(self, by_domain: Counts, size: int, tier: int | None) -> Counts:
        """Give how many groups of `size` pods each domain takes, each group inside one domain of the tier."""
        if tier is None:
            return by_domain // size
        capacity: Counts = np.zeros(len(by_domain), dtype=np.int64)
        whole = by_domain // size
        for at, domain in enumerate(self.tree.domains):
            capacity[at] = whole[at] if domain.tier <= tier else sum(capacity[c] for c in domain.children)
        return capacity

    def fullness(self, demand: Numbers, domains: Counts) -> Numbers:
        """Score domains as the scheduler packs them: the mean share of cpu and memory in use with the demand added."""
        wanted = self._packed(demand)
        if not len(wanted):
            return np.zeros(len(domains))
        total = self.domain_allocatable[domains[:, None], wanted]
        used = total - self.domain_idle[domains[:, None], wanted] + demand[wanted]
        share = np.divide(used, total, out=np.zeros_like(used), where=total > 0)
        over = np.any(used > total * (1 + _ROUNDING), axis=1)
        scores: Numbers = np.where(over, 0.0, share.mean(axis=1))
        return np.round(scores, 12)

    def node_fullness(self, demand: Numbers, nodes: Counts) -> Numbers:
        """Score nodes by the mean share of cpu and memory in use."""
        wanted = self._packed(demand)
        if not len(wanted):
            return np.zeros(len(nodes))
        total = self.allocatable[nodes[:, None], wanted]
        used = total - self.idle[nodes[:, None], wanted]
        share = np.divide(used, total, out=np.zeros_like(used), where=total > 0)
        scores: Numbers = share.mean(axis=1)
        return np.round(scores, 12)

    def _packed(self, demand: Numbers) -> Counts:
        columns = [self.column[name] for name in PACKED if name in self.column]
        return np.array([at for at in columns if demand[at] > 0], dtype=np.int64)
