"""Best-first search over sequences of stages with a price of the caller's own.

For cost functions that are not ours: the caller gives options with a bound each, from which better-defined options
grow, and a price for a finished split. The split of an option minimises the closed form of its problem; then single
layers move between neighbours while the caller's price falls.
"""

import heapq
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from hyperflow.plan.best import search_exact
from hyperflow.plan.budget import Budget
from hyperflow.plan.problem import Split, SplitProblem

Price = Callable[["Option", tuple[int, ...]], float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """Either more options (`expand`), or a problem to split. `bound` is a price that none of it goes below.

    `tag` is what the caller wants to find again.
    """

    bound: float
    tag: object
    expand: Callable[[], Iterable["Option"]] | None = None
    problem: SplitProblem | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Priced:
    """The best option found with its layers and price; `bound` holds for all options."""

    option: Option | None
    layers: tuple[int, ...]
    price: float
    bound: float
    solved: int


def search_options(options: Sequence[Option], price: Price, *, seconds: float) -> Priced:
    """Give the cheapest split over all options within a time limit; options whose bound is too high are not opened."""
    deadline = time.monotonic() + seconds
    heap = [(option.bound, number, option) for number, option in enumerate(options)]
    heapq.heapify(heap)
    number, solved = len(heap), 0
    best = Priced(option=None, layers=(), price=float("inf"), bound=0.0, solved=0)
    while heap and heap[0][0] < best.price and time.monotonic() < deadline:
        _, _, option = heapq.heappop(heap)
        for grown in option.expand() if option.expand is not None else ():
            if grown.bound < best.price:
                number += 1
                heapq.heappush(heap, (max(grown.bound, option.bound), number, grown))
        if option.problem is not None:
            solved += 1
            found = _settle(option, option.problem, price, Budget(deadline=deadline))
            if found is not None and found.price < best.price:
                best = found
    bound = min(best.price, heap[0][0] if heap else best.price)
    return replace(best, bound=bound, solved=solved)


def _settle(option: Option, problem: SplitProblem, price: Price, budget: Budget) -> Priced | None:
    """Split one option and move layers while that pays."""
    split = search_exact(problem, budget=budget).split
    if split is None:
        return None
    layers, cost = split.layers, price(option, split.layers)
    moved = cost is not None
    while moved and cost is not None:
        moved = False
        for other in _moves(split, layers):
            its = price(option, other)
            if its is not None and its < cost * (1 - 1e-12):
                layers, cost, moved = other, its, True
    return None if cost is None else Priced(option=option, layers=layers, price=cost, bound=option.bound, solved=1)


def _moves(split: Split, layers: tuple[int, ...]) -> Iterable[tuple[int, ...]]:
    for giver in range(len(split.order)):
        for taker in (giver - 1, giver + 1):
            if 0 <= taker < len(layers) and layers[giver] > 1:
                moved = list(layers)
                moved[giver] -= 1
                moved[taker] += 1
                yield tuple(moved)
