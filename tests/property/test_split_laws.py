"""The split's laws: it equals exhaustive search, and symmetry, scale and monotonicity hold."""

import dataclasses
import importlib.util
import itertools
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hyperflow.plan.best import search_exact
from hyperflow.plan.orders import orders_that_differ
from hyperflow.plan.price import price_split
from hyperflow.plan.problem import Cuts, EndCost, LayerTable, Place, Split, SplitProblem
from hyperflow.plan.split import solve_program, solve_split
from hyperflow.plan.symmetry import merge_equal_places

_spec = importlib.util.spec_from_file_location("split_cases", Path(__file__).with_name("split_cases.py"))
assert _spec and _spec.loader
cases = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(cases)

LAWS = settings(max_examples=30, deadline=None, derandomize=True)


@given(seed=st.integers(0, 10**6))
@settings(LAWS, max_examples=80)
def test_b2_exact_search_and_integer_program_equal_exhaustive_search(seed):
    problem = cases.random_problem(seed)
    best = cases.exhaustive(problem)
    solved = solve_split(problem)
    assert solved.proven
    assert (solved.split is None) == (best is None)
    if best is not None:
        assert solved.price is not None and solved.split is not None
        assert solved.price.objective_seconds == pytest.approx(best, rel=1e-9)
        fixed = dataclasses.replace(problem, order=solved.split.order, grouped=False)
        program = solve_program(fixed, solved.split, 10)
        assert program.bound_seconds == pytest.approx(cases.exhaustive(fixed), rel=1e-6)


def uneven(rates, layers, microbatches=32, objective="1f1b", order="fixed"):
    names = [f"s{i}" for i in range(len(rates))]
    return SplitProblem(
        places=tuple(Place(name=name, device=name) for name in names),
        tables={name: LayerTable(seconds=(1 / rate,) * layers) for name, rate in zip(names, rates, strict=True)},
        num_stages=len(rates),
        microbatches=microbatches,
        objective=objective,
        order=tuple(range(len(rates))) if order == "fixed" else None,
    )


rates = st.lists(st.floats(0.5, 4).map(lambda x: round(x, 2)), min_size=2, max_size=5)
layers = st.integers(6, 24)


@given(rates=rates, layers=layers)
@LAWS
def test_b2_the_integer_program_alone_finds_the_optimum(rates, layers):
    problem = uneven(rates, layers)
    alone = solve_program(problem, None, 10)
    assert alone.split is not None
    assert price_split(problem, alone.split).objective_seconds == pytest.approx(
        search_exact(problem).objective_seconds, rel=1e-6
    )


@given(rates=rates, layers=layers, objective=st.sampled_from(["1f1b", "1f1b-links", "bottleneck"]))
@LAWS
def test_a_faster_stage_never_gets_fewer_layers(rates, layers, objective):
    split = search_exact(uneven(rates, layers, objective=objective)).split
    assert split is not None
    ranked = sorted(zip(rates, split.layers, strict=True))
    assert all(slow[1] <= fast[1] for slow, fast in itertools.pairwise(ranked) if slow[0] < fast[0])


@given(rates=rates, layers=layers, factor=st.sampled_from([1e-6, 0.3, 7.0, 1e5]))
@LAWS
def test_scaling_all_speeds_leaves_the_split(rates, layers, factor):
    assert search_exact(uneven(rates, layers)).split == search_exact(uneven([r * factor for r in rates], layers)).split


@given(seed=st.integers(0, 10**6), shuffle=st.randoms(use_true_random=False))
@LAWS
def test_permuting_the_stages_of_a_free_order_changes_nothing(seed, shuffle):
    problem = dataclasses.replace(cases.random_problem(seed), order=None, grouped=False)
    problem = dataclasses.replace(problem, places=tuple(dataclasses.replace(p, copies=1) for p in problem.places))
    places = list(problem.places)
    shuffle.shuffle(places)
    answers = []
    for one in (problem, dataclasses.replace(problem, places=tuple(places))):
        merged = merge_equal_places(one)
        split = search_exact(merged.problem).split
        answers.append(None if split is None else (merged.names(split), split.layers))
    assert answers[0] == answers[1]


