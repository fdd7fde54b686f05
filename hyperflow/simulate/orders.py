"""The order of operations of every schedule, by name.

A combination that a schedule cannot do is refused with the rule that forbids it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from hyperflow.errors import Finding, InputError, nearest, raise_errors
from hyperflow.ir.timeline import PipelineOrder
from hyperflow.simulate import dualpipe_v, looped

MAX_OPERATIONS = 2_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleFacts:
    """What a schedule can do. `chunks` are the allowed chunks per rank (None above `min_chunks`)."""

    min_chunks: int = 1
    max_chunks: int | None = 1
    split_backward: bool = False
    whole_rounds: bool = False
    v_shape: bool = False

    @property
    def operations_per_chunk(self) -> int:
        """Operations of one micro-batch on one chunk, at most."""
        return 3 if self.split_backward else 2


_V = ScheduleFacts(min_chunks=2, max_chunks=2, split_backward=True, v_shape=True)
SCHEDULES: dict[str, ScheduleFacts] = {
    "GPipe": ScheduleFacts(),
    "1F1B": ScheduleFacts(),
    "LoopedBFS": ScheduleFacts(max_chunks=None),
    "Interleaved1F1B": ScheduleFacts(min_chunks=2, max_chunks=None, whole_rounds=True),
    "ZB-H1": ScheduleFacts(split_backward=True),
    "ZB1P": ScheduleFacts(split_backward=True, whole_rounds=True),
    "InterleavedZB": ScheduleFacts(min_chunks=2, max_chunks=None, split_backward=True, whole_rounds=True),
    "DualPipeV": _V,
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
) -> PipelineOrder:
    """Give the order of operations of a schedule that is defined by construction, whatever the times.

    `chunks` per rank defaults to the fewest the schedule allows. `warmup[r]` (1F1B only) is how many forwards rank r
    runs before its first backward. Raises InputError: HF650 unknown schedule, HF653 a rule of the schedule is broken,
    HF654 warm-ups that cannot run, HF655 more operations than this machine should hold.

    >>> [operation.kind for operation in order_for("1f1b", 2, 2).operations[0]]
    ['F', 'F', 'BW', 'BW']
    """
    name = canonical_name(schedule)
    chunks = SCHEDULES[name].min_chunks if chunks is None else chunks
    check_combination(name, num_ranks, microbatches, chunks)
    if warmup is not None:
        _check_warmup(name, warmup, num_ranks)
        return looped.one_f_one_b(num_ranks, microbatches, warmup)
    return _BUILDERS[name](num_ranks, microbatches, chunks)


_BUILDERS: dict[str, Callable[[int, int, int], PipelineOrder]] = {
    "GPipe": looped.gpipe,
    "1F1B": lambda p, m, _: looped.one_f_one_b(p, m),
    "LoopedBFS": looped.gpipe,
    "Interleaved1F1B": looped.interleaved,
    "ZB-H1": looped.zb_h1,
    "ZB1P": looped.zb_h1,
    "InterleavedZB": looped.zb_h1,
    "DualPipeV": lambda p, m, _: dualpipe_v.dualpipe_v(p, m),
}


def check_combination(name: str, num_ranks: int, microbatches: int, chunks: int) -> None:
    """Raise InputError with every rule of the schedule that the combination breaks (HF653) or its size (HF655)."""
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
    if facts.whole_rounds and microbatches % rounds:
        rule(
            f"needs micro-batches in {rounds} whole rounds (m must be a multiple of max(1, m // p))",
            f"m={microbatches}, p={num_ranks}",
            f"use m={whole} or m={whole + num_ranks}",
        )
    if name == "DualPipeV" and microbatches < 2 * num_ranks:
        rule(
            f"needs at least as many micro-batches as its {2 * num_ranks} stages",
            f"m={microbatches}, p={num_ranks}",
            f"use m >= {2 * num_ranks}, or ZB-V",
        )
    operations = facts.operations_per_chunk * chunks * microbatches * num_ranks
    if operations > MAX_OPERATIONS:
        findings.append(
            Finding(
                code="HF655",
                message=f"the timeline would have {operations:,} operations, more than the limit of {MAX_OPERATIONS:,}",
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
