"""The fastest of the known V orders for given times: ZB-V, V-Half and V-Min, each within its own memory."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache

from hyperflow.ir.timeline import PipelineOrder, StageTimes
from hyperflow.simulate.timeline import count_peaks, simulate
from hyperflow.simulate.v_fixed import zb_v_fixed
from hyperflow.simulate.v_half import v_half
from hyperflow.simulate.zb_v import greedy_orders


def v_half_order(times: StageTimes, links: Sequence[float], microbatches: int) -> PipelineOrder:
    """Give V-Half, or V-Min where that is faster and holds no more on any rank."""
    half = v_half(times.num_ranks, microbatches)
    return _fastest(half, [v_half(times.num_ranks, microbatches, minimal=True)], times, links)


@lru_cache(maxsize=64)
def zb_v_order(times: StageTimes, links: tuple[float, ...], microbatches: int) -> PipelineOrder:
    """Give the fastest order within the memory of ZB-V.

    The greedy construction for the mean times and the mean delay sets the peaks, as in the paper's generator, which
    knows no unequal ranks. The same construction for the true ones, the fixed order of ZB-V and the orders of lower
    memory compete under these peaks.
    """
    ranks = times.num_ranks
    mean = StageTimes(
        forward=(sum(times.forward) / ranks,) * ranks,
        backward_input=(sum(times.backward_input) / ranks,) * ranks,
        backward_weight=(sum(times.backward_weight) / ranks,) * ranks,
    )
    delay = sum(links) / len(links) if links else 0.0
    uniform = (delay,) * len(links)
    found = list(greedy_orders(mean, uniform, microbatches))
    fixed = zb_v_fixed(ranks, microbatches)
    favourite = min(found, key=lambda pair: pair[0])[1] if found else fixed
    rivals = [order for _, order in found]
    if (mean, uniform) != (times, links):
        rivals += [order for _, order in greedy_orders(times, links, microbatches)]
    rivals += [fixed, v_half(ranks, microbatches), v_half(ranks, microbatches, minimal=True)]
    return replace(_fastest(favourite, rivals, times, links), schedule="ZB-V")


def _fastest(
    favourite: PipelineOrder, rivals: Iterable[PipelineOrder], times: StageTimes, links: Sequence[float]
) -> PipelineOrder:
    """Give the fastest order that holds no more than the favourite on any rank; on ties the earlier one."""
    best, makespan = favourite, simulate(favourite, times, links).makespan
    allowed = count_peaks(favourite)[0]
    seen = {favourite.operations}
    for rival in rivals:
        fits = all(held <= most for held, most in zip(count_peaks(rival)[0], allowed, strict=True))
        if fits and rival.operations not in seen:
            seen.add(rival.operations)
            rival_makespan = simulate(rival, times, links).makespan
            if rival_makespan < makespan:
                best, makespan = rival, rival_makespan
    return replace(best, schedule=favourite.schedule)
