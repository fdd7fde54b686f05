"""Orders with stages dealt to ranks in turn: chunk c of rank r is stage c*p + r.

With one chunk this is the plain pipeline. GPipe (arXiv 1811.06965), 1F1B and interleaved 1F1B (arXiv
2104.04473), breadth-first (arXiv 2211.05953), ZB-H1 and its interleaved form (arXiv 2401.10241).
"""

from collections.abc import Sequence

from hyperflow.ir.timeline import Operation, PipelineOrder


def gpipe(num_ranks: int, microbatches: int, chunks: int = 1) -> PipelineOrder:
    """All forwards, then all whole backwards; with several chunks it is the breadth-first order."""
    ranks: list[tuple[Operation, ...]] = []
    for rank in range(num_ranks):
        stages = range(rank, num_ranks * chunks, num_ranks)
        forwards = [Operation("F", stage, i) for stage in stages for i in range(microbatches)]
        backwards = [
            Operation("BW", stage, i)
            for stage in reversed(stages)
            for i in (range(microbatches) if chunks == 1 else reversed(range(microbatches)))
        ]
        ranks.append((*forwards, *backwards))
    return _order("GPipe" if chunks == 1 else "LoopedBFS", num_ranks, microbatches, chunks, ranks)


def one_f_one_b(num_ranks: int, microbatches: int, warmup: Sequence[int] | None = None) -> PipelineOrder:
    """1F1B; `warmup[r]` forwards run on rank r before its first backward, p - r of them unless told otherwise."""
    depth = warmup if warmup is not None else range(num_ranks, 0, -1)
    ranks = [_alternate(rank, num_ranks, microbatches, 1, microbatches, depth[rank] - 1) for rank in range(num_ranks)]
    return _order("1F1B", num_ranks, microbatches, 1, ranks)


def interleaved(num_ranks: int, microbatches: int, chunks: int) -> PipelineOrder:
    """Interleaved 1F1B: chunks take turns in rounds of about p micro-batches, two more warm-up forwards per hop."""
    group = round_size(num_ranks, microbatches)
    ranks = [
        _alternate(rank, num_ranks, microbatches, chunks, group, (chunks - 1) * group + 2 * (num_ranks - 1 - rank))
        for rank in range(num_ranks)
    ]
    return _order("Interleaved1F1B", num_ranks, microbatches, chunks, ranks)


def zb_h1(num_ranks: int, microbatches: int, chunks: int = 1) -> PipelineOrder:
    """ZB-H1: 1F1B with the backward split; rank r keeps r weight gradients waiting, to fill its bubbles with."""
    group = round_size(num_ranks, microbatches)
    ranks = [
        _alternate(rank, num_ranks, microbatches, chunks, group, (chunks - 1) * group + num_ranks - 1 - rank, held=rank)
        for rank in range(num_ranks)
    ]
    return _order("ZB-H1" if chunks == 1 else "InterleavedZB", num_ranks, microbatches, chunks, ranks)


def round_size(num_ranks: int, microbatches: int) -> int:
    """Give how many micro-batches a chunk runs before the next chunk's turn: m over max(1, m // p) rounds."""
    return microbatches // max(1, microbatches // num_ranks)


def _alternate(
    rank: int, num_ranks: int, microbatches: int, chunks: int, group: int, warmup: int, held: int | None = None
) -> tuple[Operation, ...]:
    """Give warm-up forwards, then forward and backward in turn, then the rest; `held` splits the backward."""
    total = microbatches * chunks
    forwards: list[Operation] = []
    backward_of: list[tuple[int, int]] = []
    for step in range(total):
        turn, within = divmod(step, group)
        round_index, chunk = divmod(turn, chunks)
        microbatch = round_index * group + within
        forwards.append(Operation("F", chunk * num_ranks + rank, microbatch))
        backward_of.append(((chunks - 1 - chunk) * num_ranks + rank, microbatch))
    warmup = min(warmup, total)
    operations = forwards[:warmup]
    for step, (stage, microbatch) in enumerate(backward_of):
        if warmup + step < total:
            operations.append(forwards[warmup + step])
        operations.append(Operation("BW" if held is None else "B", stage, microbatch))
        if held is not None and step >= held:
            operations.append(Operation("W", *backward_of[step - held]))
    if held:
        operations += [Operation("W", *which) for which in backward_of[max(0, total - held) :]]
    return tuple(operations)


def _order(
    schedule: str, num_ranks: int, microbatches: int, chunks: int, ranks: Sequence[tuple[Operation, ...]]
) -> PipelineOrder:
    return PipelineOrder(
        schedule=schedule,
        num_ranks=num_ranks,
        num_chunks=chunks,
        num_microbatches=microbatches,
        stage_ranks=tuple(stage % num_ranks for stage in range(num_ranks * chunks)),
        operations=tuple(ranks),
    )
