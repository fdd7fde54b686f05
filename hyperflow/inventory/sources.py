"""Telling apart what sources hold, and which cluster each piece belongs to."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hyperflow.errors import Finding, InputError, raise_errors
from hyperflow.inventory.documents import parse_documents, read_text
from hyperflow.inventory.draft import ClusterDraft
from hyperflow.inventory.fleet_file import read_fleet_file
from hyperflow.inventory.label_tree import count_of, name_some
from hyperflow.inventory.mapping_fields import shown
from hyperflow.inventory.readers.fabric import Fabric
from hyperflow.inventory.readers.hypernodes import SelectedHyperNode, read_hypernode_object
from hyperflow.inventory.readers.infiniband import is_ibnetdiscover, is_ufm_ports, read_ibnetdiscover, read_ufm_ports
from hyperflow.inventory.readers.karmada import read_cluster_object
from hyperflow.inventory.readers.nmx import is_compute_nodes, read_compute_nodes
from hyperflow.inventory.readers.nodes import CLUSTER_LABEL, read_node
from hyperflow.inventory.readers.pods import Requests, add_pod
from hyperflow.inventory.readers.slurm import is_slurm_topology, read_slurm_topology
from hyperflow.inventory.readers.topograph import is_topograph_model, read_topograph_model
from hyperflow.json_tree import dig, is_mapping, is_sequence, mapping, sequence, text
from hyperflow.spec.fleet import Link, TargetVersions

_SUPPORTED = (
    "Kubernetes Node, Pod or HyperNode objects, Karmada Clusters, a fleet.yaml, a topograph model, Slurm topology.conf,"
    " UFM ports, NMX compute nodes, or ibnetdiscover output"
)


@dataclass(slots=True, kw_only=True)
class _Loose:
    """What a file says of a cluster that it may not name."""

    file: str
    cluster: str | None
    selected: list[SelectedHyperNode] = field(default_factory=list[SelectedHyperNode])
    fabrics: list[Fabric] = field(default_factory=list[Fabric])
    requests: Requests = field(default_factory=dict[str, dict[str, float]])
    num_pods: int = 0

    def node_names(self) -> set[str]:
        """Give the nodes that it names."""
        named = {name for fabric in self.fabrics for name in fabric.nodes} | self.requests.keys()
        exact = (selector.get("exactMatch") for one in self.selected for selector in one.selectors)
        return named | {mapping(match)["name"] for match in exact if match}


@dataclass(slots=True, kw_only=True)
class SourceSet:
    """All pieces read so far; `assign` gives one draft per cluster."""

    tolerate: tuple[str, ...] = ()
    drafts: dict[str, ClusterDraft] = field(default_factory=dict[str, ClusterDraft])
    loose: list[_Loose] = field(default_factory=list[_Loose])
    links: list[Link] = field(default_factory=list[Link])
    versions: TargetVersions = field(default_factory=TargetVersions)
    findings: list[Finding] = field(default_factory=list[Finding])
    node_files: dict[str, str] = field(default_factory=dict[str, str])
    repeated: dict[str, list[str]] = field(default_factory=dict[str, list[str]])

    def draft(self, name: str) -> ClusterDraft:
        """Give the draft of a cluster, a new one at the first mention."""
        return self.drafts.setdefault(name, ClusterDraft(name=name))

    def add_text(self, content: str, file: str, cluster: str | None) -> None:
        """Read one source; raises InputError where it cannot be read."""
        if not content.lstrip().startswith(("{", "[")):
            if is_ibnetdiscover(content):
                self.loose.append(_Loose(file=file, cluster=cluster, fabrics=[read_ibnetdiscover(content, file)]))
                return
            if is_slurm_topology(content):
                self.loose.append(_Loose(file=file, cluster=cluster, fabrics=[read_slurm_topology(content, file)]))
                return
        try:
            values = [document.value for document in parse_documents(content, file)]
        except InputError as error:
            raise InputError(_expecting(_SUPPORTED, finding) for finding in error.findings) from None
        if not values:
            raise InputError(_nothing(file, "it is empty"))
        self.add_values(values, file, cluster)

    def add_values(self, values: Sequence[object], file: str, cluster: str | None) -> None:
        """Read parsed documents of one source; raises InputError where none of them is of use."""
        pieces: dict[str | None, _Loose] = {}
        unknown = Counter[str]()
        errors: list[Finding] = []
        for value in _flattened(values):
            try:
                kind = self._add_value(value, file, cluster, pieces)
            except InputError as error:
                errors += error.findings
                continue
            if kind:
                unknown[kind] += 1
        raise_errors(errors)
        self.loose += pieces.values()
        if unknown.total() == len(_flattened(values)):
            raise InputError(_nothing(file, ", ".join(f"{times} x {kind}" for kind, times in unknown.most_common(5))))
        if unknown:
            self.findings.append(_left_out(file, unknown))

    def _add_value(self, value: object, file: str, cluster: str | None, pieces: dict[str | None, _Loose]) -> str:
        """Take one document; give its kind where it says nothing of a fleet."""
        if is_sequence(value):
            if is_ufm_ports(value):
                _piece(pieces, file, cluster).fabrics.append(read_ufm_ports(value, file))
                return ""
            if is_compute_nodes(value):
                _piece(pieces, file, cluster).fabrics.append(read_compute_nodes(value, file))
                return ""
            return "an empty list" if not value else "a list of something else"
        if not is_mapping(value):
            return shown(value)
        if "schema_version" in value or ("clusters" in value and "kind" not in value):
            self._add_fleet_file(value, file)
            return ""
        if is_topograph_model(value):
            _piece(pieces, file, cluster).fabrics.append(read_topograph_model(value, file))
            return ""
        return self._add_object(value, file, cluster, pieces)

    def _add_object(
        self, value: Mapping[str, Any], file: str, cluster: str | None, pieces: dict[str | None, _Loose]
    ) -> str:
        kind, group = text(value.get("kind")), text(value.get("apiVersion")).partition("/")[0]
        match kind:
            case "Node":
                self._add_node(value, file, cluster)
            case "Pod":
                piece = _piece(pieces, file, cluster)
                add_pod(value, piece.requests)
                piece.num_pods += 1
            case "HyperNode":
                selected, findings = read_hypernode_object(value, file)
                raise_errors(findings)
                labelled = text(dig(value, "metadata", "labels", CLUSTER_LABEL))
                _piece(pieces, file, cluster or labelled or None).selected += [selected] if selected else []
            case "Cluster" if group in ("cluster.karmada.io", ""):
                self._add_karmada(value, file)
            case _:
                return kind if kind else "an object without a kind"
        return ""

    def _add_node(self, value: Mapping[str, Any], file: str, cluster: str | None) -> None:
        node, findings = read_node(value, file, self.tolerate)
        self.findings += findings
        if node is None:
            return
        name = cluster or node.labels.get(CLUSTER_LABEL) or cluster_name_of(file)
        known_file = self.node_files.setdefault(name, file)
        draft = self.draft(name)
        if known_file != file and cluster is None and CLUSTER_LABEL not in node.labels:
            raise InputError(_same_stem(name, known_file, file))
        if node.name in draft.nodes:
            self.repeated.setdefault(name, []).append(node.name)
            return
        draft.nodes[node.name] = node

    def _add_karmada(self, value: Mapping[str, Any], file: str) -> None:
        name, region, view, findings = read_cluster_object(value, file)
        self.findings += findings
        if view is None:
            return
        draft = self.draft(name)
        if draft.karmada is not None:
            self.findings.append(_repeated_cluster(name))
        draft.karmada = view
        draft.region = draft.region or region

    def _add_fleet_file(self, value: dict[str, Any], file: str) -> None:
        fleet = read_fleet_file(value, file)
        for cluster in fleet.clusters:
            draft = self.draft(cluster.name)
            if draft.written is not None:
                self.findings.append(_repeated_cluster(cluster.name))
            draft.written = cluster
        self.links += fleet.links
        if fleet.versions != TargetVersions():
            self.versions = fleet.versions

    def assign(self) -> list[ClusterDraft]:
        """Give each loose piece to its cluster, and all clusters in the order of first mention."""
        for loose in self.loose:
            draft = self.draft(loose.cluster or self._cluster_of(loose))
            draft.selected += loose.selected
            draft.fabrics += loose.fabrics
            if loose.num_pods:
                draft.requests = draft.requests or {}
                for node, held in loose.requests.items():
                    known = draft.requests.setdefault(node, {})
                    for name, amount in held.items():
                        known[name] = known.get(name, 0) + amount
        self.loose.clear()
        self.findings += [_repeated_nodes(name, nodes) for name, nodes in self.repeated.items()]
        return list(self.drafts.values())

    def _cluster_of(self, loose: _Loose) -> str:
        """Choose the cluster whose nodes it names most; the only one there is where it names none that are known."""
        named = loose.node_names()
        shared = {name: len(named & draft.node_names()) for name, draft in self.drafts.items()}
        best = max(shared.values(), default=0)
        candidates = [name for name, count in shared.items() if count == best] if best else list(self.drafts)
        if len(candidates) == 1:
            return candidates[0]
        if best:
            raise InputError(_ambiguous(loose.file, candidates))
        return cluster_name_of(loose.file)


def read_sources(sources: Sequence[str | Path], tolerate: Sequence[str]) -> SourceSet:
    """Read all sources; raises InputError with every fault of those that cannot be read."""
    source_set = SourceSet(tolerate=tuple(tolerate))
    errors: list[Finding] = []
    for source in sources:
        cluster, path = split_source(source)
        try:
            source_set.add_text(read_text(path), str(path), cluster)
        except InputError as error:
            errors += error.findings
    raise_errors(errors)
    return source_set


def split_source(source: str | Path) -> tuple[str | None, str | Path]:
    """Split `CLUSTER=PATH`; a path that exists is taken whole.

    >>> split_source("beijing=nodes.json")
    ('beijing', 'nodes.json')
    """
    if isinstance(source, str) and not Path(source).exists():
        name, equals, path = source.partition("=")
        if equals and re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", name):
            return name, path
    return None, source


def cluster_name_of(file: str) -> str:
    """Make a legal cluster name of a file's name.

    >>> cluster_name_of("data/nodes_EKS p4d.json")
    'nodes-eks-p4d'
    """
    return re.sub(r"[^a-z0-9]+", "-", Path(file).stem.lower()).strip("-")[:48].strip("-") or "cluster"


def _piece(pieces: dict[str | None, _Loose], file: str, cluster: str | None) -> _Loose:
    return pieces.setdefault(cluster, _Loose(file=file, cluster=cluster))


def _flattened(values: Sequence[object]) -> list[object]:
    """Open lists of Kubernetes objects, such as `jq .items` gives."""
    flat: list[object] = []
    for value in values:
        items = sequence(value)
        flat += items if items and all("kind" in mapping(item) for item in items) else [value]
    return flat


def _nothing(file: str, got: str) -> Finding:
    return Finding(
        code="HF300", message="nothing here that describes a fleet", where=file, got=got, expected=_SUPPORTED
    )


def _left_out(file: str, unknown: Counter[str]) -> Finding:
    kinds = ", ".join(f"{times} x {shown(kind)}" for kind, times in unknown.most_common(5))
    message = "some objects say nothing of a fleet and are left out"
    return Finding(code="HF300", severity="note", message=message, where=file, got=kinds)


def _same_stem(name: str, first: str, second: str) -> Finding:
    return Finding(
        code="HF304",
        message=f"two files would both be cluster {name!r}",
        where=second,
        got=f"{first} and {second}",
        hint=f"name the cluster of each: hyperflow fleet NAME={first} OTHER={second}",
    )


def _repeated_nodes(cluster: str, nodes: list[str]) -> Finding:
    return Finding(
        code="HF304",
        message=f"{count_of(len(nodes), 'node name')} given twice",
        where=f"cluster {cluster}",
        got=name_some(nodes),
        hint="give each node once; nodes of several clusters need CLUSTER=FILE or the label " + CLUSTER_LABEL,
    )


def _repeated_cluster(name: str) -> Finding:
    return Finding(
        code="HF304", message=f"two clusters are named {name!r}", where=f"cluster {name}", hint="rename one of them"
    )


def _ambiguous(file: str, candidates: list[str]) -> Finding:
    return Finding(
        code="HF304",
        message="its nodes are in several clusters, so it is unclear which one it describes",
        where=file,
        got=", ".join(candidates[:5]),
        hint=f"write CLUSTER={file}",
    )


def _expecting(supported: str, finding: Finding) -> Finding:
    """Say what a source may hold where its text does not parse."""
    return replace(finding, expected=supported) if finding.code == "HF102" else finding
