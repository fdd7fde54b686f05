"""What the places not yet used must still add, and how many layers they can hold: bounds for the free order."""

from dataclasses import dataclass

import numpy as np

from hyperflow.plan.arrays import Floats, Ints, Numbers
from hyperflow.plan.cover import SLACK, end_cost
from hyperflow.plan.prices import Priced
from hyperflow.plan.ways import Graph, loose_ways


@dataclass(frozen=True, slots=True, kw_only=True)
class Remainder:
    """Bounds under one limit: `reach[count][column]` layers at most, and the totals at several sets of prices.

    `loose` are the ways at the prices of the highest bound, without the time of the cut that leads on.
    """

    numbers: Numbers
    graph: Graph
    reach: tuple[Ints, ...]
    priced: tuple[Priced, ...]
    loose: tuple[tuple[Floats, ...], ...]

    def after(self, count: int, columns: Ints, place: Ints | int, left: Ints) -> Floats:
        """Bound what is added before a stage on `place`, the last of `count` stages, with `left` layers to place."""
        least = np.full(len(columns), -np.inf)
        for priced, loose in zip(self.priced, self.loose, strict=True):
            np.maximum(least, loose[count][place, columns] + priced.prices.layers[left], out=least)
        return least

    def through(self, count: int, columns: Ints, place: int, left: Ints, taken: Floats) -> Floats:
        """Bound what a stage on `place`, which makes them `count`, and all before it add.

        The cut after it is left out, but `taken` seconds of the stage's time serve that cut.
        """
        least = np.full(len(columns), -np.inf)
        for priced in self.priced:
            node = priced.toll.node[place] + priced.toll.strain[place] * taken
            np.maximum(least, node + priced.ways[count][place, columns] + priced.prices.layers[left], out=least)
        return least


def make_remainder(numbers: Numbers, graph: Graph, limit: float, priced: tuple[Priced, ...]) -> Remainder:
    """Build the bounds for splits whose period is at most `limit`, for which the prices must have been made."""
    loose = tuple(loose_ways(numbers, graph, p.toll, p.ways) if numbers.links else p.ways for p in priced)
    reach = find_reach(numbers, graph, limit)
    return Remainder(numbers=numbers, graph=graph, reach=reach, priced=priced, loose=loose)


def find_reach(numbers: Numbers, graph: Graph, limit: float) -> tuple[Ints, ...]:
    """Give by level the most layers that the stages still to place can hold, by key; negative where there are none.

    Exact but for the least number of layers, for links, and for places without a link between them.
    """
    stages = numbers.num_stages
    reach = [np.append(np.zeros(graph.levels[-1].onward.shape[1], dtype=np.int64), -1)]
    for count in range(stages - 1, -1, -1):
        level, position = graph.levels[count], stages - 1 - count
        most = np.full(level.onward.shape[1] + 1, -1, dtype=np.int64)
        allowed = numbers.problem.first_places
        for place in range(len(numbers.places)):
            if position > 0 or allowed is None or place in allowed:
                held = _held_to(numbers, place, position, limit, reach[-1][level.onward[place]])
                np.maximum(most[:-1], held, out=most[:-1])
        reach.append(most)
    return tuple(reversed(reach))


def _held_to(numbers: Numbers, place: int, position: int, limit: float, start: Ints) -> Ints:
    """The last layer that a stage can hold from each start on; negative where the start is, or nothing fits."""
    p, held = numbers.places[place], numbers.problem.held(position)
    seconds, size = end_cost(numbers, place, position)
    begun = np.maximum(start, 0)
    end = np.searchsorted(p.seconds, p.seconds[begun] + limit * (1 + 2 * SLACK) - seconds, side="right") - 1
    if not np.isinf(p.limit):
        weights = p.state + held * p.held
        room = weights[begun] + p.limit - p.fixed - size
        end = np.minimum(end, np.searchsorted(weights, room * (1 + SLACK), side="right") - 1)
    return np.where((start >= 0) & (end >= begun), end, -1)
