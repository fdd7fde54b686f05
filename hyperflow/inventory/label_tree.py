"""HyperNodes from the positions of nodes: one for each domain, named once, leaf first."""

import hashlib
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from hyperflow.errors import Finding
from hyperflow.inventory.hostlists import compress_hosts
from hyperflow.inventory.label_topology import Position
from hyperflow.spec.fleet import HyperNode, HyperNodeMember

_Identity = tuple[str, tuple[str, ...]]  # space, and the domains from this one up to the top


@dataclass(slots=True)
class _Domain:
    level: int
    value: str
    nodes: list[str] = field(default_factory=list[str])
    children: list[_Identity] = field(default_factory=list[_Identity])


def tree_from_positions(cluster: str, positions: Mapping[str, Position]) -> tuple[tuple[HyperNode, ...], list[Finding]]:
    """Build the HyperNodes of a cluster; tier 1 is the leaf. A domain is known by its own value and all above it."""
    paths = _complete_paths(positions)
    domains: dict[_Identity, _Domain] = {}
    for node in sorted(paths):
        space, values = paths[node]
        below: _Identity | None = None
        for level in range(len(values)):
            identity = (space, values[level:])
            known = identity in domains
            domain = domains.setdefault(identity, _Domain(level=level, value=values[level]))
            if below is None:
                domain.nodes.append(node)
            else:
                domain.children.append(below)
            if known:
                break
            below = identity
    names = _name_domains(cluster, domains, _level_names(positions))
    level_names = _level_names(positions)
    hypernodes = [
        HyperNode(
            name=names[identity],
            tier=domain.level + 1,
            tier_name=level_names[domain.level],
            members=tuple(HyperNodeMember(type="Node", name=node) for node in domain.nodes)
            + tuple(
                HyperNodeMember(type="HyperNode", name=name)
                for name in sorted(names[child] for child in domain.children)
            ),
        )
        for identity, domain in domains.items()
    ]
    hypernodes.sort(key=lambda hypernode: (hypernode.tier, hypernode.name))
    return tuple(hypernodes), [*_repeated_values(cluster, domains), *_mixed_families(cluster, positions)]


def _complete_paths(positions: Mapping[str, Position]) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Fill levels that a node leaves out where its neighbours state them, cut at the first unknown one."""
    parents: dict[tuple[str, int, str], set[str]] = {}
    for position in positions.values():
        for level, (low, high) in enumerate(pairwise(position.domains)):
            if low and high:
                parents.setdefault((position.space, level, low), set()).add(high)
    depths: dict[str, int] = {}
    for position in positions.values():
        depths[position.space] = max(depths.get(position.space, 0), len(position.domains))
    paths: dict[str, tuple[str, tuple[str, ...]]] = {}
    for node, position in positions.items():
        values = [position.domains[0]]
        for level in range(1, depths[position.space]):
            stated = position.domains[level] if level < len(position.domains) else ""
            above = parents.get((position.space, level - 1, values[-1]), set())
            value = stated or (min(above) if len(above) == 1 else "")
            if not value:
                break
            values.append(value)
        paths[node] = (position.space, tuple(values))
    return _without_repeated_tops(paths)


def _without_repeated_tops(paths: dict[str, tuple[str, tuple[str, ...]]]) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Drop top levels of name-made trees that only repeat the one below: one zone of one region says nothing."""
    named = {node: values for node, (space, values) in paths.items() if space == "names"}
    depth = max((len(values) for values in named.values()), default=0)
    while depth > 1 and len({v[depth - 2 :] for v in named.values()}) == len({v[depth - 1 :] for v in named.values()}):
        depth -= 1
    return {node: (space, values[:depth] if space == "names" else values) for node, (space, values) in paths.items()}


def _level_names(positions: Mapping[str, Position]) -> list[str]:
    depth = max((len(position.names) for position in positions.values()), default=0)
    counts = [Counter[str]() for _ in range(depth)]
    for position in positions.values():
        for level, name in enumerate(position.names):
            counts[level][name] += 1
    names: list[str] = []
    for count in counts:
        unused = [name for name in count if name not in names] or [f"tier-{len(names) + 1}"]
        names.append(min(unused, key=lambda name: (-count[name], name)))
    return names


