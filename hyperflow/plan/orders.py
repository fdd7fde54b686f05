"""Orders worth trying before a free order is searched: their best split is an answer to start from."""

from itertools import pairwise, product

from hyperflow.plan.problem import EndCost, SplitProblem

MOST_SWEEPS = 3


def promising_orders(problem: SplitProblem) -> list[tuple[int, ...]]:
    """Give a few orders of all places: as listed, fastest first, slowest first, and along short links.

    Empty when not every copy of every place is needed.
    """
    every = [index for index, place in enumerate(problem.places) for _ in range(place.copies)]
    if len(every) != problem.num_stages:
        return []
    speed = {index: sum(problem.table(index).seconds) for index in every}
    orders = [tuple(every), tuple(sorted(every, key=lambda i: speed[i])), tuple(sorted(every, key=lambda i: -speed[i]))]
    if problem.cuts.by_pair is not None:
        starts = sorted(set(every))
        chains = [_improved(problem, _nearest_chain(problem, every, start)) for start in starts[:8]]
        orders += sorted(chains, key=lambda order: _length(problem, order))[:3]
    return [order for order in dict.fromkeys(orders) if _length(problem, order) < float("inf")]


def _cut(problem: SplitProblem, a: int, b: int) -> float:
    seconds = problem.cut_seconds(0, a, b, 0)
    return float("inf") if seconds is None else seconds


def _length(problem: SplitProblem, order: tuple[int, ...]) -> float:
    return sum(_cut(problem, a, b) for a, b in pairwise(order))


def _nearest_chain(problem: SplitProblem, every: list[int], start: int) -> tuple[int, ...]:
    rest = list(every)
    rest.remove(start)
    chain = [start]
    while rest:
        following = min(rest, key=lambda place: (_cut(problem, chain[-1], place), place))
        rest.remove(following)
        chain.append(following)
    return tuple(chain)


def _improved(problem: SplitProblem, order: tuple[int, ...]) -> tuple[int, ...]:
    """Reverse stretches of the order while that shortens it (2-opt)."""
    best, length = order, _length(problem, order)
    for _ in range(MOST_SWEEPS):
        before = length
        for i in range(len(best) - 1):
            for j in range(i + 2, len(best) + 1):
                other = best[:i] + best[i:j][::-1] + best[j:]
                its = _length(problem, other)
                if its < length:
                    best, length = other, its
        if length >= before:
            break
    return best


def orders_that_differ(problem: SplitProblem) -> list[tuple[int, ...]] | None:
    """Give one order for each choice of first and last place where nothing else about the order matters, else None.

    So it is when all layers of a place are alike, no cut depends on its neighbours, and every stage holds as many
    micro-batches as the others.
    """
    every = [index for index, place in enumerate(problem.places) for _ in range(place.copies)]
    used = [problem.table(index) for index in dict.fromkeys(every)]
    lists = [values for t in used for values in (t.seconds, t.state_bytes, t.held_bytes) if values is not None]
    alike = all(len(set(values)) == 1 for values in lists)
    cuts = problem.cuts
    placed = cuts.by_position is None or problem.objective != "1f1b-links"
    held = len({problem.held(i) for i in range(problem.num_stages)}) == 1
    free = problem.order is None and not problem.grouped and problem.first_places is None and not problem.ascending
    if not (free and alike and held and placed and cuts.by_pair is None and cuts.by_layer is None):
        return None
    if len(every) != problem.num_stages or len(every) < 2:
        return None
    plain = EndCost()
    first_matters = any(table.first != plain for table in used)
    last_matters = any((table.last, table.tail_seconds) != (plain, 0.0) for table in used)
    orders: dict[tuple[int, int], tuple[int, ...]] = {}
    for first, last in product(dict.fromkeys(every), repeat=2):
        rest = list(every)
        rest.remove(first)
        if last in rest:
            rest.remove(last)
            alike_as = (first if first_matters else -1, last if last_matters else -1)
            orders.setdefault(alike_as, (first, *rest, last))
    return list(orders.values())
