"""Bytes that the forward pass keeps for the backward pass, per layer and micro-batch, on one rank.

Dense layers with dropout and without flash attention follow arXiv 2205.05198 (Korthikanti et al.), section 4; gated
layers without dropout follow cost-formulas section 4 (own derivation, one term per saved tensor).
"""

from hyperflow.ir.costs import CostSettings
from hyperflow.spec.model import Attention, Experts, Layer, Recurrence


def kept_bytes(layer: Layer, hidden: int, sequence_length: int, settings: CostSettings) -> float:
    """Bytes of one layer for one micro-batch in flight, after recompute."""
    degrees = settings.degrees
    tokens = settings.micro_batch_size * sequence_length / degrees.cp
    share = 1 / degrees.tp if settings.sequence_parallel else 1.0
    if settings.recompute == "full":
        return 2 * tokens * hidden * share
    if settings.recompute == "operations":
        return tokens * _alternate_bytes(layer, hidden, settings)
    return saved_bytes(layer, hidden, sequence_length, settings)


def saved_bytes(layer: Layer, hidden: int, sequence_length: int, settings: CostSettings) -> float:
    """Bytes of one layer for one micro-batch when the whole layer is kept (its attention core apart)."""
    degrees = settings.degrees
    tokens = settings.micro_batch_size * sequence_length / degrees.cp
    share = 1 / degrees.tp if settings.sequence_parallel else 1.0
    # Two block inputs and the two normed inputs of the products; with dropout two masks of a byte.
    per_token = hidden * share * (8 + (2 if settings.dropout else 0))
    if layer.attention is not None:
        per_token += _attention(layer.attention, sequence_length, settings) / degrees.tp
    if layer.recurrence is not None:
        per_token += _recurrence(layer.recurrence) / degrees.tp
    if layer.feed_forward is not None:
        per_token += _feed_forward(layer.feed_forward.width, layer.feed_forward.gated) / degrees.tp
    if layer.experts is not None:
        per_token += _experts(layer.experts, hidden, settings) / degrees.tp
    return tokens * per_token


def _alternate_bytes(layer: Layer, hidden: int, settings: CostSettings) -> float:
    """Bytes per token when every second product is recomputed: block input, query, value, attention core, gate, down.

    Source: torchtitan's per-operation policy, which saves the products 1, 3, 5 and 7 of a gated layer.
    """
    tp = settings.degrees.tp
    share = 1 / tp if settings.sequence_parallel else 1.0
    kept = 4 * hidden * share
    if (a := layer.attention) is not None:
        value_dim = a.value_head_dim or a.head_dim
        kept += (2 * a.heads * (a.head_dim + value_dim) + 2 * a.kv_heads * value_dim + 4 * a.heads) / tp
    if layer.feed_forward is not None:
        kept += 2 * layer.feed_forward.width / tp
    if (e := layer.experts) is not None:
        kept += (2 * e.active * ((e.latent_width or hidden) + e.width) + 2 * e.shared_width) / tp
    return kept


def attention_buffer_bytes(layer: Layer, sequence_length: int, settings: CostSettings) -> float:
    """Transient squares of unfused attention: the product buffer and two gradients of 16 bits."""
    if layer.attention is None or settings.attention_kernel != "unfused":
        return 0.0
    tokens = settings.micro_batch_size * sequence_length / settings.degrees.cp
    keys = min(layer.attention.window or sequence_length, sequence_length)
    return 6 * tokens * keys * layer.attention.heads / settings.degrees.tp


def _attention(a: Attention, sequence_length: int, settings: CostSettings) -> float:
    value_dim = a.value_head_dim or a.head_dim
    if a.kind == "mla":
        latent = 2 * ((a.query_lora_rank or 0) + (a.kv_lora_rank or 0) + a.rope_head_dim) * settings.degrees.tp
        keys_values = 2 * a.heads * (a.head_dim + value_dim) + 2 * latent
    else:
        keys_values = 2 * a.kv_heads * (a.head_dim + value_dim)
    held = 2 * a.heads * (a.head_dim + value_dim) + keys_values
    if settings.attention_kernel != "unfused":
        return held + 4 * a.heads
    if settings.recompute == "selective":
        return held
    keys = min(a.window or sequence_length, sequence_length)
    return held + (5 if settings.dropout else 2) * a.heads * keys


def _recurrence(r: Recurrence) -> float:
    return 2 * (4 * r.inner_width + 2 * r.state_size * r.heads)


def _feed_forward(width: float, gated: bool) -> float:
    """Gated: gate, up and their product; plain: the input and the output of the activation."""
    return 6 * width if gated else 4 * width


def _experts(e: Experts, hidden: int, settings: CostSettings) -> float:
    """Dispatched inputs and combined outputs of the chosen experts, their inner values, and the shared expert."""
    routed = e.active * settings.expert_imbalance
    inner = _feed_forward(e.width, e.gated)
    shared = _feed_forward(e.shared_width, e.gated) if e.shared_width else 0.0
    return routed * (4 * (e.latent_width or hidden) + inner) + shared
