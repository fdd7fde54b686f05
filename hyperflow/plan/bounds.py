"""Bounds on the step of a choice of degrees, cheap enough to rank thousands: first rough, then sharper on demand."""

from dataclasses import dataclass, replace

import numpy as np

from hyperflow.ir.costs import CostSettings
from hyperflow.plan.arrays import Floats
from hyperflow.plan.choices import Choice
from hyperflow.plan.pricing import Pricer

GRID = np.concatenate([np.geomspace(1.0, 1.5, 60), np.geomspace(1.55, 64.0, 40)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Fluid:
    """A choice as a fluid. `slots` are the paces of all stages to be had, fastest first, per unit of layer weight.

    `quickest` are the seconds of the quickest layer on each slot, `ends` and `overhead` what embedding, head and the
    once-a-step work add at least. `room`, `state` and `kept` are bytes by site.
    """

    choice: Choice
    settings: CostSettings
    weight: float
    slots: Floats
    quickest: Floats
    fixed_seconds: float
    room: Floats
    state: Floats
    kept: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounded:
    """A choice with a number of stages, and a bound that no split of it goes below."""

    bound_seconds: float
    fluid: Fluid
    stages: int

    @property
    def choice(self) -> Choice:
        """The choice of degrees."""
        return self.fluid.choice

    @property
    def settings(self) -> CostSettings:
        """The cost settings of the choice."""
        return self.fluid.settings


def bound_choice(pricer: Pricer, choice: Choice, stage_counts: list[int]) -> list[Bounded]:
    """Bound the step roughly for each number of stages: all work on the fastest device, the period all stages share."""
    fluid = _make_fluid(pricer, choice)
    rates = np.cumsum(1 / fluid.slots)
    steady = (fluid.settings.microbatches - 1) * fluid.weight / rates * (1 - 1e-9)
    least = fluid.fixed_seconds + fluid.weight * float(fluid.slots[0])
    return [
        Bounded(bound_seconds=least + float(steady[stages - 1]), fluid=fluid, stages=stages)
        for stages in stage_counts
        if stages <= len(fluid.slots)
    ]


def sharpen(pricer: Pricer, bounded: Bounded) -> Bounded | None:
    """Give a sharper bound; None when memory rules the choice out.

    Layers fill the fastest stages first. A period P holds at most P / pace of the weight and P / quickest whole layers
    on a stage. The cost (microbatches - 1) * P plus the least filling is bounded over a grid of periods, the filling
    taken at the upper end of each interval and the period at its lower end.
    """
    fluid, stages = bounded.fluid, bounded.stages
    if not _could_hold(pricer, fluid, stages):
        return None
    slots = fluid.slots[:stages]
    least = max(
        fluid.weight / float(np.sum(1 / slots)), _whole_layer_period(fluid, stages, pricer.job.model.num_layers)
    )
    periods = least * GRID
    capacity = np.concatenate([np.zeros(1), np.cumsum(1 / slots)])
    filling = np.interp(fluid.weight / periods, capacity, np.arange(len(capacity))) * periods
    steady = fluid.settings.microbatches - 1
    bounds = np.minimum.accumulate(filling)[1:] + steady * periods[:-1]
    beyond = fluid.weight * float(slots[0]) + steady * float(periods[-1])
    bound = fluid.fixed_seconds + min(float(np.min(bounds)), beyond) * (1 - 1e-9)
    return replace(bounded, bound_seconds=max(bound, bounded.bound_seconds))


def _whole_layer_period(fluid: Fluid, stages: int, num_layers: int) -> float:
    """The least period in which the stages hold all layers in whole, each at least one."""
    quickest = np.sort(fluid.quickest)[:stages]
    low, high = float(quickest[-1]), float(quickest[0]) * num_layers + float(quickest[-1])
    if np.sum(np.floor(low / quickest + 1e-9)) >= num_layers:
        return low * (1 - 1e-9)
    for _ in range(40):
        middle = (low + high) / 2
        if np.sum(np.floor(middle / quickest + 1e-9)) >= num_layers:
            high = middle
        else:
            low = middle
    return low * (1 - 1e-9)


def _could_hold(pricer: Pricer, fluid: Fluid, stages: int) -> bool:
    """Say whether memory may suffice: the most layers at each position, whichever place stands there."""
    held = np.array(pricer.held(fluid.settings, stages))
    each = fluid.room[:, None] / (fluid.state[:, None] + fluid.kept[:, None] * held)
    return float(np.sum(np.max(np.floor(each + 1e-9), axis=0))) >= pricer.job.model.num_layers


def _make_fluid(pricer: Pricer, choice: Choice) -> Fluid:
    settings = pricer.settings(choice.degrees, choice.micro_batch_size, choice.recompute)
    summaries = [pricer.summary(site, settings) for site in choice.sites]
    seconds = np.array([summary.seconds for summary in summaries])
    mean = np.mean(seconds, axis=0)
    paces = np.min(seconds / mean, axis=1)
    copies = np.array(choice.copies)
    return Fluid(
        choice=choice,
        settings=settings,
        weight=float(np.sum(mean)),
        slots=np.sort(np.repeat(paces, copies)),
        quickest=np.repeat(np.min(seconds, axis=1), copies),
        fixed_seconds=min(s.ends_seconds for s in summaries) + min(s.overhead_seconds for s in summaries),
        room=np.array([s.room for s in summaries]),
        state=np.array([s.least_state for s in summaries]),
        kept=np.array([s.least_kept for s in summaries]),
    )
