"""Laws about topology: a constraint that constrains, partitions that add up, nothing the HyperJob CRD drops."""

from collections.abc import Iterator
from typing import Any

from hyperflow.admission.bundle_breach import Breach
from hyperflow.admission.bundle_view import BundleView, JobView
from hyperflow.catalog.targets import has_feature
from hyperflow.json_tree import dig, is_mapping


def constraints_constrain(view: BundleView) -> Iterator[Breach]:
    """Empty, hard without a tier, tier 0, a tier and a name, soft with a tier: accepted, not meant (facts 2, T7)."""
    for job, path, topology in _topologies(view):
        mode, tier, name = (dig(topology, field) for field in ("mode", "highestTierAllowed", "highestTierName"))
        where = f"{job.where}.{path}"
        if mode not in ("hard", "soft"):
            yield Breach(where=where, message="the mode is not written", effect="an empty constraint is none")
        if mode == "hard" and tier is None and name is None:
            yield Breach(where=where, message="hard without a tier", effect="no constraint at all")
        if tier is not None and name is not None:
            yield Breach(
                where=where, message="both highestTierAllowed and highestTierName", effect="denied in the member"
            )
        if isinstance(tier, int) and tier < 1:
            yield Breach(where=where, message=f"tier {tier}", effect="no pod is ever scheduled")
        if mode == "soft" and (tier is not None or name is not None):
            yield Breach(where=where, message="soft with a tier", effect="the tier is ignored")


def hyperjob_crd_keeps_all(view: BundleView) -> Iterator[Breach]:
    """The shipped CRD prunes partitionPolicy and highestTierName (rules 0.1, T1)."""
    kept = has_feature("hyperjob_crd", "partition-policy", view.hyperjob_crd)
    for job in view.jobs:
        if not job.in_hyperjob or kept:
            continue
        for index, task in enumerate(job.tasks):
            if "partitionPolicy" in task:
                message = f"the {view.hyperjob_crd} HyperJob CRD drops {job.path}.tasks[{index}].partitionPolicy"
                yield Breach(where=job.source.file, message=message, effect="the partitions are lost in silence")
    for job, path, topology in _topologies(view):
        if job.in_hyperjob and not kept and dig(topology, "highestTierName") is not None:
            message = f"the {view.hyperjob_crd} HyperJob CRD drops {job.path}.{path}.highestTierName"
            yield Breach(where=job.source.file, message=message, effect="the limit becomes tier 1")


def tiers_are_numbers(view: BundleView) -> Iterator[Breach]:
    """An unknown tier name means no constraint; inside a partition some versions ignore names (T7, rules 2.6)."""
    for job, path, topology in _topologies(view):
        if dig(topology, "highestTierName") is not None:
            effect = "a name that the member does not know is no constraint"
            yield Breach(where=f"{job.where}.{path}", message="the tier is given by name", effect=effect)


def partitions_add_up(view: BundleView) -> Iterator[Breach]:
    """Product, minimum and tier of partitions; members check late, the plane not at all (rules 2.1, 2.6)."""
    for job in view.jobs:
        outer = dig(job.spec, "networkTopology", "highestTierAllowed")
        for index, task in enumerate(job.tasks):
            policy = task.get("partitionPolicy")
            if not is_mapping(policy):
                continue
            where = f"{job.where}.tasks[{index}].partitionPolicy"
            total, size, least = (policy.get(f) for f in ("totalPartitions", "partitionSize", "minPartitions"))
            if _product(total, size) != task.get("replicas"):
                message = f"{total} partitions of {size} are not {task.get('replicas')} replicas"
                yield Breach(where=where, message=message, effect="the member denies the child")
            if not isinstance(least, int) or least < 1:
                yield Breach(
                    where=where, message="minPartitions is not written", effect="some versions never schedule it"
                )
            inner = dig(policy, "networkTopology", "highestTierAllowed")
            if isinstance(inner, int) and isinstance(outer, int) and inner > outer:
                message = f"the partition's tier {inner} is above the job's tier {outer}"
                yield Breach(where=where, message=message, effect="the job's tier wins")


def elastic_jobs_have_no_topology(view: BundleView) -> Iterator[Breach]:
    """A domain must have room for all pods of the job, so minAvailable below replicas never helps (T11)."""
    for job in view.jobs:
        loose = [t for t in job.tasks if t.get("minAvailable") != t.get("replicas") and "partitionPolicy" not in t]
        if loose and "networkTopology" in job.spec:
            effect = "it is never placed; use partitions with a smaller minPartitions"
            yield Breach(where=job.where, message="an elastic task under a topology constraint", effect=effect)


def _topologies(view: BundleView) -> Iterator[tuple[JobView, str, Any]]:
    for job in view.jobs:
        if "networkTopology" in job.spec:
            yield job, "networkTopology", job.spec["networkTopology"]
        for index, task in enumerate(job.tasks):
            found = dig(task, "partitionPolicy", "networkTopology")
            if found is not None:
                yield job, f"tasks[{index}].partitionPolicy.networkTopology", found


def _product(total: object, size: object) -> int | None:
    return total * size if isinstance(total, int) and isinstance(size, int) else None


TOPOLOGY_LAWS = (
    constraints_constrain,
    hyperjob_crd_keeps_all,
    tiers_are_numbers,
    partitions_add_up,
    elastic_jobs_have_no_topology,
)
