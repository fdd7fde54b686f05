"""`prefer="cheapest"`: the price of the plan against every plan that can be solved, one choice and set at a time."""

import dataclasses
import itertools
import random

import pytest

from hyperflow.errors import HyperFlowError
from hyperflow.plan.make_plan import make_plan
from tests.plan_jobs import cluster, decoder, link, resolved


def priced_job(seed, **parallel):
    """Two or three clusters of unlike devices and prices, one of them sometimes without a price."""
    r = random.Random(seed)
    names = "abc"[: r.randint(2, 3)]
    clusters = [
        cluster(name, r.choice(["B200", "H100", "A100"]), 1, price_per_device_hour=r.choice([None, 1.0, 2.5, 6.0]))
        for name in names
    ]
    links = [link(a, b, gbps=400, rtt_ms=2) for a, b in itertools.combinations(names, 2)]
    degrees = {"global_batch_size": 8, "recompute": "full", **parallel}
    return resolved(
        clusters, links, decoder(6, hidden=4096, ffn=14336, heads=32), parallel=degrees, on={"prefer": "cheapest"}
    )


def price(job, plan):
    """Price of a step: seconds times the hourly prices of all devices, 1 where none is stated."""
    hourly = {c.name: 1.0 if c.price_per_device_hour is None else c.price_per_device_hour for c in job.clusters}
    return plan.step_seconds * sum(hourly[stage.cluster] for stage in plan.stages) * plan.degrees.devices_per_stage


def cheapest_of_all(job):
    """Each set of clusters in each order, with each number of stages, by hand for every split."""
    found: list[float] = []
    for count in range(1, len(job.clusters) + 1):
        for chosen in itertools.permutations([c.name for c in job.clusters], count):
            for cuts in itertools.combinations(range(1, 6), count - 1):
                layers = [b - a for a, b in itertools.pairwise((0, *cuts, 6))]
                given = {name: (n,) for name, n in zip(chosen, layers, strict=True)}
                parallel = job.job.parallel.model_copy(update={"layers": given})
                by_hand = dataclasses.replace(job, job=job.job.model_copy(update={"parallel": parallel}))
                try:
                    found.append(price(job, make_plan(by_hand)))
                except HyperFlowError:
                    continue
    return min(found)


@pytest.mark.parametrize("seed", range(5))
def test_the_bound_on_the_price_holds_and_a_proven_plan_is_the_cheapest_of_all(seed):
    job = priced_job(seed)
    plan, best = make_plan(job), cheapest_of_all(job)
    paid = price(job, plan)
    assert paid * plan.optimal.bound_seconds / plan.step_seconds <= best * (1 + 1e-9)
    if plan.optimal.proven:
        assert paid <= best * (1 + 1e-9)
        assert plan.why[-1].startswith("proven cheapest of ")
    else:
        assert f"its price within {plan.optimal.gap:.1%} of the bound" in plan.why[-1]


def test_other_preferences_say_among_which_clusters_a_plan_is_best():
    job = priced_job(0)
    on = job.job.on.model_copy(update={"prefer": "idle"})
    idle = dataclasses.replace(job, job=job.job.model_copy(update={"on": on}))
    assert "on the first clusters by prefer=idle that can run the job" in make_plan(idle).why[-1]
