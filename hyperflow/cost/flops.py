"""Work of a layer in FLOP, and the conventions by which it is turned into utilisation.

A multiply-add counts 2. Model FLOP count what the model needs (MFU); hardware FLOP count recompute too (HFU). Causal
attention is counted half unless `full_attention` asks otherwise (cost-formulas section 1).
"""

from typing import Literal

from hyperflow.spec.model import Attention, Layer, Model

Convention = Literal["model-causal", "model-full", "hardware-full"]


def context_length(attention: Attention, sequence_length: int, *, full: bool = False) -> float:
    """Keys that a query meets on average: half the sequence when causal, fewer in a window.

    >>> a = Attention(heads=1, kv_heads=1, head_dim=64, window=128)
    >>> context_length(a, 128), context_length(a, 1024)
    (64.0, 120.0)
    """
    window = min(attention.window or sequence_length, sequence_length)
    return float(window) if full else window * (1 - window / (2 * sequence_length))


def attention_core_flops(layer: Layer, tokens: float, sequence_length: int, *, full: bool = False) -> float:
    """Forward FLOP of QK^T and PV (Megatron-LM training.py num_floating_point_operations)."""
    if (a := layer.attention) is None:
        return 0.0
    widths = a.head_dim + (a.value_head_dim or a.head_dim)
    return 2 * tokens * context_length(a, sequence_length, full=full) * a.heads * widths


def scan_flops(layer: Layer, tokens: float) -> float:
    """Forward FLOP of a state-space or linear-attention scan: about 6 per token, channel and state element.

    Update, decay and read of the state are one multiply-add each (Mamba-2, arXiv 2405.21060, section 6).
    """
    if (r := layer.recurrence) is None:
        return 0.0
    return tokens * r.inner_width * (6 * r.state_size + 2 * r.conv_width)


def layer_forward_flops(layer: Layer, tokens: float, sequence_length: int, *, full: bool = False) -> float:
    """Forward FLOP of a whole layer: two per active parameter and token, and what has no parameters."""
    products = 2 * tokens * layer.active_parameters
    return products + attention_core_flops(layer, tokens, sequence_length, full=full) + scan_flops(layer, tokens)


def head_forward_flops(model: Model, tokens: float) -> float:
    """Forward FLOP of the logits, tied head or not; the embedding lookup counts nothing."""
    return 2 * tokens * model.hidden * model.vocab


def step_flops(
    model: Model, sequences: float, *, convention: Convention = "model-causal", recompute: str = "none"
) -> float:
    """FLOP of one step: forward, twice that backward, and for `hardware-full` the recomputed forward."""
    length = model.sequence_length
    tokens = sequences * length
    full = convention != "model-causal"
    forward = sum(run.count * layer_forward_flops(run.layer, tokens, length, full=full) for run in model.runs)
    extra = 0.0
    if convention == "hardware-full" and recompute == "full":
        extra = forward
    elif convention == "hardware-full" and recompute == "selective":
        extra = sum(run.count * attention_core_flops(run.layer, tokens, length, full=full) for run in model.runs)
    return 3 * (forward + head_forward_flops(model, tokens)) + extra


def utilisation(flops: float, seconds: float, devices: int, peak_flops: float) -> float:
    """Share of the peak: MFU when `flops` are model FLOP, HFU when they are hardware FLOP."""
    return flops / (seconds * devices * peak_flops)
