"""The fleet: clusters, their nodes and topology, and the links between them."""

from enum import StrEnum
from typing import Literal

from pydantic import Field

from hyperflow.spec.record import Record

MAX_ROUND_TRIP_MS = 3_600_000.0
"""An hour; longer is a slip of units, and would overflow the cost model."""


class LinkKind(StrEnum):
    """The kinds of interconnect; each has a catalogue default for bandwidth and latency."""

    NVLINK = "nvlink"
    INFINIBAND = "infiniband"
    ROCE = "roce"
    ETHERNET = "ethernet"
    WAN = "wan"


class Link(Record):
    """A link between two clusters, one direction alike the other.

    `curve` holds measured (message bytes, seconds) pairs that replace bandwidth and latency where present.
    """

    a: str
    b: str
    kind: LinkKind = LinkKind.WAN
    bytes_per_second: float = Field(gt=0)
    round_trip_seconds: float = Field(ge=0)
    curve: tuple[tuple[float, float], ...] = ()


class Taint(Record):
    """A node taint that pods must tolerate."""

    key: str
    value: str = ""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] = "NoSchedule"


class NodeGroup(Record):
    """Equal nodes of one cluster.

    `device` is a key of catalog/devices.yaml. `count` is the number of usable nodes, `free_devices` the devices that
    nobody asks for on them (None: unknown). `nvlink_domain` is the number of devices joined by the scale-up fabric
    (None: one node). `resource` is the extended resource that pods ask for. `allocatable` holds cpu cores, memory
    bytes and devices of one node. `node_names` may be empty where only counts are known.
    """

    device: str
    count: int = Field(ge=0)
    devices_per_node: int = Field(gt=0)
    resource: str = "nvidia.com/gpu"
    free_devices: int | None = Field(default=None, ge=0)
    nvlink_domain: int | None = Field(default=None, gt=0)
    allocatable: dict[str, float] = {}
    labels: dict[str, str] = {}
    taints: tuple[Taint, ...] = ()
    node_names: tuple[str, ...] = ()
    network: LinkKind = LinkKind.INFINIBAND
    network_bytes_per_second_per_device: float | None = Field(default=None, gt=0)


class Tier(Record):
    """One level of the topology tree, counted from the leaf: how many domains, and how large in nodes.

    `domain_nodes` counts the usable nodes of each domain; it is not exact where `known` is False, because members are
    chosen by labels or patterns and no node list was given.
    """

    tier: int = Field(ge=0)
    name: str = ""
    domain_nodes: tuple[int, ...] = Field(min_length=1)
    known: bool = True

    @property
    def largest_nodes(self) -> int:
        """Nodes of the largest domain of this tier."""
        return max(self.domain_nodes)


class HyperNodeMember(Record):
    """A member of a HyperNode: a node or another HyperNode, by name."""

    type: Literal["Node", "HyperNode"]
    name: str


class HyperNode(Record):
    """One domain of the topology tree with its resolved members."""

    name: str
    tier: int = Field(ge=0)
    tier_name: str = ""
    members: tuple[HyperNodeMember, ...]


class TargetVersions(Record):
    """Versions of the control plane that a cluster or the plane runs (None: not stated)."""

    volcano: str | None = None
    volcano_global: str | None = None
    karmada: str | None = None
    hyperjob_crd: Literal["shipped", "patched"] | None = None


class ResourceModelGrade(Record):
    """One grade of a Karmada resource model: resource -> (min, max); max None is open."""

    grade: int
    ranges: dict[str, tuple[float, float | None]]


class KarmadaView(Record):
    """What Karmada believes of a cluster; None means that the object did not say.

    `allocatable`, `allocated` and `allocating` are sums over the cluster; `modelings` counts nodes per grade.
    `unusable` says why no job can be placed there ("" where one can).
    """

    unusable: str = ""
    nodes_total: int | None = Field(default=None, ge=0)
    nodes_ready: int | None = Field(default=None, ge=0)
    labels: dict[str, str] = {}
    taints: tuple[Taint, ...] = ()
    resource_models: tuple[ResourceModelGrade, ...] | None = None
    modelings: dict[int, int] = {}
    allocatable: dict[str, float] | None = None
    allocated: dict[str, float] = {}
    allocating: dict[str, float] = {}


class Exclusion(Record):
    """Nodes that were left out, for one cause that a person can act on."""

    cause: str
    nodes: tuple[str, ...]


class Cluster(Record):
    """One member cluster; `excluded` names the nodes that are not in `groups`, and why.

    `groups` is empty and `nodes_total` may be None where only sums or names are known. `topology_labels` are the node
    label keys that the tiers were read from, leaf first, one tuple per label family. `unidentified_devices` have a type
    that nothing names, so no plan can use them.
    """

    name: str = Field(min_length=1)
    region: str = ""
    groups: tuple[NodeGroup, ...] = ()
    nodes_total: int | None = None
    excluded: tuple[Exclusion, ...] = ()
    unidentified_devices: int = Field(default=0, ge=0)
    tiers: tuple[Tier, ...] = ()
    hypernodes: tuple[HyperNode, ...] = ()
    topology_labels: tuple[tuple[str, ...], ...] = ()
    versions: TargetVersions = TargetVersions()
    karmada: KarmadaView | None = None
    quotas: dict[str, dict[str, float]] = {}
    price_per_device_hour: float | None = Field(default=None, ge=0)

    @property
    def nodes_usable(self) -> int:
        """Nodes that may run pods."""
        return sum(group.count for group in self.groups)

    @property
    def devices_total(self) -> int:
        """Devices on usable nodes."""
        return sum(group.count * group.devices_per_node for group in self.groups)


class Fleet(Record):
    """All clusters and the links between them; `versions` are those of the control plane."""

    schema_version: Literal["hyperflow.fleet/v1"] = "hyperflow.fleet/v1"
    clusters: tuple[Cluster, ...] = ()
    links: tuple[Link, ...] = ()
    versions: TargetVersions = TargetVersions()

    def cluster(self, name: str) -> Cluster | None:
        """The cluster of that name, or None."""
        return next((cluster for cluster in self.clusters if cluster.name == name), None)

    def link(self, a: str, b: str) -> Link | None:
        """The link between two clusters in either order, or None."""
        return next((link for link in self.links if {link.a, link.b} == {a, b}), None)
