"""Bounds that rank choices of degrees: no split of a choice goes below them."""

import random
import time

import pytest

from hyperflow.catalog.calibration import default_calibration
from hyperflow.inventory.models import load_model
from hyperflow.plan.budget import Budget
from hyperflow.plan.make_plan import make_plan
from hyperflow.plan.pricing import Pricer
from hyperflow.plan.search import rank_choices, solve_choice
from hyperflow.plan.sites import find_sites
from hyperflow.spec.training_job import ModelRequest
from tests.plan_jobs import cluster, decoder, link, resolved, seventy


def random_pricer(seed):
    """Two or three clusters of unlike devices, nodes and links, and a model of 4 to 8 layers."""
    r = random.Random(seed)
    names = "abc"[: r.randint(2, 3)]
    clusters = [cluster(n, r.choice(["B200", "H100", "A100"]), r.randint(1, 3)) for n in names]
    links = [link(a, b, gbps=r.choice([20, 100, 400]), rtt_ms=r.uniform(1, 60)) for a in names for b in names if a < b]
    parallel = {"dp": "auto", "micro_batch_size": "auto", "recompute": "auto", "global_batch_size": 16}
    job = resolved(clusters, links, decoder(r.randint(4, 8)), parallel=parallel)
    return Pricer(job=job, calibration=default_calibration(), sites=find_sites(job))


@pytest.mark.parametrize("seed", range(4))
def test_no_split_of_a_choice_goes_below_its_bounds(seed):
    pricer = random_pricer(seed)
    ranked = rank_choices(pricer)
    solved = 0
    for number, rough in enumerate(ranked.rough):
        sharp = ranked.sharp(number)
        best, _ = solve_choice(pricer, rough, Budget(deadline=time.monotonic() + 60, work=1e7), False)
        assert best is None or sharp is not None
        if best is not None and sharp is not None:
            assert rough.bound_seconds <= sharp.bound_seconds <= best.step_seconds * (1 + 1e-9)
            solved += 1
    assert solved


def test_a_fleet_of_four_device_types_is_proven_with_all_degrees_open():
    names = ["b200", "h200", "h100", "a100"]
    clusters = [cluster(name, name.upper(), 8) for name in names]
    links = [link(a, b, gbps=400, rtt_ms=4) for a in names for b in names if a < b]
    auto = dict.fromkeys(("tp", "cp", "ep", "pp", "dp", "micro_batch_size", "recompute"), "auto")
    plan = make_plan(resolved(clusters, links, decoder(80), parallel={**auto, "global_batch_size": 256}))
    assert plan.optimal.proven and plan.optimal.bound_seconds == plan.step_seconds
    assert all(stage.memory_bytes <= stage.memory_limit_bytes for stage in plan.stages)


def test_a_plan_with_an_open_recompute_never_names_the_selective_kind_that_changes_nothing():
    assert {p.recompute for p in (make_plan(seventy(recompute="auto")), make_plan(seventy(recompute="none")))} == {
        "none"
    }


def test_choices_whose_layers_have_too_few_bytes_are_dropped_unsearched(tmp_path):
    """Three thin dense layers hid that the experts need more than all stages have: thousands were searched."""
    model, _ = load_model(ModelRequest(preset="deepseek-v3", seq=4096), tmp_path)
    auto = {**dict.fromkeys(("tp", "ep", "pp", "dp"), "auto"), "global_batch_size": 960}
    job = resolved([cluster("a", "H100", 8), cluster("b", "H100", 8)], [link("a", "b")], model, parallel=auto)
    ranked = rank_choices(Pricer(job=job, calibration=default_calibration(), sites=find_sites(job)))
    assert [number for number in range(len(ranked.rough)) if ranked.sharp(number) is not None] == []
