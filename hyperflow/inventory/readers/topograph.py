"""topograph models: switches and blocks in YAML."""

from collections.abc import Mapping
from typing import Any

from hyperflow.errors import Finding, InputError
from hyperflow.inventory.hostlists import expand_hosts
from hyperflow.inventory.mapping_fields import shown
from hyperflow.inventory.readers.fabric import Fabric, Switch, tree_from_switches
from hyperflow.json_tree import is_mapping, is_sequence, mapping, sequence

_TIER_NAMES = ("leaf", "spine", "core")


def is_topograph_model(value: object) -> bool:
    """Say whether a document is a topograph model."""
    return is_mapping(value) and "blocks" in value and "kind" not in value


def read_topograph_model(value: Mapping[str, Any], file: str) -> Fabric:
    """Read a topograph model; raises InputError (HF337) with every entry that cannot be read.

    Switches that are listed but join no node (empty racks) are left out. An accelerator sub-domain, where given, is
    taken as the NVLink domain: it is the smaller promise.
    """
    faults: list[Finding] = []
    switches: dict[str, Switch] = {}
    accelerators: dict[str, str] = {}
    declared = value.get("switches")
    if declared is not None and not is_mapping(declared):
        faults.append(_fault(file, "switches", shown(declared), "a mapping of switches"))
    for name, body in mapping(declared).items():
        below = mapping(body).get("switches")
        if below is not None and not is_sequence(below):
            faults.append(_fault(file, f"switches.{name}", shown(below), "a list under `switches`"))
        children = tuple(str(child) for child in sequence(below) if isinstance(child, str | int))
        switches[str(name)] = Switch(name=str(name), switches=children)
    if not is_sequence(value.get("blocks")):
        faults.append(_fault(file, "blocks", shown(value.get("blocks")), "a list of blocks"))
    for i, item in enumerate(sequence(value.get("blocks"))):
        _read_block(item, f"blocks[{i}]", file, switches, accelerators, faults)
    if faults:
        raise InputError(faults)
    listed = {child for switch in switches.values() for child in switch.switches}
    for child in listed - switches.keys():
        switches[child] = Switch(name=child)
    nodes = dict.fromkeys(node for switch in switches.values() for node in switch.nodes)
    return Fabric(
        source="topograph model",
        hypernodes=tree_from_switches(switches, _TIER_NAMES),
        nodes=tuple(nodes),
        accelerator_domains=accelerators,
        devices={},
    )


def _read_block(
    item: object,
    place: str,
    file: str,
    switches: dict[str, Switch],
    accelerators: dict[str, str],
    faults: list[Finding],
) -> None:
    block = mapping(item)
    switch = block.get("switch")
    if not isinstance(switch, str | int) or not is_sequence(block.get("nodes")):
        faults.append(_fault(file, place, shown(item), "`switch: NAME` and `nodes: [...]`"))
        return
    name, nodes = str(switch), list[str]()
    for pattern in block["nodes"]:
        try:
            if not isinstance(pattern, str | int) or isinstance(pattern, bool):
                raise ValueError("not a text")
            nodes += expand_hosts(str(pattern))
        except ValueError as error:
            faults.append(_fault(file, f"{place}.nodes", shown(pattern), f"node names or ranges ({error})"))
    known = switches.get(name, Switch(name=name))
    switches[name] = Switch(name=name, switches=known.switches, nodes=(*known.nodes, *nodes))
    annotations = {str(k): v for k, v in mapping(block.get("annotations")).items() if isinstance(v, str)}
    for suffix in ("/sub-domain", "/domain"):
        domain = next((v for k, v in sorted(annotations.items()) if k.endswith(suffix)), "")
        if domain:
            accelerators.update(dict.fromkeys(nodes, domain))
            return


def _fault(file: str, place: str, got: str, expected: str) -> Finding:
    return Finding(code="HF337", message=f"cannot read {place}", where=f"{file}: {place}", got=got, expected=expected)
