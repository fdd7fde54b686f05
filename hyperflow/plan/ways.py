"""The cheapest ways through the places not yet used: a dynamic program over which copies are taken.

After Held and Karp, "A dynamic programming approach to sequencing problems", J. SIAM 10 (1962). A key counts the copies
taken of each place in mixed radix, as in the exact search; a level holds all keys with as many stages placed.
"""

from dataclasses import dataclass

import numpy as np

from hyperflow.plan.arrays import Floats, Ints, Numbers

MOST_ENTRIES = 2_500_000
"""Most pairs of key and place: 17 unlike places, or more when many are alike."""

CHUNK = 4096
"""Keys handled at a time, so that they stay in the processor's cache."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """All keys with the same number of stages placed.

    `onward[j, r]` is the column in the next level after one more stage, on place j; the last column there, which stands
    for no way at all, when no copy of j is left. `spare[j, r]` are the copies left.
    """

    onward: Ints
    spare: Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """The levels 0 to num_stages, the column of every key in its level, and whether all copies are used."""

    levels: tuple[Level, ...]
    column: Ints
    takes_all: bool

    @property
    def size(self) -> int:
        """Pairs of key and place."""
        return sum(level.onward.size for level in self.levels)


@dataclass(frozen=True, slots=True, kw_only=True)
class Toll:
    """What a way costs: `node[j]` for a stage on place j, and for a cut its share of the total.

    A cut also takes time out of its two stages; where `strain` prices that time, the cheaper of the two bears it.
    """

    node: Floats
    strain: Floats


def make_graph(numbers: Numbers) -> Graph | None:
    """List the keys by level; None when they are too many."""
    copies = np.array([place.copies for place in numbers.places], dtype=np.int64)
    if float(np.prod(copies + 1.0)) * len(copies) > MOST_ENTRIES or copies.sum() < numbers.num_stages:
        return None
    radix = np.cumprod(np.concatenate([np.ones(1, dtype=np.int64), copies[:-1] + 1]))
    keys = np.arange(int(np.prod(copies + 1)))
    taken = keys // radix[:, None] % (copies[:, None] + 1)
    placed = taken.sum(axis=0)
    column = np.zeros(len(keys), dtype=np.int64)
    members = [np.flatnonzero(placed == count) for count in range(numbers.num_stages + 1)]
    for listed in members:
        column[listed] = np.arange(len(listed))
    levels: list[Level] = []
    for count, listed in enumerate(members):
        spare = copies[:, None] - taken[:, listed]
        if count == numbers.num_stages:
            onward = np.zeros_like(spare)
        else:
            after = np.minimum(listed + radix[:, None], len(keys) - 1)
            onward = np.where(spare > 0, column[after], len(members[count + 1]))
        levels.append(Level(onward=onward, spare=spare))
    return Graph(levels=tuple(levels), column=column, takes_all=int(copies.sum()) == numbers.num_stages)


def cheapest_ways(numbers: Numbers, graph: Graph, toll: Toll) -> tuple[Floats, ...]:
    """Give by level the least toll of all stages still to place, by the place they lead to (rows) and by key.

    The cut to that place counts in full. Level 0 leads nowhere and has one row.
    """
    ways = [_end_of(numbers, graph)]
    price = 2 * np.minimum(toll.strain[:, None], toll.strain) + numbers.cut_weight
    for count in range(numbers.num_stages - 1, -1, -1):
        starts = _starting(numbers, graph, toll, count, ways[-1])
        ways.append(_joined(starts, _paid(numbers, count, price) if count else None))
    return tuple(reversed(ways))


def loose_ways(numbers: Numbers, graph: Graph, toll: Toll, ways: tuple[Floats, ...]) -> tuple[Floats, ...]:
    """Give the same with the cut to the place they lead to counted in the total alone, not as time of its stages."""
    loose = [ways[0]]
    for count in range(1, numbers.num_stages):
        starts = _starting(numbers, graph, toll, count, ways[count + 1])
        loose.append(_joined(starts, _paid(numbers, count, np.full((1, 1), numbers.cut_weight))))
    return (*loose, ways[-1])


def best_way(numbers: Numbers, graph: Graph, toll: Toll, ways: tuple[Floats, ...]) -> list[int]:
    """Give the places of the cheapest way, last stage first."""
    price = 2 * np.minimum(toll.strain[:, None], toll.strain) + numbers.cut_weight
    column, order = 0, list[int]()
    every = np.arange(len(numbers.places))
    for count in range(numbers.num_stages):
        following = graph.levels[count].onward[:, column]
        costs = toll.node + ends_at(numbers, count) + ways[count + 1][every, following]
        if order:
            costs = costs + _paid(numbers, count, price)[:, order[-1]]
        order.append(int(np.argmin(costs)))
        column = int(following[order[-1]])
    return order


def _paid(numbers: Numbers, count: int, price: Floats) -> Floats:
    """The cuts at their price; an absent link stays infinite where cuts cost nothing."""
    cuts = cuts_at(numbers, count)
    return np.multiply(cuts, price, out=np.full_like(cuts, np.inf), where=np.isfinite(cuts))


def cuts_at(numbers: Numbers, count: int) -> Floats:
    """Scaled one-way seconds at least of the cut after the stage placed when `count` are, from each place to each."""
    position = numbers.num_stages - 1 - count
    pair = np.where(np.isnan(numbers.pair), np.inf, numbers.pair) + numbers.by_position[position]
    if numbers.by_layer is not None:
        pair = pair + np.min(numbers.by_layer[min(1, numbers.problem.min_layers) :, position])
    return pair


def ends_at(numbers: Numbers, count: int) -> Floats:
    """What the ends add to the total of the stage placed when `count` are, by place; infinite where none may stand."""
    position = numbers.num_stages - 1 - count
    added = np.zeros(len(numbers.places))
    for index, place in enumerate(numbers.places):
        if position == 0:
            added[index] += place.first[0]
            allowed = numbers.problem.first_places
            added[index] += np.inf if allowed is not None and index not in allowed else 0.0
        if count == 0:
            added[index] += place.last[0] + place.tail * numbers.tail_weight
    return added


def _end_of(numbers: Numbers, graph: Graph) -> Floats:
    keys = graph.levels[-1].onward.shape[1]
    return np.concatenate([np.zeros((len(numbers.places), keys)), np.full((len(numbers.places), 1), np.inf)], axis=1)


def _starting(numbers: Numbers, graph: Graph, toll: Toll, count: int, ways: Floats) -> Floats:
    """The least toll by the place that takes the next stage and by key, without the cut after it."""
    following = graph.levels[count].onward
    return np.take_along_axis(ways, following, axis=1) + (toll.node + ends_at(numbers, count))[:, None]


def _joined(starts: Floats, cuts: Floats | None) -> Floats:
    """The least over the next stage's place, with the cut after it, and the column that stands for no way."""
    if cuts is None:
        return np.min(starts, axis=0, keepdims=True)
    places, keys = starts.shape
    least = np.full((places, keys + 1), np.inf)
    for begin in range(0, keys, CHUNK):
        part = least[:, begin : min(begin + CHUNK, keys)]
        room = np.empty_like(part)
        for start, cut in zip(starts[:, begin : begin + CHUNK], cuts, strict=True):
            np.add(start, cut[:, None], out=room)
            np.minimum(part, room, out=part)
    return least
