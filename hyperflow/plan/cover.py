"""How many layers stages can hold under a period limit: bounds that cut the exact search and prove its end."""

from dataclasses import dataclass

import numpy as np

from hyperflow.plan.arrays import Floats, Ints, Numbers

SLACK = 1e-12
"""Relative rounding allowed when a stage is compared with the limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cover:
    """For one limit: per place the most layers of one stage anywhere, and for a fixed order the farthest prefix.

    `ranking` lists the places by most layers, largest first. `least_total[i][l]` is the least that the first i stages
    with their cuts can add to the total when they hold l layers.
    """

    limit: float
    most: Ints
    ranking: Ints
    prefix: Ints | None
    least_total: tuple[Floats, ...]


def make_cover(numbers: Numbers, limit: float) -> Cover:
    """Measure the places under the limit; ends and links are left out, so the figures are upper bounds."""
    order, most = numbers.problem.order, _most_layers(numbers, limit)
    return Cover(
        limit=limit,
        most=most,
        ranking=np.argsort(-most, kind="stable"),
        prefix=None if order is None else _prefix_reach(numbers, order, limit),
        least_total=tuple(least_total(numbers, limit, position) for position in range(numbers.num_stages + 1)),
    )


def _most_layers(numbers: Numbers, limit: float) -> Ints:
    """Give for each place the most layers that one of its stages can hold under the limit."""
    every = np.arange(numbers.num_layers + 1)
    ease = min(numbers.problem.held(i) for i in range(numbers.num_stages))
    starts = [lowest_start(numbers, j, every, limit, ease, 0.0, 0.0) for j in range(len(numbers.places))]
    return np.max(every - np.array(starts), axis=1)


def least_total(numbers: Numbers, limit: float, position: int) -> Floats:
    """Give for each l the least that the first `position` stages, holding l layers, and their cuts add to the total.

    Layers are weighed by their mean over the places; a place takes at least `pace` seconds per unit of weight, and a
    stage holds no more weight than its pace allows under the limit. Filling the fastest stages first is a bound.
    """
    order = numbers.problem.order
    if order is not None:
        paces = np.sort(numbers.paces[np.array(order[:position], dtype=np.int64)])
    else:
        copies = np.array([min(place.copies, position) for place in numbers.places], dtype=np.int64)
        paces = np.sort(np.repeat(numbers.paces, copies))[:position]
    cuts = float(numbers.least_cuts[position]) * numbers.cut_weight
    if not len(paces) or paces[0] <= 0:
        return np.full(numbers.num_layers + 1, cuts)
    if np.isinf(limit):
        return numbers.weights * paces[0] + cuts
    held = np.concatenate([np.zeros(1), np.cumsum(limit / paces)])
    spent = limit * np.arange(len(held))
    return np.interp(numbers.weights, held, spent) + cuts


def lowest_start(
    numbers: Numbers, place: int, ends: Ints, limit: float, held: float, end_seconds: float, end_bytes: float
) -> Ints:
    """Give for each end the smallest start whose layers keep to the limit and to the place's memory.

    A start above the end says that not even an empty stage fits.
    """
    p = numbers.places[place]
    by_time = np.searchsorted(p.seconds, p.seconds[ends] + end_seconds - limit * (1 + SLACK), side="left")
    if np.isinf(p.limit):
        return by_time
    weights = p.state + held * p.held
    room = p.limit - p.fixed - end_bytes
    return np.maximum(by_time, np.searchsorted(weights, weights[ends] - room, side="left"))


def _prefix_reach(numbers: Numbers, order: tuple[int, ...], limit: float) -> Ints:
    """Give for each number of stages the longest prefix of layers that they can hold."""
    reach = [0]
    for position, place in enumerate(order):
        p, start = numbers.places[place], reach[-1]
        end = _last_within(p.seconds, start, limit * (1 + SLACK))
        if not np.isinf(p.limit):
            weights = p.state + numbers.problem.held(position) * p.held
            end = min(end, _last_within(weights, start, p.limit - p.fixed))
        reach.append(max(start, end))
    return np.array(reach, dtype=np.int64)


def _last_within(prefix: Floats, start: int, room: float) -> int:
    """The largest end whose items from `start` on add up to at most `room`."""
    ends: Ints = np.searchsorted(prefix, prefix[start : start + 1] + room, side="right")
    return int(ends[0]) - 1


def reachable(numbers: Numbers, cover: Cover, spare: Ints, position: int) -> Ints:
    """Give for each row of spare copies (rows x places) the most layers that `position` stages can hold."""
    if cover.prefix is not None:
        return np.full(len(spare), cover.prefix[position], dtype=np.int64)
    stages = np.full(len(spare), position, dtype=np.int64)
    layers = np.zeros(len(spare), dtype=np.int64)
    for place in cover.ranking:
        take = np.minimum(stages, spare[:, place])
        layers += take * cover.most[place]
        stages -= take
    return np.where(stages > 0, -1, np.minimum(layers, numbers.num_layers))


def fits_order(numbers: Numbers, limit: float) -> bool:
    """Say whether the fixed order can hold all layers with every stage (links apart) under the limit; exact."""
    order = numbers.problem.order
    assert order is not None, "only a fixed order has this check"
    least = numbers.problem.min_layers
    every = np.arange(numbers.num_layers + 1)
    reached = np.zeros(numbers.num_layers + 1, dtype=np.int64)
    reached[0] = 1
    for position, place in enumerate(order):
        seconds, size = end_cost(numbers, place, position)
        start = lowest_start(numbers, place, every, limit, numbers.problem.held(position), seconds, size)
        counts = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(reached)])
        stop = every - least + 1
        possible = (stop > start) & (start <= every)
        inside = counts[np.clip(stop, 0, None)] - counts[np.minimum(start, np.clip(stop, 0, None))]
        reached = (possible & (inside > 0)).astype(np.int64)
        if not reached.any():
            return False
    return bool(reached[-1])


def end_cost(numbers: Numbers, place: int, position: int) -> tuple[float, float]:
    """Seconds and bytes that the ends add to a stage at this position."""
    p, held = numbers.places[place], numbers.problem.held(position)
    ends = [p.first] * (position == 0) + [p.last] * (position == numbers.num_stages - 1)
    return p.extra + sum(e[0] for e in ends), sum(e[1] + held * e[2] for e in ends)


def least_period(numbers: Numbers, known: float, precision: float) -> float:
    """Give a period that no answer goes below, within `precision` of the least that may be reached.

    `known` is a period that some answer reaches. Links apart: a fixed order is decided exactly, a free one by the most
    layers that its stages can hold.
    """
    if may_fit(numbers, 0.0):
        return 0.0
    low = min(known, _mean_period(numbers))
    step = 1.02
    while low * step < known and not may_fit(numbers, low * step):
        low, step = low * step, step * step
    high = min(known, low * step)
    while high - low > precision * high:
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if may_fit(numbers, middle):
            high = middle
        else:
            low = middle
    return low


def _mean_period(numbers: Numbers) -> float:
    """The period if layers were a fluid that fills all stages at once: a bound."""
    order = numbers.problem.order
    index = np.arange(len(numbers.places)) if order is None else np.array(order)
    copies = np.array([place.copies for place in numbers.places]) if order is None else np.ones(len(order))
    paces = numbers.paces[index]
    if not np.all(paces > 0):
        return 1e-9
    rates = np.sort(np.repeat(1 / paces, copies.astype(np.int64)))[::-1][: numbers.num_stages]
    return float(numbers.weights[-1] / np.sum(rates)) * (1 - 1e-9)


def may_fit(numbers: Numbers, limit: float) -> bool:
    """Say whether all layers may be held under the limit: exact for a fixed order, a bound for a free one."""
    if numbers.problem.order is not None:
        return fits_order(numbers, limit)
    copies = np.array([place.copies for place in numbers.places], dtype=np.int64)
    each = np.sort(np.repeat(_most_layers(numbers, limit), copies))[::-1][: numbers.num_stages]
    return len(each) == numbers.num_stages and int(np.sum(each)) >= numbers.num_layers


def largest_period(numbers: Numbers) -> float:
    """A period that no split exceeds."""
    worst = max(float(p.seconds[-1]) + p.first[0] + p.last[0] for p in numbers.places)
    return (worst + numbers.largest_round_trip) * (1 + 1e-9)


def longest_period(numbers: Numbers, worst: float) -> float:
    """A period that no split of scaled objective at most `worst` exceeds."""
    limit = worst / numbers.period_weight
    if numbers.problem.objective == "bottleneck":
        return limit
    for _ in range(8):
        limit = (worst - least_whole(numbers, limit)) / numbers.period_weight
    return limit


def least_whole(numbers: Numbers, limit: float) -> float:
    """The least that all stages with their cuts add to the total; infinite where they cannot hold all layers.

    Like layers in a fixed order fill the fastest stages with as many whole ones as the limit allows; others are a
    fluid.
    """
    order = numbers.problem.order
    if numbers.each is None or order is None or np.isinf(limit):
        return float(least_total(numbers, limit, numbers.num_stages)[-1])
    each = np.sort(numbers.each[list(order)])
    if each[0] <= 0:
        return float(numbers.least_cuts[-1]) * numbers.cut_weight
    least = numbers.problem.min_layers
    most = np.maximum(np.floor(limit * (1 + SLACK) / each + SLACK), least) - least
    spare = numbers.num_layers - least * numbers.num_stages
    more = np.clip(spare - np.concatenate([np.zeros(1), np.cumsum(most)[:-1]]), 0, most)
    if np.sum(more) < spare:
        return float("inf")
    return float(np.sum(each * (more + least)) + numbers.least_cuts[-1] * numbers.cut_weight)
