"""Unequal layers through cost and split: real models on two clusters, against the split by equal counts."""

from pathlib import Path

import pytest

from hyperflow.catalog.devices import find_device
from hyperflow.cost.layer_costs import device_costs
from hyperflow.inventory.models import load_model
from hyperflow.ir.costs import CostSettings
from hyperflow.ir.plan import Degrees
from hyperflow.plan.price import price_split
from hyperflow.plan.problem import EndCost, LayerTable, Place, Split, SplitProblem
from hyperflow.plan.split import solve_split
from hyperflow.spec.training_job import ModelRequest

DEVICES = {"beijing": "B200-SXM", "shanghai": "H100-80GB-SXM"}
STAGES_PER_CLUSTER = 4
MICROBATCHES = 64
MODELS = ["deepseek-v3", "llama-4-maverick", "mixtral-8x22b", "qwen3-235b-a22b", "nemotron-h-56b"]


def problem_of(model):
    """The split problem of the model: four stages of a fast device, then four of a slower one."""
    stages = len(DEVICES) * STAGES_PER_CLUSTER
    settings = CostSettings(
        degrees=Degrees(tp=8, ep=8, dp=8, pp=stages), micro_batch_size=1, microbatches=MICROBATCHES,
        schedule="1f1b", recompute="full", zero=1, precision="bf16",
    )  # fmt: skip
    tables, memory = {}, {}
    for name in DEVICES.values():
        device = find_device(name)
        assert device is not None, name
        costs = device_costs(model, device, settings)
        tables[name] = LayerTable(
            seconds=tuple(layer.seconds for layer in costs.layers),
            state_bytes=tuple(layer.state_bytes for layer in costs.layers),
            held_bytes=tuple(layer.activation_bytes for layer in costs.layers),
            first=EndCost(seconds=costs.embedding.seconds, state_bytes=costs.embedding.state_bytes),
            last=EndCost(seconds=costs.head.seconds, state_bytes=costs.head.state_bytes),
            fixed_bytes=costs.fixed_bytes + costs.working_bytes,
        )
        memory[name] = costs.memory_limit_bytes
    places = tuple(
        Place(name=place, device=device, memory_bytes=memory[device], copies=STAGES_PER_CLUSTER)
        for place, device in DEVICES.items()
    )
    order = tuple(place for place in range(len(DEVICES)) for _ in range(STAGES_PER_CLUSTER))
    return SplitProblem(
        places=places, tables=tables, num_stages=stages, microbatches=MICROBATCHES, order=order, grouped=True,
        in_flight=tuple(float(stages - stage) for stage in range(stages)),
    )  # fmt: skip


def even(number, stages):
    return tuple(number // stages + (index < number % stages) for index in range(stages))


def stage_parameters(model, counts):
    layers, start, sums = model.layers, 0, []
    for count in counts:
        sums.append(sum(layer.parameters for layer in layers[start : start + count]))
        start += count
    return sums


@pytest.mark.parametrize("preset", MODELS)
def test_unequal_layers_are_split_by_their_cost_and_not_by_their_number(preset):
    model, _ = load_model(ModelRequest(preset=preset, seq=4096), Path())
    problem = problem_of(model)
    solved = solve_split(problem)
    assert solved.split is not None and solved.proven
    counts = solved.split.layers
    parameters = stage_parameters(model, counts)
    by_count = Split(order=problem.order, layers=even(model.num_layers, problem.num_stages))
    theirs = price_split(problem, by_count)
    print(f"\n{preset}: layers {counts}, parameters {[f'{p / 1e9:.1f}B' for p in parameters]}")
    print(f"  equal counts {by_count.layers}, {[f'{p / 1e9:.1f}B' for p in stage_parameters(model, by_count.layers)]}")
    assert sum(counts) == model.num_layers
    assert sum(parameters) == model.total_parameters - model.outside_parameters
    mine = price_split(problem, solved.split)
    assert mine.feasible
    assert mine.objective_seconds < theirs.objective_seconds
    assert sum(counts[:STAGES_PER_CLUSTER]) > sum(counts[STAGES_PER_CLUSTER:])
