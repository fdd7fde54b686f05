import pytest

from hyperflow.cost.shapes import dense_decoder
from hyperflow.cost.traffic import (
    boundary_bytes_per_step,
    layer_context_bytes,
    layer_data_bytes,
    layer_expert_bytes,
    layer_tensor_bytes,
    replica_gradient_bytes,
    stage_traffic,
)
from hyperflow.ir.costs import CostSettings
from hyperflow.ir.plan import Degrees
from hyperflow.spec.model import Experts

MODEL = dense_decoder(
    80, name="70b", hidden=8192, ffn=28672, heads=64, kv_heads=8, head_dim=128, vocab=128256, sequence_length=8192
)
LAYER = MODEL.layers[0]


def settings(zero=1, recompute="none", microbatches=32, chunks=1, **degrees):
    return CostSettings(
        degrees=Degrees(**degrees), micro_batch_size=1, microbatches=microbatches, schedule="1f1b",
        recompute=recompute, zero=zero, precision="bf16", chunks=chunks,
    )  # fmt: skip


def test_a_boundary_carries_four_bytes_a_value_and_micro_batch():
    """cost-formulas section 7: 4*m*b*s*h bytes in both directions together."""
    assert boundary_bytes_per_step(MODEL, settings(pp=2)) == 4 * 32 * 8192 * 8192
    assert boundary_bytes_per_step(MODEL, settings(pp=2, cp=4)) == 4 * 32 * 8192 * 8192
    assert boundary_bytes_per_step(MODEL, settings(pp=2, chunks=4)) == 4 * 4 * 32 * 8192 * 8192


def test_tensor_parallel_bytes_are_four_all_reduces_and_two_more_with_recompute():
    """An all-reduce sends 2(n-1)/n of b*s*h*2 bytes; a layer has two forward and two backward."""
    one = 2 * 7 / 8 * 8192 * 8192 * 2
    assert layer_tensor_bytes(MODEL, LAYER, settings(tp=8)) == pytest.approx(4 * one)
    assert layer_tensor_bytes(MODEL, LAYER, settings(tp=8, recompute="full")) == pytest.approx(6 * one)
    assert layer_tensor_bytes(MODEL, LAYER, settings()) == 0


def test_context_parallel_bytes_are_keys_and_values_once_forward_twice_backward():
    forward = 2 * 8192 * 8 * 128 * 2 * 3 / 4
    assert layer_context_bytes(MODEL, LAYER, settings(cp=4)) == pytest.approx(3 * forward)


@pytest.mark.parametrize(("zero", "moved"), [(0, 2 * 4), (1, 4 + 2), (2, 4 + 2), (3, 32 * (4 + 4))])
def test_data_parallel_bytes_follow_the_zero_level(zero, moved):
    got = layer_data_bytes(LAYER, settings(zero=zero, dp=8))
    assert got == pytest.approx(7 / 8 * moved * LAYER.parameters)


def test_expert_bytes_are_two_exchanges_each_way():
    layer = LAYER.model_copy(update={"experts": Experts(count=64, active=8, width=2048), "feed_forward": None})
    assert layer_expert_bytes(MODEL, layer, settings(ep=8, dp=8)) == pytest.approx(4 * 7 / 8 * 8192 * 8 * 8192 * 2)


def test_a_stage_sums_its_layers_over_the_step():
    s = settings(tp=8, pp=2, dp=2)
    got = stage_traffic(MODEL, 0, 52, s)
    assert got.tp == pytest.approx(52 * 32 * layer_tensor_bytes(MODEL, LAYER, s))
    assert got.dp == pytest.approx(52 * layer_data_bytes(LAYER, s))
    assert (got.cp, got.ep, got.pp) == (0, 0, boundary_bytes_per_step(MODEL, s))


def test_gradients_of_a_replica_are_those_of_the_whole_model():
    assert replica_gradient_bytes(MODEL, settings(dp=2)) == 4 * MODEL.total_parameters
