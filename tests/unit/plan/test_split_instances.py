"""Peers' published instances: their costs recomputed from the cost texts of the files."""

import json
from pathlib import Path

import pytest

from hyperflow.plan.problem_json import read_problem
from hyperflow.plan.split import solve_split
from hyperflow.plan.symmetry import merge_equal_places

FOLDER = Path(__file__).parents[3] / ".." / "shared" / "data" / "split_instances"
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="the shared split instances are not beside the checkout")


def instance(name):
    return json.loads((FOLDER / f"{name}.json").read_text())


def solve(document):
    problem, _ = read_problem(document, "instance")
    merged = merge_equal_places(problem)
    solved = solve_split(merged.problem)
    assert solved.split is not None and solved.proven
    return merged.names(solved.split), solved.split.layers, solved


@pytest.mark.parametrize("name", ["amp_pp4", "amp_pp8"])
def test_amp_instances_reach_the_exact_cost(name):
    data = instance(name)
    stages = [{"name": f"s{i}", "device": "gpu"} for i in range(data["stages"])]
    _, split, solved = solve(
        {
            "microbatches": data["microbatches"],
            "stages": stages,
            "layer_seconds": {"gpu": data["layer_time_s"]},
            "boundary_seconds": data["cut_time_s"],
        }
    )
    times, cuts, start, sums = data["layer_time_s"], 0.0, 0, []
    for j, count in enumerate(split):
        sums.append(sum(times[start : start + count]))
        start += count
        cuts += data["cut_time_s"][start - 1][j] if j < len(split) - 1 else 0.0
    cost = sum(times) + cuts + (data["microbatches"] - 1) * max(sums)
    assert cost == pytest.approx(data["exact"]["cost_s"], rel=1e-12)
    assert solved.price.objective_seconds == pytest.approx(cost, rel=1e-12)


@pytest.mark.parametrize("tails_by_device", [True, False])
def test_metis_instance_puts_the_slow_cluster_first_by_itself(tails_by_device):
    data = instance("metis_3to1")
    clusters, constants = {c["name"]: c for c in data["clusters"]}, data["constants_ms"]
    tails = {"A100": constants["fb_sync_fast"] / 1e3, "V100(synthetic)": constants["fb_sync_slow"] / 1e3}
    order, split, _ = solve(
        {
            "microbatches": data["microbatches"],
            "order": "free",
            "stages": [
                {"name": c["name"], "device": c["device"], "memory_bytes": c["mem_gb"] * 1e9} for c in data["clusters"]
            ],
            "layer_seconds": {c["device"]: [t / 1e3 for t in c["layer_time_ms"]] for c in data["clusters"]},
            "layer_bytes": [size * 1e6 for size in data["clusters"][0]["layer_mem_mb"]],
            "last_stage_seconds_per_microbatch": tails if tails_by_device else tails["A100"],
        }
    )
    first = clusters[order[0]]["device"].removesuffix("(synthetic)")
    cost = next(c["cost"] for c in data["all_two_stage_costs_ms"] if (c["first"], c["cut"]) == (first, split[0]))
    assert (order, split) == (["slow", "fast"], (3, 7))
    assert cost == pytest.approx(7775.142049126003)
    assert cost == min(c["cost"] for c in data["all_two_stage_costs_ms"])


def test_b3_seed_instance_is_six_and_two():
    data = instance("seed_8layer")
    _, split, solved = solve(
        {
            "microbatches": 64,
            "stages": [{"name": c["name"], "device": c["device"]} for c in data["clusters"]],
            "layer_seconds": {c["device"]: [w / c["rate"] for w in data["layer_work"]] for c in data["clusters"]},
        }
    )
    assert list(split) == data["exact"]["split"]
    even = 4 / 3 + 4 + 63 * 4
    assert even / solved.price.objective_seconds == pytest.approx(data["step_speedup"]["64"])
