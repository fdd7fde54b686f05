"""The tree of HyperNodes as the scheduler holds it: domains, their real nodes, and the virtual top above all.

Semantics: volcano pkg/scheduler/api (HyperNodesInfo) and recorded runs. A domain's nodes are those of its subtree
that exist. The virtual top stands one tier above the highest real one (tier 1 without HyperNodes) and holds every
node, also those in no HyperNode. Two parents or a cycle make the scheduler skip every job with a topology.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from hyperflow.spec.fleet import HyperNode


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """One HyperNode with the indices of its nodes, sorted; `name` is None for the virtual top."""

    name: str | None
    tier: int
    tier_name: str
    children: tuple[int, ...]
    nodes: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainTree:
    """All domains, children before parents, the virtual top last.

    `frozen` says why the scheduler skips jobs with a topology, empty when it does not. `owners` gives for each node
    the domains that hold it. `overlapping` is true when domains that do not contain each other share a node.
    """

    domains: tuple[Domain, ...]
    parents: tuple[int | None, ...]
    owners: tuple[tuple[int, ...], ...]
    frozen: str
    overlapping: bool
    missing: tuple[tuple[str, str], ...]
    tier_names: Mapping[str, int]

    @property
    def top(self) -> int:
        """Index of the virtual top."""
        return len(self.domains) - 1

    @property
    def highest_tier(self) -> int:
        """Tier of the virtual top."""
        return self.domains[-1].tier

    def under(self, root: int) -> list[int]:
        """Give the domains of a subtree, its root included."""
        found, queue = {root}, [root]
        while queue:
            more = [child for child in self.domains[queue.pop()].children if child not in found]
            found.update(more)
            queue += more
        return sorted(found)

    def ancestors(self, domain: int) -> list[int]:
        """Give the domain and those above it, bottom up, the virtual top last."""
        chain: list[int] = []
        at: int | None = domain
        while at is not None and at not in chain:
            chain.append(at)
            at = self.parents[at]
        return chain

    def smallest_holding(self, nodes: Iterable[int]) -> int | None:
        """Give the smallest real domain that holds all the nodes, or None."""
        shared: set[int] | None = None
        for node in nodes:
            owners = set(self.owners[node])
            shared = owners if shared is None else shared & owners
        real = [d for d in shared or () if d != self.top]
        if not real:
            return None
        return min(real, key=lambda d: (len(self.domains[d].nodes), self.domains[d].tier, self.domains[d].name or ""))


def build_tree(hypernodes: Sequence[HyperNode], node_names: Sequence[str]) -> DomainTree:
    """Build the tree over the named nodes; members that do not exist are left out and listed in `missing`."""
    index = {name: i for i, name in enumerate(node_names)}
    by_name = {h.name: h for h in sorted(hypernodes, key=lambda h: h.name)}
    children: dict[str, list[str]] = {name: [] for name in by_name}
    direct: dict[str, set[int]] = {name: set() for name in by_name}
    missing: list[tuple[str, str]] = []
    for name, hypernode in by_name.items():
        for member in hypernode.members:
            if member.type == "Node":
                if member.name in index:
                    direct[name].add(index[member.name])
                else:
                    missing.append((name, f"node {member.name}"))
            elif member.name in by_name:
                if member.name not in children[name]:
                    children[name].append(member.name)
            else:
                missing.append((name, f"HyperNode {member.name}"))
    order, cycle = _post_order(children)
    frozen = _two_parents(children)
    if cycle:
        each = f"HyperNodes {' and '.join(cycle)} contain each other"
        frozen = each if len(cycle) > 1 else f"HyperNode {cycle[0]} contains itself"
    domains, place = _domains(order, children, direct, by_name)
    roots = tuple(place[n] for n in order if not any(n in kids for kids in children.values()))
    highest = max((d.tier for d in domains), default=0)
    everything = tuple(range(len(node_names)))
    domains.append(Domain(name=None, tier=highest + 1, tier_name="", children=roots, nodes=everything))
    return _finish(domains, len(node_names), frozen, missing)


def _post_order(children: dict[str, list[str]]) -> tuple[list[str], list[str]]:
    """Give children before parents, and the names of the first cycle met (its closing edge is cut)."""
    order: list[str] = []
    state: dict[str, int] = {}
    cycle: list[str] = []
    for start in children:
        stack = [(start, 0)] if start not in state else []
        while stack:
            name, position = stack.pop()
            state[name] = 1
            kids = children[name]
            while position < len(kids) and state.get(kids[position]) is not None:
                if state[kids[position]] == 1:
                    path = [n for n, _ in stack] + [name]
                    cycle = cycle or sorted(set(path[path.index(kids[position]) :]))
                    del kids[position]
                else:
                    position += 1
            if position < len(kids):
                stack += [(name, position + 1), (kids[position], 0)]
            else:
                state[name] = 2
                order.append(name)
    return order, cycle


def _two_parents(children: dict[str, list[str]]) -> str:
    parents: dict[str, list[str]] = {}
    for name, kids in children.items():
        for kid in kids:
            parents.setdefault(kid, []).append(name)
    return next((f"HyperNode {kid} has two parents, {' and '.join(p)}" for kid, p in parents.items() if len(p) > 1), "")


def _domains(
    order: list[str], children: dict[str, list[str]], direct: dict[str, set[int]], by_name: dict[str, HyperNode]
) -> tuple[list[Domain], dict[str, int]]:
    domains: list[Domain] = []
    place: dict[str, int] = {}
    for name in order:
        nodes = set(direct[name])
        for child in children[name]:
            nodes.update(domains[place[child]].nodes)
        place[name] = len(domains)
        kids = tuple(place[c] for c in children[name])
        h = by_name[name]
        domains.append(Domain(name=name, tier=h.tier, tier_name=h.tier_name, children=kids, nodes=tuple(sorted(nodes))))
    return domains, place


def _finish(domains: list[Domain], num_nodes: int, frozen: str, missing: list[tuple[str, str]]) -> DomainTree:
    parents: list[int | None] = [None] * len(domains)
    for at, domain in enumerate(domains):
        for child in domain.children:
            parents[child] = at
    owners: list[list[int]] = [[] for _ in range(num_nodes)]
    for at, domain in enumerate(domains):
        for node in domain.nodes:
            owners[node].append(at)
    tree = DomainTree(
        domains=tuple(domains),
        parents=tuple(parents),
        owners=tuple(map(tuple, owners)),
        frozen=frozen,
        overlapping=False,
        missing=tuple(missing),
        tier_names={d.tier_name: d.tier for d in domains if d.tier_name},
    )
    chains = {d: set(tree.ancestors(d)) for d in range(len(domains))}
    overlapping = any(not set(own) <= chains[own[0]] for own in set(tree.owners) if own)
    return replace(tree, overlapping=overlapping)
