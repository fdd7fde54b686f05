"""Free orders: the search equals exhaustive search, its prices give bounds, and neither scale nor listing matters."""

import dataclasses
import itertools
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hyperflow.plan import free_order
from hyperflow.plan.arrays import make_numbers
from hyperflow.plan.best import search_exact
from hyperflow.plan.budget import Budget
from hyperflow.plan.price import price_split
from hyperflow.plan.prices import first_prices, raise_bound
from hyperflow.plan.problem import Cuts, EndCost, LayerTable, Place, Split, SplitProblem
from hyperflow.plan.remainder import find_reach
from hyperflow.plan.symmetry import merge_equal_places
from hyperflow.plan.ways import make_graph

LAWS = settings(max_examples=40, deadline=None, derandomize=True)
seeds = st.integers(0, 10**6)


def free_problem(seed: int) -> SplitProblem:
    """Unlike places with links, now and then more of them than stages, and every part that orders feel."""
    r = random.Random(seed)
    count = r.randint(2, 4)
    places = tuple(
        Place(name=f"s{i}", device=f"d{i}", memory_bytes=r.choice([None, None, 4.0]), copies=r.choice([1, 1, 2]))
        for i in range(count)
    )
    stages = r.randint(2, min(4, sum(place.copies for place in places)))
    layers = r.randint(stages, 7)
    alike = r.random() < 0.4
    pairs = {(a.name, b.name): r.uniform(0, 0.6) for a in places for b in places if a != b and r.random() < 0.9}
    return SplitProblem(
        places=places,
        tables={place.device: layer_table(r, layers, alike) for place in places},
        num_stages=stages,
        microbatches=r.choice([1, 2, 4, 16]),
        objective=r.choice(["1f1b", "1f1b-links", "1f1b-links", "1f1b-hidden", "bottleneck"]),
        in_flight=tuple(float(stages - i) for i in range(stages)) if r.random() < 0.5 else None,
        cuts=Cuts(
            by_pair=pairs,
            by_position=tuple(r.uniform(0, 0.3) for _ in range(stages - 1)) if r.random() < 0.3 else None,
            by_layer=tuple(tuple(r.uniform(0, 0.3) for _ in range(stages - 1)) for _ in range(layers - 1))
            if r.random() < 0.3
            else None,
        ),
        min_layers=r.choice([0, 1, 1, 2]),
        first_places=(0, 1) if r.random() < 0.2 else None,
    )


def layer_table(r: random.Random, layers: int, alike: bool) -> LayerTable:
    each = r.uniform(0.3, 2)
    return LayerTable(
        seconds=tuple(each if alike else r.uniform(0.3, 2) for _ in range(layers)),
        state_bytes=(1.0,) * layers,
        held_bytes=(0.2,) * layers,
        first=EndCost(seconds=r.choice([0.0, 0.3]), state_bytes=0.2),
        last=EndCost(seconds=r.choice([0.0, 0.7])),
        tail_seconds=r.choice([0.0, 0.3]),
    )


def all_splits(problem: SplitProblem) -> list[Split]:
    slots = [index for index, place in enumerate(problem.places) for _ in range(place.copies)]
    ends = list(itertools.combinations_with_replacement(range(problem.num_layers + 1), problem.num_stages - 1))
    cuts = [(0, *inner, problem.num_layers) for inner in ends]
    return [
        Split(order=order, layers=tuple(b - a for a, b in itertools.pairwise(cut)))
        for order in sorted(set(itertools.permutations(slots, problem.num_stages)))
        for cut in cuts
    ]


def feasible_prices(problem: SplitProblem):
    prices = [price_split(problem, split) for split in all_splits(problem)]
    return [price for price in prices if price.feasible]


