"""What each part of a layer costs, as laws: what must grow, what must not, and by how much."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hyperflow.catalog.devices import find_device
from hyperflow.cost.layer_costs import device_costs
from hyperflow.cost.shapes import (
    assemble,
    decoder_of,
    feed_forward,
    grouped_query_attention,
    replicated,
    routed_experts,
)
from hyperflow.ir.costs import CostSettings
from hyperflow.ir.plan import Degrees
from hyperflow.spec.model import Attention, Layer, Recurrence

HIDDEN = 4096
H100 = find_device("H100")
assert H100 is not None
DENSE = assemble("dense", grouped_query_attention(HIDDEN, 32, 8, 128), feed_forward(HIDDEN, 14336), replicated(8192))


def layer_cost(layer=DENSE, device=H100, length=8192, **changes):
    degrees = Degrees(**{name: changes.pop(name) for name in ("tp", "cp", "ep", "pp", "dp") if name in changes})
    base = CostSettings(
        degrees=degrees, micro_batch_size=1, microbatches=8, schedule="1f1b", recompute="none", zero=1,
        precision="bf16",
    )  # fmt: skip
    model = decoder_of([layer], name="m", hidden=HIDDEN, vocab=128256, sequence_length=length, tied=False)
    assert device is not None
    return device_costs(model, device, replace(base, **changes)).layers[0]


def moe(**changes):
    values = {"count": 64, "active": 4, "shared_width": 0} | changes
    return assemble(
        "moe", grouped_query_attention(HIDDEN, 32, 8, 128), routed_experts(HIDDEN, 2048, **values), replicated(8192)
    )


def test_work_never_runs_faster_than_the_peak():
    cost = layer_cost()
    assert cost.seconds > cost.model_flops / H100.peak_flops_bf16


@pytest.mark.parametrize("precision", ["bf16", "fp8"])
def test_faster_devices_are_faster(precision):
    names = ("A100-80GB-SXM", "H100-80GB-SXM", "B200-SXM")
    seconds = [layer_cost(device=find_device(name), precision=precision).seconds for name in names]
    assert seconds == sorted(seconds, reverse=True)


def test_8_bit_products_help_and_attention_stays_16_bit():
    long, short = (layer_cost(length=n, precision="fp8").seconds / layer_cost(length=n).seconds for n in (131072, 2048))
    assert short < 0.85
    assert short < long < 1


def test_a_device_without_8_bit_products_runs_them_in_16_bits():
    a100 = find_device("A100")
    plain, narrow = layer_cost(device=a100), layer_cost(device=a100, precision="fp8")
    assert narrow.seconds == pytest.approx(plain.seconds, rel=0.05)


@settings(max_examples=30, derandomize=True)
@given(st.sampled_from([1, 2, 4, 8]), st.sampled_from([1, 2, 4]), st.sampled_from([1, 2]))
def test_tensor_and_context_parallelism_divide_work_but_never_for_free(tp, cp, micro_batch_size):
    whole = layer_cost(micro_batch_size=micro_batch_size)
    part = layer_cost(tp=tp, cp=cp, micro_batch_size=micro_batch_size)
    assert part.seconds >= 0.999 * whole.seconds / (tp * cp)
    assert part.activation_bytes == pytest.approx(whole.activation_bytes / (tp * cp))


def test_tensor_parallelism_across_nodes_is_slower_than_inside_one_domain():
    assert layer_cost(tp=16).seconds > layer_cost(tp=16, devices_per_node=16).seconds


def test_asynchronous_tensor_parallelism_hides_what_fits():
    seconds = [layer_cost(tp=8, tensor_overlap=overlap).seconds for overlap in ("none", "backward", "all")]
    assert seconds == sorted(seconds, reverse=True)
    assert seconds[0] > seconds[2]


def test_switches_that_add_help_all_reduces_of_new_fabrics_alone():
    def communication(device, *, sequence_parallel):
        plain, split = (layer_cost(device=device, tp=tp, sequence_parallel=sequence_parallel, tensor_overlap="none")
                        for tp in (1, 8))  # fmt: skip
        return split.forward_seconds - plain.forward_seconds / 8

    a100 = find_device("A100")
    assert communication(H100, sequence_parallel=False) < communication(H100, sequence_parallel=True)
    # Without sequence parallelism the hidden streams are not divided; on A100 nothing makes up for that.
    assert communication(a100, sequence_parallel=False) > communication(a100, sequence_parallel=True)


def test_recompute_trades_memory_for_time():
    kinds = ("none", "operations", "full")
    costs = [layer_cost(recompute=kind) for kind in kinds]
    assert [c.seconds for c in costs] == sorted(c.seconds for c in costs)
    assert [c.activation_bytes for c in costs] == sorted((c.activation_bytes for c in costs), reverse=True)


def test_a_window_makes_long_sequences_cheap():
    narrow = assemble(
        "w", grouped_query_attention(HIDDEN, 32, 8, 128, window=128), feed_forward(HIDDEN, 14336), replicated(8192)
    )
    assert layer_cost(narrow, length=131072).seconds < 0.5 * layer_cost(length=131072).seconds
    assert layer_cost(narrow, length=128).seconds == pytest.approx(layer_cost(length=128).seconds)


def test_a_recurrent_layer_grows_with_the_sequence_and_attention_with_its_square():
    mixer = Layer(
        recurrence=Recurrence(kind="mamba", inner_width=8192, state_size=128, heads=128, conv_width=4),
        mixer_parameters=8192 * HIDDEN * 3,
    )
    layer = assemble("mamba", mixer, replicated(HIDDEN))
    assert 12 < layer_cost(layer, length=131072).seconds / layer_cost(layer, length=8192).seconds <= 16
    assert layer_cost(length=131072).seconds / layer_cost(length=8192).seconds > 25


def test_experts_cost_what_is_active_and_store_what_is_there():
    few, many = moe(count=16), moe(count=64)
    assert many.expert_parameters == 4 * few.expert_parameters
    assert layer_cost(many).seconds < 1.3 * layer_cost(few).seconds
    assert layer_cost(moe(active=8)).seconds > 1.3 * layer_cost(moe(active=4)).seconds


def test_expert_parallelism_divides_expert_state_and_pays_the_exchange():
    alone, spread = layer_cost(moe(), dp=8), layer_cost(moe(), dp=8, ep=8)
    expert_state = moe().expert_parameters * (6 + 12 / 8)
    assert alone.state_bytes - spread.state_bytes == pytest.approx(expert_state - moe().expert_parameters / 8 * 18)
    assert layer_cost(moe(), dp=64, ep=64).seconds > layer_cost(moe(), dp=64, ep=8).seconds


def test_a_latent_width_shrinks_what_experts_compute_and_exchange():
    wide = moe(active=8)
    assert wide.experts is not None
    narrow = wide.model_copy(update={"experts": wide.experts.model_copy(update={"latent_width": 1024})})
    assert layer_cost(narrow, dp=8, ep=8).seconds < layer_cost(wide, dp=8, ep=8).seconds
    assert layer_cost(narrow, dp=8, ep=8).activation_bytes < layer_cost(wide, dp=8, ep=8).activation_bytes


def test_imbalance_slows_experts_alone():
    even, skewed = layer_cost(moe()), layer_cost(moe(), expert_imbalance=1.5)
    assert even.seconds < skewed.seconds < 1.5 * even.seconds
    assert layer_cost(expert_imbalance=1.5) == layer_cost()


def test_latent_attention_keeps_and_computes_less_than_full_heads():
    latent = Layer(
        attention=Attention(
            kind="mla", heads=32, kv_heads=32, head_dim=192, value_head_dim=128, query_lora_rank=1536,
            kv_lora_rank=512, rope_head_dim=64,
        ),
        mixer_parameters=1536 * (HIDDEN + 32 * 192) + 512 * (HIDDEN + 32 * 256) + HIDDEN * 64 + 32 * 128 * HIDDEN,
    )  # fmt: skip
    layer = assemble("mla", latent, feed_forward(HIDDEN, 14336), replicated(8192))
    wide = assemble("mha", grouped_query_attention(HIDDEN, 32, 32, 192), feed_forward(HIDDEN, 14336), replicated(8192))
    assert layer_cost(layer).model_flops < layer_cost(wide).model_flops
    assert layer_cost(layer).seconds < layer_cost(wide).seconds


def test_fully_sharded_weights_are_gathered_behind_the_work_until_they_do_not_fit():
    plain, sharded = layer_cost(dp=64), layer_cost(dp=64, zero=3)
    assert sharded.state_bytes == pytest.approx(plain.parameters * 18 / 64)
    assert sharded.seconds == pytest.approx(plain.seconds)
    assert layer_cost(dp=64, zero=3, length=256).seconds > 2 * layer_cost(dp=64, length=256).seconds


def test_eager_kernels_and_first_flash_kernels_are_slower():
    assert layer_cost(fused_elementwise=False).seconds > layer_cost().seconds
    assert layer_cost(attention_kernel="flash-1").seconds > layer_cost().seconds
    assert layer_cost(attention_kernel="unfused").activation_bytes > layer_cost().activation_bytes
