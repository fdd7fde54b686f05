"""The kinds that HyperFlow judges: which servers serve them, and the shape of their fields."""

import dataclasses
import functools
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Literal

from hyperflow.admission.shapes import Shape, ShapeRows, shape_of
from hyperflow.json_tree import dig, mapping, sequence, text

Server = Literal["member", "plane"]
Target = Literal["current", "patched"]

SERVERS: dict[str, tuple[Server, ...]] = {
    "batch.volcano.sh/Job": ("member", "plane"),
    "batch.volcano.sh/CronJob": ("member",),
    "scheduling.volcano.sh/Queue": ("member", "plane"),
    "scheduling.volcano.sh/PodGroup": ("member",),
    "topology.volcano.sh/HyperNode": ("member",),
    "flow.volcano.sh/JobFlow": ("member",),
    "flow.volcano.sh/JobTemplate": ("member",),
    "training.volcano.sh/HyperJob": ("plane",),
    "datadependency.volcano.sh/DataSourceClaim": ("plane",),
    "datadependency.volcano.sh/DataSource": ("plane",),
    "policy.karmada.io/PropagationPolicy": ("plane",),
    "policy.karmada.io/ClusterPropagationPolicy": ("plane",),
    "policy.karmada.io/OverridePolicy": ("plane",),
    "policy.karmada.io/ClusterOverridePolicy": ("plane",),
    "policy.karmada.io/FederatedResourceQuota": ("plane",),
    "networking.karmada.io/MultiClusterService": ("plane",),
    "apps.karmada.io/WorkloadRebalancer": ("plane",),
    "cluster.karmada.io/Cluster": ("plane",),
    "multicluster.x-k8s.io/ServiceExport": ("member", "plane"),
    "multicluster.x-k8s.io/ServiceImport": ("member", "plane"),
}
"""Which servers serve a kind, by group and kind."""

VCJOB = "batch.volcano.sh/v1alpha1/Job"
HYPERJOB = "training.volcano.sh/v1alpha1/HyperJob"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One served version of a kind."""

    group: str
    version: str
    kind: str
    namespaced: bool
    has_status: bool
    shape: Shape

    @property
    def group_kind(self) -> str:
        """The key of `SERVERS`."""
        return f"{self.group}/{self.kind}"

    @property
    def full_name(self) -> str:
        """Group, version and kind in one text."""
        return f"{self.group}/{self.version}/{self.kind}"


class KindTable:
    """The kinds of one server, by `group/version/kind`."""

    def __init__(self, kinds: Mapping[str, Mapping[str, Any]], rows: ShapeRows) -> None:
        self._entries = kinds
        self._rows = rows
        self._found: dict[str, Kind] = {}

    def find(self, full_name: str) -> Kind | None:
        """Give the kind, or None when it is not served."""
        if full_name not in self._found and full_name in self._entries:
            entry = self._entries[full_name]
            group, version, kind = full_name.split("/")
            self._found[full_name] = Kind(
                group=group,
                version=version,
                kind=kind,
                namespaced=bool(entry["namespaced"]),
                has_status=bool(entry["status"]),
                shape=self._rows.shape(entry["row"]),
            )
        return self._found.get(full_name)

    def versions(self, group_kind: str) -> list[str]:
        """Give the served versions of a group and kind."""
        group, kind = group_kind.split("/")
        names = [*self._entries, *self._found]
        return sorted({n.split("/")[1] for n in names if n.split("/")[0] == group and n.split("/")[2] == kind})

    def with_kinds(self, kinds: Iterable[Kind]) -> "KindTable":
        """Give a table in which the given kinds replace those of the same name."""
        other = KindTable(self._entries, self._rows)
        other._found = {**self._found, **{kind.full_name: kind for kind in kinds}}
        return other

    def patched(self) -> "KindTable":
        """Give the table of a plane whose HyperJob CRD carries the vcjob's whole spec (`hyperflow crd`)."""
        hyperjob, vcjob = self.find(HYPERJOB), self.find(VCJOB)
        if hyperjob is None or vcjob is None:
            return self
        spec = hyperjob.shape.fields["spec"]
        jobs = spec.fields["replicatedJobs"]
        assert jobs.items is not None
        item = dataclasses.replace(jobs.items, fields={**jobs.items.fields, "templateSpec": vcjob.shape.fields["spec"]})
        jobs = dataclasses.replace(jobs, items=item)
        spec = dataclasses.replace(spec, fields={**spec.fields, "replicatedJobs": jobs})
        shape = dataclasses.replace(hyperjob.shape, fields={**hyperjob.shape.fields, "spec": spec})
        return self.with_kinds([dataclasses.replace(hyperjob, shape=shape)])


@functools.cache
def catalogue_table() -> KindTable:
    """Give the table of catalog/field_tables.json: the versions named there."""
    tree = json.loads(files("hyperflow.catalog").joinpath("field_tables.json").read_text(encoding="utf-8"))
    return KindTable(tree["kinds"], ShapeRows(tree["rows"]))


def kinds_of_crd(crd: Mapping[str, Any]) -> list[Kind]:
    """Give the served kinds of a CustomResourceDefinition document."""
    spec = mapping(crd.get("spec"))
    return [
        Kind(
            group=text(spec.get("group")),
            version=text(version.get("name")),
            kind=text(dig(spec, "names", "kind")),
            namespaced=spec.get("scope") == "Namespaced",
            has_status="status" in mapping(version.get("subresources")),
            shape=shape_of(dig(version, "schema", "openAPIV3Schema")),
        )
        for version in map(mapping, sequence(spec.get("versions")))
        if version.get("served", True)
    ]
