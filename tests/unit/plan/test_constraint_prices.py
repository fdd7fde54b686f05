"""The price of each declared constraint: the plan that the job without it gets."""

import dataclasses

import pytest

from hyperflow.errors import SourceSpan
from hyperflow.ir.resolved import ResolvedTier
from hyperflow.plan.make_plan import make_plan
from hyperflow.report.explain_text import explain_lines
from hyperflow.report.html import plan_html
from hyperflow.spec.launch import TorchtitanLaunch
from hyperflow.spec.training_job import Data
from tests.plan_jobs import cluster, decoder, link, resolved, seventy, two_cities


def three(*, clusters=None, parallel=None, **more):
    """Clusters a, b, c of 2 nodes each, c the fastest and far away; tp=8 and dp=1 are as if written in the job."""
    clusters = clusters or [cluster("a", "H100", 2), cluster("b", "H100", 2), cluster("c", "B200", 2)]
    links = [
        link("a", "b", gbps=400, rtt_ms=2),
        link("b", "c", gbps=400, rtt_ms=20),
        link("a", "c", gbps=400, rtt_ms=20),
    ]
    degrees = {"global_batch_size": 64, **(parallel or {})}
    return resolved(clusters, links, decoder(24), parallel=degrees, **more)


def quota(cluster_record, devices):
    return cluster_record.model_copy(update={"quotas": {"llm": {"nvidia.com/gpu": devices}}})


def limited():
    wide = [quota(cluster("a", "H100", 2), 8), quota(cluster("b", "H100", 2), 8), cluster("c", "B200", 2)]
    return three(clusters=wide, queue="llm")


def tiered():
    """A hard tier of one rack, which holds one of the two nodes of c."""
    far = three()
    tier = ResolvedTier(mode="hard", name="rack", number_by_cluster={})
    return dataclasses.replace(far, job_tier=tier)


@pytest.mark.parametrize(
    ("job", "name", "without"),
    [
        (three(on={"max_rtt_ms": 5}), "max_rtt_ms=5", three()),
        (three(data=Data(path="/data", at=("a",))), "data only at a", three(data=Data(path="/data"))),
        (three(parallel={"pp": 2}), "pp=2", three(parallel={"pp": "auto"})),
        (three(parallel={"micro_batch_size": 4}), "micro_batch_size=4", three(parallel={"micro_batch_size": "auto"})),
        (three(parallel={"recompute": "full"}), 'recompute="full"', three(parallel={"recompute": "auto"})),
        (limited(), 'the quota of queue "llm"', three()),
        (three(fallback={"a": ("c",)}), "c kept as fallback", three()),
    ],
)
def test_a_constraint_costs_what_the_job_without_it_gains(job, name, without):
    plan, lifted = make_plan(job), make_plan(without)
    price = {price.name: price.step_seconds for price in plan.constraints}
    if lifted.step_seconds < plan.step_seconds * 0.998:
        assert price[name] == pytest.approx(lifted.step_seconds, rel=0.003)
    else:
        assert name in plan.free_constraints and name not in price


def test_the_cases_above_hold_constraints_that_bind_and_some_that_do_not():
    plan = make_plan(three(on={"max_rtt_ms": 5}))
    assert {"max_rtt_ms=5", "dp=1"} <= {price.name for price in plan.constraints}
    assert plan.free_constraints == ("tp=8", "the memory of the devices")
    assert [price.step_seconds for price in plan.constraints] == sorted(p.step_seconds for p in plan.constraints)


def test_a_hard_tier_is_a_constraint_with_a_price():
    assert 'the hard tier "rack" of the job' in make_plan(tiered()).free_constraints


def test_memory_is_named_where_it_costs_time():
    plan = make_plan(seventy(tp=2, dp=16, recompute="auto"))
    price = next(price for price in plan.constraints if price.name == "the memory of the devices")
    assert price.step_seconds < plan.step_seconds


def test_the_declared_order_of_clusters_has_the_price_of_its_row():
    plan = make_plan(two_cities())
    price = next(price for price in plan.constraints if price.name == "the declared order of clusters")
    row = next(other for other in plan.alternatives if other.name == "order shanghai, beijing")
    assert price.step_seconds == row.step_seconds


def test_a_preference_has_the_price_of_the_fastest_plan():
    plan = make_plan(three(on={"prefer": "binpack"}))
    price = next(price for price in plan.constraints if price.name == 'prefer="binpack"')
    assert price.step_seconds == next(other.step_seconds for other in plan.alternatives if other.name == "fastest")


def test_a_declared_schedule_is_compared_with_the_others_by_one_ruler():
    launch = TorchtitanLaunch(module="llama3", config="planned")
    plan = make_plan(three(parallel={"schedule": "GPipe", "recompute": "full"}, launch=launch))
    price = next(price for price in plan.constraints if price.name == 'schedule="GPipe"')
    assert price.step_seconds < plan.step_seconds
    assert price.detail.endswith(f"at the same degrees, simulated; GPipe simulated takes {plan.step_seconds:.2f} s")


def test_what_was_left_to_the_planner_has_no_price():
    job = three()
    undeclared = dataclasses.replace(job, job=job.job.model_copy(update={"sources": dict[str, SourceSpan]()}))
    names = {price.name for price in make_plan(undeclared).constraints}
    assert names <= {"the memory of the devices", "the declared order of clusters"}


def test_a_split_by_hand_is_not_priced_constraint_by_constraint():
    plan = make_plan(two_cities(layers=(5, 3)))
    assert (plan.constraints, plan.free_constraints) == ((), ())


def test_explain_and_the_page_show_the_prices_next_to_what_is_free():
    job = two_cities()
    plan = make_plan(job)
    lines = explain_lines(job, plan, None, ())
    start = lines.index("price of each declared constraint (the plan without it alone):")
    assert lines[start + 1].split() == ["without", "plan", "then", "step", "saved"]
    assert lines[start + 2].split()[:2] == ["tp=8", "tp4"] and lines[start + 2].endswith("%")
    assert "  these cost no time: dp=1, the memory of the devices" in lines
    page = plan_html(plan)
    assert "<h2>Price of each declared constraint</h2>" in page
    assert "These cost no time: dp=1, the memory of the devices." in page