@given(seed=seeds, width=st.sampled_from([1, 3, free_order.WIDTH]))
@settings(LAWS, max_examples=120)
def test_b2_a_free_order_equals_exhaustive_search_however_narrow_the_search_begins(seed, width):
    problem = free_problem(seed)
    best = min((price.objective_seconds for price in feasible_prices(problem)), default=float("inf"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(free_order, "WIDTH", width)
        answer = search_exact(problem)
    assert answer.proven
    assert answer.objective_seconds == pytest.approx(best, rel=1e-9)


@given(seed=seeds, slack=st.sampled_from([1.0, 1.1, 1.5, 3.0]), steps=st.sampled_from([1, 4, 20]))
@LAWS
def test_no_split_within_a_period_costs_less_than_the_prices_say(seed, slack, steps):
    problem = free_problem(seed)
    prices = feasible_prices(problem)
    numbers = make_numbers(problem)
    graph = make_graph(numbers)
    if not prices or graph is None or problem.objective == "bottleneck":
        return
    limit = min(price.period_seconds for price in prices) * slack
    weight = problem.microbatches - 1
    totals = [p.objective_seconds - weight * p.period_seconds for p in prices if p.period_seconds <= limit]
    for start in first_prices(numbers):
        raised = raise_bound(
            numbers, graph, limit / numbers.scale * (1 + 1e-12), start, steps, Budget(deadline=float("inf"))
        )
        assert raised.bound * numbers.scale <= min(totals) * (1 + 1e-9)


@given(seed=seeds)
@LAWS
def test_the_places_hold_no_more_layers_than_their_reach(seed):
    problem = free_problem(seed)
    prices = feasible_prices(problem)
    numbers = make_numbers(problem)
    graph = make_graph(numbers)
    if prices and graph is not None:
        slowest = min(max(price.stage_seconds) for price in prices) / numbers.scale
        assert find_reach(numbers, graph, slowest * (1 + 1e-12))[0][0] >= problem.num_layers


@given(seed=seeds, shuffle=st.randoms(use_true_random=False))
@LAWS
def test_the_order_in_which_places_are_listed_changes_nothing(seed, shuffle):
    problem = free_problem(seed)
    problem = dataclasses.replace(
        problem, places=tuple(dataclasses.replace(place, copies=1) for place in problem.places), first_places=None
    )
    problem = dataclasses.replace(problem, num_stages=min(problem.num_stages, len(problem.places)))
    cuts = dataclasses.replace(problem.cuts, by_position=None, by_layer=None)
    problem = dataclasses.replace(problem, cuts=cuts, in_flight=None)
    places = list(problem.places)
    shuffle.shuffle(places)
    answers = []
    for one in (problem, dataclasses.replace(problem, places=tuple(places))):
        merged = merge_equal_places(one)
        split = search_exact(merged.problem).split
        answers.append(None if split is None else (merged.names(split), split.layers))
    assert answers[0] == answers[1]


@given(seed=seeds, factor=st.sampled_from([1e-6, 0.3, 7.0, 1e5]))
@LAWS
def test_scaling_every_time_scales_the_best_step(seed, factor):
    problem = free_problem(seed)

    def scaled(values: tuple[float, ...]) -> tuple[float, ...]:
        return tuple(value * factor for value in values)

    cuts = problem.cuts
    assert cuts.by_pair is not None
    slower = dataclasses.replace(
        problem,
        tables={
            name: dataclasses.replace(
                table,
                seconds=scaled(table.seconds),
                first=dataclasses.replace(table.first, seconds=table.first.seconds * factor),
                last=dataclasses.replace(table.last, seconds=table.last.seconds * factor),
                tail_seconds=table.tail_seconds * factor,
            )
            for name, table in problem.tables.items()
        },
        cuts=Cuts(
            by_pair={pair: seconds * factor for pair, seconds in cuts.by_pair.items()},
            by_position=cuts.by_position and scaled(cuts.by_position),
            by_layer=cuts.by_layer and tuple(scaled(row) for row in cuts.by_layer),
        ),
    )
    assert search_exact(slower).objective_seconds == pytest.approx(
        search_exact(problem).objective_seconds * factor, rel=1e-9
    )
