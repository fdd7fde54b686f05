"""Random small split problems and their exhaustive solution."""

import itertools
import random

from hyperflow.plan.price import price_split
from hyperflow.plan.problem import Cuts, EndCost, LayerTable, Place, Split, SplitProblem


def random_problem(seed: int) -> SplitProblem:
    """Give a problem of at most 4 stages and 7 layers that uses every part of the record now and then."""
    r = random.Random(seed)
    p = r.randint(1, 4)
    n = r.randint(max(2, p), 7)
    objective = r.choice(["1f1b", "1f1b-links", "bottleneck"])
    grouped = r.random() < 0.25
    free = grouped or r.random() < 0.4
    devices = r.randint(1, p)
    places = tuple(
        Place(
            name=f"s{i}",
            device=f"d{r.randrange(devices)}",
            memory_bytes=r.choice([None, n / p * r.uniform(1, 2.5)]),
            copies=r.randint(1, 2) if grouped else 1,
        )
        for i in range(p)
    )
    pairs = {(a.name, b.name): r.uniform(0, 0.5) for a in places for b in places if a != b and r.random() < 0.85}
    return SplitProblem(
        places=places,
        tables={f"d{d}": _random_table(r, n, objective) for d in range(devices)},
        num_stages=p,
        microbatches=r.choice([1, 2, 4, 16]),
        objective=objective,
        order=None if free else tuple(range(p)),
        grouped=grouped,
        in_flight=tuple(float(p - i) for i in range(p)),
        cuts=Cuts(
            by_pair=pairs if r.random() < 0.6 else None,
            by_position=tuple(r.uniform(0, 0.3) for _ in range(p - 1)) if r.random() < 0.5 else None,
            by_layer=tuple(tuple(r.uniform(0, 0.3) for _ in range(p - 1)) for _ in range(n - 1))
            if r.random() < 0.3
            else None,
        ),
        min_layers=r.choice([0, 1, 1, 2]),
    )


def _random_table(r: random.Random, n: int, objective: str) -> LayerTable:
    same = r.random() < 0.4
    each = r.uniform(0.3, 2)
    return LayerTable(
        seconds=tuple(each if same else r.uniform(0.3, 2) for _ in range(n)),
        state_bytes=(1.0,) * n if same else tuple(r.uniform(0.5, 1.5) for _ in range(n)),
        held_bytes=(0.2,) * n if same else tuple(r.uniform(0, 0.3) for _ in range(n)),
        first=EndCost(seconds=r.choice([0.0, 0.2]), state_bytes=0.3),
        last=EndCost(seconds=r.choice([0.0, 1.0]), state_bytes=0.5, held_bytes=0.1),
        tail_seconds=0.0 if objective == "bottleneck" else r.choice([0.0, 0.3, 0.5]),
    )


def exhaustive(problem: SplitProblem) -> float | None:
    """Give the best objective by trying every order and every cut; None when nothing is feasible."""
    slots = [index for index, place in enumerate(problem.places) for _ in range(place.copies)]
    orders = [problem.order] if problem.order else sorted(set(itertools.permutations(slots, problem.num_stages)))
    best: float | None = None
    for order in orders:
        for cuts in itertools.combinations_with_replacement(range(problem.num_layers + 1), problem.num_stages - 1):
            bounds = (0, *cuts, problem.num_layers)
            layers = tuple(b - a for a, b in itertools.pairwise(bounds))
            price = price_split(problem, Split(order=order, layers=layers))
            if price.feasible and (best is None or price.objective_seconds < best):
                best = price.objective_seconds
    return best
