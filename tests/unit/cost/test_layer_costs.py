from dataclasses import replace

import pytest

from hyperflow.catalog.devices import find_device
from hyperflow.cost.layer_costs import device_costs
from hyperflow.ir.costs import CostSettings
from hyperflow.ir.plan import Degrees
from hyperflow.spec.model import Attention, FeedForward, Layer, LayerRun, Model


def device(name):
    found = find_device(name)
    assert found is not None
    return found


def dense_model(layers=8, hidden=8192, ffn=28672, heads=64, kv_heads=8, sequence=8192, vocab=128256):
    dim = hidden // heads
    layer = Layer(
        attention=Attention(heads=heads, kv_heads=kv_heads, head_dim=dim),
        feed_forward=FeedForward(width=ffn),
        mixer_parameters=hidden * dim * (2 * heads + 2 * kv_heads),
        feed_forward_parameters=3 * hidden * ffn,
        replicated_parameters=2 * hidden,
    )
    return Model(
        name="dense",
        hidden=hidden,
        vocab=vocab,
        sequence_length=sequence,
        runs=(LayerRun(count=layers, layer=layer),),
        embedding_parameters=vocab * hidden,
        head_parameters=vocab * hidden,
        other_parameters=hidden,
    )


def settings(**changes):
    degrees = Degrees(**{k: changes.pop(k) for k in ("tp", "cp", "ep", "pp", "dp") if k in changes})
    base = CostSettings(
        degrees=degrees,
        micro_batch_size=1,
        microbatches=8,
        schedule="1f1b",
        recompute="none",
        zero=1,
        precision="bf16",
    )
    return replace(base, **changes)


def test_layers_of_the_talk_run_three_times_slower_on_h100_than_the_best_split_needs():
    """Eight layers on 8 B200 and 8 H100: 6/2 must balance best, as the talk found."""
    model, s = dense_model(), settings(tp=8, pp=2)
    fast = device_costs(model, device("B200-SXM"), s)
    slow = device_costs(model, device("H100-80GB-SXM"), s)

    def slowest(first):
        return max(
            first * fast.layers[0].seconds + fast.embedding.seconds,
            (8 - first) * slow.layers[0].seconds + slow.head.seconds,
        )

    assert min(range(1, 8), key=slowest) == 6


@pytest.mark.parametrize("tp", [1, 2, 4, 8])
def test_state_bytes_are_those_of_the_distributed_optimizer(tp):
    model = dense_model(layers=1)
    costs = device_costs(model, device("H100"), settings(tp=tp, dp=4))
    layer = model.layers[0]
    on_rank = (layer.mixer_parameters + layer.feed_forward_parameters) / tp + layer.replicated_parameters
    assert costs.layers[0].state_bytes == pytest.approx(on_rank * (6 + 12 / 4))


def test_gated_activations_are_those_derived_for_llama3_70b():
    """cost-formulas section 4: 274 KB per token and layer, here divided by TP, with the log-sum-exp of 4a."""
    costs = device_costs(dense_model(), device("H100"), settings(tp=4))
    assert costs.layers[0].activation_bytes == pytest.approx(8192 * (12 * 8192 + 4 * 1024 + 6 * 28672 + 4 * 64) / 4)


def test_backward_does_twice_the_forward_work_and_full_recompute_adds_one_forward():
    plain = device_costs(dense_model(), device("H100"), settings()).layers[0]
    again = device_costs(dense_model(), device("H100"), settings(recompute="full")).layers[0]
    assert again.seconds == pytest.approx(plain.seconds + plain.forward_seconds)
    assert 1.9 < (plain.backward_input_seconds + plain.backward_weight_seconds) / plain.forward_seconds < 2.4


def test_a_boundary_carries_the_hidden_state_of_one_micro_batch():
    costs = device_costs(dense_model(), device("H100"), settings(tp=8, pp=2, micro_batch_size=2))
    assert costs.boundary_bytes == 2 * 2 * 8192 * 8192