def _name_domains(cluster: str, domains: Mapping[_Identity, _Domain], level_names: list[str]) -> dict[_Identity, str]:
    """Give each domain the shortest name that no other has: value, level and value, or the whole path."""
    names: dict[_Identity, str] = {}
    left: list[_Identity] = list(domains)
    for form in (_by_value, _by_level, _by_path, _by_hash):
        offered = {identity: form(cluster, identity, domains[identity], level_names) for identity in left}
        times = Counter([*offered.values(), *names.values()])
        names |= {identity: name for identity, name in offered.items() if times[name] == 1 and len(name) <= 63}
        left = [identity for identity in left if identity not in names]
    return names


def _by_value(cluster: str, _identity: _Identity, domain: _Domain, _levels: list[str]) -> str:
    return slug(cluster, domain.value)


def _by_level(cluster: str, _identity: _Identity, domain: _Domain, levels: list[str]) -> str:
    return slug(cluster, levels[domain.level], domain.value)


def _by_path(cluster: str, identity: _Identity, _domain: _Domain, _levels: list[str]) -> str:
    return slug(cluster, *reversed(identity[1]))


def _by_hash(cluster: str, identity: _Identity, domain: _Domain, levels: list[str]) -> str:
    digest = hashlib.sha256("\0".join((identity[0], str(domain.level), *identity[1])).encode()).hexdigest()[:10]
    return slug(cluster[:30], levels[domain.level][:20]) + "-" + digest


def slug(*parts: str) -> str:
    """Join parts to a legal object name: lower-case letters, digits and dashes."""
    return "-".join(clean for part in parts if (clean := re.sub(r"[^a-z0-9]+", "-", part.lower()).strip("-")))


def _repeated_values(cluster: str, domains: Mapping[_Identity, _Domain]) -> list[Finding]:
    times = Counter((identity[0], domain.level, domain.value) for identity, domain in domains.items())
    repeated = sorted({value for (space, _, value), count in times.items() if count > 1 and space != "names"})
    if not repeated:
        return []
    return [
        Finding(
            code="HF329",
            severity="note",
            message=f"{count_of(len(repeated), 'domain value')} under several parents; each counts as a domain",
            where=f"cluster {cluster}",
            got=", ".join(repeated[:10]),
            hint="unique values per domain are safer: Volcano's label discovery would merge or refuse these",
        )
    ]


def _mixed_families(cluster: str, positions: Mapping[str, Position]) -> list[Finding]:
    by_family: dict[str, list[str]] = {}
    for node, position in positions.items():
        by_family.setdefault(position.family, []).append(node)
    if len(by_family) < 2:
        return []
    counts = ", ".join(f"{family} on {len(nodes)}" for family, nodes in sorted(by_family.items()))
    few = min(by_family.items(), key=lambda item: (len(item[1]), item[0]))[1]
    return [
        Finding(
            code="HF331",
            severity="warning",
            message=f"nodes state their topology in {len(by_family)} label families: {counts}",
            where=f"cluster {cluster}",
            got=name_some(few),
            hint="domains of different families may be the same switch under two names; relabel the nodes named here",
        )
    ]


def count_of(number: int, noun: str) -> str:
    """Give a number with its noun.

    >>> count_of(1, "node"), count_of(2, "node")
    ('1 node', '2 nodes')
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def name_some(nodes: list[str], limit: int = 400) -> str:
    """Give node names as ranges, all of them where they fit into `limit` characters."""
    texts = compress_hosts(nodes)
    shown: list[str] = []
    for text in texts:
        if shown and sum(map(len, shown)) + len(text) > limit:
            return ", ".join(shown) + f" and others ({len(nodes)} in all)"
        shown.append(text if len(text) <= limit else text[:limit] + "...")
    return ", ".join(shown)
