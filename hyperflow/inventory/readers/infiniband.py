"""InfiniBand fabrics: UFM port lists and ibnetdiscover output, and the leaf groups that follow from the cabling."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from hyperflow.errors import Finding, InputError
from hyperflow.inventory.label_tree import count_of, name_some
from hyperflow.inventory.mapping_fields import shown
from hyperflow.inventory.readers.fabric import Fabric, is_node_name
from hyperflow.json_tree import is_sequence, mapping, text
from hyperflow.spec.fleet import HyperNode, HyperNodeMember

_TIER_NAMES = ("leaf", "spine", "core")


def is_ufm_ports(value: object) -> bool:
    """Say whether a document is UFM's list of ports."""
    return is_sequence(value) and bool(value) and "peer_node_name" in mapping(value[0])


def read_ufm_ports(value: Sequence[Any], file: str) -> Fabric:
    """Read UFM's ports: hosts under one leaf, or under leaves that share a host, make a group; all groups make tier 2.

    On a rail-optimised fabric each host has a leaf per rail, so the leaves of one group merge. This is what Volcano's
    UFM discovery does.
    """
    leaves_of: dict[str, set[str]] = {}
    for i, item in enumerate(value):
        port = mapping(item)
        host, leaf = text(port.get("system_name")), text(port.get("peer_node_name"))
        if "Computer" in text(port.get("description")):
            if not is_node_name(host):
                message = "the system_name of a computer's port is no node name"
                raise InputError(Finding(code="HF337", message=message, where=f"{file}: [{i}]", got=shown(host)))
            leaves_of.setdefault(host, set()).update({leaf} - {""})
    if not leaves_of:
        raise InputError(_no_tree(file, "no port of a computer"))
    orphans = sorted(host for host, leaves in leaves_of.items() if not leaves)
    groups = _groups({host: leaves for host, leaves in leaves_of.items() if leaves})
    hypernodes = [_leaf(i, hosts) for i, hosts in enumerate(groups)]
    if len(hypernodes) > 1:
        hypernodes.append(_parent(2, 0, hypernodes))
    return Fabric(
        source="UFM ports",
        hypernodes=tuple(hypernodes),
        nodes=tuple(sorted(leaves_of)),
        accelerator_domains={},
        devices={},
        findings=tuple(_orphans(orphans, file)),
    )


def _groups(leaves_of: Mapping[str, set[str]]) -> list[list[str]]:
    """Join hosts that share a neighbour, directly or through others; groups and hosts sorted by name."""
    parent: dict[str, str] = {}

    def root(name: str) -> str:
        while parent.setdefault(name, name) != name:
            parent[name] = parent[parent[name]]
            name = parent[name]
        return name

    for host, leaves in leaves_of.items():
        for leaf in leaves:
            parent[root("leaf " + leaf)] = root("host " + host)
    groups: dict[str, list[str]] = {}
    for host in sorted(leaves_of):
        groups.setdefault(root("host " + host), []).append(host)
    return sorted(groups.values())


def _leaf(index: int, hosts: Sequence[str]) -> HyperNode:
    members = tuple(HyperNodeMember(type="Node", name=host) for host in hosts)
    return HyperNode(name=f"leaf-{index}", tier=1, tier_name="leaf", members=members)


def _parent(tier: int, index: int, children: Sequence[HyperNode]) -> HyperNode:
    name = _TIER_NAMES[tier - 1] if tier <= len(_TIER_NAMES) else f"tier-{tier}"
    members = tuple(HyperNodeMember(type="HyperNode", name=child.name) for child in children)
    return HyperNode(name=f"{name}-{index}", tier=tier, tier_name=name, members=members)


_MARK = re.compile(r"^(?:switchguid|caguid)=0x|^(?:Switch|Ca)\s+\d+\s+\"[SH]-", re.MULTILINE)
_OWNER = re.compile(r'^(Switch|Ca|Rt)\s+(\d+)\s+"([SHR]-[0-9a-fA-F]+)"\s*#\s*"([^"]*)"')
_PORT = re.compile(r'^\[(\d+)\](?:\([0-9a-fA-F]+\))?\s+"([SHR]-[0-9a-fA-F]+)"\[(\d+)\][^#]*#\s*([^"]*)"([^"]*)"')
_DEFAULT_NAMES = ("localhost", "localhost.localdomain", "ubuntu", "debian", "centos", "rocky", "(none)")
_HOST = re.compile(r"^(\S+)\s+(?:mlx\d+_\d+|HCA-\d+|\S*ib\d+\S*|hfi\d+_\d+|bnxt_re\d+)\b")


def is_ibnetdiscover(content: str) -> bool:
    """Say whether a text is the output of ibnetdiscover."""
    return _MARK.search(content) is not None


