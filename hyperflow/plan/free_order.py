"""The best split in a free order, with the proof.

Periods are divided into intervals, each with a bound that prices give (hyperflow.plan.prices). The interval of least
bound is searched first, at first narrowly, keeping the most promising partial answers only. If none was dropped, the
search was complete and closes the interval; otherwise the interval is halved, or searched more widely.
"""

import heapq
from dataclasses import dataclass, field, replace

import numpy as np

from hyperflow.plan.arrays import Numbers
from hyperflow.plan.budget import Budget, SearchStopped
from hyperflow.plan.cover import largest_period, least_period, least_total
from hyperflow.plan.exact import cheapest_under
from hyperflow.plan.price import price_split
from hyperflow.plan.prices import Prices, first_prices, raise_bound
from hyperflow.plan.problem import Split
from hyperflow.plan.remainder import find_reach, make_remainder
from hyperflow.plan.ways import Graph, Toll, cheapest_ways

PROOF = 1e-9
"""A relative gap below this counts as proven: it is the rounding of the sums."""
TIE = 1e-11
FIRST_STEPS = 15
NEXT_STEPS = 3
MORE_STEPS = 12
WIDTH = 3000
WIDER = 4
STRIDE = 0.02
"""The widest interval that is searched at once, relative to its lower end; doubled while no split is found."""
CLOSE_STRIDE = 2e-4
"""The same for the bottleneck, whose least period is known that well beforehand."""
SHARE = 0.25
"""An interval is halved while its own width makes more than this part of what it could win."""
MOST_HALVINGS = 3
"""How often in a row an interval is halved before it is searched more widely."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Interval:
    """Periods in (low, high], which cost at least `bound` in all and `total` beside the period, to search so widely.

    Narrow searches come first, since a better answer shortens the wide ones.
    """

    width: int
    bound: float
    low: float
    high: float
    total: float
    halvings: int = 0
    prices: tuple[Prices, ...] = field(compare=False, repr=False)


@dataclass(slots=True, kw_only=True)
class FreeSearch:
    """The incumbent in scaled time, a proven bound, the open intervals, and the least toll of any way.

    `stride` is the widest interval that is searched at once, relative to its lower end.
    """

    numbers: Numbers
    graph: Graph
    budget: Budget
    split: Split | None = None
    value: float = float("inf")
    bound: float = 0.0
    open: list[Interval] = field(default_factory=list[Interval])
    least_way: float = 0.0
    stride: float = STRIDE

    @property
    def weight(self) -> float:
        """What a second of period costs."""
        return self.numbers.period_weight

    @property
    def bottleneck(self) -> bool:
        """Whether nothing but the period counts."""
        return self.numbers.problem.objective == "bottleneck"


def search_free(numbers: Numbers, graph: Graph, budget: Budget) -> FreeSearch:
    """Search all orders until nothing open can win or the budget is used up; the bound is infinite without a split."""
    state = FreeSearch(numbers=numbers, graph=graph, budget=budget)
    state.stride = CLOSE_STRIDE if state.bottleneck else STRIDE
    try:
        top = largest_period(numbers)
        low = _least_reach(state, top)
        nothing = np.zeros(len(numbers.places))
        state.least_way = float(cheapest_ways(numbers, graph, Toll(node=nothing, strain=nothing))[0][0, 0])
        if low is None or np.isinf(state.least_way):  # too few layers can be held, or no links lead through the places
            state.bound = float("inf")
            return state
        state.bound = state.weight * low
        _leave_open(state, low, top, 0.0, () if state.bottleneck else first_prices(numbers))
        while state.open:
            state.bound = min(interval.bound for interval in state.open)
            if state.bound >= state.value * (1 - PROOF):
                break
            _take_up(state, heapq.heappop(state.open))
    except SearchStopped:
        return state
    state.bound = state.value
    return state


def _least_reach(state: FreeSearch, top: float) -> float | None:
    """A period below which the stages cannot hold all layers; None when they never can."""
    numbers = state.numbers

    def holds(limit: float) -> bool:
        state.budget.spend(state.graph.size)
        return int(find_reach(numbers, state.graph, limit)[0][0]) >= numbers.num_layers

    if not holds(top):
        return None
    low = least_period(numbers, top, 1e-4)
    if low <= 0 or holds(low):
        return low * (1 - PROOF)
    high = low
    while not holds(high := min(top, high * 1.05)):
        low = high
    while high - low > 1e-4 * high:
        middle = (low + high) / 2
        if holds(middle):
            high = middle
        else:
            low = middle
    return low


def _leave_open(state: FreeSearch, low: float, high: float, total: float, prices: tuple[Prices, ...]) -> None:
    """Note that periods in (low, high] are open: a lower top means a larger least total, and that a lower top."""
    while state.weight > 0 and not state.bottleneck:
        total = max(total, _least_total(state, high))
        worth = (state.value - total) / state.weight
        if worth > high * (1 - 1e-4):
            break
        high = worth
    _push(
        state, Interval(width=WIDTH, bound=total + state.weight * low, low=low, high=high, total=total, prices=prices)
    )


def _least_total(state: FreeSearch, limit: float) -> float:
    """What layers as a fluid and the shortest way add to the total."""
    numbers = state.numbers
    fluid = float(least_total(numbers, limit, numbers.num_stages)[-1])
    return (fluid - float(numbers.least_cuts[-1]) * numbers.cut_weight + state.least_way) * (1 - PROOF)


def _push(state: FreeSearch, interval: Interval) -> None:
    if interval.bound < state.value * (1 - PROOF) and interval.high > interval.low * (1 + 1e-12):
        heapq.heappush(state.open, interval)


def _tuned(
    state: FreeSearch, low: float, high: float, total: float, prices: tuple[Prices, ...], steps: int
) -> Interval:
    """An interval with its bound raised."""
    raised = [raise_bound(state.numbers, state.graph, high, one, steps, state.budget) for one in prices]
    total = max([total, *(one.bound for one in raised)])
    return Interval(
        width=WIDTH,
        bound=total + state.weight * low,
        low=low,
        high=high,
        total=total,
        prices=tuple(one.prices for one in raised),
    )


def _take_up(state: FreeSearch, interval: Interval) -> None:
    """Search an interval, or split off its lower end when it is wide, and put back what stays open."""
    low, high, total, prices = interval.low, interval.high, interval.total, interval.prices
    if state.weight > 0:
        high = min(high, (state.value - total) / state.weight)
    if state.weight > 0 and high > low * (1 + 1.5 * state.stride) and low > 0:
        middle = low * (1 + state.stride)
        head = _tuned(state, low, middle, total, prices, NEXT_STEPS if state.open or state.split else FIRST_STEPS)
        _push(state, head)
        _leave_open(state, middle, high, total, head.prices)
        return
    if high <= low * (1 + 1e-12):
        return
    numbers, graph = state.numbers, state.graph
    priced = tuple(raise_bound(numbers, graph, high, one, 1, state.budget) for one in prices)
    total = max([total, *(one.bound for one in priced)])
    if total + state.weight * low >= state.value * (1 - PROOF):
        return
    found = cheapest_under(
        numbers,
        low,
        high,
        float("inf") if state.bottleneck else state.value * (1 - PROOF / 2) - state.weight * low,
        state.budget,
        remainder=make_remainder(numbers, graph, high, priced),
        width=interval.width,
    )
    period = None if found.split is None else _take(state, found.split)
    if state.split is None:
        state.stride *= 2
    if not found.complete:
        _put_back(state, replace(interval, total=total), high)
    elif numbers.links and period is not None and state.weight > 0:
        _put_back(state, replace(interval, total=max(total, found.total)), min(period, high) * (1 - 1e-12))


def _take(state: FreeSearch, split: Split) -> float:
    """Take a split if it is the best so far; give its scaled period."""
    price = price_split(state.numbers.problem, split)
    assert price.feasible, f"the search of free orders broke a constraint: {price.violations}"
    value = price.objective_seconds / state.numbers.scale
    if value < state.value * (1 - TIE):
        state.split, state.value = split, value
    return price.period_seconds / state.numbers.scale


def _put_back(state: FreeSearch, interval: Interval, high: float) -> None:
    """Leave the periods of an interval up to `high` open: in halves where its width counts, else for a wider search."""
    low, total, weight = interval.low, interval.total, state.weight
    bound = total + weight * low
    wide = weight * (high - low) > SHARE * (state.value - bound) and not state.bottleneck
    if wide and interval.halvings < MOST_HALVINGS:
        middle, halvings = (low + high) / 2, interval.halvings + 1
        _push(state, replace(interval, bound=bound, high=middle, halvings=halvings))
        _push(state, replace(interval, bound=total + weight * middle, low=middle, high=high, halvings=halvings))
    else:
        steps = 1 if interval.width == WIDTH else MORE_STEPS
        again = _tuned(state, low, high, total, interval.prices, steps)
        _push(state, replace(again, width=interval.width * WIDER))
