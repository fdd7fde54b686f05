"""HyperNode objects: tier, members and health, with the selectors kept until the nodes are known."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hyperflow.errors import Finding
from hyperflow.inventory.mapping_fields import shown
from hyperflow.json_tree import dig, is_mapping, is_sequence, mapping, sequence, text
from hyperflow.k8s.hypernode_selectors import NodeIndex, selector_fault
from hyperflow.spec.fleet import HyperNode, HyperNodeMember

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
SOURCE_LABEL = "volcano.sh/network-topology-source"


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectedHyperNode:
    """One HyperNode object whose node members may still be selectors; `unhealthy` says why it must not be used."""

    name: str
    tier: int
    tier_name: str
    children: tuple[str, ...]
    selectors: tuple[Mapping[str, Any], ...]
    where: str
    unhealthy: str = ""
    source: str = ""


def read_hypernode_object(value: Mapping[str, Any], where: str) -> tuple[SelectedHyperNode | None, list[Finding]]:
    """Read one HyperNode object; None with findings (HF327, HF332, HF333) where it cannot be what its author meant."""
    faults = _shape_faults(value)
    name = text(dig(value, "metadata", "name")) or text(value.get("name"))
    place = f"{where}: HyperNode {name or '(no name)'}"
    findings = [_fault("HF332", place, message, hint) for message, hint in faults]
    children: list[str] = []
    selectors: list[Mapping[str, Any]] = []
    for i, item in enumerate(sequence(dig(value, "spec", "members"))):
        member, at = mapping(item), f"{place}: members[{i}]"
        selector = member.get("selector")
        if selector is None and "name" in member:
            hint = f"write selector: {{exactMatch: {{name: {shown(member['name'])}}}}}"
            findings.append(_fault("HF332", at, "a member has a name instead of a selector", hint))
        elif member.get("type") not in ("Node", "HyperNode"):
            findings.append(
                _fault("HF332", at, f"member type is {shown(member.get('type'))}", "write Node or HyperNode")
            )
        elif fault := selector_fault(selector):
            findings.append(_fault("HF327", at, f"the selector cannot be evaluated: {fault}", "mend the selector"))
        elif (named := dig(selector, "exactMatch", "name")) is not None and not is_object_name(named):
            hint = "use the object's own name, or regexMatch for a pattern"
            findings.append(_fault("HF332", at, f"exactMatch names {shown(named)!r}, which no object can have", hint))
        elif member["type"] == "Node":
            selectors.append(mapping(selector))
        elif mapping(selector).get("exactMatch") is None:
            message = "a HyperNode member is selected by pattern or label, which Volcano ignores without a word"
            findings.append(_fault("HF333", at, message, "name each child with exactMatch"))
        else:
            children.append(mapping(selector)["exactMatch"]["name"])
    if findings:
        return None, findings
    return (
        SelectedHyperNode(
            name=name,
            tier=value["spec"]["tier"],
            tier_name=text(dig(value, "spec", "tierName")),
            children=tuple(dict.fromkeys(children)),
            selectors=tuple(selectors),
            where=place,
            unhealthy=_unhealthy(value),
            source=text(mapping(dig(value, "metadata", "labels")).get(SOURCE_LABEL)),
        ),
        [],
    )


def is_object_name(name: object) -> bool:
    """Say whether a name is a DNS subdomain, as names of nodes and HyperNodes are."""
    return isinstance(name, str) and len(name) <= 253 and _NAME.fullmatch(name) is not None


def _fault(code: str, where: str, message: str, hint: str) -> Finding:
    return Finding(code=code, message=message, where=where, hint=hint)


def _shape_faults(value: Mapping[str, Any]) -> list[tuple[str, str]]:
    faults: list[tuple[str, str]] = []
    if "apiVersion" not in value:
        wrong = "it has `version` instead of `apiVersion`" if "version" in value else "it has no apiVersion"
        faults.append((wrong, "write apiVersion: topology.volcano.sh/v1alpha1"))
    name = dig(value, "metadata", "name")
    if name is None and "name" in value:
        faults.append(("its name stands outside metadata", "write metadata: {name: ...}"))
        name = value["name"]
    if not is_object_name(name):
        faults.append((f"{shown(name)} is no legal object name", "use lower-case letters, digits and dashes"))
    tier = dig(value, "spec", "tier")
    if not isinstance(tier, int) or isinstance(tier, bool) or not 0 <= tier < 2**31:
        faults.append((f"spec.tier is {shown(tier)}", "write a whole number, 1 for the leaf"))
    members = dig(value, "spec", "members")
    if not is_sequence(members) or not members:
        faults.append(("it has no members", "a HyperNode needs at least one"))
    elif not all(is_mapping(member) for member in members):
        faults.append(("a member is no mapping", "write type and selector for each"))
    return faults


def _unhealthy(value: Mapping[str, Any]) -> str:
    """Say what the object's own conditions hold against its use, "" where nothing."""
    for item in sequence(dig(value, "status", "conditions")):
        kind, status = text(mapping(item).get("type")), mapping(item).get("status")
        good = any(word in kind for word in ("Healthy", "Ready", "Available")) and not kind.startswith(("Un", "Not"))
        bad = kind.startswith(("Unhealthy", "NotReady", "Degraded", "Faulty"))
        if (good and status == "False") or (bad and status == "True"):
            reason = text(mapping(item).get("message")) or text(mapping(item).get("reason"))
            return f"{kind}={status}" + (f": {shown(reason)}" if reason else "")
    return ""


def resolve(
    selected: Sequence[SelectedHyperNode], index: NodeIndex | None
) -> tuple[tuple[HyperNode, ...], list[Finding], bool]:
    """Turn selectors into members; without a node list, patterns and labels stay unresolved (the flag is False)."""
    hypernodes: list[HyperNode] = []
    findings: list[Finding] = []
    unresolved: list[str] = []
    for one in selected:
        nodes: dict[str, None] = {}
        for selector in one.selectors:
            if index is None and selector.get("exactMatch") is None:
                unresolved.append(one.name)
                continue
            names = (index or NodeIndex({})).select(selector)
            if not names:
                findings.append(_no_match(one, selector))
            nodes |= dict.fromkeys(names)
        members = [HyperNodeMember(type="Node", name=name) for name in sorted(nodes)]
        members += [HyperNodeMember(type="HyperNode", name=name) for name in sorted(one.children)]
        hypernodes.append(HyperNode(name=one.name, tier=one.tier, tier_name=one.tier_name, members=tuple(members)))
    if unresolved:
        findings.append(_needs_nodes(unresolved))
    hypernodes.sort(key=lambda hypernode: (hypernode.tier, hypernode.name))
    return tuple(hypernodes), findings, not unresolved


def _no_match(one: SelectedHyperNode, selector: Mapping[str, Any]) -> Finding:
    pattern = dig(selector, "regexMatch", "pattern")
    labels = dig(selector, "labelMatch", "matchLabels")
    got = shown(pattern) if pattern else ", ".join(f"{shown(k)}={shown(v)}" for k, v in mapping(labels).items())
    return Finding(
        code="HF325",
        message="a selector matches no node of this cluster",
        where=one.where,
        got=got or "an expression",
        expected="at least one node",
        hint="compare it with `kubectl get nodes --show-labels`",
    )


def _needs_nodes(names: list[str]) -> Finding:
    return Finding(
        code="HF334",
        severity="warning",
        message="members are selected by pattern or label, so their number is unknown without the node list",
        where="HyperNodes " + ", ".join(dict.fromkeys(names[:20])),
        hint="give the output of `kubectl get nodes -o json` too",
    )
