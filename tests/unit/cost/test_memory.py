import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hyperflow.catalog.devices import find_device
from hyperflow.cost.layer_costs import device_costs
from hyperflow.cost.memory import in_flight, stage_bytes
from hyperflow.ir.costs import CostSettings
from hyperflow.ir.plan import Degrees
from hyperflow.spec.model import Attention, FeedForward, Layer, LayerRun, Model


def plain_model(hidden=2304, heads=24, layers=3, sequence=1024):
    layer = Layer(
        attention=Attention(heads=heads, kv_heads=heads, head_dim=hidden // heads),
        feed_forward=FeedForward(width=4 * hidden, gated=False),
        mixer_parameters=4 * hidden * hidden,
        feed_forward_parameters=8 * hidden * hidden,
        replicated_parameters=4 * hidden,
    )
    return Model(
        name="plain", hidden=hidden, vocab=50304, sequence_length=sequence, runs=(LayerRun(count=layers, layer=layer),),
        embedding_parameters=50304 * hidden, head_parameters=0, tied_embeddings=True,
    )  # fmt: skip


def costs_of(model, *, degrees=None, **changes):
    values = {
        "degrees": degrees or Degrees(pp=8), "micro_batch_size": 6, "microbatches": 24, "schedule": "1f1b",
        "recompute": "none", "zero": 0, "precision": "bf16", "attention_kernel": "unfused", "dropout": True,
        "fused_gradients": False,
    }  # fmt: skip
    found = find_device("A100")
    assert found is not None
    return device_costs(model, found, CostSettings(**{**values, **changes}))


def test_unfused_activations_are_korthikantis():
    """arXiv 2205.05198, equation 1: s*b*h*(34 + 5as/h)."""
    s, b, h, a = 1024, 6, 2304, 24
    assert costs_of(plain_model()).layers[0].activation_bytes == pytest.approx(s * b * h * (34 + 5 * a * s / h))


@pytest.mark.parametrize("sequence_parallel", [False, True])
def test_tensor_parallel_activations_are_korthikantis(sequence_parallel):
    """arXiv 2205.05198, equations 2 and 4."""
    s, b, h, a, t = 1024, 6, 2304, 24, 8
    got = costs_of(plain_model(), degrees=Degrees(tp=t), sequence_parallel=sequence_parallel).layers[0].activation_bytes
    expected = (34 + 5 * a * s / h) / t if sequence_parallel else 10 + 24 / t + 5 * a * s / (h * t)
    assert got == pytest.approx(s * b * h * expected)


def test_full_recompute_keeps_the_layer_input_only():
    assert costs_of(plain_model(), recompute="full").layers[0].activation_bytes == 2 * 1024 * 6 * 2304


def test_selective_recompute_drops_the_squares():
    got = costs_of(plain_model(), recompute="selective").layers[0].activation_bytes
    assert got == pytest.approx(34 * 1024 * 6 * 2304)


@pytest.mark.parametrize(("zero", "per_parameter"), [(0, 18), (1, 6 + 12 / 4), (2, 2 + 16 / 4), (3, 18 / 4)])
def test_state_bytes_follow_the_zero_level(zero, per_parameter):
    """ZeRO paper, arXiv 1910.02054, figure 1, with 32-bit gradients."""
    layer = costs_of(plain_model(), degrees=Degrees(dp=4), zero=zero).layers[0]
    assert layer.state_bytes == pytest.approx(layer.parameters * per_parameter)


def test_in_flight_counts_are_those_of_the_schedules():
    """schedules.md, table 1, in units of one micro-batch through the whole rank."""
    assert [in_flight("1f1b", i, 4, 32) for i in range(4)] == [4, 3, 2, 1]
    assert in_flight("gpipe", 0, 4, 32) == 32
    assert in_flight("interleaved-1f1b", 0, 8, 32, chunks=2) == 11.5
    assert [in_flight("zb-h1", i, 4, 32) for i in range(4)] == [4, 4, 4, 4]
    assert in_flight("zb-h2", 0, 4, 32) == 7
    assert (in_flight("v-half", 0, 8, 32), in_flight("1f1b", 0, 8, 3)) == (5, 3)
    assert in_flight("1f1b", 0, 4, 32, warmup=6) == 6


REFERENCE = Path(__file__).parents[4] / "shared" / "data" / "schedule_reference.json"
NAMES = {
    "1F1B": "1f1b", "GPipe": "gpipe", "ZB-H1": "zb-h1", "Interleaved1F1B": "interleaved-1f1b", "ZB-V": "zb-v",
    "InterleavedZB": "interleaved-zero-bubble", "LoopedBFS": "looped-bfs", "V-Half": "v-half", "V-Min": "v-min",
    "DualPipeV": "dualpipe-v", "1F1B-V": "1f1b-v", "ZB1P": "zb-1p",
}  # fmt: skip


@pytest.mark.skipif(not REFERENCE.exists(), reason="the recorded schedules are not beside the checkout")
def test_no_recorded_order_holds_more_than_predicted():
    """Each rank's peak of every recorded order; 1F1B, GPipe and ZB-H1 exactly."""
    short, loose = [], []
    for row in json.loads(REFERENCE.read_text())["rows"]:
        if row["schedule"] not in NAMES:
            continue
        for rank, peak in enumerate(row["peak_until_W"]):
            held = in_flight(NAMES[row["schedule"]], rank, row["p"], row["m"], chunks=row["v"])
            short += [row["id"]] * (held < peak / row["v"])
            loose += [row["id"]] * (held != peak and row["schedule"] in ("1F1B", "GPipe", "ZB-H1"))
    assert (short, loose) == ([], [])


@settings(max_examples=60, derandomize=True)
@given(
    st.sampled_from(["gpipe", "1f1b", "interleaved-1f1b", "zb-h1", "zb-h2", "v-half", "v-min"]),
    st.integers(1, 16), st.integers(1, 64), st.integers(1, 4),
)  # fmt: skip
def test_no_stage_holds_more_than_all_or_less_than_one_chunk(schedule, stages, microbatches, chunks):
    for stage in range(stages):
        held = in_flight(schedule, stage, stages, microbatches, chunks=chunks)
        assert min(1 / chunks, microbatches) <= held <= microbatches


def test_a_stage_adds_up_its_layers_and_its_ends():
    costs = costs_of(plain_model())
    middle = stage_bytes(costs, 0, 3, 2.0, is_first=False, is_last=False)
    expected = sum(layer.state_bytes + 2 * layer.activation_bytes for layer in costs.layers)
    assert middle == pytest.approx(expected + costs.working_bytes + costs.fixed_bytes)
    whole = stage_bytes(costs, 0, 3, 2.0, is_first=True, is_last=True)
    ends = costs.embedding.state_bytes + 2 * costs.embedding.activation_bytes
    ends += costs.head.state_bytes + costs.head.activation_bytes
    assert whole - middle == pytest.approx(ends - costs.tied_bytes)
    assert costs.tied_bytes == costs.embedding.state_bytes > 0
