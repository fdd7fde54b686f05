"""The best zero-bubble order that the greedy construction finds under a limit of memory."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import count
from math import inf

from hyperflow.errors import Finding, InfeasibleError
from hyperflow.ir.timeline import Operation, PipelineOrder, StageTimes
from hyperflow.simulate.timeline import simulate
from hyperflow.simulate.zero_bubble import Choices, Construction, TooSlow

MAX_BUILT = 250_000  # operations, eight choices of three operations per micro-batch and rank at each limit


def automatic_order(
    times: StageTimes, links: Sequence[float], microbatches: int, limits: Sequence[int] | None = None
) -> PipelineOrder:
    """Give a split-backward order for these times and delays, holding at most `limits[r]` micro-batches on rank r.

    Tighter limits are tried too, so that a higher limit of all ranks never makes the order slower. The search stops
    at limits so tight that no order under them can be faster. It also stops when it has built a quarter of a million
    operations, which 40 micro-batches on 16 ranks may reach: then the law is not promised. Raises InfeasibleError
    (HF657) when a limit leaves no room.
    """
    full = tuple(min(limit, microbatches) for limit in limits) if limits else (microbatches,) * times.num_ranks
    if min(full) < 1:
        raise InfeasibleError(
            Finding(
                code="HF657",
                message="no order fits: a rank must hold at least one micro-batch from its forward to its W",
                where="mem_limit",
                got=str(list(full)),
                hint="give at least 1 to every rank",
            )
        )
    return _best_order(times, tuple(links), microbatches, full)


@lru_cache(maxsize=64)
def _best_order(times: StageTimes, links: tuple[float, ...], microbatches: int, full: tuple[int, ...]) -> PipelineOrder:
    best: tuple[float, PipelineOrder] | None = None
    level = max(full)
    built, size = 0, 24 * microbatches * times.num_ranks
    while (
        level
        and built < MAX_BUILT
        and (best is None or _lower_bound(times, links, microbatches, full, level) < best[0])
    ):
        limits = tuple(min(limit, level) for limit in full)
        if best and not _may_beat(best[0], times, links, microbatches, limits):
            level -= 1
            built += size
            continue
        makespan, order, peak = _best_at(times, links, microbatches, limits)
        if best is None or makespan < best[0]:
            best = makespan, order
        level = min(level, peak) - 1
        built += size
    assert best is not None
    return best[1]


def _may_beat(
    makespan: float, times: StageTimes, links: tuple[float, ...], microbatches: int, limits: tuple[int, ...]
) -> bool:
    """Say whether some choice at these limits may end earlier; quick, because slow orders are given up at once.

    Only where one delay holds for all links: elsewhere the clocks of the construction under a mean delay say nothing.
    """
    if len(set(links)) > 1:
        return True
    return any(True for _ in _constructions(times, links, microbatches, limits, give_up_at=makespan))


@lru_cache(maxsize=64)
def _best_at(
    times: StageTimes, links: tuple[float, ...], microbatches: int, limits: tuple[int, ...]
) -> tuple[float, PipelineOrder, int]:
    """Give makespan and order of the fastest at exactly these limits, and the highest peak of all that were tried.

    The construction's own favourite, by the longest span under one mean delay, sets the peaks that the fastest may
    not exceed on any rank.
    """
    mean = sum(links) / len(links) if links else 0.0
    uniform = (mean,) * len(links)
    tried = list(_constructions(times, uniform, microbatches, limits))
    allowed = min(tried, key=lambda construction: construction.longest_span).peaks
    if uniform != links:
        tried += _constructions(times, links, microbatches, limits)
    fitting = [one for one in tried if all(a <= b for a, b in zip(one.peaks, allowed, strict=True))]
    makespans = [
        one.makespan if one.delays == links else simulate(_as_order(one), times, links).makespan for one in fitting
    ]
    fastest = makespans.index(min(makespans))
    return makespans[fastest], _as_order(fitting[fastest]), max(max(one.peaks) for one in tried)


def _constructions(
    times: StageTimes, delays: Sequence[float], microbatches: int, limits: Sequence[int], give_up_at: float = inf
) -> Iterator[Construction]:
    """Build with all choices, leaving out those that cannot differ from one already built."""
    for gap in (True, False):
        hold_matters = True
        for hold in (True, False):
            if not hold and not hold_matters:
                continue
            hold_matters = False
            for fill in (True, False):
                choices = Choices(gap_before_backward=gap, hold_forwards=hold, always_fill=fill)
                construction = Construction(
                    times=times,
                    delays=delays,
                    microbatches=microbatches,
                    limits=limits,
                    choices=choices,
                    give_up_at=give_up_at,
                )
                try:
                    construction.build()
                except TooSlow:
                    hold_matters = True
                    continue
                hold_matters = hold_matters or construction.hold_mattered
                yield construction
                if not construction.fill_mattered:
                    break


def _lower_bound(
    times: StageTimes, links: Sequence[float], microbatches: int, full: Sequence[int], level: int
) -> float:
    """Give a makespan that no order with at most `level` micro-batches on any rank can beat.

    A micro-batch stays on rank r from its F until its W: the way down to the last rank and back. With k places the
    micro-batches pass in ceil(m / k) turns or more.
    """
    bound = around = 0.0
    for rank in range(times.num_ranks - 1, -1, -1):
        forward, backward, weight = times.forward[rank], times.backward_input[rank], times.backward_weight[rank]
        around += forward + backward
        way = sum(links[:rank])
        head = sum(times.forward[:rank]) + way
        tail = sum(times.backward_input[:rank]) + way + times.backward_weight[0]  # after the last B of this rank
        turns = -(-microbatches // min(full[rank], level))
        busy = microbatches * (forward + backward)
        bound = max(
            bound,
            head + busy + microbatches * weight,
            head + busy + tail,
            head + turns * (around + weight) - weight + tail,
        )
        around += 2 * links[rank - 1] if rank else 0.0
    return bound


def _as_order(construction: Construction) -> PipelineOrder:
    ranks: list[tuple[Operation, ...]] = []
    for rank, kinds in enumerate(construction.kinds):
        turn = {kind: count() for kind in "FBW"}
        ranks.append(tuple(Operation(kind, rank, next(turn[kind])) for kind in kinds))
    return PipelineOrder(
        schedule="ZB_auto",
        num_ranks=len(ranks),
        num_chunks=1,
        num_microbatches=construction.microbatches,
        stage_ranks=tuple(range(len(ranks))),
        operations=tuple(ranks),
    )
