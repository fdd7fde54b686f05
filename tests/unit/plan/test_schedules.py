"""Schedules other than 1F1B: what the planner predicts for them, and which it takes when the schedule is open."""

import pytest

from hyperflow.errors import HyperFlowError
from hyperflow.ir.timeline import StageTimes
from hyperflow.lower import launch_megatron, launch_torchtitan
from hyperflow.lower.virtual_stages import schedule_key
from hyperflow.plan.make_plan import make_plan
from hyperflow.plan.schedules import FILL, OFFERED, STANDARD, V_PLACED
from hyperflow.simulate.looped import one_f_one_b
from hyperflow.simulate.orders import SCHEDULES, order_for
from hyperflow.simulate.timeline import simulate
from hyperflow.spec.launch import MegatronLaunch, TorchrunLaunch, TorchtitanLaunch
from tests.plan_jobs import cluster, decoder, link, resolved, two_cities

TITAN = TorchtitanLaunch(module="llama3", config="planned")


def four_stages(schedule, *, launch=None, **parallel):
    """16 layers over two clusters of two stages each, in 32 micro-batches."""
    clusters = [cluster("a", "H200", 2), cluster("b", "H100", 2)]
    degrees = {"pp": 4, "global_batch_size": 32, "recompute": "full", "schedule": schedule, **parallel}
    launch = launch or TorchrunLaunch(script="train.py")
    return resolved(clusters, [link("a", "b", gbps=400, rtt_ms=4)], decoder(16), parallel=degrees, launch=launch)


def makespan(plan, *, name=None, warmup=None):
    """All micro-batches of a plan timed one by one, hops inside a cluster left out."""
    times = StageTimes(
        forward=tuple(stage.forward_seconds for stage in plan.stages),
        backward_input=tuple(stage.backward_input_seconds for stage in plan.stages),
        backward_weight=tuple(stage.backward_weight_seconds for stage in plan.stages),
    )
    slow = plan.links[0].seconds_per_microbatch
    pairs = zip(plan.stages, plan.stages[1:], strict=False)
    hops = [slow if a.cluster != b.cluster else 0.0 for a, b in pairs]
    if warmup:
        return simulate(one_f_one_b(len(plan.stages), plan.microbatches, warmup), times, hops).makespan
    order = order_for(name or plan.schedule, len(plan.stages), plan.microbatches, durations=times, links=hops)
    return simulate(order, times, hops).makespan


@pytest.mark.parametrize("name", [name for name in SCHEDULES if name != STANDARD])
@pytest.mark.parametrize("batch", [32, 512])
def test_the_predicted_step_of_each_schedule_is_its_timeline_within_three_percent(name, batch):
    """Beside the makespan a step has the optimizer, and hops inside a cluster: together under 2 % here."""
    plan = make_plan(four_stages(name, global_batch_size=batch))
    assert makespan(plan) * 0.99 <= plan.step_seconds <= makespan(plan) * 1.03
    assert plan.optimal.bound_seconds <= plan.step_seconds and plan.warmup == ()
    assert min(stage.layers for stage in plan.stages) >= SCHEDULES[name].min_chunks


def test_an_open_schedule_is_the_best_of_those_that_the_framework_runs():
    plan = make_plan(four_stages("auto", launch=TITAN))
    given = {name: make_plan(four_stages(name, launch=TITAN)) for name in OFFERED["torchtitan"] if name != STANDARD}
    steps = {name: one.step_seconds for name, one in given.items()}
    row = next(other for other in plan.alternatives if other.name == "schedule 1F1B")
    assert plan.step_seconds == pytest.approx(min(steps.values()), rel=1e-9)
    assert plan.schedule == min(steps, key=lambda name: steps[name])
    assert row.step_seconds > plan.step_seconds and row.reason.startswith("simulated; tp8 pp4")
    told = {other.name: other.step_seconds for other in plan.alternatives if other.name.startswith("schedule ")}
    assert told.keys() == {f"schedule {name}" for name in OFFERED["torchtitan"] if name != plan.schedule}
    for name, step in told.items():
        if name != "schedule 1F1B" and step is not None:
            assert step == pytest.approx(steps[name.removeprefix("schedule ")], rel=1e-9)


