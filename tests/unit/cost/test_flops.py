import pytest

from hyperflow.cost.flops import context_length, step_flops, utilisation
from hyperflow.cost.shapes import dense_decoder
from hyperflow.spec.model import Attention


def gpt(hidden, layers, heads):
    return dense_decoder(
        layers, name="gpt", hidden=hidden, ffn=4 * hidden, heads=heads, kv_heads=heads, head_dim=hidden // heads,
        vocab=51200, sequence_length=2048, gated=False, tied=True,
    )  # fmt: skip


@pytest.mark.parametrize(("hidden", "layers", "heads"), [(6144, 48, 64), (12288, 96, 96), (25600, 128, 160)])
def test_model_flops_are_korthikantis_closed_form(hidden, layers, heads):
    """arXiv 2205.05198, appendix A: 72 B s L h^2 (1 + s/6h + V/12hL)."""
    expected = 72 * 64 * 2048 * layers * hidden**2 * (1 + 2048 / (6 * hidden) + 51200 / (12 * hidden * layers))
    got = step_flops(gpt(hidden, layers, heads), 64, convention="model-full")
    assert got == pytest.approx(expected, rel=1e-3)


def test_hardware_flops_are_those_of_sc21():
    """arXiv 2104.04473, equation 3: 96 B s L h^2 (1 + s/6h + V/16Lh) counts full recompute."""
    hidden, layers = 12288, 80
    expected = 96 * 64 * 2048 * layers * hidden**2 * (1 + 2048 / (6 * hidden) + 51200 / (16 * hidden * layers))
    got = step_flops(gpt(hidden, layers, 96), 64, convention="hardware-full", recompute="full")
    assert got == pytest.approx(expected, rel=1e-3)


def test_causal_counting_halves_attention_alone():
    model = gpt(6144, 48, 64)
    attention = 12 * 64 * 2048 * 2048 * 48 * 6144
    causal, full = step_flops(model, 64), step_flops(model, 64, convention="model-full")
    assert full - causal == pytest.approx(attention / 2)


def test_a_window_caps_what_a_query_meets():
    wide = Attention(heads=1, kv_heads=1, head_dim=64)
    narrow = Attention(heads=1, kv_heads=1, head_dim=64, window=128)
    assert (context_length(wide, 4096), context_length(wide, 4096, full=True)) == (2048, 4096)
    assert context_length(narrow, 4096) == 128 - 128 * 128 / (2 * 4096)


def test_utilisation_is_work_over_time_and_peak():
    assert utilisation(312e12 * 8, 2.0, 8, 312e12) == 0.5
