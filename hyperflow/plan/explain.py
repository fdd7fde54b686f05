"""Why a plan is as it is, in words made from records."""

from collections.abc import Sequence

from hyperflow.ir.plan import Alternative, Plan, Stage
from hyperflow.plan.alternatives import MOVE
from hyperflow.plan.choose import ORDER_GAIN
from hyperflow.units import format_gib, format_seconds

TIGHT_MEMORY = 0.9


def explain_plan(
    plan: Plan, *, standard_seconds: float, considered: int, by: str, keeps_order: bool, prefer: str = "fastest"
) -> tuple[str, ...]:
    """Give the reasons as sentences: what paces the pipeline, what binds, and what the other plans would cost.

    `standard_seconds` is the step with the standard warm-up, `considered` how many choices were bounded or solved,
    `by` who made the split, `keeps_order` whether the declared order was kept against a slightly better one, `prefer`
    what was preferred.
    """
    lines = [_clusters(plan), *_pace(plan), *_warmup(plan, standard_seconds), *_memory(plan.stages)]
    lines += [*_one_layer(plan), *_others(plan)]
    lines += [_not_possible(plan, a) for a in plan.alternatives if a.step_seconds is not None and not a.feasible]
    lines += [f"{a.name} is out: {a.reason}" for a in plan.alternatives if a.step_seconds is None]
    lines += [f"{count} devices of {name} are left over" for name, count in plan.devices_left_over]
    lines.append(_proof(plan, considered, by, keeps_order, prefer))
    return tuple(lines)


def _clusters(plan: Plan) -> str:
    parts: list[str] = []
    for cluster in plan.clusters:
        stages = [stage for stage in plan.stages if stage.cluster == cluster and stage.replica == 0]
        if not stages:
            continue
        layers = sum(stage.layers for stage in stages)
        middle = max(stages, key=lambda stage: stage.layers)
        each = format_seconds(middle.seconds_per_microbatch / max(1, middle.layers))
        count = f"{len(stages)} stages" if len(stages) > 1 else "1 stage"
        parts.append(f"{cluster} holds {layers} layers in {count} (about {each} a layer on {middle.device})")
    return "; ".join(parts)


def _pace(plan: Plan) -> list[str]:
    slowest = max(plan.stages, key=lambda stage: (stage.seconds_per_microbatch, -stage.index))
    fastest = min(plan.stages, key=lambda stage: (stage.seconds_per_microbatch, stage.index))
    if len(plan.stages) == 1:
        return [
            f"one stage of {format_seconds(slowest.seconds_per_microbatch)} per micro-batch: no pipeline, no bubble"
        ]
    return [
        f"stage {slowest.index} on {slowest.cluster} paces the pipeline with "
        f"{format_seconds(slowest.seconds_per_microbatch)} per micro-batch; the quickest, stage {fastest.index}, takes "
        f"{format_seconds(fastest.seconds_per_microbatch)}"
    ]


def _warmup(plan: Plan, standard_seconds: float) -> list[str]:
    standard = tuple(min(plan.microbatches, len(plan.warmup) - i) for i in range(len(plan.warmup)))
    if plan.warmup in ((), standard):
        return []
    depths = ", ".join(map(str, plan.warmup))
    return [
        f"warm-up depths {depths} hide the links; with the standard order the step would take "
        f"{format_seconds(standard_seconds)}"
    ]


def _memory(stages: Sequence[Stage]) -> list[str]:
    tight = [s for s in stages if s.memory_limit_bytes and s.memory_bytes > TIGHT_MEMORY * s.memory_limit_bytes]
    if not tight:
        return []
    worst = max(tight, key=lambda s: (s.memory_bytes / s.memory_limit_bytes, -s.index))
    others = f", and over {TIGHT_MEMORY:.0%} is used on {len(tight) - 1} more" if len(tight) > 1 else ""
    return [
        f"memory binds stage {worst.index} on {worst.cluster}: {format_gib(worst.memory_bytes)} of "
        f"{format_gib(worst.memory_limit_bytes)}{others}"
    ]


def _one_layer(plan: Plan) -> list[str]:
    """What the cheapest move of one layer between clusters would cost."""
    moves = [a for a in _possible(plan) if a.name.startswith(MOVE)]
    if not moves:
        return []
    least = min(moves, key=lambda a: a.step_seconds or 0.0)
    more = (least.step_seconds or 0.0) - plan.step_seconds
    costs = f"costs {format_seconds(more)} a step" if more >= 0 else f"saves {format_seconds(-more)} a step"
    return [f"{least.name} {costs}{', the least of such moves' if len(moves) > 1 else ''}"]


def _others(plan: Plan) -> list[str]:
    """The other shapes by how their step compares, in one sentence."""
    rows = [a for a in _possible(plan) if not a.name.startswith(MOVE)]
    compared = [f"{a.name} {(a.step_seconds or 0.0) / plan.step_seconds:.2f}" for a in rows]
    return [f"the others take, in times the chosen step: {'; '.join(compared)}"] if compared else []


def _possible(plan: Plan) -> list[Alternative]:
    return [a for a in plan.alternatives if a.feasible and a.step_seconds is not None]


def _not_possible(plan: Plan, other: Alternative) -> str:
    ratio = (other.step_seconds or 0.0) / plan.step_seconds
    return f"{other.name} would take {ratio:.2f} times the chosen step and is not possible: {other.reason}"


def _proof(plan: Plan, considered: int, by: str, keeps_order: bool, prefer: str) -> str:
    optimal = plan.optimal
    if by != "solver":
        return f"the split was given by {by}; no solver ran"
    bound = format_seconds(optimal.bound_seconds)
    of = f"of {considered} choices of degrees and stages"
    if keeps_order:
        of += f" in the declared order of clusters, which another must beat by {ORDER_GAIN:.0%}"
    if prefer == "cheapest":
        hours = plan.step_seconds * plan.degrees.devices_per_stage * len(plan.stages) / 3600
        sure = (
            f"proven cheapest {of}"
            if optimal.proven
            else f"cheapest found {of}, its price within {optimal.gap:.1%} of the bound"
        )
        return f"{sure}: {hours:.3g} device-hours a step, weighed by the fleet's prices where it states them"
    if prefer != "fastest":
        of += f" on the first clusters by prefer={prefer} that can run the job"
    if optimal.proven:
        return f"proven best {of}: no other goes below {bound}"
    return f"best found {of}, within {optimal.gap:.1%} of the bound {bound}"
