"""Data parallelism across clusters: the search over sets of clusters against trying everything."""

import itertools
import time

import pytest

from hyperflow.catalog.calibration import default_calibration
from hyperflow.plan.across import solve_across
from hyperflow.plan.across_search import plan_across, sites_of
from hyperflow.plan.budget import Budget
from hyperflow.plan.make_plan import make_plan
from hyperflow.plan.pricing import Pricer
from hyperflow.plan.single_clusters import SingleClusters, shared_batch
from hyperflow.plan.sites import find_sites
from tests.plan_jobs import cluster, decoder, link, resolved


def four_clusters(gpus=("H100", "H100", "H100", "A100"), *, thin=(), **parallel):
    """Clusters a to d of two nodes; links of 3.2 Tb/s, those in `thin` of 5 Gb/s."""
    names = "abcd"[: len(gpus)]
    clusters = [cluster(name, gpu, 2) for name, gpu in zip(names, gpus, strict=True)]
    links = [link(a, b, gbps=5 if a + b in thin else 3200, rtt_ms=1) for a, b in itertools.combinations(names, 2)]
    degrees = {"dp": "auto", "global_batch_size": 48, **parallel}
    return resolved(clusters, links, decoder(8, hidden=4096, ffn=14336, heads=32), parallel=degrees)


def pricer_of(job):
    return Pricer(job=job, calibration=default_calibration(), sites=find_sites(job))


def found(job, beat=float("inf")):
    pricer = pricer_of(job)
    return plan_across(pricer, SingleClusters(pricer), time.monotonic() + 60, beat)


def best_of_all(job):
    """Every set of clusters, every choice bounded on any of its clusters, solved one by one."""
    pricer = pricer_of(job)
    singles = SingleClusters(pricer)
    steps: list[float] = []
    for count in range(2, len(pricer.sites) + 1):
        for sites in itertools.combinations(pricer.sites, count):
            for slow in sites:
                for rough in singles.ranked((slow,), count).rough:
                    budget = Budget(deadline=time.monotonic() + 60, work=1e7)
                    if all(site.stages(rough.choice.degrees.devices_per_stage, 8) >= rough.stages for site in sites):
                        on = rough.on((slow,), rough.choice.copies)
                        across, _ = solve_across(shared_batch(pricer, count), sites, on, budget)
                        steps += [across.step_seconds] if across else []
    return min(steps)


@pytest.mark.parametrize(
    ("job", "clusters"),
    [
        (four_clusters(), "abc"),
        (four_clusters(thin=("ab", "ac")), "bc"),
        (four_clusters(("H100", "H100", "H100", "H100")), "abcd"),
        (four_clusters(("B200", "H100", "H100"), thin=("bc",)), None),
    ],
)
def test_the_best_set_of_clusters_is_found_and_proven(job, clusters):
    across = found(job)
    assert across is not None
    assert across.step_seconds == pytest.approx(best_of_all(job), rel=1e-9)
    assert across.bound_seconds == pytest.approx(across.step_seconds, rel=1e-9)
    assert clusters is None or "".join(site.cluster for site in sites_of(across)) == clusters


def test_a_set_that_is_neither_all_nor_the_strongest_pair_wins_and_the_plan_says_proven():
    plan = make_plan(four_clusters(pp=1))
    assert plan.shape == "data-parallel" and plan.clusters == ("a", "b", "c")
    assert plan.optimal.proven and plan.optimal.gap == 0


def test_where_no_set_can_win_the_bound_says_so_and_one_is_shown():
    across = found(four_clusters(), beat=1e-6)
    assert across is not None and 1e-6 <= across.bound_seconds <= across.step_seconds


def test_clusters_without_links_or_with_a_batch_that_does_not_divide_have_no_such_plan():
    job = four_clusters(("H100", "H100"), global_batch_size=15)
    assert found(job) is None
    apart = resolved([cluster("a", "H100", 2), cluster("b", "H100", 2)], [], decoder(8), parallel={"dp": "auto"})
    assert found(apart) is None