@given(rates=rates, layers=layers)
@LAWS
def test_no_split_is_worse_than_the_even_one(rates, layers):
    problem = uneven(rates, layers)
    p = len(rates)
    even = Split(order=problem.order or (), layers=tuple(layers // p + (i < layers % p) for i in range(p)))
    assert search_exact(problem).objective_seconds <= price_split(problem, even).objective_seconds * (1 + 1e-12)


@given(seed=st.integers(0, 10**6))
@LAWS
def test_more_memory_never_costs_time(seed):
    problem = cases.random_problem(seed)
    roomier = dataclasses.replace(
        problem,
        places=tuple(
            dataclasses.replace(p, memory_bytes=p.memory_bytes and p.memory_bytes * 1.3) for p in problem.places
        ),
    )
    assert search_exact(roomier).objective_seconds <= search_exact(problem).objective_seconds * (1 + 1e-9)


@given(seed=st.integers(0, 10**6))
@LAWS
def test_a_search_without_time_claims_only_what_is_true(seed):
    answer = search_exact(cases.random_problem(seed), seconds=0.0)
    assert not answer.proven or cases.exhaustive(cases.random_problem(seed)) in (None, answer.objective_seconds)
    assert answer.bound_seconds <= search_exact(cases.random_problem(seed)).objective_seconds * (1 + 1e-9)


@given(seed=st.integers(0, 10**6))
@LAWS
def test_free_orders_of_equal_layers_equal_exhaustive_search(seed):
    r = random.Random(seed)
    p = r.randint(2, 4)
    n, first, last, tail = r.randint(p, 8), r.choice([0, 0.4]), r.choice([0, 1]), r.choice([0, 0.3])
    tables = {
        f"d{d}": LayerTable(
            seconds=(r.uniform(0.3, 2),) * n,
            state_bytes=(1.0,) * n,
            first=EndCost(seconds=first),
            last=EndCost(seconds=last * r.random()),
            tail_seconds=tail * r.random(),
        )
        for d in range(3)
    }
    problem = SplitProblem(
        places=tuple(
            Place(name=f"s{i}", device=f"d{r.randrange(3)}", memory_bytes=r.choice([None, n / p * r.uniform(1, 2)]))
            for i in range(p)
        ),
        tables=tables,
        num_stages=p,
        microbatches=r.choice([1, 4, 16]),
        objective=r.choice(["1f1b", "1f1b-links"]),
    )
    assert orders_that_differ(problem) is not None
    answer, best = search_exact(problem), cases.exhaustive(problem)
    assert answer.proven
    assert answer.objective_seconds == (pytest.approx(best, rel=1e-9) if best is not None else float("inf"))


def test_an_empty_stage_before_a_dear_cut_is_found():
    # A cut after layer 1 costs 10 s; stage a empty has none before it, so all three layers belong on b: 3 + 3 * 3 s.
    problem = SplitProblem(
        places=(Place(name="a", device="slow"), Place(name="b", device="fast")),
        tables={"slow": LayerTable(seconds=(1.0,) * 3), "fast": LayerTable(seconds=(1.0,) * 3)},
        num_stages=2,
        microbatches=4,
        order=(0, 1),
        cuts=Cuts(by_layer=((10.0,), (10.0,))),
        min_layers=0,
    )
    assert search_exact(problem).objective_seconds == pytest.approx(12.0)


@given(seed=st.integers(0, 10**6))
@LAWS
def test_where_links_are_few_the_answer_or_its_absence_equals_exhaustive_search(seed):
    """A free order without a way through all places was once searched for ever."""
    r = random.Random(seed)
    problem = cases.random_problem(seed)
    pairs = {
        (a.name, b.name): r.uniform(0, 0.5) for a, b in itertools.permutations(problem.places, 2) if r.random() < 0.4
    }
    sparse = dataclasses.replace(problem, order=None, cuts=dataclasses.replace(problem.cuts, by_pair=pairs))
    best, answer = cases.exhaustive(sparse), search_exact(sparse)
    assert answer.proven and (answer.split is None) == (best is None)
    assert answer.objective_seconds == pytest.approx(float("inf") if best is None else best, rel=1e-9)
