"""Unequal layers through cost and plan: real models on two clusters, with the split by equal counts beside."""

from pathlib import Path

import pytest

from hyperflow.inventory.models import load_model
from hyperflow.plan.make_plan import make_plan
from hyperflow.spec.training_job import ModelRequest
from tests.plan_jobs import cluster, link, resolved

STAGES = 8
DEGREES = {"tp": 8, "pp": STAGES, "dp": 8, "global_batch_size": 256, "recompute": "full"}


def plan_of(preset):
    """Plan the model on 32 nodes of B200 and 32 nodes of H100."""
    model, _ = load_model(ModelRequest(preset=preset, seq=4096), Path())
    has_experts = model.active_parameters < model.total_parameters
    job = resolved(
        [cluster("beijing", "B200", 32), cluster("shanghai", "H100", 32)],
        [link("beijing", "shanghai", gbps=1600)],
        model,
        parallel={**DEGREES, "ep": 8} if has_experts else DEGREES,
    )
    return model, make_plan(job)


def parameters_of(model, counts):
    """Parameters per stage of a split: its layers, the embedding first, head and final norm last."""
    starts = [sum(counts[:index]) for index in range(len(counts))]
    sums = [sum(x.parameters for x in model.layers[i : i + n]) for i, n in zip(starts, counts, strict=True)]
    sums[0] += model.embedding_parameters
    sums[-1] += model.head_parameters + model.other_parameters
    return sums


@pytest.mark.parametrize(
    "preset", ["deepseek-v3", "llama-4-maverick", "mixtral-8x22b", "qwen3-235b-a22b", "nemotron-h-56b"]
)
def test_unequal_layers_are_split_by_cost_with_the_equal_count_beside_it(preset):
    model, plan = plan_of(preset)
    counts = [stage.layers for stage in plan.stages]
    assert [stage.parameters for stage in plan.stages] == parameters_of(model, counts)
    assert sum(stage.parameters for stage in plan.stages) == model.total_parameters
    assert sum(counts) == model.num_layers
    assert all(stage.memory_bytes <= stage.memory_limit_bytes for stage in plan.stages)
    even = next(other for other in plan.alternatives if other.name == "even split")
    assert max(even.layers) - min(even.layers) <= 1
    assert even.step_seconds > plan.step_seconds


def test_equal_counts_of_deepseek_v3_do_not_fit_where_the_plan_does():
    _, plan = plan_of("deepseek-v3")
    even = next(other for other in plan.alternatives if other.name == "even split")
    assert not even.feasible
    assert "shanghai" in even.reason


def test_layers_that_alternate_in_size_still_share_out_the_parameters_by_speed():
    model, plan = plan_of("llama-4-maverick")
    sizes = sorted({layer.parameters for layer in model.layers})
    assert sizes[1] > 50 * sizes[0]
    fast = [stage.parameters for stage in plan.stages if stage.cluster == "beijing"]
    slow = [stage.parameters for stage in plan.stages if stage.cluster == "shanghai"]
    assert min(fast) > max(slow)
