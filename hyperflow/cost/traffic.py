"""Bytes that communication moves per step, by group; the numbers of comm.json and of links between clusters.

All are bytes sent by one rank, one way, unless said otherwise (cost-formulas section 6).
"""

from dataclasses import dataclass

from hyperflow.cost.parameters import WEIGHT_BYTES, dense_shards, expert_shards, rank_parameters
from hyperflow.ir.costs import CostSettings
from hyperflow.spec.model import Attention, Layer, Model


@dataclass(frozen=True, slots=True, kw_only=True)
class StageTraffic:
    """Bytes per step and rank of one stage; `pp` is per boundary and tensor-parallel group, both ways together."""

    tp: float
    cp: float
    ep: float
    dp: float
    pp: float


def layer_tensor_bytes(model: Model, layer: Layer, settings: CostSettings) -> float:
    """Bytes of one layer's TP exchanges per micro-batch: two blocks, each gathered and scattered both ways.

    Full recompute repeats the forward ones (arXiv 2205.05198, section 4.2.2).
    """
    tp = settings.degrees.tp
    blocks = (layer.attention is not None) + (layer.recurrence is not None) + (layer.feed_forward is not None)
    blocks += layer.experts is not None and layer.experts.shared_width > 0
    passes = 3 if settings.recompute == "full" else 2
    size = 2 * _tokens(model, settings) * model.hidden
    return passes * 2 * blocks * (tp - 1) / tp * size


def layer_context_bytes(model: Model, layer: Layer, settings: CostSettings) -> float:
    """Bytes of one layer's ring exchange of keys and values per micro-batch: once forward, twice backward."""
    if (a := layer.attention) is None:
        return 0.0
    per_token = 2 * _key_value_width(a) / settings.degrees.tp
    return 3 * (settings.degrees.cp - 1) * _tokens(model, settings) * per_token


def layer_expert_bytes(model: Model, layer: Layer, settings: CostSettings) -> float:
    """Bytes of one layer's dispatch and combine per micro-batch, both ways."""
    if (e := layer.experts) is None:
        return 0.0
    ep = settings.degrees.ep
    routed = _tokens(model, settings) / settings.degrees.tp * e.active
    return 4 * (ep - 1) / ep * 2 * routed * (e.latent_width or model.hidden)


def layer_data_bytes(layer: Layer, settings: CostSettings) -> float:
    """Bytes of one layer's gradients and weights per step over DP (ZeRO paper, arXiv 1910.02054, section 7)."""
    parameters = rank_parameters(layer, settings)
    return _data_bytes(parameters.dense, dense_shards(settings), settings) + _data_bytes(
        parameters.expert, expert_shards(settings), settings
    )


def boundary_bytes_per_step(model: Model, settings: CostSettings) -> float:
    """Bytes over one stage boundary per step and pipeline replica, both ways, all chunks.

    Interleaved schedules cross each boundary once per chunk.
    """
    crossings = 2 * settings.chunks * settings.microbatches
    return crossings * 2 * _tokens(model, settings) * model.hidden * settings.degrees.cp


def stage_traffic(model: Model, first_layer: int, count: int, settings: CostSettings) -> StageTraffic:
    """All traffic of the layers `first_layer` to `first_layer + count` on one rank per step."""
    layers = model.layers[first_layer : first_layer + count]
    per_step = settings.microbatches
    return StageTraffic(
        tp=per_step * sum(layer_tensor_bytes(model, layer, settings) for layer in layers),
        cp=per_step * sum(layer_context_bytes(model, layer, settings) for layer in layers),
        ep=per_step * sum(layer_expert_bytes(model, layer, settings) for layer in layers),
        dp=sum(layer_data_bytes(layer, settings) for layer in layers),
        pp=boundary_bytes_per_step(model, settings) if settings.degrees.pp > 1 else 0.0,
    )


def replica_gradient_bytes(model: Model, settings: CostSettings) -> float:
    """Bytes of one whole model's gradients: what each of two clusters sends the other per step when DP crosses."""
    return settings.gradient_bytes * float(model.total_parameters)


def _tokens(model: Model, settings: CostSettings) -> float:
    return settings.micro_batch_size * model.sequence_length / settings.degrees.cp


def _key_value_width(a: Attention) -> int:
    return a.kv_heads * (a.head_dim + (a.value_head_dim or a.head_dim))


def _data_bytes(parameters: float, shards: float, settings: CostSettings) -> float:
    """ZeRO 0: all-reduce; 1 and 2: gradients scattered, weights gathered; 3: weights gathered twice a micro-batch."""
    if shards <= 1:
        return 0.0
    width = settings.gradient_bytes
    if settings.zero == 0:
        moved = 2.0 * width
    elif settings.zero < 3:
        moved = float(width + WEIGHT_BYTES)
    else:
        moved = settings.microbatches * (2.0 * WEIGHT_BYTES + width)
    return (shards - 1) / shards * moved * parameters
