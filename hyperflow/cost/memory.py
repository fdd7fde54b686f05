"""Micro-batches in flight per schedule and stage, and what a stage needs in bytes."""

from collections.abc import Callable

from hyperflow.ir.costs import DeviceCosts


def in_flight(
    schedule: str, stage: int, stages: int, microbatches: int, *, chunks: int = 1, warmup: int | None = None
) -> float:
    """Micro-batches whose activations stage `stage` (from 0) holds at its peak, in units of the whole stage.

    A `schedule` not known counts as 1F1B; `warmup` is a chosen number of forwards before the first backward. Where
    the micro-batches are no multiple of the stages, interleaved warm-up grows to the group that PyTorch uses.
    Sources: GPipe and 1F1B arXiv 2104.04473 section 2.2; interleaved: Megatron's warm-up of 2(p-i-1)+(v-1)p chunks;
    zero-bubble arXiv 2401.10241 sections 2 to 4 (ZB-1p and ZB-2p are searched under limits of p and 2p).

    >>> in_flight("1f1b", 0, 4, 32), in_flight("1f1b", 3, 4, 32), in_flight("gpipe", 3, 4, 32)
    (4.0, 1.0, 32.0)
    >>> in_flight("interleaved-1f1b", 0, 4, 32, chunks=2)
    5.5
    """
    name = schedule.lower().replace("_", "-")
    group = microbatches // max(1, microbatches // stages)
    if warmup is not None:
        held = float(warmup)
    elif name == "interleaved-1f1b" and chunks > 1:
        held = (2 * (stages - stage - 1) + (chunks - 1) * group + 1) / chunks
    elif name == "interleaved-zero-bubble":
        held = ((chunks - 1) * group + stages) / chunks
    elif name in ("gpipe", "looped-bfs"):
        held = float(microbatches)
    else:
        held = float(_ON_EVERY_STAGE[name](stages)) if name in _ON_EVERY_STAGE else float(stages - stage)
    return min(float(microbatches), held)


_ON_EVERY_STAGE: dict[str, Callable[[int], float]] = {
    "zb-h1": lambda p: p,
    "zb-1p": lambda p: p,
    "zb-v": lambda p: p,
    "zb-h2": lambda p: 2 * p - 1,
    "zb-2p": lambda p: 2 * p,
    "dualpipe-v": lambda p: p + 0.5,
    "1f1b-v": lambda p: 2 * p // 3 + 1,
    "v-half": lambda p: p // 2 + 1,
    "v-min": lambda p: -(-p // 3) + 1,
}
"""Schedules whose stages all hold alike; the V forms were read off their generators' orders (schedules.md)."""


def stage_bytes(
    costs: DeviceCosts, first_layer: int, count: int, held: float, *, is_first: bool, is_last: bool
) -> float:
    """Bytes one rank of a stage needs: state, activations of the micro-batches held, and the transient needs."""
    layers = costs.layers[first_layer : first_layer + count]
    state = sum(layer.state_bytes for layer in layers)
    kept = held * sum(layer.activation_bytes for layer in layers)
    if is_first:
        state += costs.embedding.state_bytes
        kept += held * costs.embedding.activation_bytes
    if is_last:
        state += costs.head.state_bytes
        kept += costs.head.activation_bytes
    if is_first and is_last:
        state -= costs.tied_bytes
    return state + kept + costs.working_bytes + costs.fixed_bytes
