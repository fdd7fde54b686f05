"""The laws of a HyperNode tree, and the tiers that follow from it.

Volcano checks them at run time only; control-plane runs showed what each breach does.
"""

import itertools
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from hyperflow.errors import Finding, Severity
from hyperflow.inventory.label_tree import count_of, name_some
from hyperflow.spec.fleet import HyperNode, Tier


def nodes_below(hypernodes: Sequence[HyperNode]) -> dict[str, frozenset[str]]:
    """Give the nodes in or below each HyperNode; what lies in a ring counts its own nodes only."""
    by_name = {hypernode.name: hypernode for hypernode in hypernodes}
    below: dict[str, frozenset[str]] = {}
    for name in _children_first(by_name):
        members = by_name[name].members
        own = frozenset(member.name for member in members if member.type == "Node")
        below[name] = own.union(*(below.get(m.name, frozenset()) for m in members if m.type == "HyperNode"))
    return below


def _children_of(by_name: Mapping[str, HyperNode]) -> dict[str, set[str]]:
    return {
        name: {m.name for m in hypernode.members if m.type == "HyperNode" and m.name in by_name}
        for name, hypernode in by_name.items()
    }


def _children_first(by_name: Mapping[str, HyperNode]) -> list[str]:
    """Give the names in an order that puts children before parents, those in a ring last."""
    parents: dict[str, list[str]] = {}
    waiting: dict[str, int] = {}
    for name, children in _children_of(by_name).items():
        waiting[name] = len(children)
        for child in children:
            parents.setdefault(child, []).append(name)
    order = [name for name, count in waiting.items() if count == 0]
    for name in order:
        for parent in parents.get(name, []):
            waiting[parent] -= 1
            if waiting[parent] == 0:
                order.append(parent)
    return [*order, *(name for name, count in waiting.items() if count > 0)]


def tiers_of(hypernodes: Sequence[HyperNode], counted: Collection[str] | None, known: bool = True) -> tuple[Tier, ...]:
    """Give the tiers, leaf first; sizes count the nodes in `counted` (None: all that are named)."""
    below = nodes_below(hypernodes)
    sizes: dict[int, list[int]] = {}
    names: dict[int, Counter[str]] = {}
    for hypernode in hypernodes:
        nodes = below[hypernode.name]
        sizes.setdefault(hypernode.tier, []).append(len(nodes if counted is None else nodes & set(counted)))
        names.setdefault(hypernode.tier, Counter())[hypernode.tier_name] += 1
    return tuple(
        Tier(
            tier=tier,
            name=min(names[tier], key=lambda name: (-names[tier][name], name)),
            domain_nodes=tuple(sorted(sizes[tier], reverse=True)),
            known=known,
        )
        for tier in sorted(sizes)
    )


def check_tree(cluster: str, hypernodes: Sequence[HyperNode], nodes: Collection[str] | None) -> list[Finding]:
    """Check the laws of the tree; `nodes` are the cluster's nodes where a node list was given."""
    by_name = {hypernode.name: hypernode for hypernode in hypernodes}
    findings = _check_names(cluster, hypernodes)
    findings += _check_parents(cluster, by_name)
    findings += _check_cycles(cluster, by_name)
    findings += _check_tiers(cluster, by_name)
    findings += _check_leaves(cluster, hypernodes)
    if nodes is not None:
        findings += _check_nodes(cluster, hypernodes, set(nodes))
    return findings


def _finding(code: str, severity: Severity, cluster: str, message: str, got: str | None, hint: str) -> Finding:
    return Finding(code=code, severity=severity, message=message, where=f"cluster {cluster}", got=got, hint=hint)


def _check_names(cluster: str, hypernodes: Sequence[HyperNode]) -> list[Finding]:
    repeated = [name for name, times in Counter(h.name for h in hypernodes).items() if times > 1]
    return [
        _finding("HF304", "error", cluster, f"two HyperNodes are named {name!r}", None, "rename one of them")
        for name in repeated
    ]


def _parents(by_name: Mapping[str, HyperNode]) -> dict[str, list[str]]:
    parents: dict[str, list[str]] = {}
    for hypernode in by_name.values():
        for child in dict.fromkeys(member.name for member in hypernode.members if member.type == "HyperNode"):
            parents.setdefault(child, []).append(hypernode.name)
    return parents


def _check_parents(cluster: str, by_name: Mapping[str, HyperNode]) -> list[Finding]:
    findings: list[Finding] = []
    dangling: list[str] = []
    for child, parents in sorted(_parents(by_name).items()):
        if len(parents) > 1:
            findings.append(
                _finding(
                    "HF320",
                    "error",
                    cluster,
                    f"HyperNode {child} has {len(parents)} parents: every hard job of this cluster waits for ever",
                    ", ".join(sorted(parents)),
                    f"remove {child} from all but one of them",
                )
            )
        if child not in by_name:
            dangling.append(child)
    if dangling:
        findings.append(
            _finding(
                "HF322",
                "warning",
                cluster,
                f"{count_of(len(dangling), 'child HyperNode')} missing: the nodes below are in no domain",
                ", ".join(dangling[:20]),
                "create them, or remove them from their parents",
            )
        )
    return findings


