"""Stage groups: consecutive stages of one cluster, each of which becomes one child."""

from dataclasses import dataclass

from hyperflow.catalog.devices import find_device
from hyperflow.errors import Finding, InfeasibleError
from hyperflow.ir.plan import Plan, Stage
from hyperflow.ir.resolved import ResolvedJob
from hyperflow.spec.fleet import Cluster, NodeGroup

GROUP_NAME_LENGTH = 12
PRODUCT_LABELS = ("nvidia.com/gpu.product", "amd.com/gpu.product-name", "cloud.google.com/gke-accelerator")


@dataclass(frozen=True, slots=True, kw_only=True)
class StageGroup:
    """Stages that one VolcanoJob runs on one cluster; `devices_per_node` is how many each pod takes."""

    name: str
    cluster: Cluster
    fallbacks: tuple[Cluster, ...]
    device: str
    stages: tuple[Stage, ...]
    nodes: int
    node_rank_offset: int
    devices_per_node: int

    @property
    def candidates(self) -> tuple[Cluster, ...]:
        """All clusters the group may run on, in order of preference."""
        return (self.cluster, *self.fallbacks)

    @property
    def stage_indices(self) -> tuple[int, ...]:
        """The pipeline stages it runs, each once."""
        return tuple(dict.fromkeys(stage.index for stage in self.stages))


def group_stages(job: ResolvedJob, plan: Plan) -> tuple[StageGroup, ...]:
    """Cut the plan's stages, in order of node rank, into runs of one cluster.

    Raises InfeasibleError (HF407) when the pods of two stages would have different numbers of devices.
    """
    ordered = sorted(plan.stages, key=lambda stage: (stage.node_rank_offset, stage.replica, stage.index))
    devices = _devices_per_node(plan)
    runs: list[list[Stage]] = []
    for stage in ordered:
        if runs and runs[-1][-1].cluster == stage.cluster and runs[-1][-1].device == stage.device:
            runs[-1].append(stage)
        else:
            runs.append([stage])
    names = _group_names([run[0].cluster for run in runs])
    return tuple(_group(job, run, name, devices) for run, name in zip(runs, names, strict=True))


def node_group_for(cluster: Cluster, device: str, devices_per_node: int) -> NodeGroup | None:
    """The nodes of a cluster that carry the device, else any with enough devices for one pod (a fallback's)."""
    fitting = [group for group in cluster.groups if group.devices_per_node >= devices_per_node]
    same = [group for group in fitting if _catalogue_name(group.device) == _catalogue_name(device)]
    return next(iter(same or fitting), None)


def _catalogue_name(device: str) -> str:
    """The catalogue's key for a device, since a fleet may use an alias of it."""
    found = find_device(device)
    return found.name if found else device


def telling_label(cluster: Cluster, nodes: NodeGroup) -> dict[str, str]:
    """A label that tells these nodes from the cluster's others; none where all nodes are alike or none tells."""
    others = [group for group in cluster.groups if group is not nodes]
    telling = sorted(
        key for key, value in nodes.labels.items() if others and all(g.labels.get(key) != value for g in others)
    )
    best = next((key for key in PRODUCT_LABELS if key in telling), telling[0] if telling else None)
    return {best: nodes.labels[best]} if best else {}


def _devices_per_node(plan: Plan) -> int:
    spans = {stage.node_rank_offset: stage.nodes for stage in plan.stages}
    total = max(offset + nodes for offset, nodes in spans.items())
    devices, rest = divmod(plan.degrees.world_size, total)
    uneven = [s for s in plan.stages if s.nodes and plan.degrees.devices_per_stage % (s.nodes * devices or 1)]
    if rest or not devices or (uneven and plan.shape != "data-parallel"):
        raise InfeasibleError(
            Finding(
                code="HF407",
                message=f"{plan.degrees.world_size} devices do not spread evenly over {total} nodes",
                where=f"plan of {plan.job}",
                got=", ".join(f"{s.cluster}: {s.nodes} nodes" for s in plan.stages),
                expected="the same number of devices in every pod, as torchrun demands",
                hint="use nodes with equal device counts, or change tp, cp or dp",
            )
        )
    return devices


def _group(job: ResolvedJob, run: list[Stage], name: str, devices: int) -> StageGroup:
    first = min(stage.node_rank_offset for stage in run)
    cluster = job.fleet.cluster(run[0].cluster)
    assert cluster is not None, f"the plan names the unknown cluster {run[0].cluster}"
    wanted = job.job.fallback.get(cluster.name) or job.job.fallback.get(cluster.name.replace("-", "_")) or ()
    fallbacks = [found for other in wanted if (found := job.fleet.cluster(other)) is not None]
    return StageGroup(
        name=name,
        cluster=cluster,
        fallbacks=tuple(fallbacks),
        device=run[0].device,
        stages=tuple(run),
        nodes=max(stage.node_rank_offset + stage.nodes for stage in run) - first,
        node_rank_offset=first,
        devices_per_node=devices,
    )


def _group_names(clusters: list[str]) -> list[str]:
    """Short names for groups: the cluster's where it is short and used once, else cut and numbered.

    >>> _group_names(["beijing", "shanghai", "beijing"])
    ['beijing-0', 'shanghai', 'beijing-2']
    """
    names: list[str] = []
    for index, cluster in enumerate(clusters):
        if len(cluster) <= GROUP_NAME_LENGTH and clusters.count(cluster) == 1:
            names.append(cluster)
        else:
            names.append(f"{cluster[: GROUP_NAME_LENGTH - 1 - len(str(index))].rstrip('-')}-{index}")
    return names
