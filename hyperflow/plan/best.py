"""The best split over all limits on the period, with the proof: what is left open is a bound."""

import heapq
import time
from dataclasses import dataclass, replace

from hyperflow.plan.arrays import Numbers, make_numbers
from hyperflow.plan.budget import Budget, SearchStopped
from hyperflow.plan.cover import largest_period, least_period, least_whole, may_fit
from hyperflow.plan.exact import cheapest_under
from hyperflow.plan.free_order import search_free
from hyperflow.plan.orders import orders_that_differ, promising_orders
from hyperflow.plan.price import price_split
from hyperflow.plan.problem import Split, SplitProblem
from hyperflow.plan.ways import make_graph

TIE = 1e-11
PROOF = 1e-9
"""A relative gap below this counts as proven: it is the rounding of the sums."""
ORDER_WORK = 200_000
PARTS = 6
LEAST_PART = 0.004
WIDENING = (1.0002, 1.01, 1.03, 1.07, 1.15, 1.3, 1.6, 2.2, 4.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactAnswer:
    """The best split found (None: none exists, or none was found in time) and a bound that no split goes below."""

    split: Split | None
    objective_seconds: float
    bound_seconds: float
    proven: bool


@dataclass(slots=True, kw_only=True)
class _State:
    """The incumbent in scaled time, the proven least period, and its open intervals: (bound, low, high, total)."""

    numbers: Numbers
    budget: Budget
    split: Split | None
    value: float
    low: float
    open: list[tuple[float, float, float, float]]


def search_exact(problem: SplitProblem, seconds: float = 30.0, budget: Budget | None = None) -> ExactAnswer:
    """Find and prove the best split of a problem in at most `seconds`, or within a budget that others share.

    For each limit on the period the search gives the least total, which falls as the limit rises. An interval of
    periods (low, high] therefore costs at least total(high) + weight * low, and only intervals that can still beat
    the incumbent are searched.
    """
    orders = orders_that_differ(problem)
    if orders is not None:
        return _best_of_orders(problem, orders, seconds, budget)
    numbers = make_numbers(problem)
    allowed = budget or Budget(deadline=time.monotonic() + seconds)
    free = problem.order is None and not problem.grouped and not problem.ascending
    if free and (graph := make_graph(numbers)) is not None:
        found = search_free(numbers, graph, allowed)
        return _answer(numbers, found.split, found.value, found.bound)
    state = _State(numbers=numbers, budget=allowed, split=None, value=float("inf"), low=0.0, open=[])
    try:
        if problem.order is None and not problem.grouped:
            _try_orders(state, problem)
        _first_answer(state)
        if state.split is None:
            return _answer(numbers, None, float("inf"), float("inf"))
        while state.open and state.open[0][0] < state.value * (1 - PROOF):
            _close_interval(state)
    except SearchStopped:
        if not state.open and numbers.period_weight > 0:
            _open(state, state.low, largest_period(numbers), 0.0)  # stopped before the first interval: all is open
        bounds = [interval[0] for interval in state.open] or [numbers.period_weight * state.low]
        return _answer(numbers, state.split, state.value, min([state.value, *bounds]))
    return _answer(numbers, state.split, state.value, state.value)


def _best_of_orders(
    problem: SplitProblem, orders: list[tuple[int, ...]], seconds: float, budget: Budget | None
) -> ExactAnswer:
    """Solve each order; together they stand for all."""
    shared = budget or Budget(deadline=time.monotonic() + seconds)
    answers = [search_exact(replace(problem, order=order), budget=shared) for order in orders]
    best = answers[0]
    for answer in answers[1:]:
        if answer.objective_seconds < best.objective_seconds * (1 - TIE):
            best = answer
    bound = min(answer.bound_seconds for answer in answers)
    proven = all(answer.proven for answer in answers) or bound >= best.objective_seconds * (1 - PROOF)
    return replace(best, bound_seconds=bound, proven=proven)


def _answer(numbers: Numbers, split: Split | None, value: float, bound: float) -> ExactAnswer:
    if split is None:
        never = bound == float("inf")
        return ExactAnswer(
            split=None,
            objective_seconds=float("inf"),
            bound_seconds=max(0.0, bound * numbers.scale),
            proven=never,
        )
    objective = price_split(numbers.problem, split).objective_seconds
    proven = bound >= value * (1 - PROOF)
    return ExactAnswer(
        split=split,
        objective_seconds=objective,
        bound_seconds=objective if proven else min(objective, bound * numbers.scale),
        proven=proven,
    )


def _try_orders(state: _State, problem: SplitProblem) -> None:
    """Take the best split of some promising orders as the answer to beat."""
    for order in promising_orders(problem):
        fixed = replace(problem, order=order)
        work = min(ORDER_WORK, state.budget.work)
        share = Budget(deadline=state.budget.deadline, work=work)
        split = search_exact(fixed, budget=share).split
        state.budget.work -= work - max(0.0, share.work)
        if split is not None:
            value = price_split(problem, split).objective_seconds / state.numbers.scale
            if value < state.value * (1 - TIE):
                state.split, state.value = split, value


def _first_answer(state: _State) -> None:
    """Widen the limit until a split exists; open the interval above it."""
    numbers = state.numbers
    top = largest_period(numbers)
    if not may_fit(numbers, top):
        return
    state.low = low = least_period(numbers, top, 1e-4)
    for factor in (*WIDENING, None):
        high = top if factor is None or numbers.period_weight == 0 else min(top, low * factor)
        if numbers.period_weight > 0 and state.split is not None:
            high = min(high, max(low, state.value / numbers.period_weight))
        found = _try_limit(state, low, high)
        if found is not None:
            period, total = found
            if numbers.period_weight > 0:
                if numbers.links:
                    _open(state, low, period, total)
                _open(state, high, top, 0.0)
            return
        if high >= top:
            return
        if state.split is not None and numbers.period_weight > 0:
            _open(state, high, top, 0.0)
            return
        state.low = low = high


def _try_limit(state: _State, low: float, limit: float) -> tuple[float, float] | None:
    """Search the periods from `low` to `limit`, take the answer if it is the best so far; give its period and total."""
    numbers = state.numbers
    worst = state.value - numbers.period_weight * low
    bottleneck = numbers.problem.objective == "bottleneck"
    found = cheapest_under(numbers, low, limit, float("inf") if bottleneck else worst, state.budget)
    if found.split is None:
        return None
    price = price_split(numbers.problem, found.split)
    assert price.feasible, f"the exact search broke a constraint: {price.violations}"
    value = price.objective_seconds / numbers.scale
    if value < state.value * (1 - TIE):
        state.split, state.value = found.split, value
    return price.period_seconds / numbers.scale, 0.0 if bottleneck else found.total


def _open(state: _State, low: float, high: float, total: float) -> None:
    """Note that periods in (low, high] are open and cost at least `total` beside the period."""
    weight = state.numbers.period_weight
    for _ in range(60):  # the lower the top, the larger the least total, and the lower the top that is worth a look
        worth = min(high, (state.value - total) / weight)
        if worth > high * (1 - 1e-4):
            break
        high = worth
        if state.numbers.problem.objective != "bottleneck":
            total = max(total, _least_total(state.numbers, high))
    bound = total + weight * low
    if bound < state.value * (1 - PROOF) and high > low * (1 + 1e-12):
        heapq.heappush(state.open, (bound, low, high, total))


def _least_total(numbers: Numbers, limit: float) -> float:
    return least_whole(numbers, limit) * (1 - PROOF)


def _close_interval(state: _State) -> None:
    """Search the lower part of the most promising interval of periods; the rest stays open.

    A narrow part is searched quickly, and what it finds often closes the rest.
    """
    interval = heapq.heappop(state.open)
    _, low, high, total = interval
    high = min(high, (state.value - total) / state.numbers.period_weight)
    if high <= low * (1 + 1e-12):
        return
    try:
        if state.numbers.links:
            _close_with_links(state, low, high, total)
            return
        part = min(high, low + max((high - low) / PARTS, LEAST_PART * low))
        _try_limit(state, low, part)
        _open(state, part, high, total)
    except SearchStopped:
        heapq.heappush(state.open, interval)
        raise


def _close_with_links(state: _State, low: float, high: float, total: float) -> None:
    middle = (low + high) / 2 if high > low * (1 + 1e-7) else high * (1 - 1e-12)
    found = _try_limit(state, low, middle)
    if found is not None:
        period, counted = found
        _open(state, low, min(period, middle) * (1 - 1e-12), counted)
    _open(state, middle, high, total)
