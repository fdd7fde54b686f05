"""Laws that hold for every schedule, and the closed forms against the longest-path timeline."""

from fractions import Fraction
from math import lcm

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hyperflow.ir.timeline import StageTimes
from hyperflow.simulate.closed_forms import gpipe_makespan, one_f_one_b_makespan, one_f_one_b_period, zb_h1_period
from hyperflow.simulate.orders import order_for
from hyperflow.simulate.timeline import simulate

_LAWS = settings(derandomize=True, deadline=None, max_examples=30)


@st.composite
def pipelines(draw: st.DrawFn) -> tuple[StageTimes, tuple[int, ...]]:
    ranks = draw(st.integers(2, 5))
    some = st.lists(st.integers(1, 40), min_size=ranks, max_size=ranks).map(tuple)
    links = draw(st.lists(st.integers(0, 40), min_size=ranks - 1, max_size=ranks - 1).map(tuple))
    times = StageTimes(forward=draw(some), backward_input=draw(some), backward_weight=draw(some))
    return times, links


@st.composite
def warmups(draw: st.DrawFn, ranks: int) -> tuple[int, ...]:
    """Non-increasing depths that end in 1, as 1F1B with hidden boundaries has them."""
    steps = draw(st.lists(st.integers(0, 3), min_size=ranks - 1, max_size=ranks - 1))
    return tuple(1 + sum(steps[r:]) for r in range(ranks))


def _measured_period(order_of, times: StageTimes, links, cycle: int = 60) -> float:
    """Growth per micro-batch over a whole number of cycles (60 has every cycle length up to 6), far from the start."""
    low, high = (simulate(order_of(m), times, links).makespan for m in (400, 400 + cycle))
    return (high - low) / cycle


def _critical_cycle(totals, links, warmup) -> int:
    """Micro-batches after which a 1F1B timeline repeats: the least common multiple over the slowest segments."""
    lengths: dict[Fraction, list[int]] = {}
    for r in range(len(totals)):
        for q in range(r, len(totals)):
            length = warmup[r] - warmup[q] + 1
            lengths.setdefault(Fraction(sum(totals[r : q + 1]) + 2 * sum(links[r:q]), length), []).append(length)
    return lcm(*lengths[max(lengths)])


@_LAWS
@given(pipelines(), st.integers(1, 12))
def test_gpipe_closed_form_is_the_makespan(pipeline, microbatches):
    times, links = pipeline
    backward = [b + w for b, w in zip(times.backward_input, times.backward_weight, strict=True)]
    timeline = simulate(order_for("GPipe", times.num_ranks, microbatches), times, links)
    assert gpipe_makespan(times.forward, backward, links, microbatches) == timeline.makespan


@_LAWS
@given(pipelines())
def test_1f1b_closed_form_is_the_period(pipeline):
    times, links = pipeline
    measured = _measured_period(lambda m: order_for("1F1B", times.num_ranks, m), times, links)
    assert one_f_one_b_period(times.totals, links) == pytest.approx(measured)


@_LAWS
@given(pipelines(), st.data())
def test_1f1b_closed_form_is_the_period_with_chosen_warmups(pipeline, data):
    times, links = pipeline
    warmup = data.draw(warmups(times.num_ranks))
    cycle = _critical_cycle(times.totals, links, warmup)
    measured = _measured_period(lambda m: order_for("1F1B", times.num_ranks, m, warmup=warmup), times, links, cycle)
    assert one_f_one_b_period(times.totals, links, warmup) == pytest.approx(measured)


@_LAWS
@given(pipelines(), st.integers(1, 24))
def test_1f1b_linear_makespan_is_never_below_the_real_one(pipeline, microbatches):
    times, links = pipeline
    timeline = simulate(order_for("1F1B", times.num_ranks, microbatches), times, links)
    assert one_f_one_b_makespan(times.totals, links, microbatches) >= timeline.makespan - 1e-6


@_LAWS
@given(pipelines())
def test_zb_h1_closed_form_is_the_period(pipeline):
    times, links = pipeline
    measured = _measured_period(lambda m: order_for("ZB-H1", times.num_ranks, m), times, links)
    period = zb_h1_period(times.forward, times.backward_input, times.backward_weight, links)
    assert period == pytest.approx(measured)


@pytest.mark.parametrize(
    ("delay", "warmup", "plain", "hidden"),
    [(10, (3, 1), 3620, 3320), (50, (3, 1), 4900, 3400), (100, (4, 1), 6500, 3500)],
)
def test_the_worked_examples_of_latency_hiding(delay, warmup, plain, hidden):
    times = StageTimes(forward=(30, 30), backward_input=(40, 40), backward_weight=(30, 30))
    assert simulate(order_for("1F1B", 2, 32), times, (delay,)).makespan == plain
    assert simulate(order_for("1F1B", 2, 32, warmup=warmup), times, (delay,)).makespan == hidden
