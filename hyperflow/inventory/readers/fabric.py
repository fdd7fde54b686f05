"""What all fabric files come down to: named domains of named nodes, leaf first."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hyperflow.errors import Finding
from hyperflow.spec.fleet import HyperNode, HyperNodeMember

_NODE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,252}")


def is_node_name(text: str) -> bool:
    """Say whether a host name of a fabric file can be the name of a node."""
    return _NODE_NAME.fullmatch(text) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fabric:
    """The topology that one file tells. `nodes` are all hosts it names, those outside every domain included.

    `accelerator_domains` maps a node to its scale-up (NVLink) domain; `devices` to the number of its devices.
    """

    source: str
    hypernodes: tuple[HyperNode, ...]
    nodes: tuple[str, ...]
    accelerator_domains: Mapping[str, str]
    devices: Mapping[str, int]
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch:
    """One switch of a declared tree: what it joins directly."""

    name: str
    switches: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()


def tree_from_switches(switches: Mapping[str, Switch], tier_names: Sequence[str]) -> tuple[HyperNode, ...]:
    """Number switches from the leaf: a switch lies one tier above the highest switch below it.

    Switches with no node below them are left out. Rings are kept as they are, for the laws of the tree to report.
    """
    heights = _heights(switches)
    kept = {name for name in switches if _has_nodes(name, switches)}
    hypernodes: list[HyperNode] = []
    for name in kept:
        switch = switches[name]
        members = [HyperNodeMember(type="Node", name=node) for node in dict.fromkeys(switch.nodes)]
        members += [
            HyperNodeMember(type="HyperNode", name=child)
            for child in dict.fromkeys(switch.switches)
            if child in kept or child not in switches
        ]
        tier = heights[name]
        tier_name = tier_names[tier - 1] if tier <= len(tier_names) else f"tier-{tier}"
        hypernodes.append(HyperNode(name=name, tier=tier, tier_name=tier_name, members=tuple(members)))
    return tuple(sorted(hypernodes, key=lambda hypernode: (hypernode.tier, hypernode.name)))


def _heights(switches: Mapping[str, Switch]) -> dict[str, int]:
    """Give each switch its height; one pass per tier, and a ring ends it."""
    heights = {name: 1 for name, switch in switches.items() if not any(c in switches for c in switch.switches)}
    left = {name for name in switches if name not in heights}
    while left:
        ready = {name for name in left if all(c in heights or c not in switches for c in switches[name].switches)}
        for name in ready or left:
            below = [heights[child] for child in switches[name].switches if child in heights]
            heights[name] = 1 + max(below, default=0)
        left -= ready or left
    return heights


def _has_nodes(name: str, switches: Mapping[str, Switch]) -> bool:
    stack, seen = [name], set[str]()
    while stack:
        current = stack.pop()
        if current in seen or current not in switches:
            continue
        seen.add(current)
        if switches[current].nodes:
            return True
        stack += switches[current].switches
    return False
