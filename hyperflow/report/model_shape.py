"""The columns of a run table that describe a model, from its layers. A table knows one kind of layer, the commonest."""

from collections.abc import Callable

from hyperflow.spec.model import Layer, Model


def shape_columns(model: Model, precision: str) -> dict[str, object]:
    """Give the columns of `hyperflow evaluate --template` that state a model; None where it has no such number."""
    layer = _commonest(model, lambda _layer: True)
    dense = _commonest(model, lambda layer: layer.feed_forward is not None and layer.experts is None)
    mixing = _commonest(model, lambda layer: layer.attention is not None)
    attention, experts = (mixing or layer).attention, layer.experts
    block = (dense or layer).feed_forward
    width = block.width if block else experts.width if experts else None
    gated = experts.gated if experts else block.gated if block else None
    return {
        "name": model.name,
        "hidden": model.hidden,
        "ffn": width,
        "heads": attention.heads if attention else None,
        "kv_heads": attention.kv_heads if attention else None,
        "head_dim": attention.head_dim if attention else None,
        "vocab": model.vocab,
        "seq_len": model.sequence_length,
        "gated_mlp": None if gated is None else int(gated),
        "experts": experts.count if experts else None,
        "topk": experts.active if experts else None,
        "moe_ffn": experts.width if experts else None,
        "shared_ffn": experts.shared_width if experts else None,
        "precision": precision,
    }


def _commonest(model: Model, wanted: Callable[[Layer], bool]) -> Layer:
    fitting = [run for run in model.runs if wanted(run.layer)]
    return max(fitting or model.runs, key=lambda run: run.count).layer
