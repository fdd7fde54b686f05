"""Topology constraints that a member accepts and that then bind nothing, or keep the job out for ever.

Source: control-plane recordings of 2026-11-30, section 3, and volcano pkg/scheduler at ed72c7c81.
"""

from collections.abc import Iterator
from typing import Any

from hyperflow.admission.problem import Mend, Path, Problem, risk
from hyperflow.admission.rules.job_view import JobView, whole
from hyperflow.admission.state import ServerState
from hyperflow.errors import nearest
from hyperflow.json_tree import dig, is_mapping, mapping, text


def topologies(job: JobView) -> Iterator[Problem]:
    """Warn of idle topologies of the job and of its tasks' partitions."""
    yield from topology_risks((*job.path, "networkTopology"), job.posted.get("networkTopology"), job.state)
    for task in job.tasks:
        tree = dig(task.posted, "partitionPolicy", "networkTopology")
        yield from topology_risks((*task.path, "partitionPolicy", "networkTopology"), tree, job.state)


def topology_risks(path: Path, posted: object, state: ServerState) -> Iterator[Problem]:
    """Warn of a topology without effect: no tier, an empty or unknown name, a tier out of range, soft with a tier."""
    if not is_mapping(posted):
        return
    mode, tier = text(posted.get("mode"), "hard"), posted.get("highestTierAllowed")
    name = posted.get("highestTierName")
    if mode == "soft":
        for key in ("highestTierAllowed", "highestTierName"):
            if posted.get(key) is not None:
                yield risk("HF860", "soft-tier", (*path, key), "soft ignores the tier", got=posted[key],
                           expected="no tier, or mode: hard", hint="take the tier out, or write mode: hard",
                           mend=Mend(path=(*path, key), remove=True))  # fmt: skip
        return
    if tier is None and name is None:
        yield risk("HF860", "no-tier", path, "hard without a tier binds nothing: pods may land anywhere", got=posted,
                   expected="highestTierAllowed", hint="write highestTierAllowed: 1 for one leaf")  # fmt: skip
    elif name is not None and not tier:
        yield from _tier_name((*path, "highestTierName"), text(name), state)
    if isinstance(tier, int) and not isinstance(tier, bool):
        highest = state.highest_tier() if state.knows("topology.volcano.sh", "HyperNode") else None
        if tier == 0:
            yield risk("HF860", "tier-zero", (*path, "highestTierAllowed"),
                       "no HyperNode has tier 0 or less: never scheduled",
                       got=0, expected="1 or more", hint="write highestTierAllowed: 1")  # fmt: skip
        elif highest is not None and tier > highest:
            yield risk("HF860", "tier-above-all", (*path, "highestTierAllowed"),
                       f"the highest tier is {highest}: a higher one binds nothing", got=tier,
                       expected=f"1 to {highest}", hint=f"write highestTierAllowed: {highest}")  # fmt: skip


def _tier_name(path: Path, name: str, state: ServerState) -> Iterator[Problem]:
    if not name:
        yield risk("HF860", "tier-name-empty", path, "an empty tier name binds nothing", got=name,
                   expected="a tier name",
                   hint="write highestTierAllowed: 1 instead")  # fmt: skip
    elif state.knows("topology.volcano.sh", "HyperNode") and name not in state.tier_numbers():
        yield risk("HF860", "tier-name-unknown", path, f"no HyperNode has the tier name {name}: it binds nothing",
                   got=name, expected="one of " + ", ".join(sorted(state.tier_numbers())),
                   hint=nearest(name, state.tier_numbers()))  # fmt: skip


def partition_above_job(job: JobView) -> Iterator[Problem]:
    """Warn of a partition tier above the job's: the job's wins."""
    limit = _tier_of(mapping(job.spec.get("networkTopology")), job.state)
    for task in job.tasks:
        tree = mapping(dig(task.values, "partitionPolicy", "networkTopology"))
        tier = _tier_of(tree, job.state)
        if limit is not None and tier is not None and tier > limit:
            key = "highestTierAllowed" if "highestTierAllowed" in tree else "highestTierName"
            yield risk("HF860", "partition-tier", (*task.path, "partitionPolicy", "networkTopology", key),
                       f"the partition's tier {tier} is above the job's {limit}: the job's binds", got=tier,
                       expected=f"1 to {limit}", hint=f"write {limit} or less")  # fmt: skip


def _tier_of(tree: dict[str, Any], state: ServerState) -> int | None:
    if text(tree.get("mode"), "hard") == "soft":
        return None
    if isinstance(tree.get("highestTierAllowed"), int):
        return whole(tree.get("highestTierAllowed"))
    return state.tier_numbers().get(text(tree.get("highestTierName")))


RULES = (topologies, partition_above_job)
