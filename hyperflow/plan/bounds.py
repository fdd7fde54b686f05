"""Bounds on the step of a choice of degrees, cheap enough to rank thousands: first rough, then sharper on demand."""

from dataclasses import dataclass, replace

import numpy as np

from hyperflow.ir.costs import CostSettings
from hyperflow.plan.arrays import Floats
from hyperflow.plan.choices import Choice
from hyperflow.plan.pricing import Pricer
from hyperflow.plan.sites import Site

GRID = np.concatenate([np.geomspace(1.0, 1.1, 40), np.geomspace(1.11, 1.5, 15), np.geomspace(1.55, 64.0, 15)])
LEAST_SECONDS = 1e-12
"""A layer measured as nothing counts as this, so that a period holds a finite number of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fluid:
    """A choice as a fluid. `slots` are the paces of all stages to be had, fastest first, per unit of layer weight.

    `weight` is that of all layers, `heaviest` the most of one, `ends` that of embedding and head at least. `quickest`
    are the seconds of the quickest layer on each slot, least first, `once_seconds` what once-a-step work adds at
    least. By site: `by_site` (quickest layer), `embedding` and `head` in seconds, `room`, `state`, `kept` in bytes, the
    last two of the least layer; `all_state` and `all_kept` are those of all layers.
    """

    choice: Choice
    settings: CostSettings
    weight: float
    heaviest: float
    ends: float
    slots: Floats
    quickest: Floats
    by_site: Floats
    embedding: Floats
    head: Floats
    once_seconds: float
    room: Floats
    state: Floats
    kept: Floats
    all_state: float
    all_kept: float


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

    def on(self, sites: tuple[Site, ...], copies: tuple[int, ...]) -> "Bounded":
        """The same choice on sites that cost the same, or that the bound does not speak of."""
        choice = replace(self.choice, sites=sites, copies=copies)
        return replace(self, fluid=replace(self.fluid, choice=choice))


def bound_choice(pricer: Pricer, choice: Choice, stage_counts: list[int], fill: float = 1.0) -> list[Bounded]:
    """Bound the step roughly for each number of stages: all work on the fastest device, the period all stages share.

    `fill` is the share of fill and drain that is paid: 1 in the closed form of 1F1B; 0 bounds every schedule.
    """
    fluid = _make_fluid(pricer, choice)
    rates = np.cumsum(1 / fluid.slots)
    work = fluid.weight + fluid.ends
    steady = (fluid.settings.microbatches - fill) * work / rates * (1 - 1e-9)
    least = fluid.once_seconds + fill * work * float(fluid.slots[0])
    bounds: list[float] = (least + steady + 2 * fill * _least_cuts(pricer, fluid, len(steady))).tolist()
    return [
        Bounded(bound_seconds=bounds[stages - 1], fluid=fluid, stages=stages)
        for stages in stage_counts
        if stages <= len(bounds)
    ]


def sharpen(pricer: Pricer, bounded: Bounded, fill: float = 1.0) -> Bounded | None:
    """Give a sharper bound; None when memory rules the choice out.

    Layers fill the fastest stages first. A period P holds at most P / pace of the weight, and whole layers only, on a
    stage. The cost (microbatches - fill) * P plus fill times the least filling is bounded over a grid of periods, the
    filling taken at the upper end of each interval and the period at its lower end. Every cut between clusters is paid
    both ways.
    """
    fluid, stages = bounded.fluid, bounded.stages
    layers, caps = pricer.job.model.num_layers, _memory_caps(pricer, fluid, stages)
    if _most_within(fluid, caps, stages, np.inf) < layers or not _has_bytes(pricer, fluid, stages):
        return None
    slots, quickest = fluid.slots[:stages], fluid.quickest[:stages]
    work = fluid.weight + fluid.ends
    least = _whole_layer_period(fluid, stages, layers, work / float(np.sum(1 / slots)))
    least = _period_within(fluid, caps, stages, layers, least)
    periods = least * GRID
    fluid_room = np.cumsum(periods[1:, None] / slots, axis=1)
    whole_room = np.cumsum(np.floor(periods[1:, None] / quickest + 1e-9), axis=1) * fluid.heaviest + fluid.ends
    held = np.minimum(np.minimum(fluid_room, whole_room), work)
    filling = held[:, 0] * slots[0] + np.sum(np.diff(held, axis=1) * slots[1:], axis=1)
    filling[held[:, -1] < work * (1 - 1e-9)] = np.inf
    steady = fluid.settings.microbatches - fill
    beyond = fill * work * float(slots[0]) + steady * float(periods[-1])
    paid = np.where(np.isinf(filling), np.inf, fill * filling)
    bound = min(float(np.min(paid + steady * periods[:-1])), beyond) * (1 - 1e-9)
    bound += fluid.once_seconds + 2 * fill * float(_least_cuts(pricer, fluid, stages)[-1])
    return replace(bounded, bound_seconds=max(bound, bounded.bound_seconds))


def _whole_layer_period(fluid: Fluid, stages: int, num_layers: int, least: float) -> float:
    """The least period from `least` on in which the stages hold all layers in whole, each at least one."""
    quickest = fluid.quickest[:stages]
    low = max(least, float(quickest[-1]) * (1 - 1e-9))
    if _most_layers(fluid, quickest, low) >= num_layers:
        return low
    high = 1.1 * low
    while _most_layers(fluid, quickest, high) < num_layers:
        low, high = high, 2 * high
    for _ in range(20):
        middle = (low + high) / 2
        if _most_layers(fluid, quickest, middle) >= num_layers:
            high = middle
        else:
            low = middle
    return low


def _most_layers(fluid: Fluid, quickest: Floats, period: float) -> float:
    """Whole layers that stages hold in a period, the first stage beside the embedding, the last beside the head.

    The end stands on one of the quickest stages, or on another site instead of the slowest of them.
    """
    total = np.sum(np.floor(period / quickest + 1e-9))
    replaced = np.floor(period / np.minimum(fluid.by_site, quickest[-1]) + 1e-9)
    head = np.max(np.floor((period - fluid.head) / fluid.by_site + 1e-9) - replaced)
    first = np.max(np.floor((period - fluid.embedding) / fluid.by_site + 1e-9) - replaced)
    return float(total + min(head, first))


def _least_cuts(pricer: Pricer, fluid: Fluid, most: int) -> Floats:
    """One-way seconds of the cuts between sites that 1 to `most` stages need at least: the shortest, none twice."""
    copies = np.sort(np.array(fluid.choice.copies))[::-1]
    needed = np.searchsorted(np.cumsum(copies), np.arange(1, most + 1))
    if needed[-1] == 0:
        return np.zeros(most)
    hops = np.array([0.0, *pricer.shortest_hops(fluid.settings, fluid.choice.sites)])
    return np.cumsum(hops)[np.minimum(needed, len(hops) - 1)] * (1 - 1e-9)


def _memory_caps(pricer: Pricer, fluid: Fluid, stages: int) -> Floats:
    """Layers that the k-th stage of a site (row) has memory for, its stages put where they hold the fewest batches."""
    held = np.sort(np.array(pricer.held(fluid.settings, stages)))
    room = np.full_like(fluid.room, np.inf) if pricer.unlimited else fluid.room
    caps = np.floor(room[:, None] / (fluid.state[:, None] + fluid.kept[:, None] * held) + 1e-9)
    copies = np.array(fluid.choice.copies)
    return np.where(np.arange(stages) < copies[:, None], caps, 0.0)


def _has_bytes(pricer: Pricer, fluid: Fluid, stages: int) -> bool:
    """Say whether so many stages have the bytes of all layers together, however unlike the layers are."""
    rooms = np.sort(np.repeat(fluid.room, np.array(fluid.choice.copies)))[::-1]
    needed = fluid.all_state + fluid.all_kept * min(pricer.held(fluid.settings, stages))
    return bool(np.sum(rooms[:stages]) >= needed * (1 - 1e-9))


def _most_within(fluid: Fluid, caps: Floats, stages: int, period: float) -> float:
    """Layers that so many stages hold at most in a period, in whole and within memory."""
    counts = np.minimum(caps, np.floor(period / fluid.by_site + 1e-9)[:, None]).ravel()
    return float(np.sum(np.partition(counts, len(counts) - stages)[len(counts) - stages :]))


def _period_within(fluid: Fluid, caps: Floats, stages: int, num_layers: int, least: float) -> float:
    """The least period from `least` on in which the stages hold all layers, in whole and within memory."""
    if _most_within(fluid, caps, stages, least) >= num_layers:
        return least
    low, high = least, least + float(np.max(fluid.by_site)) * (num_layers + 1)
    for _ in range(30):
        middle = (low + high) / 2
        if _most_within(fluid, caps, stages, middle) >= num_layers:
            high = middle
        else:
            low = middle
    return low


def _make_fluid(pricer: Pricer, choice: Choice) -> Fluid:
    settings = pricer.settings(choice.degrees, choice.micro_batch_size, choice.recompute)
    summaries = [pricer.summary(site, settings) for site in choice.sites]
    counts = np.array([count for _, count in pricer.runs])
    seconds = np.array([summary.seconds for summary in summaries])
    mean = np.sum(seconds, axis=0) / len(summaries)
    paces = np.min(seconds / mean, axis=1)
    copies, by_site = np.array(choice.copies), np.maximum(np.min(seconds, axis=1), LEAST_SECONDS)
    embedding = np.array([summary.embedding_seconds for summary in summaries])
    head = np.array([summary.head_seconds for summary in summaries])
    return Fluid(
        choice=choice,
        settings=settings,
        weight=float(np.sum(mean * counts)),
        heaviest=float(np.max(mean)),
        ends=float(np.min(embedding / paces) + np.min(head / paces)),
        slots=np.sort(np.repeat(paces, copies)),
        quickest=np.sort(np.repeat(by_site, copies)),
        by_site=by_site,
        embedding=embedding,
        head=head,
        once_seconds=min(s.overhead_seconds for s in summaries),
        room=np.array([s.room for s in summaries]),
        state=np.array([s.least_state for s in summaries]),
        kept=np.array([s.least_kept for s in summaries]),
        all_state=min(s.all_state for s in summaries),
        all_kept=min(s.all_kept for s in summaries),
    )
