"""How many forwards each stage runs before its first backward, and what that makes of the step.

Standard 1F1B waits about one link delay per micro-batch at a slow boundary. Micro-batches held further up hide it, as
far as memory allows (docs/planner.md; hyperflow.simulate.hiding).
"""

from dataclasses import dataclass

from hyperflow.plan.price import price_split, stage_bytes
from hyperflow.plan.problem import Split, SplitProblem
from hyperflow.simulate.closed_forms import one_f_one_b_makespan
from hyperflow.simulate.hiding import choose_warmup

MOST_MORE = 32
"""No stage holds more micro-batches than this beyond the standard order."""
MOST_STAGES = 32
"""Longer pipelines keep the standard order: choosing depths takes time that grows with the cube of their length."""
MOST_OPERATIONS = 80_000
"""Longer orders than this keep to the standard one: frameworks take others as a file, which must fit a ConfigMap."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Paced:
    """Depths of the warm-up with the seconds of a step, next to those of standard 1F1B and of the best depths."""

    depths: tuple[int, ...]
    seconds: float
    standard_seconds: float
    hidden_depths: tuple[int, ...]
    hidden_seconds: float


def pace(problem: SplitProblem, split: Split, *, takes_warmup: bool) -> Paced:
    """Choose the depths for a priced split under the memory of its places.

    A framework that takes no other depths runs the standard ones; what the best would give is told beside it.
    """
    depths, hidden, standard, plain = _best_depths(problem, split)
    chosen = (depths, hidden) if takes_warmup and can_be_handed_over(problem) else (standard, plain)
    return Paced(
        depths=chosen[0],
        seconds=chosen[1],
        standard_seconds=plain,
        hidden_depths=depths,
        hidden_seconds=hidden,
    )


def can_be_handed_over(problem: SplitProblem) -> bool:
    """Whether an order of the problem's size fits the file that frameworks read."""
    return 2 * problem.num_stages * problem.microbatches <= MOST_OPERATIONS


def _best_depths(problem: SplitProblem, split: Split) -> tuple[tuple[int, ...], float, tuple[int, ...], float]:
    """Give the best depths with their seconds, and the standard ones with theirs."""
    price = price_split(problem, split)
    stages = len(split.layers)
    standard = tuple(min(problem.microbatches, stages - i) for i in range(stages))
    plain = one_f_one_b_makespan(price.stage_seconds, price.cut_seconds, problem.microbatches)
    if plain <= price.objective_seconds * (1 + 1e-9) or stages > MOST_STAGES:
        return standard, plain, standard, plain
    choice = choose_warmup(price.stage_seconds, price.cut_seconds, _depth_limits(problem, split))
    depths = tuple(min(problem.microbatches, depth) for depth in choice.depths)
    chosen = one_f_one_b_makespan(price.stage_seconds, price.cut_seconds, problem.microbatches, choice.depths)
    return (standard, plain, standard, plain) if chosen >= plain else (depths, chosen, standard, plain)


def _depth_limits(problem: SplitProblem, split: Split) -> list[int]:
    """Micro-batches that each stage has memory for."""
    limits: list[int] = []
    start, stages = 0, len(split.layers)
    for i, (place, layers) in enumerate(zip(split.order, split.layers, strict=True)):
        room = problem.places[place].memory_bytes
        end = start + layers
        standard = stages - i
        most = min(standard + MOST_MORE, max(problem.microbatches, standard))
        if room is not None:
            used = stage_bytes(problem, place, i, start, end)
            each = (stage_bytes(problem, place, i, start, end, more_held=1.0)) - used
            extra = int((room - used) / each) if each > 0 else most
            most = min(most, int(problem.held(i)) + max(0, extra))
        limits.append(max(standard, most))
        start = end
    return limits
