"""One cluster while its sources are being put together."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hyperflow.errors import Finding
from hyperflow.inventory.hypernode_tree import check_tree, nodes_below
from hyperflow.inventory.label_topology import (
    Position,
    accelerator_domain,
    position_from_labels,
    position_from_name,
)
from hyperflow.inventory.label_tree import count_of, name_some, slug, tree_from_positions
from hyperflow.inventory.readers.fabric import Fabric
from hyperflow.inventory.readers.hypernodes import SelectedHyperNode, resolve
from hyperflow.inventory.readers.nodes import NodeFacts
from hyperflow.inventory.readers.pods import Requests
from hyperflow.k8s.hypernode_selectors import NodeIndex
from hyperflow.spec.fleet import Cluster, HyperNode, HyperNodeMember, KarmadaView


@dataclass(slots=True, kw_only=True)
class ClusterDraft:
    """What all sources said of one cluster so far."""

    name: str
    region: str = ""
    nodes: dict[str, NodeFacts] = field(default_factory=dict[str, NodeFacts])
    selected: list[SelectedHyperNode] = field(default_factory=list[SelectedHyperNode])
    fabrics: list[Fabric] = field(default_factory=list[Fabric])
    karmada: KarmadaView | None = None
    requests: Requests | None = None
    written: Cluster | None = None

    def node_names(self) -> set[str]:
        """Give the names of the nodes that a node list or a fleet file states."""
        return set(self.nodes) | (stated_nodes(self.written) if self.written else set())


def stated_nodes(cluster: Cluster) -> set[str]:
    """Give the nodes that a cluster's record names, usable or not."""
    names = {name for group in cluster.groups for name in group.node_names}
    return names | {name for exclusion in cluster.excluded for name in exclusion.nodes}


@dataclass(frozen=True, slots=True, kw_only=True)
class Topology:
    """The tree of one cluster.

    `known` is False where members could not be resolved, `labels` are the label keys it was read from (leaf first,
    one tuple a family), `unhealthy` maps nodes to why they must not be used.
    """

    hypernodes: tuple[HyperNode, ...] = ()
    known: bool = True
    labels: tuple[tuple[str, ...], ...] = ()
    unhealthy: Mapping[str, str] = field(default_factory=dict[str, str])


def read_topology(draft: ClusterDraft) -> tuple[Topology, list[Finding]]:
    """Find the cluster's tree: HyperNode objects first, then fabric files, node labels and node names."""
    if draft.selected:
        return _from_objects(draft)
    names = draft.node_names() or None
    if draft.fabrics:
        findings = [finding for fabric in draft.fabrics for finding in fabric.findings]
        trees = [fabric for fabric in draft.fabrics if fabric.hypernodes]
        trees.sort(key=lambda fabric: -max(hypernode.tier for hypernode in fabric.hypernodes))
        hypernodes = prefix_names(draft.name, trees[0].hypernodes) if trees else ()
        if len(trees) > 1:
            findings.append(_two_trees(draft.name, [fabric.source for fabric in trees]))
        findings += check_tree(draft.name, hypernodes, names)
        source = trees[0].source if trees else ""
        return Topology(hypernodes=hypernodes), [*findings, *_not_there_yet(draft, hypernodes, source)]
    positions = _positions(draft.nodes)
    hypernodes, findings = tree_from_positions(draft.name, positions)
    findings += check_tree(draft.name, hypernodes, names)
    source = next(iter(positions.values())).family if positions else ""
    labels = {tuple(key for key in position.keys if key): None for position in positions.values()}
    return (
        Topology(hypernodes=hypernodes, labels=tuple(keys for keys in labels if keys)),
        [*findings, *_not_there_yet(draft, hypernodes, source)],
    )


def _from_objects(draft: ClusterDraft) -> tuple[Topology, list[Finding]]:
    index = NodeIndex({name: node.labels for name, node in draft.nodes.items()}) if draft.nodes else None
    hypernodes, findings, known = resolve(draft.selected, index)
    if not any(finding.severity == "error" for finding in findings):
        names = draft.node_names() or None
        findings += check_tree(draft.name, hypernodes, names if known else None)
    below = nodes_below(hypernodes)
    unhealthy: dict[str, str] = {}
    for one in draft.selected:
        if one.unhealthy:
            nodes = sorted(below[one.name])
            unhealthy |= dict.fromkeys(nodes, f"HyperNode {one.name} is unhealthy ({one.unhealthy})")
            findings.append(_unhealthy(draft.name, one, nodes))
    return Topology(hypernodes=hypernodes, known=known, unhealthy=unhealthy), findings


def _unhealthy(cluster: str, one: SelectedHyperNode, nodes: Sequence[str]) -> Finding:
    return Finding(
        code="HF309",
        severity="warning",
        message=f"HyperNode {one.name} is unhealthy ({one.unhealthy}); left out: {count_of(len(nodes), 'node')}",
        where=f"cluster {cluster}",
        got=name_some(list(nodes)) or "no nodes",
        hint="repair it, or correct its status",
    )


