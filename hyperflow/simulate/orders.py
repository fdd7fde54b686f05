"""The order of operations of every schedule, by name.

A combination that a schedule cannot do is refused with the rule that forbids it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

from hyperflow.errors import Finding, InfeasibleError, InputError, nearest, raise_errors
from hyperflow.ir.timeline import PipelineOrder, StageTimes
from hyperflow.simulate import looped, v_1f1b, v_fixed, v_half, v_search
from hyperflow.simulate.timeline import count_peaks
from hyperflow.simulate.zero_bubble_search import automatic_order

MAX_OPERATIONS = 2_000_000
MAX_SEARCHED_OPERATIONS = 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleFacts:
    """What a schedule can do. `max_chunks` is None where there is no limit; `searched` orders depend on the times."""

    min_chunks: int = 1
    max_chunks: int | None = 1
    split_backward: bool = False
    whole_rounds: bool = False
    searched: bool = False


_ONE_CHUNK = ScheduleFacts(split_backward=True)
_AUTOMATIC = ScheduleFacts(split_backward=True, searched=True)
_FIXED_V = ScheduleFacts(min_chunks=2, max_chunks=2, split_backward=True)
_SEARCHED_V = ScheduleFacts(min_chunks=2, max_chunks=2, split_backward=True, searched=True)
SCHEDULES: dict[str, ScheduleFacts] = {
    "GPipe": ScheduleFacts(),
    "1F1B": ScheduleFacts(),
    "Interleaved1F1B": ScheduleFacts(min_chunks=2, max_chunks=None, whole_rounds=True),
    "LoopedBFS": ScheduleFacts(min_chunks=2, max_chunks=None),
    "ZB-H1": _ONE_CHUNK,
    "ZB1P": ScheduleFacts(split_backward=True, whole_rounds=True),
    "InterleavedZB": ScheduleFacts(min_chunks=2, max_chunks=None, split_backward=True, whole_rounds=True),
    "ZB-H2": _AUTOMATIC,
    "ZB_auto": _AUTOMATIC,
    "1F1B-V": ScheduleFacts(min_chunks=2, max_chunks=2),
    "ZB-V": _SEARCHED_V,
    "ZBVZeroBubble": _FIXED_V,
    "V-Half": _SEARCHED_V,
    "V-Min": _SEARCHED_V,
    "DualPipeV": _FIXED_V,
}
_ALIASES = {
    "interleaved": "Interleaved1F1B",
    "interleavedzerobubble": "InterleavedZB",
    "zerobubble": "ZB-H1",
}


def canonical_name(schedule: str) -> str:
    """Give the schedule's name as this package spells it; case, `-` and `_` do not matter.

    Raises InputError (HF650) for an unknown one.

    >>> canonical_name("zb_h1")
    'ZB-H1'
    """
    plain = _plain(schedule)
    known = {_plain(name): name for name in SCHEDULES} | _ALIASES
    if plain in known:
        return known[plain]
    raise InputError(
        Finding(
            code="HF650",
            message=f"{schedule!r} is not a schedule that can be simulated",
            where="schedule",
            got=schedule,
            expected="one of " + ", ".join(SCHEDULES),
            hint=nearest(schedule, SCHEDULES),
        )
    )


def order_for(
    schedule: str,
    num_ranks: int,
    microbatches: int,
    chunks: int | None = None,
    warmup: Sequence[int] | None = None,
    durations: StageTimes | None = None,
    links: Sequence[float] | None = None,
    limits: Sequence[int] | None = None,
    framework: str | None = None,
) -> PipelineOrder:
    """Give the order of operations of a schedule.

    `chunks` per rank defaults to the fewest the schedule allows. `warmup[r]` (1F1B only) is how many forwards rank r
    runs before its first backward. The searched schedules (ZB_auto, ZB-H2, ZB-V, V-Half) are made for `durations` and
    `links`: equal times and no delay unless given. `limits[r]` is how many micro-batches rank r may hold from F to W:
    the automatic orders keep within it, others are refused when they do not. `framework` (`torch` or `megatron`) adds
    that framework's own rules and orders. Raises HyperFlowError: HF650 unknown
    schedule, HF653 a rule of the schedule is broken, HF654 warm-ups that cannot run, HF655 more operations than one
    machine should hold, HF657 the limit is too tight.

    >>> [operation.kind for operation in order_for("1f1b", 2, 2).operations[0]]
    ['F', 'F', 'BW', 'BW']
    """
    name = canonical_name(schedule)
    if framework == "torch" and name == "ZB-V":
        name = "ZBVZeroBubble"
    chunks = SCHEDULES[name].min_chunks if chunks is None else chunks
    check_combination(name, num_ranks, microbatches, chunks, framework)
    if warmup is not None:
        _check_warmup(name, warmup, num_ranks)
        order = looped.one_f_one_b(num_ranks, microbatches, warmup)
    elif SCHEDULES[name].searched:
        equal = (1.0,) * num_ranks
        times = durations or StageTimes(forward=equal, backward_input=equal, backward_weight=equal)
        order = _searched(name, times, tuple(links or (0.0,) * (num_ranks - 1)), microbatches, limits)
    else:
        build = _build_cached if chunks * microbatches * num_ranks <= _CACHED_SIZE else _build
        order = build(name, num_ranks, microbatches, chunks)
    if limits is not None:
        _check_memory(order, limits)
    return replace(order, schedule=name)


_BUILDERS: dict[str, Callable[[int, int, int], PipelineOrder]] = {
    "GPipe": looped.gpipe,
    "1F1B": lambda p, m, _: looped.one_f_one_b(p, m),
    "LoopedBFS": looped.gpipe,
    "Interleaved1F1B": looped.interleaved,
    "ZB-H1": looped.zb_h1,
    "ZB1P": looped.zb_h1,
    "InterleavedZB": looped.zb_h1,
    "1F1B-V": lambda p, m, _: v_1f1b.one_f_one_b_v(p, m),
    "ZBVZeroBubble": lambda p, m, _: v_fixed.zb_v_fixed(p, m),
    "DualPipeV": lambda p, m, _: v_fixed.dualpipe_v(p, m),
}


def _build(name: str, num_ranks: int, microbatches: int, chunks: int) -> PipelineOrder:
    return _BUILDERS[name](num_ranks, microbatches, chunks)


_CACHED_SIZE = 4096  # forwards; larger orders would fill the memory
_build_cached = lru_cache(maxsize=256)(_build)


def _searched(
    name: str, times: StageTimes, links: tuple[float, ...], microbatches: int, limits: Sequence[int] | None
) -> PipelineOrder:
    ranks = times.num_ranks
    if name == "ZB-V":
        return v_search.zb_v_order(times, links, microbatches)
    if name == "V-Half":
        return v_search.v_half_order(times, links, microbatches)
    if name == "V-Min":
        return v_half.v_half(ranks, microbatches, minimal=True)
    if name == "ZB-H2":
        most = 2 * ranks - 1
        limits = [min(limit, most) for limit in limits] if limits else [most] * ranks
    return automatic_order(times, links, microbatches, limits)


def _check_memory(order: PipelineOrder, limits: Sequence[int]) -> None:
    chunks = order.num_chunks
    over = [
        f"rank {rank} holds {peak / chunks:g}, limit {limit}"
        for rank, (peak, limit) in enumerate(zip(count_peaks(order)[0], limits, strict=True))
        if peak > limit * chunks
    ]
    if over:
        raise InfeasibleError(
            Finding(
                code="HF657",
                message=f"{order.schedule} does not fit the memory limit in micro-batches per rank",
                where="mem_limit",
                got="; ".join(over[:4]) + ("; ..." if len(over) > 4 else ""),
                hint="raise the limit, or use ZB_auto (one chunk), V-Half or V-Min, which need less",
            )
        )


def check_combination(name: str, num_ranks: int, microbatches: int, chunks: int, framework: str | None = None) -> None:
    """Raise InputError with every rule of schedule and framework that is broken (HF653), or for the size (HF655)."""
    facts = SCHEDULES[name]
    findings: list[Finding] = []

    def rule(message: str, got: str, hint: str = "") -> None:
        findings.append(Finding(code="HF653", message=f"{name} {message}", where="schedule", got=got, hint=hint))

    if num_ranks < 1 or microbatches < 1 or chunks < 1:
        rule("needs at least one rank, one micro-batch and one chunk", f"p={num_ranks}, m={microbatches}, v={chunks}")
        raise_errors(findings)
    if chunks < facts.min_chunks or (facts.max_chunks is not None and chunks > facts.max_chunks):
        exactly = facts.min_chunks == facts.max_chunks
        need = f"{'exactly' if exactly else 'at least'} {facts.min_chunks} chunk{'s' * (facts.min_chunks > 1)} per rank"
        rule(f"needs {need}", f"v={chunks}", f"set v={facts.min_chunks}")
    rounds, whole = max(1, microbatches // num_ranks), microbatches - microbatches % num_ranks
    multiples = f"use m={whole} or m={whole + num_ranks}" if whole else f"use m={num_ranks}"
    got = f"m={microbatches}, p={num_ranks}"
    if facts.whole_rounds and microbatches % rounds:
        rule(f"needs micro-batches in {rounds} whole rounds (m a multiple of max(1, m // p))", got, multiples)
    elif name == "Interleaved1F1B" and framework == "megatron" and microbatches % num_ranks:
        rule("in Megatron needs a number of micro-batches that is a multiple of the ranks", got, multiples)
    if name == "1F1B" and framework == "torch" and microbatches < num_ranks:
        rule("in PyTorch needs at least as many micro-batches as ranks", got, f"use m >= {num_ranks}")
    if name == "DualPipeV" and microbatches < 2 * num_ranks:
        need = 2 * num_ranks
        rule(f"needs at least as many micro-batches as its {need} stages", got, f"use m >= {need}, or ZB-V")
    operations = (3 if facts.split_backward else 2) * chunks * microbatches * num_ranks
    most = MAX_SEARCHED_OPERATIONS if facts.searched else MAX_OPERATIONS
    if operations > most:
        findings.append(
            Finding(
                code="HF655",
                message=f"the timeline would have {operations:,} operations, more than the limit of {most:,}",
                where="m",
                got=f"m={microbatches}, p={num_ranks}, v={chunks}",
                hint="simulate fewer micro-batches and add one period for each of the others "
                "(hyperflow.simulate.closed_forms)",
            )
        )
    raise_errors(findings)


def _check_warmup(name: str, warmup: Sequence[int], num_ranks: int) -> None:
    reason = ""
    if name != "1F1B":
        reason = f"{name} has its own warm-up; only 1F1B takes chosen depths"
    elif len(warmup) != num_ranks:
        reason = f"the pipeline has {num_ranks} ranks, the list has {len(warmup)} depths"
    elif warmup[-1] < 1 or any(here < after for here, after in pairwise(warmup)):
        reason = (
            "depths must not increase along the ranks and the last must be at least 1, or ranks wait for each other"
        )
    if reason:
        raise InputError(
            Finding(
                code="HF654",
                message=f"these warm-up depths cannot run: {reason}",
                where="warmup",
                got=str(list(warmup)),
                expected=f"for example {list(range(num_ranks, 0, -1))}",
            )
        )


def _plain(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "").replace(" ", "")
