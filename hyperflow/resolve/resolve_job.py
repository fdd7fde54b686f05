"""The pass `resolve`: every name looked up, every default decided, here and nowhere else."""

from collections.abc import Mapping, Sequence

from hyperflow.catalog.devices import device_names, device_spellings, find_device
from hyperflow.errors import Finding, nearest, raise_errors
from hyperflow.ir.device import Device
from hyperflow.ir.resolved import ResolvedJob
from hyperflow.resolve.names import check_names, check_schedule
from hyperflow.resolve.tiers import resolve_tier
from hyperflow.spec.fleet import Cluster, Fleet, NodeGroup
from hyperflow.spec.model import Model
from hyperflow.spec.training_job import TrainingJob


def resolve(job: TrainingJob, model: Model, findings: Sequence[Finding] = ()) -> ResolvedJob:
    """Look up devices, tiers and cluster names.

    Raises InputError with all findings: HF121 unknown device, HF122 empty fleet, HF123 names that Kubernetes refuses,
    HF124 unknown cluster name, HF128 a cluster that is its own fallback, HF126 unknown tier, HF650 unknown schedule.
    """
    found = list(findings)
    found += check_names(job) + check_schedule(job)
    fleet = _with_catalogue_devices(job, found)
    clusters = tuple(cluster for cluster in fleet.clusters if cluster.nodes_usable > 0)
    found += _check_fleet(job, fleet, clusters)
    found += _check_cluster_names(job, fleet) + _check_fallbacks(job)
    job_tier = resolve_tier(job, "job", clusters, found)
    stage_tier = resolve_tier(job, "stage", clusters, found)
    raise_errors(found)
    return ResolvedJob(
        job=job,
        model=model,
        fleet=fleet,
        clusters=clusters,
        devices=_devices(clusters),
        job_tier=job_tier,
        stage_tier=stage_tier,
        findings=tuple(found),
    )


def _with_catalogue_devices(job: TrainingJob, found: list[Finding]) -> Fleet:
    """Replace the user's spelling of each device by its catalogue key, and fill in its resource."""
    unknown: dict[str, str] = {}
    clusters: list[Cluster] = []
    for cluster in job.on.fleet.clusters:
        groups = tuple(_known_group(group, cluster.name, unknown) for group in cluster.groups)
        clusters.append(cluster.model_copy(update={"groups": groups}))
    found += [
        Finding(
            code="HF121",
            message=f'unknown device "{device}" in cluster "{cluster}"',
            where=f'cluster "{cluster}"',
            span=job.sources.get("on"),
            got=device,
            expected="a device of the catalogue",
            hint=nearest(device, device_spellings()) or f"known devices: {', '.join(device_names())}",
        )
        for device, cluster in unknown.items()
    ]
    return job.on.fleet.model_copy(update={"clusters": tuple(clusters)})


def _known_group(group: NodeGroup, cluster: str, unknown: dict[str, str]) -> NodeGroup:
    device = find_device(group.device)
    if device is None:
        unknown.setdefault(group.device, cluster)
        return group
    resource = group.resource if "resource" in group.model_fields_set else device.resource
    return group.model_copy(update={"device": device.name, "resource": resource})


def _check_fleet(job: TrainingJob, fleet: Fleet, clusters: Sequence[Cluster]) -> list[Finding]:
    span = job.sources.get("on")
    if not clusters:
        return [
            Finding(
                code="HF122",
                message="the fleet has no usable node",
                where="@hf.on",
                span=span,
                got=f"{len(fleet.clusters)} clusters, 0 usable nodes",
                expected="at least one cluster with a usable node",
                hint="give hf.Cluster(...) or a fleet file; `hyperflow fleet SOURCE` shows what is usable and why",
            )
        ]
    return [
        Finding(
            code="HF125",
            severity="warning",
            message=f'cluster "{cluster.name}" has no usable node and is left out',
            where=f'cluster "{cluster.name}"',
            span=span,
            got="0 usable nodes",
            expected="at least 1",
            hint="`hyperflow fleet SOURCE` names the nodes and the reason",
        )
        for cluster in fleet.clusters
        if cluster.nodes_usable == 0
    ]


def _check_cluster_names(job: TrainingJob, fleet: Fleet) -> list[Finding]:
    known = [cluster.name for cluster in fleet.clusters]
    used: dict[str, Sequence[str]] = {
        "fallback": [*job.fallback, *(name for names in job.fallback.values() for name in names)],
        "env.nccl": list(job.env.nccl),
        "data.at": [] if job.data is None or job.data.at == "all" else list(job.data.at),
        "parallel.layers": list(job.parallel.layers) if isinstance(job.parallel.layers, Mapping) else [],
    }
    used["on.links"] = [name for link in fleet.links for name in (link.a, link.b)]
    return [
        Finding(
            code="HF124",
            message=f'unknown cluster "{name}" in {path}',
            where=path,
            span=job.sources.get(f"{path}.{name}") or job.sources.get(path) or job.sources.get(path.split(".")[0]),
            got=name,
            expected=f"one of {', '.join(known) or 'none'}",
            hint=nearest(name, known) or f"clusters are {', '.join(known) or 'none'}",
        )
        for path, names in used.items()
        for name in dict.fromkeys(names)
        if name not in known
    ]


def _check_fallbacks(job: TrainingJob) -> list[Finding]:
    """Find clusters that are to stand in for themselves (HF128)."""
    return [
        Finding(
            code="HF128",
            message=f'cluster "{name}" is its own fallback',
            where=f"@hf.fallback({name}=)",
            span=job.sources.get(f"fallback.{name}") or job.sources.get("fallback"),
            got=name,
            expected="another cluster",
            hint=f"name the clusters that may take the place of {name}, or leave it out",
        )
        for name, names in job.fallback.items()
        if name in names
    ]


def _devices(clusters: Sequence[Cluster]) -> dict[str, Device]:
    names = sorted({group.device for cluster in clusters for group in cluster.groups})
    return {name: device for name in names if (device := find_device(name)) is not None}