def prefix_names(cluster: str, hypernodes: Sequence[HyperNode]) -> tuple[HyperNode, ...]:
    """Give HyperNodes legal names of their cluster: HyperNodes of all clusters share one name space on the plane."""
    names = {hypernode.name: slug(cluster, hypernode.name) for hypernode in hypernodes}
    if len(set(names.values())) < len(names):
        names = {name: slug(cluster, str(i), name)[:63].strip("-") for i, name in enumerate(sorted(names))}
    renamed = [
        hypernode.model_copy(
            update={
                "name": names[hypernode.name],
                "members": tuple(m for m in hypernode.members if m.type == "Node")
                + tuple(
                    HyperNodeMember(type="HyperNode", name=name)
                    for name in sorted(names.get(m.name, m.name) for m in hypernode.members if m.type == "HyperNode")
                ),
            }
        )
        for hypernode in hypernodes
    ]
    return tuple(sorted(renamed, key=lambda hypernode: (hypernode.tier, hypernode.name)))


def _two_trees(cluster: str, sources: list[str]) -> Finding:
    return Finding(
        code="HF346",
        severity="warning",
        message=f"several files describe its topology ({', '.join(sources)}); the deepest tree is used",
        where=f"cluster {cluster}",
        got=", ".join(sources),
        expected="one",
    )


def _not_there_yet(draft: ClusterDraft, hypernodes: Sequence[HyperNode], source: str) -> list[Finding]:
    if not hypernodes:
        return []
    return [
        Finding(
            code="HF349",
            severity="note",
            message=f"the tiers are read from {source}; Volcano knows them only once HyperNodes exist",
            where=f"cluster {draft.name}",
            hint="write them with --hypernodes FILE, or let Volcano find them with --discovery FILE",
        )
    ]


def _positions(nodes: Mapping[str, NodeFacts]) -> dict[str, Position]:
    """Give the nodes' positions by label, else by name, with a tier for NVLink domains where they are finer."""
    positions = {name: found for name, node in nodes.items() if (found := position_from_labels(node.labels))}
    positions = _with_one_leaf(positions)
    if not positions:
        named = {name: found for name in nodes if (found := position_from_name(name))}
        with_device = {name for name, node in nodes.items() if node.devices.resource}
        if with_device and with_device <= named.keys() and len({p.names for p in named.values()}) == 1:
            positions = {name: named[name] for name in with_device}
    marks = {name: accelerator_domain(node.labels) for name, node in nodes.items()}
    return _with_accelerator_tier(
        positions, {n: label or clique for n, (label, clique) in marks.items() if label or clique}
    )


def _with_one_leaf(positions: dict[str, Position]) -> dict[str, Position]:
    """Drop nodes whose free-form labels begin above the leaf of the others: a row label alone makes no rack."""
    leaves = Counter(position.names[0] for position in positions.values() if position.space == "labels")
    if len(leaves) < 2:
        return positions
    leaf = min(leaves, key=lambda name: (-leaves[name], name))
    return {n: p for n, p in positions.items() if p.space != "labels" or p.names[0] == leaf}


def _with_accelerator_tier(positions: dict[str, Position], domains: Mapping[str, str]) -> dict[str, Position]:
    """Put NVLink domains below the leaf where every one lies inside one leaf and some leaf holds several."""
    if not positions:
        return {
            name: Position(space="nvlink", family="NVLink domains", names=("nvlink",), domains=(domain,), keys=())
            for name, domain in domains.items()
        }
    leaves: dict[str, set[str]] = {}
    for name, position in positions.items():
        leaves.setdefault(domains.get(name, ""), set()).add(position.domains[0])
    finer = "" not in leaves and all(len(inside) == 1 for inside in leaves.values())
    if not finer or len(leaves) == len({position.domains[0] for position in positions.values()}):
        return positions
    return {
        name: Position(
            space=position.space,
            family=position.family,
            names=("nvlink", *position.names),
            domains=(domains[name], *position.domains),
            keys=("", *position.keys),
        )
        for name, position in positions.items()
    }


def nvlink_domains(draft: ClusterDraft) -> tuple[dict[str, str], list[Finding]]:
    """Give each node's scale-up domain; a node without the clique its rack mates have is alone and named.

    The driver writes the clique once the NVLink fabric of a node is up.
    """
    stated: dict[str, str] = {}
    for fabric in draft.fabrics:
        stated |= fabric.accelerator_domains
    marks = {name: accelerator_domain(node.labels) for name, node in draft.nodes.items()}
    cliques: dict[str, set[str]] = {}
    for name, (label, clique) in marks.items():
        if clique:
            cliques.setdefault(label or stated.get(name, ""), set()).add(clique)
    domains: dict[str, str] = {}
    alone: list[str] = []
    for name, (label, clique) in marks.items():
        domain = label or stated.get(name, "")
        if clique:
            domains[name] = clique
        elif domain and cliques.get(domain):
            alone.append(name)
        elif domain:
            domains[name] = domain
    if not alone:
        return domains, []
    finding = Finding(
        code="HF339",
        severity="warning",
        message=f"{count_of(len(alone), 'node')} without the nvidia.com/gpu.clique that others of the domain have:"
        " the NVLink fabric is not up there, so they count outside the domain",
        where=f"cluster {draft.name}",
        got=name_some(alone),
        hint="check nvidia-fabricmanager and IMEX on them",
    )
    return domains, [finding]
