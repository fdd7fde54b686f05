"""Schedules other than 1F1B: which ones a job may get, what rules they have, and the step by simulation.

1F1B has a closed form that is never below its timeline, so that the search can prove its plans. The others are timed
operation by operation. `schedule="auto"` times all that the framework can run, 1F1B too, with one ruler.
"""

from collections.abc import Sequence
from functools import cache

from hyperflow.errors import Finding, HyperFlowError, InputError
from hyperflow.ir.resolved import ResolvedJob
from hyperflow.ir.timeline import StageTimes
from hyperflow.simulate.orders import SCHEDULES, canonical_name, check_combination, order_for
from hyperflow.simulate.timeline import simulate

AUTO = "auto"
STANDARD = "1F1B"
OFFERED: dict[str, tuple[str, ...]] = {
    "megatron": (STANDARD, "Interleaved1F1B"),
    "torchtitan": (
        STANDARD,
        "GPipe",
        "Interleaved1F1B",
        "LoopedBFS",
        "ZB1P",
        "InterleavedZB",
        "ZBVZeroBubble",
        "DualPipeV",
    ),
}
"""What `schedule="auto"` tries, by launcher; of a script of one's own nothing is known but that it runs 1F1B."""
FRAMEWORKS = {"megatron": "megatron", "torchtitan": "torch"}

FILL = {
    STANDARD: 1.0, "GPipe": 1.0, "Interleaved1F1B": 0.5, "LoopedBFS": 0.5, "ZB-H1": 0.4, "ZB1P": 0.4,
    "InterleavedZB": 0.25, "ZB-H2": 0.2, "ZB_auto": 0.2, "1F1B-V": 0.8, "ZB-V": 0.25, "ZBVZeroBubble": 0.25,
    "V-Half": 0.5, "V-Min": 0.8, "DualPipeV": 0.25,
}  # fmt: skip
"""About what share of 1F1B's fill and drain a schedule pays. It guides the search and proves nothing."""
V_PLACED = ("1F1B-V", "ZB-V", "ZBVZeroBubble", "V-Half", "V-Min", "DualPipeV")
"""Rank r holds stages r and 2p-1-r; the other schedules with chunks deal them out in turn."""
WINDOW = 4
"""Micro-batches per rank that are timed; each further round of as many as there are ranks takes what the last took."""
MOST_TIMED = 4_000
"""Operations up to which all micro-batches are timed."""


def schedule_name(job: ResolvedJob) -> str:
    """The job's schedule as the simulator spells it; 1F1B while it is open. Raises InputError (HF650) if unknown."""
    asked = job.job.parallel.schedule
    return STANDARD if asked == AUTO else _canonical(asked)


def offered(job: ResolvedJob) -> tuple[str, ...]:
    """The schedules that an open one may become."""
    launch = job.job.launch
    return OFFERED.get(launch.kind, (STANDARD,)) if launch is not None else (STANDARD,)


def framework_of(job: ResolvedJob) -> str | None:
    """Whose rules the schedule has to keep."""
    launch = job.job.launch
    return FRAMEWORKS.get(launch.kind) if launch is not None else None


@cache
def broken_rules(name: str, stages: int, microbatches: int, framework: str | None) -> tuple[Finding, ...]:
    """Give HF653 for each rule of schedule and framework that a plan would break."""
    if stages == 1:
        return ()
    try:
        check_combination(name, stages, microbatches, SCHEDULES[name].min_chunks, framework)
    except InputError as error:
        return tuple(finding for finding in error.findings if finding.code == "HF653")
    return ()


def timed_seconds(
    name: str,
    times: StageTimes,
    hops: Sequence[float],
    microbatches: int,
    *,
    warmup: Sequence[int] | None = None,
    framework: str | None = None,
) -> float:
    """Seconds of all micro-batches by simulation.

    Of many micro-batches only some are timed: `docs/planner.md` states how far off that is. Raises HyperFlowError for
    what the schedule cannot do.
    """
    ranks = times.num_ranks
    if ranks == 1:
        return microbatches * times.totals[0]

    def makespan(count: int) -> float:
        depths = None if warmup is None else [min(depth, count) for depth in warmup]
        order = order_for(name, ranks, count, warmup=depths, durations=times, links=tuple(hops), framework=framework)
        return simulate(order, times, hops).makespan

    rounds = (microbatches - WINDOW * max(ranks, max(warmup or (0,)))) // ranks
    if rounds < 1 or 3 * SCHEDULES[name].min_chunks * ranks * microbatches <= MOST_TIMED:
        return makespan(microbatches)
    shorter = microbatches - rounds * ranks
    try:
        known, before = makespan(shorter), makespan(shorter - ranks)
    except HyperFlowError:
        return makespan(microbatches)  # the rule of rounds holds for all of them only
    return known + rounds * (known - before)


_canonical = cache(canonical_name)
