"""The chosen plan and the even split as timelines, one above the other on one time scale."""

from collections.abc import Sequence
from itertools import pairwise

from hyperflow.errors import HyperFlowError
from hyperflow.ir.plan import Plan, Stage
from hyperflow.ir.timeline import StageTimes, Timeline
from hyperflow.report.plan_table import short_counts
from hyperflow.report.timeline_svg import Panel, draw_timelines
from hyperflow.simulate.orders import order_for
from hyperflow.simulate.timeline import simulate

MOST_OPERATIONS = 1600
"""More boxes than this cannot be told apart; fewer micro-batches are drawn then, and the title says so."""


def draw_plan(plan: Plan) -> str:
    """Give the SVG of the chosen plan and the even split; empty for one stage or a schedule that is not simulated."""
    if plan.degrees.pp < 2:
        return ""
    drawn = _drawn_microbatches(plan)
    panels = [_panel(plan, "chosen", plan.stages, plan.warmup, drawn)]
    even = next((other for other in plan.alternatives if other.name == "even split" and other.stages), None)
    if even is not None:
        panels.insert(0, _panel(plan, even.name, even.stages, even.warmup, drawn))
    found = [panel for panel in panels if panel is not None]
    return draw_timelines(found, unit="ms") if found else ""


def plan_timeline(
    plan: Plan, stages: Sequence[Stage], warmup: Sequence[int], microbatches: int, *, per_second: float = 1.0
) -> Timeline:
    """Simulate stages of a plan for so many micro-batches; times in seconds, or in `per_second` parts of one.

    Hops inside a cluster count as nothing: they are hidden or small. Raises HyperFlowError for a schedule that cannot
    be ordered.
    """
    between = {(link.source, link.target): link.seconds_per_microbatch for link in plan.links if link.purpose == "pp"}
    pairs = pairwise(stage.cluster for stage in stages)
    hops = [between.get(pair, 0.0) * per_second for pair in pairs]
    times = StageTimes(
        forward=tuple(stage.forward_seconds * per_second for stage in stages),
        backward_input=tuple(stage.backward_input_seconds * per_second for stage in stages),
        backward_weight=tuple(stage.backward_weight_seconds * per_second for stage in stages),
    )
    depths = tuple(min(depth, microbatches) for depth in warmup) or None
    order = order_for(plan.schedule, len(stages), microbatches, warmup=depths, durations=times, links=hops)
    return simulate(order, times, hops)


def _drawn_microbatches(plan: Plan) -> int:
    most = MOST_OPERATIONS // (3 * plan.degrees.pp)
    return plan.microbatches if plan.microbatches <= most else max(2 * plan.degrees.pp, most)


def _panel(plan: Plan, name: str, stages: Sequence[Stage], warmup: Sequence[int], drawn: int) -> Panel | None:
    pipeline = [stage for stage in stages if stage.replica == 0]
    try:
        timeline = plan_timeline(plan, pipeline, warmup, drawn, per_second=1e3)
    except HyperFlowError:
        return None  # interleaved and V-shaped plans are drawn by `hyperflow simulate`, which knows their chunks
    shown = "" if drawn == plan.microbatches else f", {drawn} of {plan.microbatches} micro-batches"
    return Panel(
        title=f"{name} {short_counts([stage.layers for stage in pipeline])}{shown}",
        timeline=timeline,
        clusters=tuple(stage.cluster for stage in pipeline),
    )
