"""The step of a split under a schedule that is simulated."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate, pairwise

from hyperflow.ir.costs import DeviceCosts, LayerCost
from hyperflow.ir.timeline import StageTimes
from hyperflow.plan.bounds import Bounded
from hyperflow.plan.price import price_split
from hyperflow.plan.pricing import Pricer
from hyperflow.plan.problem import Split, SplitProblem
from hyperflow.plan.schedules import STANDARD, timed_seconds
from hyperflow.plan.warmup import Paced


def pace_by_time(pricer: Pricer, bounded: Bounded, problem: SplitProblem, split: Split, closed: Paced) -> Paced:
    """Time a split: the makespan of its schedule, and the most that a stage does once a step beside it.

    `closed` is the split under the closed form of 1F1B, whose warm-up depths only 1F1B has.
    """
    costs = [pricer.costs(bounded.choice.sites[place], bounded.settings) for place in split.order]
    ranges = list(pairwise(accumulate(split.layers, initial=0)))
    parts = [stage_parts(costs[i], i, len(costs), *ranges[i]) for i in range(len(costs))]
    once = max(sum(costs[i].step_seconds_per_layer[start:end]) for i, (start, end) in enumerate(ranges))
    warmup = closed.depths if pricer.schedule == STANDARD else ()
    seconds = once + timed_seconds(
        pricer.schedule,
        stage_times(parts),
        price_split(problem, split).cut_seconds,
        bounded.settings.microbatches,
        warmup=warmup or None,
        framework=pricer.framework,
    )
    return replace(
        closed,
        depths=warmup,
        seconds=seconds,
        standard_seconds=seconds,
        hidden_depths=warmup,
        hidden_seconds=seconds,
    )


def stage_parts(costs: DeviceCosts, index: int, stages: int, start: int, end: int) -> list[LayerCost]:
    """The layers of a stage, with the embedding on the first and the head on the last."""
    return [*costs.layers[start:end], *[costs.embedding] * (index == 0), *[costs.head] * (index == stages - 1)]


def stage_times(parts: Sequence[Sequence[LayerCost]]) -> StageTimes:
    """Seconds of one micro-batch on each stage."""
    return StageTimes(
        forward=tuple(sum(part.forward_seconds for part in stage) for stage in parts),
        backward_input=tuple(sum(part.backward_input_seconds for part in stage) for stage in parts),
        backward_weight=tuple(sum(part.backward_weight_seconds for part in stage) for stage in parts),
    )
