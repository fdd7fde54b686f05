from itertools import pairwise, product

import pytest

from hyperflow.errors import InfeasibleError
from hyperflow.simulate.closed_forms import one_f_one_b_period
from hyperflow.simulate.hiding import choose_warmup, explain_warmup


def _best_by_trying(totals, links, limits) -> float:
    return min(
        one_f_one_b_period(totals, links, depths)
        for depths in product(*(range(1, limit + 1) for limit in limits))
        if depths[-1] == 1 and all(a >= b for a, b in pairwise(depths))
    )


@pytest.mark.parametrize(
    ("totals", "links", "limits"),
    [
        ((100, 100), (50,), (8, 8)),
        ((100, 100), (50,), (2, 2)),
        ((60, 90, 60), (10, 80), (5, 5, 5)),
        ((60, 90, 60), (70, 0), (4, 2, 3)),
        ((30, 30, 30, 30), (3, 47, 3), (6, 6, 4, 2)),
        ((31, 17, 29, 23), (0, 0, 0), (4, 3, 2, 1)),
        ((50, 50, 50), (25, 25), (1, 1, 1)),
    ],
)
def test_the_period_is_the_shortest_that_any_depths_within_memory_have(totals, links, limits):
    choice = choose_warmup(totals, links, limits)
    assert choice.period == pytest.approx(_best_by_trying(totals, links, limits))
    assert all(depth <= limit for depth, limit in zip(choice.depths, limits, strict=True))


def test_without_delays_the_standard_depths_stay():
    choice = choose_warmup((60, 60, 60), (0, 0), (9, 9, 9))
    assert choice.depths == choice.standard == (3, 2, 1)
    assert explain_warmup(choice) == (
        "The standard 1F1B warm-up is kept: other depths within the memory have no shorter period.",
    )


def test_the_explanation_says_what_runs_the_order_and_what_cannot():
    assert explain_warmup(choose_warmup((100, 100), (50,), (8, 8))) == (
        "Warm-up depths 3, 1 (forwards before a rank's first backward) shorten the 1F1B period by 33%; "
        "no link delay is left in it.",
        "torchtitan runs this order from a compute-only schedule file (pipeline_parallel_schedule_csv).",
        "Megatron cannot: its 1F1B always warms up by p - r and has no flag for other depths, so it pays the delay.",
    )


def test_depths_below_the_standard_are_explained_by_memory():
    assert explain_warmup(choose_warmup((60, 60, 60), (0, 0), (2, 2, 1))) == (
        "Warm-up depths 2, 1, 1 hold what memory allows, less than the standard p - r of 1F1B.",
    )


def test_a_rank_without_room_is_refused():
    with pytest.raises(InfeasibleError) as caught:
        choose_warmup((100, 100), (50,), (1, 0))
    assert str(caught.value) == (
        "error[HF657] no order fits: a rank must hold at least one micro-batch\n"
        "  --> memory limit\n"
        "  got [1, 0]\n"
        "  hint: give at least 1 to every rank"
    )
