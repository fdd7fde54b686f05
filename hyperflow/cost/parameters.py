"""Parameters on one rank, and the bytes of weights, gradients and optimizer state they need."""

from dataclasses import dataclass

from hyperflow.ir.costs import CostSettings
from hyperflow.spec.model import Layer

WEIGHT_BYTES = 2
OPTIMIZER_BYTES = 12
"""32-bit master weight and the two Adam moments (ZeRO paper, arXiv 1910.02054, section 3.1)."""


@dataclass(frozen=True, slots=True)
class RankParameters:
    """Parameters of one layer on one rank: dense ones (sharded over dp*cp by ZeRO) and routed experts."""

    dense: float
    expert: float


def rank_parameters(layer: Layer, settings: CostSettings) -> RankParameters:
    """Divide a layer: mixers and feed-forward by TP, routed experts by EP, norms and routers by nothing.

    Source: Megatron-LM training/theoretical_memory_usage.py; experts keep whole matrices (expert TP 1).
    """
    degrees = settings.degrees
    dense = (layer.mixer_parameters + layer.feed_forward_parameters) / degrees.tp + layer.replicated_parameters
    return RankParameters(dense, layer.expert_parameters / degrees.ep)


def dense_shards(settings: CostSettings) -> int:
    """Ranks that share the optimizer state of a dense weight: dp*cp (Megatron's distributed optimizer)."""
    return settings.degrees.dp * settings.degrees.cp


def expert_shards(settings: CostSettings) -> float:
    """Ranks that hold the same routed expert: tp*cp*dp/ep."""
    return max(1.0, settings.degrees.devices_per_stage / settings.degrees.ep)


def state_bytes_per_parameter(settings: CostSettings, shards: float) -> float:
    """Weights, gradients and optimizer state per parameter on a rank (cost-formulas section 3).

    ZeRO 1 shards the optimizer, 2 the gradients too, 3 the weights too.
    """
    whole = [WEIGHT_BYTES, settings.gradient_bytes, OPTIMIZER_BYTES]
    first_sharded = {0: 3, 1: 2, 2: 1, 3: 0}[settings.zero]
    return sum(whole[:first_sharded]) + sum(whole[first_sharded:]) / shards


def state_bytes(parameters: RankParameters, settings: CostSettings) -> float:
    """Bytes of weights, gradients and optimizer state of these parameters on one rank."""
    return parameters.dense * state_bytes_per_parameter(
        settings, dense_shards(settings)
    ) + parameters.expert * state_bytes_per_parameter(settings, expert_shards(settings))
