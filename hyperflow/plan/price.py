"""What a split really costs, by plain sums that share nothing with any solver.

Every answer of a solver passes through here before it is believed.
"""

from dataclasses import dataclass
from itertools import accumulate, pairwise

from hyperflow.plan.problem import Split, SplitProblem


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """Times and sizes of a split; `period_seconds` is what one more micro-batch adds to the step."""

    stage_seconds: tuple[float, ...]
    cut_seconds: tuple[float, ...]
    memory_bytes: tuple[float, ...]
    period_seconds: float
    objective_seconds: float
    violations: tuple[str, ...]

    @property
    def feasible(self) -> bool:
        """Whether no constraint is broken."""
        return not self.violations


def price_split(problem: SplitProblem, split: Split) -> Price:
    """Price a split and list every constraint that it breaks."""
    violations = _shape_violations(problem, split)
    bounds = list(pairwise(accumulate(split.layers, initial=0)))
    last = len(split.order) - 1
    seconds: list[float] = []
    memory: list[float] = []
    for i, (place, (start, end)) in enumerate(zip(split.order, bounds, strict=True)):
        seconds.append(stage_seconds(problem, place, start, end, first=i == 0, last=i == last))
        memory.append(stage_bytes(problem, place, i, start, end))
        limit = problem.places[place].memory_bytes
        if limit is not None and memory[i] > limit * (1 + 1e-12):
            violations.append(f"stage {i} on {problem.places[place].name} needs {memory[i]:.0f} of {limit:.0f} bytes")
    cuts: list[float] = []
    for i, (a, b) in enumerate(pairwise(split.order)):
        cut = problem.cut_seconds(i, a, b, bounds[i][1])
        if cut is None:
            violations.append(f"no link from {problem.places[a].name} to {problem.places[b].name}")
        cuts.append(cut or 0.0)
    period = _period(problem, seconds, cuts)
    return Price(
        stage_seconds=tuple(seconds),
        cut_seconds=tuple(cuts),
        memory_bytes=tuple(memory),
        period_seconds=period,
        objective_seconds=_objective(problem, split, seconds, cuts, period),
        violations=tuple(violations),
    )


def stage_seconds(problem: SplitProblem, place: int, start: int, end: int, *, first: bool, last: bool) -> float:
    """Seconds per micro-batch of layers [start, end) on a place, with what the ends bear."""
    table, extra = problem.table(place), problem.places[place].extra_seconds
    return extra + sum(table.seconds[start:end]) + first * table.first.seconds + last * table.last.seconds


def stage_bytes(
    problem: SplitProblem, place: int, position: int, start: int, end: int, *, more_held: float = 0.0
) -> float:
    """Bytes per device of layers [start, end) as the stage at this position holds them."""
    table, held = problem.table(place), problem.held(position) + more_held
    total = table.fixed_bytes
    if table.state_bytes is not None:
        total += sum(table.state_bytes[start:end])
    if table.held_bytes is not None:
        total += held * sum(table.held_bytes[start:end])
    ends = [table.first] * (position == 0) + [table.last] * (position == problem.num_stages - 1)
    return total + sum(end_cost.state_bytes + held * end_cost.held_bytes for end_cost in ends)


def _period(problem: SplitProblem, seconds: list[float], cuts: list[float]) -> float:
    if problem.objective != "1f1b-links":
        return max(seconds)
    worst = 0.0
    for r in range(len(seconds)):
        total = 0.0
        for q in range(r, len(seconds)):
            total += seconds[q] + (2 * cuts[q - 1] if q > r else 0.0)
            worst = max(worst, total / (q - r + 1))
    return worst


def _objective(problem: SplitProblem, split: Split, seconds: list[float], cuts: list[float], period: float) -> float:
    if problem.objective == "bottleneck":
        return period
    tail = problem.table(split.order[-1]).tail_seconds
    trips = 2 if problem.objective in ("1f1b-links", "1f1b-hidden") else 1
    steady = (problem.microbatches - 1) * period + problem.microbatches * tail
    return sum(seconds) + trips * sum(cuts) + steady


def _shape_violations(problem: SplitProblem, split: Split) -> list[str]:
    violations: list[str] = []
    if len(split.order) != problem.num_stages or len(split.layers) != problem.num_stages:
        violations.append(f"{len(split.layers)} stages, not {problem.num_stages}")
    if sum(split.layers) != problem.num_layers:
        violations.append(f"the stages hold {sum(split.layers)} layers, the model has {problem.num_layers}")
    violations += [f"stage {i} has {n} layers" for i, n in enumerate(split.layers) if n < problem.min_layers]
    if problem.order is not None and split.order != problem.order:
        violations.append("the order of stages is not the given one")
    if problem.ascending and list(split.order) != sorted(split.order):
        violations.append("the places are not in their listed order")
    if problem.first_places is not None and split.order[:1] and split.order[0] not in problem.first_places:
        violations.append(f"stage 0 may not be on {problem.places[split.order[0]].name}")
    for index, place in enumerate(problem.places):
        if (used := split.order.count(index)) > place.copies:
            violations.append(f"{used} stages on {place.name}, which has room for {place.copies}")
    if problem.grouped:
        runs = [a for a, b in pairwise((*split.order, -1)) if a != b]
        violations += [
            f"the stages of {problem.places[p].name} are apart" for p in sorted(set(runs)) if runs.count(p) > 1
        ]
    return violations
