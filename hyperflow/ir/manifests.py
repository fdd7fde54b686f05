"""What lowering hands on: typed objects in apply order, and the story of how they hang together."""

from collections.abc import Mapping
from dataclasses import dataclass

from hyperflow.errors import Finding
from hyperflow.k8s.record import KubernetesObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Child:
    """One VolcanoJob of the bundle: a stage group on one cluster.

    `name` is the Job's name on every server. `group` is the replicatedJob's name. `fallbacks` are further clusters,
    tried in order. Node ranks run from `node_rank_offset` to `node_rank_offset + nodes - 1`.
    """

    name: str
    group: str
    cluster: str
    fallbacks: tuple[str, ...]
    stages: tuple[int, ...]
    nodes: int
    node_rank_offset: int
    devices_per_node: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureNeed:
    """A feature of a target (a row of catalog/targets.yaml) that the bundle uses, and for what."""

    product: str
    feature: str
    cluster: str | None
    needed_by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CommGroup:
    """Ranks that talk to each other; `bytes_per_step` is what one rank sends per step, `link_class` what it needs.

    `link_class` is `scale-up` (one NVLink domain), `scale-out` (one cluster's fabric) or `inter-cluster`.
    """

    kind: str
    index: int
    ranks: tuple[int, ...]
    bytes_per_step: int
    link_class: str
    clusters: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoragePath:
    """A path that pods read or write; `purpose` is `data`, `checkpoint` or `cache`."""

    purpose: str
    path: str
    mount: str | None
    clusters: tuple[str, ...]
    access: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CommContract:
    """What the framework tells the infrastructure: groups by global rank, bytes, link classes, storage paths."""

    job: str
    world_size: int
    devices_per_node: int
    order: tuple[str, ...]
    degrees: Mapping[str, int]
    groups: tuple[CommGroup, ...]
    links: tuple[tuple[str, str, str, int], ...]
    storage: tuple[StoragePath, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifests:
    """All objects of a compiled job in apply order, with what people and later passes ask about them.

    `name` is the name that carries the content hash. `mode` is `hyperjob`, `direct` or `single`; objects go to the
    plane in the first two and to the one cluster in the last. `hyperjob_crd` is
    the CRD it is meant for (shipped or patched). `story` says in words what happens at run time.
    """

    job: str
    name: str
    namespace: str
    content_hash: str
    mode: str
    mode_reason: str
    objects: tuple[KubernetesObject, ...]
    children: tuple[Child, ...]
    launch_script: str
    hyperjob_crd: str
    comm: CommContract
    needs: tuple[FeatureNeed, ...] = ()
    story: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
