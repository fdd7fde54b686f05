"""Prices of layers and of a stage's time, raised until the bound they give on a free order is as high as it gets.

A split whose period is at most P pays at least the sum, over its stages, of the cheapest piece that each place could
take at these prices, the cheapest way through the places, and the price of all layers. The period condition says that
each cut's round trip is time taken from its two stages, shared between them as suits best (docs/planner.md).
"""

from dataclasses import dataclass, replace

import numpy as np

from hyperflow.plan.arrays import Floats, Ints, Numbers
from hyperflow.plan.budget import Budget
from hyperflow.plan.cover import lowest_start
from hyperflow.plan.ways import Graph, Toll, best_way, cheapest_ways, cuts_at

START = (0.7, 1.0, 1.6)
"""Prices of a layer to start from, as multiples of what one is worth where the period is free."""
STRETCH = 0.03
"""How far above the bound the ascent aims at first, as a part of it."""

IMPOSSIBLE = 1e12
"""Stands for a place that can take no piece: far above every scaled time, yet finite, so that none of it costs 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """`layers` is the prefix sum of the price of each layer, `strain` the price of each place's time."""

    layers: Floats
    strain: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The pieces that one place can take under a limit."""

    start: Ints
    end: Ints
    seconds: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Priced:
    """Prices, the bound they give on the total, and the tolls of its ways."""

    prices: Prices
    bound: float
    toll: Toll
    ways: tuple[Floats, ...]


def first_prices(numbers: Numbers) -> tuple[Prices, ...]:
    """Give prices to start from: layers by their mean weight, time by what it could hold of them."""
    copies = np.array([place.copies for place in numbers.places])
    paces = np.maximum(numbers.paces, 1e-9)
    rates = np.sort(np.repeat(1 / paces, copies))[::-1][: numbers.num_stages]
    worth = (numbers.period_weight + numbers.num_stages) / float(np.sum(rates))
    return tuple(
        Prices(
            layers=numbers.weights * worth * factor,
            strain=0.7 * np.maximum(0.0, worth * factor / paces - 1) if numbers.links else np.zeros(len(paces)),
        )
        for factor in START
    )


def list_choices(numbers: Numbers, limit: float) -> tuple[Choice, ...]:
    """Give the pieces that each place can take under a limit; what the ends add is left out."""
    every = np.arange(numbers.num_layers + 1)
    ease = min(numbers.problem.held(i) for i in range(numbers.num_stages))
    choices: list[Choice] = []
    for index, place in enumerate(numbers.places):
        low = lowest_start(numbers, index, every, limit, ease, place.extra, 0.0)
        counts = np.maximum(every - numbers.problem.min_layers - low + 1, 0)
        end = np.repeat(every, counts)
        start = np.repeat(low, counts) + np.arange(len(end)) - np.repeat(np.cumsum(counts) - counts, counts)
        seconds = place.seconds[end] - place.seconds[start] + place.extra
        choices.append(Choice(start=start, end=end, seconds=seconds))
    return tuple(choices)


def price_nodes(choices: tuple[Choice, ...], prices: Prices, limit: float) -> tuple[Floats, list[int]]:
    """Give for each place the least it adds at these prices, and the piece that does."""
    node = np.full(len(choices), IMPOSSIBLE)
    taken = [-1] * len(choices)
    for index, choice in enumerate(choices):
        if len(choice.end):
            sold = prices.layers[choice.end] - prices.layers[choice.start]
            costs = choice.seconds - sold - prices.strain[index] * (limit - choice.seconds)
            taken[index] = int(np.argmin(costs))
            node[index] = costs[taken[index]]
    return node, taken


def raise_bound(numbers: Numbers, graph: Graph, limit: float, prices: Prices, steps: int, budget: Budget) -> Priced:
    """Move prices for so many steps towards a higher bound for splits of period at most `limit`; give the best met.

    Subgradient steps after Polyak: a layer that too many pieces cover costs less, and time gets dearer where cuts
    take more of it than the piece leaves. Like layers keep one price.
    """
    choices, alike = list_choices(numbers, limit), _like_layers(numbers)
    best: Priced | None = None
    bare: tuple[Floats, ...] | None = None
    for step in range(steps):
        node, taken = price_nodes(choices, prices, limit)
        toll = Toll(node=node, strain=prices.strain)
        if bare is None or numbers.links or not graph.takes_all:
            bare = cheapest_ways(numbers, graph, replace(toll, node=node * (not graph.takes_all)))
            budget.spend(graph.size)
        ways = with_nodes(graph, bare, node) if graph.takes_all else bare
        bound = float(ways[0][0, 0] + prices.layers[-1])
        if best is None or bound > best.bound:
            best = Priced(prices=prices, bound=bound, toll=toll, ways=ways)
        if step < steps - 1 and bound < IMPOSSIBLE / 2:
            order = best_way(numbers, graph, toll, ways)
            aim = best.bound + STRETCH * abs(best.bound) / (1 + 0.2 * step)
            prices = _moved(numbers, choices, prices, limit, taken, order, alike, aim - bound)
    assert best is not None, "at least one step"
    return best


def with_nodes(graph: Graph, bare: tuple[Floats, ...], node: Floats) -> tuple[Floats, ...]:
    """Add what the places still to be used cost, where all of them will be."""
    summed: list[Floats] = []
    for count, (level, ways) in enumerate(zip(graph.levels, bare, strict=True)):
        sums = node @ level.spare
        summed.append(ways + (np.append(sums, 0.0) if count else sums))
    return tuple(summed)


def _moved(
    numbers: Numbers,
    choices: tuple[Choice, ...],
    prices: Prices,
    limit: float,
    taken: list[int],
    order: list[int],
    alike: Ints,
    aim: float,
) -> Prices:
    cover, time = np.zeros(numbers.num_layers + 1), np.zeros(len(choices))
    for place in order:
        choice, piece = choices[place], taken[place]
        cover[choice.start[piece]] += 1
        cover[choice.end[piece]] -= 1
        time[place] -= limit - choice.seconds[piece]
    if numbers.links:
        _share_cuts(numbers, prices, order, time)
    else:
        time[:] = 0.0
    wanted = 1 - np.cumsum(cover)[:-1]
    wanted = (np.bincount(alike, wanted) / np.bincount(alike))[alike]
    each = np.diff(prices.layers)
    weight = 0.2 * float(np.mean(each)) ** 2
    slope = float(time @ time) + weight * float(wanted @ wanted)
    if slope <= 0:
        return prices
    step = aim / slope
    layers = np.maximum(0.0, each + step * weight * wanted)
    return Prices(
        layers=np.concatenate([np.zeros(1), np.cumsum(layers)]), strain=np.maximum(0.0, prices.strain + step * time)
    )


def _share_cuts(numbers: Numbers, prices: Prices, order: list[int], time: Floats) -> None:
    """Add the round trip of each cut of a way to the cheaper of its two places, half each where they cost the same."""
    for count in range(1, len(order)):
        after, before = order[count - 1], order[count]
        trip = 2 * float(cuts_at(numbers, count)[before, after])
        more = prices.strain[before] - prices.strain[after]
        part = 0.5 if abs(more) < 1e-9 else float(more < 0)
        time[before] += trip * part
        time[after] += trip * (1 - part)


def _like_layers(numbers: Numbers) -> Ints:
    """Number the runs of layers that take the same time on every place."""
    columns = np.array([numbers.problem.table(index).seconds for index in range(len(numbers.places))])
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(np.any(np.diff(columns, axis=1) != 0, axis=0))])
