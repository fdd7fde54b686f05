"""The model of a run table's row, from its shape columns and what is known of the model's family."""

from collections.abc import Mapping
from typing import Any

from hyperflow.catalog.run_sources import model_facts
from hyperflow.cost.shapes import (
    assemble,
    decoder_of,
    feed_forward,
    grouped_query_attention,
    replicated,
    routed_experts,
)
from hyperflow.inventory.run_cells import Cells
from hyperflow.spec.model import Attention, Layer, Model

MOST_LAYERS = 10_000
WIDEST = 1e9
SHAPE = ("layers", "hidden", "ffn", "heads", "vocab", "seq_len")


def read_model(cells: Cells, vocab: int | None) -> Model | None:
    """The model of a row; None where a needed shape is blank or bad."""
    shape = {column: cells.whole(column, most=MOST_LAYERS if column == "layers" else WIDEST) for column in SHAPE}
    shape["vocab"] = shape["vocab"] or vocab
    layers, hidden, ffn, heads, vocab, length = (shape[column] for column in SHAPE)
    if not (layers and hidden and ffn and heads and vocab and length):
        return None
    if heads > hidden:
        cells.refuse("heads", str(heads), f"at most hidden = {hidden}")
        return None
    name = cells.text("model")
    facts = model_facts(name)
    gated = bool(cells.flag("gated_mlp"))
    mixers = _mixers(cells, facts, hidden, heads)
    blocks = _feed_forwards(cells, facts, hidden, ffn, layers, gated=gated)
    norms = replicated((2 if gated else 4) * hidden)
    stack = [assemble("layer", mixers[i % len(mixers)], blocks[i], norms) for i in range(layers)]
    model = decoder_of(stack, name=name, hidden=hidden, vocab=vocab, sequence_length=length, tied=not gated)
    positions = 0 if gated else length * hidden
    return model.model_copy(update={"other_parameters": model.other_parameters + positions})


def missing_shape(cells: Cells, vocab: int | None) -> list[str]:
    """The shape columns that a row leaves blank."""
    return [column for column in SHAPE if not cells.text(column) and not (column == "vocab" and vocab)]


def _mixers(cells: Cells, facts: Mapping[str, Any], hidden: int, heads: int) -> list[Layer]:
    kv_heads = cells.whole("kv_heads", most=WIDEST) or heads
    head_dim = cells.whole("head_dim", most=WIDEST) or facts.get("head_dim") or hidden // heads
    if "kv_lora_rank" in facts:
        return [_latent_attention(facts, hidden, heads)]
    window = facts.get("window")
    wide = grouped_query_attention(hidden, heads, kv_heads, head_dim)
    if window is None:
        return [wide]
    narrow = grouped_query_attention(hidden, heads, kv_heads, head_dim, window=window)
    return [narrow] + [wide] * (facts["window_every"] - 1)


def _latent_attention(facts: Mapping[str, Any], hidden: int, heads: int) -> Layer:
    """Parameters of multi-head latent attention (cost-formulas section 2)."""
    query_rank, rank = facts["query_lora_rank"], facts["kv_lora_rank"]
    head_dim, value_dim, rope = facts["head_dim"], facts["value_head_dim"], facts["rope_head_dim"]
    query = query_rank * (hidden + heads * head_dim)
    keys = hidden * (rank + rope) + rank * heads * (head_dim - rope + value_dim)
    attention = Attention(
        kind="mla", heads=heads, kv_heads=heads, head_dim=head_dim, value_head_dim=value_dim,
        query_lora_rank=query_rank, kv_lora_rank=rank, rope_head_dim=rope,
    )  # fmt: skip
    return Layer(attention=attention, mixer_parameters=query + keys + heads * value_dim * hidden)


def _feed_forwards(
    cells: Cells, facts: Mapping[str, Any], hidden: int, ffn: int, layers: int, *, gated: bool
) -> list[Layer]:
    dense = feed_forward(hidden, ffn, gated=gated)
    count, active, width = (cells.whole(column, least=0) for column in ("experts", "topk", "moe_ffn"))
    if not (count and active and width):
        return [dense] * layers
    shared = cells.whole("shared_ffn", least=0) or 0
    routed = routed_experts(hidden, width, count=count, active=active, shared_width=shared, gated=gated)
    leading = min(facts.get("dense_layers", 0), 1 if layers < 10 else layers)
    return [dense] * leading + [routed] * (layers - leading)
