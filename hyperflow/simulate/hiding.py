"""Hiding a slow boundary in 1F1B: warm-up depths that keep its delay out of the period, within the memory.

A rank that may run d forwards more ahead of another than there are ranks between them covers the delay of the links
in between with work that it has. `closed_forms.one_f_one_b_period` is the law; here it is solved for the depths.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from hyperflow.errors import Finding, InfeasibleError
from hyperflow.simulate.closed_forms import one_f_one_b_period

_ROUNDING = 1e-9  # relative; a segment that needs 2.0000000001 periods needs 2


@dataclass(frozen=True, slots=True, kw_only=True)
class WarmupChoice:
    """Warm-up depths for 1F1B. `floor` is the slowest rank alone: no depths have a shorter period."""

    depths: tuple[int, ...]
    standard: tuple[int, ...]
    period: float
    standard_period: float
    floor: float

    @property
    def hides_all(self) -> bool:
        """No link delay is left in the period."""
        return self.period <= self.floor * (1 + _ROUNDING)


def choose_warmup(totals: Sequence[float], links: Sequence[float], limits: Sequence[int]) -> WarmupChoice:
    """Choose the depths of the shortest period that hold at most `limits[r]` micro-batches on rank r.

    Of several such depths it takes, where they fit, those not below the standard p - r (a shorter ramp costs time
    when there are few micro-batches), else the least. Exact: the period is one of finitely many segment times over
    whole numbers, and for a period the least depths follow from the last rank upwards. Raises InfeasibleError
    (HF657) when a limit is below 1.

    >>> choose_warmup((100, 100), (50,), (8, 8)).depths
    (3, 1)
    """
    if min(limits) < 1:
        raise InfeasibleError(
            Finding(
                code="HF657",
                message="no order fits: a rank must hold at least one micro-batch",
                where="memory limit",
                got=str(list(limits)),
                hint="give at least 1 to every rank",
            )
        )
    ranks = len(totals)
    standard = tuple(range(ranks, 0, -1))
    segments = _segment_times(totals, links)
    periods = sorted(
        {time / whole for times in segments for time in times for whole in range(1, max(limits) + 1)} | {max(totals)}
    )
    possible = [period for period in periods if period >= max(totals) * (1 - _ROUNDING)]
    low, high = 0, len(possible) - 1
    while low < high:  # a longer period never needs more depth
        middle = (low + high) // 2
        if _fits(_least_depths(segments, possible[middle], (1,) * ranks), limits):
            high = middle
        else:
            low = middle + 1
    ample = _least_depths(segments, possible[low], standard)
    depths = ample if _fits(ample, limits) else _least_depths(segments, possible[low], (1,) * ranks)
    return WarmupChoice(
        depths=depths,
        standard=standard,
        period=one_f_one_b_period(totals, links, depths),
        standard_period=one_f_one_b_period(totals, links),
        floor=max(totals),
    )


def explain_warmup(choice: WarmupChoice) -> tuple[str, ...]:
    """Say what the depths do and which framework can run them, in sentences for `explain`."""
    if choice.depths == choice.standard:
        return ("The standard 1F1B warm-up is kept: other depths within the memory have no shorter period.",)
    depths = ", ".join(map(str, choice.depths))
    if choice.period >= choice.standard_period:
        return (f"Warm-up depths {depths} hold what memory allows, less than the standard p - r of 1F1B.",)
    share = 1 - choice.period / choice.standard_period
    rest = "no link delay is left in it" if choice.hides_all else "memory allows no more"
    return (
        f"Warm-up depths {depths} (forwards before a rank's first backward) shorten the 1F1B period by {share:.0%}; "
        f"{rest}.",
        "torchtitan runs this order from a compute-only schedule file (pipeline_parallel_schedule_csv).",
        "Megatron cannot: its 1F1B always warms up by p - r and has no flag for other depths, so it pays the delay.",
    )


def _segment_times(totals: Sequence[float], links: Sequence[float]) -> list[list[float]]:
    """Give for each rank r the time around segment [r..q] for q = r, r+1, ...: sum of T and twice the delays."""
    segments: list[list[float]] = []
    for first in range(len(totals)):
        times = [totals[first]]
        for last in range(first + 1, len(totals)):
            times.append(times[-1] + totals[last] + 2 * links[last - 1])
        segments.append(times)
    return segments


def _least_depths(segments: Sequence[Sequence[float]], period: float, at_least: Sequence[int]) -> tuple[int, ...]:
    """Give the least non-increasing depths k with k_r - k_q + 1 >= segment time / period for all segments."""
    depths = list(at_least)
    for rank in range(len(depths) - 1, -1, -1):
        for offset, time in enumerate(segments[rank][1:], start=1):
            below = depths[rank + offset]
            depths[rank] = max(depths[rank], below, below + ceil(time / period * (1 - _ROUNDING)) - 1)
    return tuple(depths)


def _fits(depths: Sequence[int], limits: Sequence[int]) -> bool:
    return all(depth <= limit for depth, limit in zip(depths, limits, strict=True))
