"""The contract framework to infrastructure: which ranks talk, how much, over what, and which paths they use.

Ranks are ordered tensor, context, data, pipeline, the last outermost, as Megatron and torchtitan number them; expert
groups lie inside a stage. Volumes are those of the cost model; that of a pipeline group is one rank's share of one
boundary, both ways together.
"""

import json
from collections.abc import Callable
from typing import Any

from hyperflow.cost.traffic import StageTraffic, boundary_bytes_per_step, stage_traffic
from hyperflow.ir.costs import CostSettings
from hyperflow.ir.manifests import CommContract, CommGroup
from hyperflow.ir.plan import Plan
from hyperflow.lower.draft import Draft
from hyperflow.lower.split_counts import expert_tensor_parallel
from hyperflow.lower.stage_groups import node_group_for
from hyperflow.lower.storage import storage_paths

SCHEMA = "hyperflow.comm/v1"
ORDER = ("tp", "cp", "dp", "pp")


def comm_contract(draft: Draft) -> CommContract:
    """Give all groups of more than one rank with their bytes per rank and step."""
    degrees = draft.plan.degrees
    members = rank_groups(draft.plan)
    traffic = _traffic(draft)
    place = _rank_places(draft)
    groups = [
        CommGroup(
            kind=kind,
            index=index,
            ranks=ranks,
            bytes_per_step=traffic[kind](ranks),
            link_class=_link_class(draft, kind, ranks, place),
            clusters=tuple(dict.fromkeys(place(rank) for rank in ranks)),
        )
        for kind in members
        for index, ranks in enumerate(members[kind])
    ]
    return CommContract(
        job=draft.job.job.name,
        world_size=degrees.world_size,
        devices_per_node=draft.groups[0].devices_per_node,
        order=ORDER,
        degrees={"tp": degrees.tp, "cp": degrees.cp, "ep": degrees.ep, "pp": degrees.pp, "dp": degrees.dp},
        groups=tuple(groups),
        links=tuple((load.source, load.target, load.purpose, load.bytes_per_step) for load in draft.plan.links),
        storage=storage_paths(draft.job, draft.all_clusters),
    )


def rank_groups(plan: Plan) -> dict[str, list[tuple[int, ...]]]:
    """Give kind -> groups of global ranks; kinds of degree 1 have none."""
    degrees = plan.degrees
    tp, cp, dp, pp = degrees.tp, degrees.cp, degrees.dp, degrees.pp
    world, stage = degrees.world_size, degrees.devices_per_stage
    found = {
        "tp": _strided(world, 1, tp),
        "cp": _strided(world, tp, cp),
        "dp": _strided(world, tp * cp, dp),
        "pp": _strided(world, stage, pp),
        "ep": _strided(world, expert_tensor_parallel(plan), degrees.ep),
    }
    return {kind: groups for kind, groups in found.items() if len(groups[0]) > 1}


def _strided(world: int, stride: int, size: int) -> list[tuple[int, ...]]:
    """All groups of `size` ranks that lie `stride` apart.

    >>> _strided(8, 2, 2)
    [(0, 2), (1, 3), (4, 6), (5, 7)]
    """
    block = stride * size
    return [
        tuple(range(start + first, start + block, stride))
        for start in range(0, world, block)
        for first in range(stride)
    ]


def comm_document(contract: CommContract) -> dict[str, Any]:
    """The contract as written to comm.json, under docs/comm.schema.json."""
    return {
        "schema": SCHEMA,
        "job": contract.job,
        "world_size": contract.world_size,
        "devices_per_node": contract.devices_per_node,
        "rank_order": list(contract.order),
        "degrees": dict(contract.degrees),
        "groups": [
            {
                "kind": group.kind,
                "index": group.index,
                "ranks": list(group.ranks),
                "bytes_per_rank_and_step": group.bytes_per_step,
                "link_class": group.link_class,
                "clusters": list(group.clusters),
            }
            for group in contract.groups
        ],
        "links": [
            {"from": source, "to": target, "purpose": purpose, "bytes_per_step": count}
            for source, target, purpose, count in contract.links
        ],
        "storage": [
            {
                "purpose": path.purpose,
                "path": path.path,
                "mount": path.mount,
                "access": path.access,
                "clusters": list(path.clusters),
            }
            for path in contract.storage
        ],
    }


def comm_text(contract: CommContract) -> str:
    """The text of comm.json: one line a group, so that a diff shows which changed."""
    document = comm_document(contract)
    groups = ",\n".join("  " + json.dumps(group) for group in document["groups"])
    rest = json.dumps({key: value for key, value in document.items() if key != "groups"}, indent=1, ensure_ascii=False)
    return rest.removesuffix("\n}") + ',\n "groups": [\n' + groups + "\n ]\n}\n"


def _rank_places(draft: Draft) -> Callable[[int], str]:
    clusters: list[str] = []
    for group in draft.groups:
        clusters += [group.cluster.name] * (group.nodes * group.devices_per_node)
    return clusters.__getitem__


def _link_class(draft: Draft, kind: str, ranks: tuple[int, ...], place: Callable[[int], str]) -> str:
    """What a group needs: tensor and expert groups want one scale-up domain where they fit, others take the fabric."""
    if len({place(rank) for rank in ranks}) > 1:
        return "inter-cluster"
    group = next(group for group in draft.groups if group.cluster.name == place(ranks[0]))
    pod = group.devices_per_node
    nodes = node_group_for(group.cluster, group.device, pod)
    domain = max(nodes.nvlink_domain or 0, pod) if nodes else pod
    fits_domain = kind in ("tp", "ep") and ranks[-1] - ranks[0] < domain
    return "scale-up" if fits_domain or ranks[0] // pod == ranks[-1] // pod else "scale-out"


def _traffic(draft: Draft) -> dict[str, Callable[[tuple[int, ...]], int]]:
    """Bytes that one rank of a group sends per step, by kind: the cost model's own numbers."""
    plan = draft.plan
    degrees = plan.degrees
    settings = CostSettings(
        degrees=degrees,
        micro_batch_size=plan.micro_batch_size,
        microbatches=plan.microbatches,
        schedule=plan.schedule,
        recompute=plan.recompute,
        zero=plan.zero,
        precision=draft.job.job.model.precision,
    )
    stages = {
        stage.index: stage_traffic(draft.job.model, stage.first_layer, stage.layers, settings) for stage in plan.stages
    }
    boundary = boundary_bytes_per_step(draft.job.model, settings) / (degrees.tp * degrees.cp)

    def stage(ranks: tuple[int, ...]) -> StageTraffic:
        return stages[ranks[0] // degrees.devices_per_stage]

    return {
        "tp": lambda ranks: round(stage(ranks).tp),
        "cp": lambda ranks: round(stage(ranks).cp),
        "ep": lambda ranks: round(stage(ranks).ep),
        "dp": lambda ranks: round(stage(ranks).dp),
        "pp": lambda _: round(boundary),
    }
