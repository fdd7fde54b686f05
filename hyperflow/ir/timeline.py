"""When every operation of a pipeline schedule runs: the order that goes in, and the timeline that comes out.

A *rank* is one place of the pipeline; with several chunks a rank holds several stages. Kinds of operation: `F`
forward, `B` gradient of the input, `W` gradient of the weights, `BW` both in one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple


class Operation(NamedTuple):
    """One piece of work of one micro-batch on one stage; `kind` is `F`, `B`, `W` or `BW`."""

    kind: str
    stage: int
    microbatch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StageTimes:
    """Times per rank and micro-batch (any one unit); a rank with v chunks spends 1/v of each on every chunk."""

    forward: tuple[float, ...]
    backward_input: tuple[float, ...]
    backward_weight: tuple[float, ...]

    @property
    def num_ranks(self) -> int:
        """Ranks of the pipeline."""
        return len(self.forward)

    @property
    def totals(self) -> tuple[float, ...]:
        """Forward and whole backward of each rank."""
        return tuple(map(sum, zip(self.forward, self.backward_input, self.backward_weight, strict=True)))


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineOrder:
    """What each rank runs, one operation after the other; `stage_ranks[s]` is the rank that holds stage s."""

    schedule: str
    num_ranks: int
    num_chunks: int
    num_microbatches: int
    stage_ranks: tuple[int, ...]
    operations: tuple[tuple[Operation, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """Start and end of every operation, by rank and in the order of `order.operations`.

    `links` are the one-way delays between neighbouring ranks. `peak_until_weight` counts (chunk, micro-batch) pairs
    whose forward has run and whose W or BW has not; `peak_until_input` releases them at B. Divide by
    `order.num_chunks` for whole micro-batches.
    """

    order: PipelineOrder
    times: StageTimes
    links: tuple[float, ...]
    starts: tuple[tuple[float, ...], ...]
    ends: tuple[tuple[float, ...], ...]
    peak_until_weight: tuple[int, ...]
    peak_until_input: tuple[int, ...]

    @property
    def makespan(self) -> float:
        """End of the last operation, from time 0."""
        return max(ends[-1] for ends in self.ends)

    @property
    def spans(self) -> tuple[float, ...]:
        """Per rank, from the start of its first operation to the end of its last."""
        return tuple(ends[-1] - starts[0] for starts, ends in zip(self.starts, self.ends, strict=True))

    @property
    def span_max(self) -> float:
        """The longest span: what a step costs when the optimizer needs no global barrier (zero-bubble papers)."""
        return max(self.spans)

    @property
    def busy_per_rank(self) -> tuple[float, ...]:
        """Time in which each rank computes."""
        return tuple(total * self.order.num_microbatches for total in self.times.totals)

    @property
    def idle_per_rank(self) -> tuple[float, ...]:
        """Makespan less the time in which the rank computes."""
        makespan = self.makespan
        return tuple(makespan - busy for busy in self.busy_per_rank)

    @property
    def idle_fractions(self) -> tuple[float, ...]:
        """Idle share of the makespan of each rank."""
        makespan = self.makespan
        return tuple(idle / makespan for idle in self.idle_per_rank)

    @property
    def bubble_fraction(self) -> float:
        """Idle share of all ranks together."""
        return sum(self.idle_fractions) / self.order.num_ranks

    def idle_by_cluster(self, clusters: Sequence[str]) -> tuple[tuple[str, float], ...]:
        """Idle share of the ranks of each cluster, in the order in which the clusters first appear."""
        shares: dict[str, list[float]] = {}
        for name, share in zip(clusters, self.idle_fractions, strict=True):
            shares.setdefault(name, []).append(share)
        return tuple((name, sum(own) / len(own)) for name, own in shares.items())
