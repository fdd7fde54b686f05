"""What node placement reads and answers: nodes, queues, pods and jobs of one cluster, and a placement per job.

Quantities are plain numbers in the unit of their resource: cores for `cpu`, bytes for `memory`, counts otherwise.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from hyperflow.spec.fleet import HyperNode, Taint

Resources = Mapping[str, float]
Verdict = Literal["fits", "later", "never"]
Looks = Literal["running", "unschedulable", "no-pods"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRecord:
    """One node as the scheduler sees it; a node that is not ready takes part in nothing."""

    name: str
    labels: Mapping[str, str]
    allocatable: Resources
    taints: tuple[Taint, ...] = ()
    cordoned: bool = False
    ready: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Toleration:
    """A toleration of a pod; empty key with `Exists` tolerates every taint."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """One match expression of a node affinity term; `on_name` looks at the node's name instead of a label."""

    key: str
    operator: str
    values: tuple[str, ...] = ()
    on_name: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PodShape:
    """What a pod asks of a node. `affinity` is None without required terms, else any term whose all parts hold."""

    requests: tuple[tuple[str, float], ...]
    node_selector: tuple[tuple[str, str], ...] = ()
    affinity: tuple[tuple[Requirement, ...], ...] | None = None
    tolerations: tuple[Toleration, ...] = ()

    @property
    def demand(self) -> dict[str, float]:
        """The requests that are not zero."""
        return {name: amount for name, amount in self.requests if amount > 0}


@dataclass(frozen=True, slots=True, kw_only=True)
class TopologyLimit:
    """A networkTopology: a tier by number, or by a name that is resolved against the cluster's HyperNodes."""

    mode: Literal["hard", "soft"] = "hard"
    tier: int | None = None
    tier_name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionRule:
    """A partitionPolicy; `minimum` 0 is what the controllers write where minPartitions was left out."""

    count: int
    size: int
    minimum: int = 0
    topology: TopologyLimit | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRecord:
    """Equal pods of a job."""

    name: str
    replicas: int
    minimum: int
    shape: PodShape
    partition: PartitionRule | None = None
    priority: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRecord:
    """One gang. `clusters` names where it may go (empty: anywhere); `where` says where it was read."""

    name: str
    tasks: tuple[TaskRecord, ...]
    minimum: int
    namespace: str = "default"
    queue: str = "default"
    priority: int = 0
    topology: TopologyLimit | None = None
    clusters: tuple[str, ...] = ()
    where: str = ""

    @property
    def num_pods(self) -> int:
        """All pods that the job has."""
        return sum(task.replicas for task in self.tasks)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueRecord:
    """A queue; a resource that `capability` does not name is not limited by it."""

    name: str
    weight: int = 1
    capability: Resources | None = None
    guarantee: Resources | None = None
    is_open: bool = True
    is_leaf: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningPod:
    """A pod that is bound to a node; `job` is None for pods of other owners, `queue` None where nobody said it."""

    name: str
    node: str
    requests: Resources
    namespace: str = "default"
    job: str | None = None
    queue: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterRecord:
    """One cluster before placement; `name` is None for nodes that name no cluster."""

    name: str | None
    nodes: tuple[NodeRecord, ...]
    hypernodes: tuple[HyperNode, ...] = ()
    queues: tuple[QueueRecord, ...] = ()
    pods: tuple[RunningPod, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedPartition:
    """One partition that was placed whole."""

    index: int
    domain: str | None
    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPlacement:
    """The answer for one job.

    `domain` is the smallest HyperNode that holds all placed pods. `nodes` follows tasks, then indices, None for a pod
    without a node. `change` is the smallest change that would fit, `chance` tells where ties decide.
    """

    job: str
    cluster: str | None
    verdict: Verdict
    pods_placed: int
    pods_total: int
    looks_like: Looks
    domain: str | None
    tier: int | None
    nodes: tuple[str | None, ...]
    partitions: tuple[PlacedPartition, ...]
    reason: str
    change: str = ""
    chance: str = ""

    def as_json(self) -> dict[str, object]:
        """Give the keys of the public interface."""
        return {
            "job": self.job,
            "cluster": self.cluster,
            "verdict": self.verdict,
            "pods_placed": self.pods_placed,
            "pods_total": self.pods_total,
            "looks_like": self.looks_like,
            "domain": self.domain,
            "tier": self.tier,
            "nodes": list(self.nodes),
            "partitions": [
                {"index": part.index, "domain": part.domain, "nodes": list(part.nodes)} for part in self.partitions
            ],
            "reason": self.reason,
            "change": self.change,
            "chance": self.chance,
        }
