"""Why a plan is as it is, in words made from records."""

from collections.abc import Sequence

from hyperflow.ir.plan import Alternative, Plan, Stage
from hyperflow.plan.choose import ORDER_GAIN
from hyperflow.units import format_bytes, format_seconds

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
    lines += [_compared(plan, alternative) for alternative in plan.alternatives if alternative.step_seconds is not None]
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
    return [
        f"memory binds stage {stage.index} on {stage.cluster}: {format_bytes(stage.memory_bytes)} of "
        f"{format_bytes(stage.memory_limit_bytes)}"
        for stage in tight
    ]


def _compared(plan: Plan, other: Alternative) -> str:
    step = other.step_seconds or 0.0
    ratio = step / plan.step_seconds
    much = f"{format_seconds(step)}, {ratio:.2f} times the chosen step"
    if not other.feasible:
        return f"{other.name}: {much}, and not possible: {other.reason}"
    return f"{other.name}: {much}"


def _proof(plan: Plan, considered: int, by: str, keeps_order: bool, prefer: str) -> str:
    optimal = plan.optimal
    if by != "solver":
        return f"the split was given by {by}; no solver ran"
    bound = format_seconds(optimal.bound_seconds)
    of = f"of {considered} choices of degrees and stages"
    if keeps_order:
        of += f" in the declared order of clusters, which another must beat by {ORDER_GAIN:.0%}"
    if prefer == "cheapest":
        return (
            f"proven cheapest {of}"
            if optimal.proven
            else f"cheapest found {of}, its price within {optimal.gap:.1%} of the bound"
        )
    if prefer != "fastest":
        of += f" on the first clusters by prefer={prefer} that can run the job"
    if optimal.proven:
        return f"proven best {of}: no other goes below {bound}"
    return f"best found {of}, within {optimal.gap:.1%} of the bound {bound}"