def read_ibnetdiscover(content: str, file: str) -> Fabric:
    """Read ibnetdiscover output; raises InputError (HF335 no switch, HF337 unreadable line).

    Tier k joins the hosts that reach one another through switches at most k hops from a host. Cards whose description
    names no host, and the aggregation nodes inside switches, are no nodes.
    """
    neighbours, hosts, nameless = _read_cabling(content, file)
    if not neighbours:
        raise InputError(_no_tree(file, "no switch"))
    if not hosts:
        raise InputError(_no_tree(file, "no host that is joined to a switch"))
    levels = _levels(neighbours, hosts)
    hypernodes: list[HyperNode] = []
    below: list[tuple[HyperNode, set[str]]] = []
    for level in range(1, max(levels.values()) + 1):
        groups = _groups_within(neighbours, hosts, {name for name, height in levels.items() if height <= level})
        if level == 1:
            current = [(_leaf(i, group), set(group)) for i, group in enumerate(groups)]
        elif len(groups) == len(below):
            continue
        else:
            tier = below[0][0].tier + 1
            current = [
                (_parent(tier, i, [child for child, inside in below if inside <= set(group)]), set(group))
                for i, group in enumerate(groups)
            ]
        hypernodes += [hypernode for hypernode, _ in current]
        below = current
    return Fabric(
        source="ibnetdiscover",
        hypernodes=tuple(hypernodes),
        nodes=tuple(sorted(hosts)),
        accelerator_domains={},
        devices={},
        findings=tuple(_nameless_cards(nameless, file)),
    )


def _read_cabling(content: str, file: str) -> tuple[dict[str, set[str]], dict[str, set[str]], list[str]]:
    """Give the switches that each switch is joined to, the switches of each host, and the cards without a host name."""
    neighbours: dict[str, set[str]] = {}
    hosts: dict[str, set[str]] = {}
    nameless: list[str] = []
    owner = ""
    for number, line in enumerate(content.splitlines(), start=1):
        if match := _OWNER.match(line):
            owner = match[3]
            if owner.startswith("S-"):
                neighbours.setdefault(owner, set())
        elif line.startswith("["):
            match = _PORT.match(line)
            if match is None or not owner:
                raise InputError(_bad_line(file, number, line))
            _join(owner, match[2], match[5], neighbours, hosts, nameless)
    return neighbours, hosts, nameless


def _join(
    owner: str,
    peer: str,
    description: str,
    neighbours: dict[str, set[str]],
    hosts: dict[str, set[str]],
    nameless: list[str],
) -> None:
    if not owner.startswith("S-"):
        return  # every link stands at its switch too
    if peer.startswith("S-"):
        neighbours.setdefault(owner, set()).add(peer)
        neighbours.setdefault(peer, set()).add(owner)
    elif "Aggregation Node" in description:
        return
    elif (match := _HOST.match(description)) and _names_one_host(match[1]):
        hosts.setdefault(match[1], set()).add(owner)
    else:
        nameless.append(f"{peer} {description!r}")


def _names_one_host(name: str) -> bool:
    """Say whether a name can be one node: installers give many machines one name, and fabric managers are no nodes."""
    folded = name.casefold()
    return is_node_name(name) and folded not in _DEFAULT_NAMES and "ufm" not in folded


def _levels(neighbours: Mapping[str, set[str]], hosts: Mapping[str, set[str]]) -> dict[str, int]:
    """Give each switch its distance from the nearest host; switches that reach no host are left out."""
    frontier = {switch for switches in hosts.values() for switch in switches}
    levels: dict[str, int] = {}
    height = 1
    while frontier:
        levels |= dict.fromkeys(frontier, height)
        frontier = {peer for switch in frontier for peer in neighbours[switch] if peer not in levels}
        height += 1
    return levels


def _groups_within(
    neighbours: Mapping[str, set[str]], hosts: Mapping[str, set[str]], allowed: set[str]
) -> list[list[str]]:
    joined: dict[str, str] = {}
    for start in sorted(allowed):
        stack = [start] if start not in joined else []
        while stack:
            switch = stack.pop()
            if switch not in joined:
                joined[switch] = start
                stack += [peer for peer in neighbours[switch] if peer in allowed]
    return _groups({host: {joined[switch] for switch in switches} for host, switches in hosts.items()})


def _no_tree(file: str, what: str) -> Finding:
    return Finding(
        code="HF335",
        message=f"no topology can be read from it: {what}",
        where=file,
        hint="give the output for the whole fabric, switches included",
    )


def _bad_line(file: str, number: int, line: str) -> Finding:
    return Finding(
        code="HF337",
        message="cannot read this line of ibnetdiscover; is the file cut off?",
        where=f"{file}:{number}",
        got=line.strip()[:80],
        expected='[port] "S-or-H-guid"[port] # "description"',
    )


def _orphans(orphans: list[str], file: str) -> list[Finding]:
    if not orphans:
        return []
    return [
        Finding(
            code="HF328",
            severity="warning",
            message=f"{count_of(len(orphans), 'node')} in no topology domain: no switch at the other end of the ports",
            where=file,
            got=name_some(orphans),
            hint="check their cables",
        )
    ]


def _nameless_cards(nameless: list[str], file: str) -> list[Finding]:
    if not nameless:
        return []
    return [
        Finding(
            code="HF336",
            severity="warning",
            message=f"{count_of(len(set(nameless)), 'network card')} without the name of a node, left out",
            where=file,
            got=", ".join(sorted(set(nameless))[:3]),
            hint="set their node descriptions (rdma-ndd does) and run ibnetdiscover again",
        )
    ]
