"""The pieces of the model that a stage can hold in a split no worse than one already known."""

from dataclasses import dataclass

import numpy as np

from hyperflow.plan.arrays import Floats, Ints, Numbers
from hyperflow.plan.cover import end_cost, lowest_start


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Layers [start, end) on a stage, its scaled seconds, and the scaled one-way cut after it."""

    start: int
    end: int
    seconds: float
    cut_after: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Arcs:
    """All pieces of one stage under a limit, in parallel arrays."""

    start: Ints
    end: Ints
    seconds: Floats
    cut: Floats


def useful_pieces(numbers: Numbers, least_period: float, worst: float, most: int) -> list[list[Piece]] | None:
    """Give the pieces of each stage that some split of scaled objective at most `worst` may contain.

    `least_period` is a proven bound. A piece is left out when it is longer than such a split's period can be, or when
    the cheapest way through it costs too much: both only drop splits that are worse. None when more than `most`
    pieces remain in all.
    """
    limit = worst if numbers.period_weight <= 1 else worst / numbers.period_weight
    arcs = _all_arcs(numbers, limit, most)
    if arcs is None:
        return None
    for _ in range(2):
        before, after = _cheapest_ways(numbers, arcs)
        tail = numbers.places[(numbers.problem.order or (0,))[-1]].tail * numbers.tail_weight
        totals = numbers.problem.objective != "bottleneck"
        cheapest = float(before[-1][numbers.num_layers]) if totals else 0.0
        limit = (worst - cheapest - tail) / numbers.period_weight if numbers.period_weight > 0 else np.inf
        kept: list[_Arcs] = []
        for i, arc in enumerate(arcs):
            through = before[i][arc.start] + arc.seconds + numbers.cut_weight * arc.cut + after[i + 1][arc.end] + tail
            if not totals:
                through = np.where(np.isinf(through), np.inf, 0.0)
            steady = numbers.period_weight * np.maximum(arc.seconds, least_period)
            keep = (arc.seconds <= limit * (1 + 1e-9)) & (through + steady <= worst * (1 + 1e-9))
            kept.append(_Arcs(start=arc.start[keep], end=arc.end[keep], seconds=arc.seconds[keep], cut=arc.cut[keep]))
        arcs = kept
    if sum(len(arc.start) for arc in arcs) > most:
        return None
    return [_listed(arc) for arc in arcs]


def _all_arcs(numbers: Numbers, limit: float, most: int) -> list[_Arcs] | None:
    order = numbers.problem.order
    assert order is not None, "pieces need a fixed order"
    arcs: list[_Arcs] = []
    every = np.arange(numbers.num_layers + 1)
    least = numbers.problem.min_layers
    for i, place in enumerate(order):
        last = i == numbers.num_stages - 1
        seconds, size = end_cost(numbers, place, i)
        ends = np.array([numbers.num_layers]) if last else every
        lowest = lowest_start(numbers, place, ends, limit, numbers.problem.held(i), seconds, size)
        counts = np.maximum(ends - least - lowest + 1, 0)
        if int(counts.sum()) > 50 * most:
            return None
        end = np.repeat(ends, counts)
        start = np.repeat(lowest, counts) + np.arange(len(end)) - np.repeat(np.cumsum(counts) - counts, counts)
        if i == 0:
            end, start = end[start == 0], start[start == 0]
        prefix = numbers.places[place].seconds
        arcs.append(
            _Arcs(start=start, end=end, seconds=prefix[end] - prefix[start] + seconds, cut=_cut(numbers, order, i, end))
        )
    return arcs


def _cut(numbers: Numbers, order: tuple[int, ...], i: int, end: Ints) -> Floats:
    if i == numbers.num_stages - 1:
        return np.zeros(len(end))
    cut = np.full(len(end), float(numbers.pair[order[i], order[i + 1]]) + float(numbers.by_position[i]))
    return cut if numbers.by_layer is None else cut + numbers.by_layer[end, i]


def _cheapest_ways(numbers: Numbers, arcs: list[_Arcs]) -> tuple[list[Floats], list[Floats]]:
    """Give for each boundary the least total of reaching layer l from the start, and of ending from it."""
    size = numbers.num_layers + 1
    before = [np.full(size, np.inf)]
    before[0][0] = 0.0
    for arc in arcs:
        reached = np.full(size, np.inf)
        np.minimum.at(reached, arc.end, before[-1][arc.start] + arc.seconds + numbers.cut_weight * arc.cut)
        before.append(reached)
    after = [np.full(size, np.inf)]
    after[0][-1] = 0.0
    for arc in reversed(arcs):
        reached = np.full(size, np.inf)
        np.minimum.at(reached, arc.start, after[-1][arc.end] + arc.seconds + numbers.cut_weight * arc.cut)
        after.append(reached)
    return before, after[::-1]


def _listed(arc: _Arcs) -> list[Piece]:
    return [
        Piece(start=int(a), end=int(b), seconds=float(t), cut_after=float(c))
        for a, b, t, c in zip(arc.start, arc.end, arc.seconds, arc.cut, strict=True)
    ]
