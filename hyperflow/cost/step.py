"""From layer costs to one step: stages of a pipeline, the period of its schedule, and what is paid once.

The forms are those of schedules.md, exact in the steady state for unequal stages and link delays; `simulate` times
the same schedules operation by operation.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from hyperflow.cost.memory import in_flight, stage_bytes
from hyperflow.cost.rates import Group
from hyperflow.ir.costs import DeviceCosts


@dataclass(frozen=True, slots=True)
class StageTimes:
    """Seconds of one micro-batch on one stage."""

    forward: float
    backward_input: float
    backward_weight: float

    @property
    def total(self) -> float:
        """Forward and whole backward."""
        return self.forward + self.backward_input + self.backward_weight


def even_split(num_layers: int, chunks: int) -> tuple[int, ...]:
    """Layers per chunk as frameworks do: equal; or one fewer at both ends; or the remainder in the middle.

    >>> even_split(22, 8), even_split(126, 32)[:2], even_split(7, 3)
    ((2, 3, 3, 3, 3, 3, 3, 2), (3, 4), (2, 3, 2))
    """
    base, rest = divmod(num_layers, chunks)
    if rest == chunks - 2 and chunks > 2:
        return (base, *[base + 1] * rest, base)
    first = (chunks - rest) // 2
    return tuple(base + (first <= i < first + rest) for i in range(chunks))


def stage_layers(split: Sequence[int], stages: int, stage: int) -> list[tuple[int, int]]:
    """(first layer, count) of each chunk of a stage; chunk c of stage i is entry c*stages+i of the split."""
    starts = [sum(split[:i]) for i in range(len(split))]
    return [(starts[i], split[i]) for i in range(stage, len(split), stages)]


def stage_times(costs: DeviceCosts, split: Sequence[int], stages: int, stage: int) -> StageTimes:
    """Sum the layers of a stage, with the embedding on the first and the head on the last."""
    forward = backward_input = backward_weight = 0.0
    parts = [
        costs.layers[i] for first, count in stage_layers(split, stages, stage) for i in range(first, first + count)
    ]
    parts += [costs.embedding] * (stage == 0) + [costs.head] * (stage == stages - 1)
    for part in parts:
        forward += part.forward_seconds
        backward_input += part.backward_input_seconds
        backward_weight += part.backward_weight_seconds
    return StageTimes(forward, backward_input, backward_weight)


def once_seconds(costs: DeviceCosts, split: Sequence[int], stages: int, stage: int) -> float:
    """What a stage pays once a step: optimizer and exposed data-parallel communication."""
    own = sum(sum(costs.step_seconds_per_layer[f : f + n]) for f, n in stage_layers(split, stages, stage))
    ends = (stage == 0) + (stage == stages - 1)
    if ends == 2 and costs.tied_bytes:
        ends = 1  # one copy of the tied embedding serves both
    return own + ends * costs.step_overhead_seconds


def hop_seconds(costs: DeviceCosts, stages: int, hop: Group, inside: Group, devices_per_node: int) -> list[float]:
    """Seconds of each boundary one way; stages of one node meet inside it."""
    degrees = costs.settings.degrees
    size = costs.boundary_bytes / degrees.tp
    per_stage = degrees.devices_per_stage
    return [
        (inside if (i * per_stage) // devices_per_node == ((i + 2) * per_stage - 1) // devices_per_node else hop).p2p(
            size
        )
        for i in range(stages - 1)
    ]


def pipeline_seconds(
    times: Sequence[StageTimes],
    hops: Sequence[float],
    microbatches: int,
    schedule: str,
    chunks: int = 1,
    *,
    overlap: bool = False,
) -> float:
    """Seconds of all micro-batches through the pipeline (schedules.md, unequal stages and link delay).

    `overlap` hides the exchanges of interleaved chunks, fill and drain apart.

    >>> stage = StageTimes(1.0, 1.0, 1.0)
    >>> pipeline_seconds([stage] * 4, [0.0] * 3, 8, "1f1b")
    33.0
    >>> pipeline_seconds([stage] * 4, [0.0] * 3, 8, "zb-1p"), pipeline_seconds([stage] * 4, [0.0] * 3, 8, "zb-2p")
    (27.0, 24.0)
    """
    stages = len(times)
    name = schedule.lower()
    if stages == 1:
        return microbatches * times[0].total
    if name.startswith("interleaved") and chunks > 1:
        slowest = max(t.total for t in times) + (0.0 if overlap else 2 * chunks * max(hops))
        others = (sum(t.total for t in times) - max(t.total for t in times)) / chunks
        return microbatches * slowest + others + 2 * sum(hops)
    if name == "gpipe":
        rate = max(t.forward for t in times) + max(t.backward_input + t.backward_weight for t in times)
        return sum(t.total for t in times) + 2 * sum(hops) + (microbatches - 1) * rate
    if name.startswith("zb"):
        return _zero_bubble_seconds(times, hops, microbatches, name)
    period = segment_period([t.total for t in times], hops)
    return sum(t.total for t in times) + 2 * sum(hops) + (microbatches - 1) * period


def segment_period(loads: Sequence[float], hops: Sequence[float]) -> float:
    """Seconds per extra micro-batch of 1F1B: the largest mean load of a run of stages with its links both ways."""
    best = 0.0
    for first in range(len(loads)):
        total = 0.0
        for last in range(first, len(loads)):
            total += loads[last] + (2 * hops[last - 1] if last > first else 0.0)
            best = max(best, total / (last - first + 1))
    return best


def _zero_bubble_seconds(times: Sequence[StageTimes], hops: Sequence[float], microbatches: int, name: str) -> float:
    """ZB-1p waits (p-1)(F+B-W) a step and ZB-2p (p-1)(F+B-2W), once steps follow each other without a global
    synchronisation (arXiv 2401.10241, sections 2 and 4; B is the input gradient alone)."""
    slowest = max(t.total for t in times)
    second = name in ("zb-2p", "zb-h2")
    waits = [t.forward + t.backward_input - (2 if second else 1) * t.backward_weight for t in times]
    wait = max(0.0, sum(waits) - max(waits)) + (0.0 if second else 2 * sum(hops))
    if second:
        return microbatches * slowest + wait
    loads = [t.forward + t.backward_input for t in times]
    period = max(slowest, segment_period(loads, hops) + min(t.backward_weight for t in times) / len(times))
    return microbatches * period + wait


def peak_stage_bytes(stage_costs: Sequence[DeviceCosts], split: Sequence[int]) -> float:
    """Bytes of the fullest rank, without what the runtime takes (frameworks report tensors only)."""
    stages = len(stage_costs)
    worst = 0.0
    for stage, costs in enumerate(stage_costs):
        settings = costs.settings
        held = in_flight(settings.schedule, stage, stages, settings.microbatches, chunks=settings.chunks)
        need = 0.0
        for position, (first, count) in enumerate(stage_layers(split, stages, stage)):
            need += (
                stage_bytes(
                    costs,
                    first,
                    count,
                    held,
                    is_first=stage == 0 and position == 0,
                    is_last=stage == stages - 1 and (position + 1) * stages == len(split),
                )
                - costs.fixed_bytes
                - (costs.working_bytes if position else 0.0)
            )
        worst = max(worst, need)
    return worst