def test_1f1b_is_timed_too_where_the_schedule_is_open():
    job = four_stages("auto")  # nothing is known of a script but that it runs 1F1B
    plan, closed = make_plan(job), make_plan(four_stages("1f1b"))
    assert plan.schedule == "1f1b" and plan.warmup
    assert makespan(plan, warmup=plan.warmup) * 0.99 <= plan.step_seconds <= closed.step_seconds * (1 + 1e-9)


def test_layers_by_hand_take_the_best_schedule_too():
    by_hand = make_plan(four_stages("auto", launch=TITAN, layers=(5, 5, 3, 3)))
    fixed = [make_plan(four_stages(n, launch=TITAN, layers=(5, 5, 3, 3))) for n in ("ZB1P", "ZBVZeroBubble")]
    assert by_hand.step_seconds <= min(plan.step_seconds for plan in fixed)


def test_every_schedule_offered_is_one_that_the_launcher_takes():
    for launcher, accepted in (("megatron", launch_megatron.SCHEDULES), ("torchtitan", launch_torchtitan.SCHEDULES)):
        assert {schedule_key(name) for name in OFFERED[launcher]} <= set(accepted)
    assert FILL.keys() == SCHEDULES.keys() and set(V_PLACED) < set(SCHEDULES)


@pytest.mark.parametrize(
    ("schedule", "launch", "batch", "message", "hint"),
    [
        (
            "interleaved",
            MegatronLaunch(),
            6,
            "Interleaved1F1B in Megatron needs a number of micro-batches that is a multiple of the ranks",
            "use m=4 or m=8",
        ),
        (
            "DualPipeV",
            TITAN,
            4,
            "DualPipeV needs at least as many micro-batches as its 8 stages",
            "use m >= 8, or ZB-V",
        ),
        ("1f1b", TITAN, 2, "1F1B in PyTorch needs at least as many micro-batches as ranks", "use m >= 4"),
    ],
)
def test_a_schedule_whose_rules_no_choice_keeps_is_refused_at_its_place(schedule, launch, batch, message, hint):
    for more in ({}, {"layers": (4, 4, 4, 4)}):
        with pytest.raises(HyperFlowError) as caught:
            make_plan(four_stages(schedule, launch=launch, global_batch_size=batch, **more))
        finding = caught.value.findings[0]
        assert (finding.code, finding.message, finding.hint) == ("HF653", message, hint)
        assert finding.where == "@hf.parallel(schedule=)" and finding.span is not None


def test_links_carry_what_each_chunk_sends_over_them():
    """One chunk crosses once each way; dealt out in turn two chunks cross three times, in a V twice."""
    plain, looped, placed = (make_plan(two_cities(schedule=name)) for name in ("1f1b", "interleaved", "ZB-V"))
    once = plain.links[0].bytes_per_step
    assert [link.bytes_per_step for link in plain.links] == [once, once]
    assert [link.bytes_per_step for link in looped.links] == [3 * once, 3 * once]
    assert [link.bytes_per_step for link in placed.links] == [2 * once, 2 * once]


def test_one_stage_holds_one_microbatch_whatever_the_schedule():
    one = cluster("a", "B200", 1)
    plans = [make_plan(resolved([one], [], decoder(), parallel={"pp": 1, "schedule": s})) for s in ("1f1b", "GPipe")]
    assert [plan.stages[0].in_flight for plan in plans] == [1.0, 1.0]
    assert plans[0].step_seconds == pytest.approx(plans[1].step_seconds, rel=1e-3)
    assert plans[0].stages[0].memory_bytes == plans[1].stages[0].memory_bytes
