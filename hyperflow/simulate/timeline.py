"""The longest-path timeline of an order of operations: every start and end, exactly.

The model: each rank runs its operations in the given order, one at a time, without interruption. F(s, i) waits for
F(s-1, i) and the delay between the two ranks; B(s, i) for its own F and for B(s+1, i) and the delay; W(s, i) for
B(s, i). BW takes B + W and its gradient leaves at its end. Delays overlap with compute and links take any number of
transfers at once; `transfers.simulate_transfers` lifts both of these. A hop between ranks that are not neighbours
pays every link between them; a hop inside a rank is free. Optimizer and all-reduce are not included.
"""

from collections.abc import Sequence
from itertools import pairwise

from hyperflow.errors import Finding, InputError
from hyperflow.ir.timeline import PipelineOrder, StageTimes, Timeline


def simulate(order: PipelineOrder, durations: StageTimes, links: Sequence[float]) -> Timeline:
    """Time an order: `links[e]` is the one-way delay between ranks e and e+1, in the unit of `durations`.

    Linear in the number of operations, in time and in memory. Raises InputError (HF656) when the order deadlocks.

    >>> from hyperflow.simulate.orders import order_for
    >>> times = StageTimes(forward=(40, 40), backward_input=(40, 40), backward_weight=(20, 20))
    >>> simulate(order_for("1f1b", 2, 32), times, (50,)).makespan
    4900.0
    """
    starts, ends = _longest_path(order, durations, stage_delays(order.stage_ranks, links))
    until_weight, until_input = count_peaks(order)
    return Timeline(
        order=order,
        times=durations,
        links=tuple(links),
        starts=starts,
        ends=ends,
        peak_until_weight=until_weight,
        peak_until_input=until_input,
    )


def stage_delays(stage_ranks: Sequence[int], links: Sequence[float]) -> list[float]:
    """Give the delay between stage s and stage s+1: every link between their ranks, nothing inside a rank."""
    return [sum(links[min(here, there) : max(here, there)]) for here, there in pairwise(stage_ranks)]


def chunk_durations(durations: StageTimes, rank: int, chunks: int) -> dict[str, float]:
    """Give the time of each kind of operation for one chunk of a rank."""
    forward, backward_input = durations.forward[rank] / chunks, durations.backward_input[rank] / chunks
    backward_weight = durations.backward_weight[rank] / chunks
    return {"F": forward, "B": backward_input, "W": backward_weight, "BW": backward_input + backward_weight}


Moments = tuple[tuple[float, ...], ...]


def _longest_path(order: PipelineOrder, durations: StageTimes, delays: Sequence[float]) -> tuple[Moments, Moments]:
    """Advance each rank until it waits for another; wake it when what it waits for is done."""
    m, last_stage = order.num_microbatches, len(order.stage_ranks) - 1
    lengths = [chunk_durations(durations, rank, order.num_chunks) for rank in range(order.num_ranks)]
    forward_end: list[float | None] = [None] * (m * (last_stage + 1))
    backward_end = forward_end.copy()
    starts: list[list[float]] = [[] for _ in order.operations]
    ends: list[list[float]] = [[] for _ in order.operations]
    waiting: dict[int, int] = {}  # what a rank waits for (forward key, or -1 - backward key) -> the rank
    awake = list(range(order.num_ranks))
    while awake:
        rank = awake.pop()
        operations, length, rank_starts, rank_ends = order.operations[rank], lengths[rank], starts[rank], ends[rank]
        clock = rank_ends[-1] if rank_ends else 0.0
        for index in range(len(rank_ends), len(operations)):
            kind, stage, microbatch = operations[index]
            key = stage * m + microbatch
            if kind == "F":
                if stage:
                    arrived = forward_end[key - m]
                    if arrived is None:
                        waiting[key - m] = rank
                        break
                    arrived += delays[stage - 1]
                    if arrived > clock:
                        clock = arrived
            elif kind == "W":
                if backward_end[key] is None:
                    break
            elif forward_end[key] is None:
                break
            elif stage < last_stage:
                arrived = backward_end[key + m]
                if arrived is None:
                    waiting[-1 - key - m] = rank
                    break
                arrived += delays[stage]
                if arrived > clock:
                    clock = arrived
            rank_starts.append(clock)
            clock += length[kind]
            rank_ends.append(clock)
            if kind != "W":
                done, token = (forward_end, key) if kind == "F" else (backward_end, -1 - key)
                done[key] = clock
                if token in waiting:
                    awake.append(waiting.pop(token))
    refuse_deadlock(order, ends)
    return tuple(map(tuple, starts)), tuple(map(tuple, ends))


def refuse_deadlock(order: PipelineOrder, ends: Sequence[Sequence[float]]) -> None:
    """Raise HF656 naming the operation at which each unfinished rank waits."""
    stuck = [
        f"rank {rank} before {operations[len(done)].kind} of micro-batch {operations[len(done)].microbatch}"
        for rank, (operations, done) in enumerate(zip(order.operations, ends, strict=True))
        if len(done) < len(operations)
    ]
    if stuck:
        raise InputError(
            Finding(
                code="HF656",
                message="the order of operations deadlocks: ranks wait for each other",
                where=order.schedule,
                got=", ".join(stuck[:4]) + (", ..." if len(stuck) > 4 else ""),
                hint="a rank must run the forwards that its successors need before it waits for their gradients",
            )
        )


def count_peaks(order: PipelineOrder) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Give per rank the most (chunk, micro-batch) pairs held from F to W, and from F to B."""
    until_weight: list[int] = []
    until_input: list[int] = []
    for operations in order.operations:
        held = peak = pending = peak_pending = 0
        for operation in operations:
            kind = operation[0]
            if kind == "F":
                held += 1
                pending += 1
                peak = max(peak, held)
                peak_pending = max(peak_pending, pending)
            elif kind == "BW":
                held -= 1
                pending -= 1
            elif kind == "B":
                pending -= 1
            else:
                held -= 1
        until_weight.append(peak)
        until_input.append(peak_pending)
    return tuple(until_weight), tuple(until_input)
