"""Slurm topology.conf: trees of switches and lists of blocks."""

import re

from hyperflow.errors import Finding, InputError
from hyperflow.inventory.hostlists import expand_hosts
from hyperflow.inventory.label_tree import count_of
from hyperflow.inventory.readers.fabric import Fabric, Switch, tree_from_switches

_MARK = re.compile(r"^\s*(?:SwitchName|BlockName)\s*=", re.IGNORECASE | re.MULTILINE)
_TIER_NAMES = ("leaf", "spine", "core")


def is_slurm_topology(content: str) -> bool:
    """Say whether a text is a topology.conf."""
    return _MARK.search(content) is not None


def read_slurm_topology(content: str, file: str) -> Fabric:
    """Read a topology.conf; raises InputError (HF337) with every line that cannot be read.

    Blocks are NVLink domains (`topology/block` is made for them) and the leaves; BlockSizes joins blocks of a size.
    """
    switches: dict[str, Switch] = {}
    blocks: dict[str, Switch] = {}
    sizes: list[int] = []
    faults: list[Finding] = []
    for number, line in enumerate(_logical_lines(content), start=1):
        place = f"{file}:{number}"
        try:
            fields = _fields(line)
            if not fields:
                continue
            if "switchname" in fields:
                _add(switches, fields["switchname"], fields.get("switches", ""), fields.get("nodes", ""))
            elif "blockname" in fields:
                _add(blocks, fields["blockname"], "", fields.get("nodes", ""))
            elif "blocksizes" in fields:
                sizes = [int(size) for size in fields["blocksizes"].split(",")]
            else:
                raise ValueError("neither SwitchName, BlockName nor BlockSizes")
        except ValueError as error:
            faults.append(
                Finding(
                    code="HF337",
                    message=f"cannot read this line: {error}",
                    where=place,
                    got=line.strip()[:80],
                    expected="SwitchName=NAME Switches=... or Nodes=..., BlockName=NAME Nodes=..., or BlockSizes=...",
                )
            )
    if faults:
        raise InputError(faults)
    hypernodes = tree_from_switches(switches or blocks, _TIER_NAMES if switches else ("block",))
    nodes = dict.fromkeys(node for switch in (*switches.values(), *blocks.values()) for node in switch.nodes)
    return Fabric(
        source="Slurm topology.conf",
        hypernodes=hypernodes,
        nodes=tuple(nodes),
        accelerator_domains={node: block.name for block in blocks.values() for node in block.nodes},
        devices={},
        findings=tuple(_size_findings(blocks, sizes, file)),
    )


def _logical_lines(content: str) -> list[str]:
    """Strip comments; a line that ends with a backslash goes on in the next one."""
    lines = [line.partition("#")[0] for line in content.splitlines()]
    joined: list[str] = []
    for line in lines:
        if joined and joined[-1].rstrip().endswith("\\"):
            joined[-1] = joined[-1].rstrip()[:-1] + line
            joined.append("")  # keeps line numbers
            joined[-1], joined[-2] = joined[-2], ""
        else:
            joined.append(line)
    return joined


def _fields(line: str) -> dict[str, str]:
    fields: dict[str, str] = {}
    for part in line.split():
        key, equals, value = part.partition("=")
        if not equals or not value:
            raise ValueError(f"{part[:40]!r} is not KEY=VALUE")
        fields[key.lower()] = value
    return fields


def _add(switches: dict[str, Switch], names: str, below: str, nodes: str) -> None:
    expanded = expand_hosts(names)
    if len(expanded) != 1:
        raise ValueError(f"{names[:40]!r} is not one name")
    name = expanded[0]
    if name in switches:
        raise ValueError(f"{name[:40]} is given twice")
    if not below and not nodes:
        raise ValueError(f"{name[:40]} joins nothing")
    switches[name] = Switch(name=name, switches=tuple(expand_hosts(below)), nodes=tuple(expand_hosts(nodes)))


def _size_findings(blocks: dict[str, Switch], sizes: list[int], file: str) -> list[Finding]:
    """BlockSizes says how blocks may be joined, not which: it gives no domains, and a block must fill its base size."""
    short = [block.name for block in blocks.values() if sizes and len(block.nodes) < sizes[0]]
    if not short:
        return []
    return [
        Finding(
            code="HF335",
            severity="warning",
            message=f"{count_of(len(short), 'block')} with fewer nodes than the base block size {sizes[0]}",
            where=file,
            got=", ".join(short[:20]),
            hint="Slurm would refuse them; check the node ranges",
        )
    ]
