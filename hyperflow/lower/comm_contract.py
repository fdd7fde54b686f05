"""The contract framework to infrastructure: which ranks talk, how much, over what, and which paths they use.

Ranks are ordered tensor, context, data, pipeline, the last outermost, as Megatron and torchtitan number them; expert
groups lie inside a stage. Volumes are those of the cost formulas (Megatron-LM SC21 section 3; ring collectives).
"""

import json
from collections.abc import Callable, Iterable
from typing import Any

from hyperflow.ir.manifests import CommContract, CommGroup
from hyperflow.ir.plan import Plan
from hyperflow.lower.draft import Draft
from hyperflow.lower.split_counts import expert_tensor_parallel
from hyperflow.lower.stage_groups import node_group_for
from hyperflow.lower.storage import storage_paths

SCHEMA = "hyperflow.comm/v1"
ORDER = ("tp", "cp", "dp", "pp")
ACTIVATION_BYTES = 2
GRADIENT_BYTES = 4
WEIGHT_BYTES = 2


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
            link_class=_link_class(draft, ranks, place),
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


def _link_class(draft: Draft, ranks: tuple[int, ...], place: Callable[[int], str]) -> str:
    if len({place(rank) for rank in (ranks[0], ranks[-1])}) > 1 or len({place(rank) for rank in ranks}) > 1:
        return "inter-cluster"
    group = next(group for group in draft.groups if group.cluster.name == place(ranks[0]))
    nodes = node_group_for(group.cluster, group.device, group.devices_per_node)
    domain = max(nodes.nvlink_domain or 0, group.devices_per_node) if nodes else group.devices_per_node
    return "scale-up" if ranks[0] // domain == ranks[-1] // domain else "scale-out"


def _traffic(draft: Draft) -> dict[str, Callable[[tuple[int, ...]], int]]:
    """Bytes that one rank of a group sends per step, by kind."""
    plan, model = draft.plan, draft.job.model
    degrees = plan.degrees
    layers = {s.index: s.layers for s in plan.stages}
    parameters = {s.index: s.parameters for s in plan.stages}
    tokens = plan.micro_batch_size * model.sequence_length // degrees.cp
    activation = tokens * model.hidden * ACTIVATION_BYTES
    mixtures = [layer.experts for layer in model.layers]

    def stage_of(ranks: tuple[int, ...]) -> int:
        return ranks[0] // degrees.devices_per_stage

    def tensor(ranks: tuple[int, ...]) -> int:
        collectives = 4 + (2 if plan.recompute == "full" else 0)
        share = 2 * (degrees.tp - 1) / degrees.tp
        return round(collectives * share * activation * layers[stage_of(ranks)] * plan.microbatches)

    def context(ranks: tuple[int, ...]) -> int:
        attention = next((layer.attention for layer in model.layers if layer.attention), None)
        width = attention.kv_heads * attention.head_dim if attention else model.hidden
        ring = 2 * plan.micro_batch_size * model.sequence_length * width * ACTIVATION_BYTES / degrees.tp
        return round(3 * ring * (degrees.cp - 1) / degrees.cp * layers[stage_of(ranks)] * plan.microbatches)

    def data(ranks: tuple[int, ...]) -> int:
        own = parameters[stage_of(ranks)] / degrees.tp
        volume = (GRADIENT_BYTES + WEIGHT_BYTES) if plan.zero else 2 * GRADIENT_BYTES
        return round(volume * own * (degrees.dp - 1) / degrees.dp)

    def pipeline(_: tuple[int, ...]) -> int:
        return 2 * plan.microbatches * (activation // degrees.tp)

    def experts(ranks: tuple[int, ...]) -> int:
        first = sum(layers[index] for index in range(stage_of(ranks)))
        here: Iterable[Any] = mixtures[first : first + layers[stage_of(ranks)]]
        routed = sum(mixture.active for mixture in here if mixture)
        return round(4 * activation / degrees.tp * routed * (degrees.ep - 1) / degrees.ep * plan.microbatches)

    return {"tp": tensor, "cp": context, "dp": data, "pp": pipeline, "ep": experts}
