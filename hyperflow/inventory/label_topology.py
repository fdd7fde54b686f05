"""Topology from node labels and names: which domains a node lies in, from the leaf outwards, whatever the vendor."""

import re
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """Where one node lies: `domains` from the leaf outwards, "" where a level is not stated.

    `family` names the labels that said so, `names` the levels. Positions of one `space` may be compared.
    """

    space: str
    family: str
    names: tuple[str, ...]
    domains: tuple[str, ...]
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Family:
    space: str
    name: str
    levels: tuple[tuple[str, str], ...]  # (label key, level name) from the leaf outwards


def _family(space: str, prefix: str, *levels: str, name: str = "", names: tuple[str, ...] = ()) -> _Family:
    pairs = tuple((prefix + level, names[i] if names else level) for i, level in enumerate(levels))
    return _Family(space=space, name=name or prefix.rstrip("/"), levels=pairs)


_TOPOGRAPH = ("leaf", "spine", "core")
_FAMILIES = (
    _family("topograph", "network.topology.nvidia.com/", "leaf", "spine", "core"),
    _family("topograph", "network.topology.nvidia.com/", "block", "spine", "datacenter", names=_TOPOGRAPH),
    _family("topograph", "network.topology.kubernetes.io/", "leaf", "spine", "core"),
    _family("topograph", "network.topology.kubernetes.io/", "block", "spine", "datacenter", names=_TOPOGRAPH),
    _family("gke", "cloud.google.com/gce-topology-", "subblock", "block", name="cloud.google.com/gce-topology"),
    _family("gke", "topology.gke.io/", "rack", "cluster", names=("subblock", "block")),
    _family(
        "oci",
        "oci.oraclecloud.com/rdma.",
        "local_block_id",
        "network_block_id",
        "hpc_island_id",
        names=("local-block", "network-block", "hpc-island"),
        name="oci.oraclecloud.com/rdma",
    ),
    _family("volcano", "volcano.sh/", "hypernode", "hypercluster"),
    _family("volcano-tor", "volcano.sh/", "tor"),
    _family("coreweave", "backend.coreweave.cloud/", "leafgroup", "superpod", "fabric"),
    _family("coreweave", "ib.coreweave.cloud/", "leafgroup", "superpod", "fabric"),
)
_NUMBERED = (
    # prefix, space, whether number 0 (True) or the highest number (False) is the leaf
    ("fabric.topograph.run/tier-", "topograph", True),
    ("topology.k8s.aws/network-node-layer-", "eks", False),
)
_RANKS = {"rack": 1, "tor": 1, "leaf": 1, "row": 2, "spine": 2, "block": 2, "superpod": 3, "room": 3, "core": 3}
_GENERIC = re.compile(r"(?:^|[./-])(?:(?:network-)?topology-|network-)?(" + "|".join(_RANKS) + r")$")
_RESERVED = re.compile(r"(?:^|\.)(?:kubernetes\.io|k8s\.io)/")
ACCELERATOR_LABELS = (
    "accelerator.topograph.run/sub-domain",
    "accelerator.topograph.run/domain",
    "network.topology.nvidia.com/accelerator",
    "network.topology.kubernetes.io/accelerator",
    "ds.coreweave.com/nvlink.domain",
)
CLIQUE_LABEL = "nvidia.com/gpu.clique"


def position_from_labels(labels: Mapping[str, str]) -> Position | None:
    """Find a node's domains in its labels; None where no known family states the leaf."""
    for prefix, space, leaf_is_zero in _NUMBERED:
        position = _numbered(labels, prefix, space, leaf_is_zero)
        if position:
            return position
    for family in _FAMILIES:
        if labels.get(family.levels[0][0]):
            return _position(family, labels)
    return _generic(labels)


def _position(family: _Family, labels: Mapping[str, str]) -> Position:
    return Position(
        space=family.space,
        family=family.name,
        names=tuple(name for _, name in family.levels),
        domains=tuple(labels.get(key, "") for key, _ in family.levels),
        keys=tuple(key for key, _ in family.levels),
    )


def _numbered(labels: Mapping[str, str], prefix: str, space: str, leaf_is_zero: bool) -> Position | None:
    numbers = sorted(
        int(tail)
        for key in labels
        if key.startswith(prefix) and (tail := key.removeprefix(prefix)).isascii() and tail.isdigit() and len(tail) < 3
    )
    if not numbers or (leaf_is_zero and numbers[0] != 0):
        return None
    if leaf_is_zero:
        keys = [f"{prefix}{number}" for number in range(numbers[-1] + 1)]
        names = [*_TOPOGRAPH, *(f"tier-{number}" for number in range(3, len(keys)))][: len(keys)]
    else:
        keys = [f"{prefix}{number}" for number in reversed(range(1, numbers[-1] + 1))]
        names = [key.partition("/")[2] for key in keys]
    return Position(
        space=space,
        family=prefix.rstrip("-"),
        names=tuple(names),
        domains=tuple(labels.get(key, "") for key in keys),
        keys=tuple(keys),
    )


def _generic(labels: Mapping[str, str]) -> Position | None:
    """Read labels such as topology-rack, cloud.provider.com/topology-block or example.com/row by their last word."""
    found: dict[int, tuple[str, str]] = {}
    for key in sorted(labels):
        match = _GENERIC.search(key)
        if match and labels[key] and not _RESERVED.search(key):
            found.setdefault(_RANKS[match[1]], (key, match[1]))
    if not found:
        return None
    levels = [found[rank] for rank in sorted(found)]
    return Position(
        space="labels",
        family=" ".join(key for key, _ in levels),
        names=tuple(name for _, name in levels),
        domains=tuple(labels[key] for key, _ in levels),
        keys=tuple(key for key, _ in levels),
    )


def accelerator_domain(labels: Mapping[str, str]) -> tuple[str, str]:
    """Give the scale-up (NVLink) domain by topology label and by clique; "" where not stated.

    A clique is written by the driver once the fabric of the node is up, so it is the stronger word.
    """
    label = next((labels[key] for key in ACCELERATOR_LABELS if labels.get(key)), "")
    return label, labels.get(CLIQUE_LABEL, "")


_NAME_LEVEL = re.compile(
    r"(?<![a-z])(region|zone|datacenter|dc|room|hall|pod|block|row|rack)[-_.]?([0-9]+|[a-z](?=[-_.]|$))"
)


def position_from_name(name: str) -> Position | None:
    """Find a node's domains in its name, such as node-region1-zone1-dc1-row2-rack03-node07.

    >>> position_from_name("node-dc1-row2-rack03-node07").domains
    ('rack03', 'row2', 'dc1')
    """
    found = [(match[1], match[0]) for match in _NAME_LEVEL.finditer(name)]
    if not found or len({word for word, _ in found}) < len(found):
        return None
    return Position(
        space="names",
        family="node names",
        names=tuple(word for word, _ in reversed(found)),
        domains=tuple(text for _, text in reversed(found)),
        keys=(),
    )