def _check_cycles(cluster: str, by_name: Mapping[str, HyperNode]) -> list[Finding]:
    children_of = _children_of(by_name)
    free = set[str]()
    for name in _children_first(by_name):
        if children_of[name] <= free:
            free.add(name)
    left = {name: children - free for name, children in children_of.items() if name not in free}
    parents = {child for children in left.values() for child in children}
    ring = sorted(name for name in left if name in parents)
    if not ring:
        return []
    return [
        _finding(
            "HF321",
            "error",
            cluster,
            "HyperNodes contain one another in a ring: every hard job of this cluster waits for ever",
            ", ".join(ring[:20]),
            "a HyperNode must not be its own member, however far down",
        )
    ]


def _check_tiers(cluster: str, by_name: Mapping[str, HyperNode]) -> list[Finding]:
    findings: list[Finding] = []
    for hypernode in by_name.values():
        wrong = [
            f"{member.name} (tier {by_name[member.name].tier})"
            for member in hypernode.members
            if member.type == "HyperNode" and member.name in by_name and by_name[member.name].tier >= hypernode.tier
        ]
        if wrong and not (len(wrong) == 1 and wrong[0].startswith(hypernode.name + " ")):
            findings.append(
                _finding(
                    "HF323",
                    "warning",
                    cluster,
                    f"HyperNode {hypernode.name} of tier {hypernode.tier} holds HyperNodes of no lower tier:"
                    f" hard tier {hypernode.tier} means all of {hypernode.name}",
                    ", ".join(wrong[:10]),
                    "give a parent a higher tier than its children",
                )
            )
    return findings + _check_tier_gaps(cluster, by_name) + _check_tier_names(cluster, by_name)


def _check_tier_gaps(cluster: str, by_name: Mapping[str, HyperNode]) -> list[Finding]:
    tiers = sorted({hypernode.tier for hypernode in by_name.values()})
    gaps = [f"{low} to {high}" for low, high in itertools.pairwise(tiers) if high > low + 1]
    if not gaps:
        return []
    message = "tier numbers have gaps; a hard tier inside a gap means the tier below it"
    return [_finding("HF324", "note", cluster, message, ", ".join(gaps[:10]), "number tiers without gaps")]


def _check_tier_names(cluster: str, by_name: Mapping[str, HyperNode]) -> list[Finding]:
    tiers_by_name: dict[str, set[int]] = {}
    for hypernode in by_name.values():
        if hypernode.tier_name:
            tiers_by_name.setdefault(hypernode.tier_name, set()).add(hypernode.tier)
    return [
        _finding(
            "HF330",
            "warning",
            cluster,
            f"tier name {name!r} stands for {len(tiers)} tiers; Volcano keeps the last one it reads",
            ", ".join(map(str, sorted(tiers))),
            "one name, one tier in the whole cluster",
        )
        for name, tiers in sorted(tiers_by_name.items())
        if len(tiers) > 1
    ]


def _check_leaves(cluster: str, hypernodes: Sequence[HyperNode]) -> list[Finding]:
    leaves: dict[str, list[str]] = {}
    for hypernode in hypernodes:
        for node in dict.fromkeys(member.name for member in hypernode.members if member.type == "Node"):
            leaves.setdefault(node, []).append(hypernode.name)
    twice = {node: names for node, names in leaves.items() if len(names) > 1}
    if not twice:
        return []
    first = min(twice)
    return [
        _finding(
            "HF326",
            "error",
            cluster,
            f"{count_of(len(twice), 'node')} in two HyperNodes, so the devices would count twice"
            f" ({first}: {' and '.join(sorted(twice[first])[:3])})",
            name_some(list(twice)),
            "make each node a member of one HyperNode",
        )
    ]


def _check_nodes(cluster: str, hypernodes: Sequence[HyperNode], nodes: set[str]) -> list[Finding]:
    findings: list[Finding] = []
    named = {member.name for hypernode in hypernodes for member in hypernode.members if member.type == "Node"}
    if absent := named - nodes:
        findings.append(
            _finding(
                "HF325" if not named & nodes else "HF348",
                "error" if not named & nodes else "warning",
                cluster,
                "no member of the HyperNodes is a node of this cluster"
                if not named & nodes
                else f"{count_of(len(absent), 'HyperNode member')} not among the nodes of this cluster",
                name_some(list(absent)),
                "compare the names with `kubectl get nodes`",
            )
        )
    outside = nodes - named
    if hypernodes and outside and named & nodes:
        findings.append(
            _finding(
                "HF328",
                "warning",
                cluster,
                f"{count_of(len(outside), 'node')} in no topology domain: jobs with a hard tier cannot use them",
                name_some(list(outside)),
                "label them or add them to a HyperNode",
            )
        )
    return findings
