"""Laws that hold for every schedule, and the closed forms against the longest-path timeline."""

from dataclasses import replace
from fractions import Fraction
from math import lcm

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hyperflow.ir.timeline import PipelineOrder, StageTimes
from hyperflow.simulate.closed_forms import gpipe_makespan, one_f_one_b_makespan, one_f_one_b_period, zb_h1_period
from hyperflow.simulate.hiding import choose_warmup
from hyperflow.simulate.orders import SCHEDULES, order_for
from hyperflow.simulate.timeline import simulate, stage_delays
from hyperflow.simulate.transfers import simulate_transfers

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


@st.composite
def any_cases(draw: st.DrawFn) -> tuple[PipelineOrder, StageTimes, tuple[int, ...]]:
    """An order of any schedule that accepts the drawn numbers, made for the drawn times."""
    times, links = draw(pipelines())
    name = draw(st.sampled_from(sorted(SCHEDULES)))
    microbatches = draw(st.integers(1, 4)) * times.num_ranks  # whole rounds for the schedules that need them
    if name == "DualPipeV":
        microbatches += times.num_ranks
    return order_for(name, times.num_ranks, microbatches, durations=times, links=links), times, links


def _critical_path(order: PipelineOrder, times: StageTimes, links) -> float:
    """One micro-batch alone, down all stages and back: no schedule ends before it."""
    delays = 2 * sum(stage_delays(order.stage_ranks, links))
    return sum(times.forward) + sum(times.backward_input) + delays


@_LAWS
@given(any_cases())
def test_no_timeline_ends_before_a_ranks_work_or_the_critical_path(case):
    order, times, links = case
    timeline = simulate(order, times, links)
    assert timeline.makespan >= order.num_microbatches * max(times.totals) - 1e-6
    assert timeline.makespan >= _critical_path(order, times, links) - 1e-6
    assert all(idle >= -1e-6 for idle in timeline.idle_per_rank)
    assert timeline.span_max <= timeline.makespan


@_LAWS
@given(any_cases())
def test_every_start_waits_for_its_inputs_and_its_rank(case):
    order, times, links = case
    timeline = simulate(order, times, links)
    delays = stage_delays(order.stage_ranks, links)
    end = {
        ("B" if operation.kind == "BW" else operation.kind, *operation[1:]): moment
        for operations, ends in zip(order.operations, timeline.ends, strict=True)
        for operation, moment in zip(operations, ends, strict=True)
    }
    for operations, starts, ends in zip(order.operations, timeline.starts, timeline.ends, strict=True):
        for (kind, stage, i), start, before in zip(operations, starts, (0.0, *ends), strict=False):
            needs = [before]
            if kind == "F":
                needs += [end["F", stage - 1, i] + delays[stage - 1]] if stage else []
            elif kind == "W":
                needs += [end["B", stage, i]]
            else:
                needs += [end["F", stage, i]]
                needs += [end["B", stage + 1, i] + delays[stage]] if stage < len(delays) else []
            assert start == pytest.approx(max(needs))


@_LAWS
@given(any_cases(), st.randoms(use_true_random=False))
def test_renaming_the_micro_batches_changes_nothing(case, random):
    order, times, links = case
    names = list(range(order.num_microbatches))
    random.shuffle(names)
    renamed = tuple(tuple(o._replace(microbatch=names[o.microbatch]) for o in rank) for rank in order.operations)
    assert simulate(replace(order, operations=renamed), times, links).ends == simulate(order, times, links).ends


@_LAWS
@given(any_cases())
def test_without_queues_and_blocking_the_event_simulation_agrees_and_with_them_it_is_never_faster(case):
    order, times, links = case
    plain = simulate(order, times, links)
    events = simulate_transfers(order, times, links)
    assert [list(map(pytest.approx, ends)) for ends in plain.ends] == [list(ends) for ends in events.ends]
    for options in ({"occupancy": links}, {"blocking_sends": True}):
        assert simulate_transfers(order, times, links, **options).makespan >= plain.makespan - 1e-6


@_LAWS
@given(pipelines(), st.integers(1, 12))
def test_more_memory_never_makes_the_automatic_order_slower(pipeline, microbatches):
    times, links = pipeline
    ends = []
    for limit in range(1, microbatches + 1):
        limits = [limit] * times.num_ranks
        order = order_for("ZB_auto", times.num_ranks, microbatches, durations=times, links=links, limits=limits)
        timeline = simulate(order, times, links)
        assert max(timeline.peak_until_weight) <= limit
        ends.append(timeline.makespan)
    assert ends == sorted(ends, reverse=True)


@_LAWS
@given(pipelines(), st.integers(1, 4))
def test_v_orders_of_more_memory_are_never_slower_within_it(pipeline, rounds):
    times, links = pipeline
    ends = {}
    for name in ("V-Min", "V-Half", "ZB-V"):
        order = order_for(name, times.num_ranks, rounds * times.num_ranks, durations=times, links=links)
        timeline = simulate(order, times, links)
        ends[name] = (timeline.makespan, timeline.peak_until_weight)
    for less, more in (("V-Min", "V-Half"), ("V-Half", "ZB-V")):
        if all(a <= b for a, b in zip(ends[less][1], ends[more][1], strict=True)):
            assert ends[more][0] <= ends[less][0] + 1e-6


@_LAWS
@given(pipelines(), st.integers(2, 9))
def test_scaling_all_times_scales_the_timeline(pipeline, factor):
    times, links = pipeline
    order = order_for("ZB-H1", times.num_ranks, 8)
    larger = StageTimes(
        forward=tuple(factor * t for t in times.forward),
        backward_input=tuple(factor * t for t in times.backward_input),
        backward_weight=tuple(factor * t for t in times.backward_weight),
    )
    plain = simulate(order, times, links)
    assert simulate(order, larger, [factor * c for c in links]).makespan == factor * plain.makespan


@_LAWS
@given(pipelines(), st.data())
def test_chosen_warmups_keep_the_limits_and_never_lengthen_the_period(pipeline, data):
    times, links = pipeline
    limits = [data.draw(st.integers(ranks_left, 9)) for ranks_left in range(times.num_ranks, 0, -1)]
    choice = choose_warmup(times.totals, links, limits)
    assert all(depth <= limit for depth, limit in zip(choice.depths, limits, strict=True))
    assert choice.floor * (1 - 1e-9) <= choice.period <= choice.standard_period * (1 + 1e-9)
    order = order_for("1F1B", times.num_ranks, 40, warmup=choice.depths, limits=limits)
    assert simulate(order, times, links).peak_until_weight == choice.depths
