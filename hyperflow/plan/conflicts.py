"""Why a problem has no split: the constraints that cannot hold together, and the smallest change that mends it."""

from dataclasses import dataclass, replace

from hyperflow.plan.arrays import make_numbers
from hyperflow.plan.best import search_exact
from hyperflow.plan.cover import make_cover
from hyperflow.plan.problem import SplitProblem

CHECK_SECONDS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """One constraint of an irreducible set: dropping it alone would let some split through."""

    kind: str
    place: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Mend:
    """A change that was tried and lets a split through: more memory on one place."""

    place: str
    memory_bytes: float
    more_bytes: float


def find_conflicts(problem: SplitProblem) -> tuple[Conflict, ...]:
    """Give an irreducible set of conflicting constraints of a problem without a split.

    Each constraint is dropped in turn; it stays dropped while no split exists. What is left conflicts, and is
    irreducible by construction. Every trial is decided by the exact search, integrality included.
    """
    kept: list[tuple[str, int]] = [
        ("memory", i) for i, place in enumerate(problem.places) if place.memory_bytes is not None
    ]
    kept += [("least", 0)] * (problem.min_layers > 0) + [("links", 0)] * (problem.cuts.by_pair is not None)
    for item in list(kept):
        trial = [other for other in kept if other != item]
        if not _has_split(_with_only(problem, trial)):
            kept = trial
    return tuple(_described(problem, kind, index) for kind, index in kept)


def find_mend(problem: SplitProblem) -> Mend | None:
    """Give the least memory that one place must gain, the place with the smallest such gain; None if none helps."""
    best: Mend | None = None
    for index, place in enumerate(problem.places):
        if place.memory_bytes is None or not _has_split(_with_memory(problem, index, None)):
            continue
        low, high = place.memory_bytes, _whole_model_bytes(problem, index)
        if best is not None and not _has_split(_with_memory(problem, index, low + best.more_bytes)):
            continue
        while high - low > max(1.0, 1e-4 * high):
            middle = (low + high) / 2
            if _has_split(_with_memory(problem, index, middle)):
                high = middle
            else:
                low = middle
        if best is None or high - place.memory_bytes < best.more_bytes * (1 - 1e-3):
            best = Mend(place=place.name, memory_bytes=high, more_bytes=high - place.memory_bytes)
    return best


def _has_split(problem: SplitProblem) -> bool:
    answer = search_exact(replace(problem, objective="bottleneck", microbatches=1), CHECK_SECONDS)
    return answer.split is not None or not answer.proven


def _with_only(problem: SplitProblem, kept: list[tuple[str, int]]) -> SplitProblem:
    places = tuple(
        place if ("memory", i) in kept else replace(place, memory_bytes=None) for i, place in enumerate(problem.places)
    )
    cuts = problem.cuts if ("links", 0) in kept else replace(problem.cuts, by_pair=None)
    return replace(problem, places=places, cuts=cuts, min_layers=problem.min_layers if ("least", 0) in kept else 0)


def _with_memory(problem: SplitProblem, index: int, memory: float | None) -> SplitProblem:
    places = list(problem.places)
    places[index] = replace(places[index], memory_bytes=memory)
    return replace(problem, places=tuple(places))


def _whole_model_bytes(problem: SplitProblem, index: int) -> float:
    table = problem.table(index)
    held = max(problem.held(i) for i in range(problem.num_stages))
    ends = sum(end.state_bytes + held * end.held_bytes for end in (table.first, table.last))
    return sum(table.state_bytes or ()) + held * sum(table.held_bytes or ()) + table.fixed_bytes + ends


def fewer_stages(problem: SplitProblem) -> str:
    """Say what would do where the stages need more layers than there are; empty where they do not."""
    if problem.num_stages * problem.min_layers <= problem.num_layers:
        return ""
    most, least = problem.num_layers // problem.min_layers, problem.num_layers // problem.num_stages
    smaller = f"lower min_layers to {least}" if least else "set min_layers to 0, so that stages may stay empty"
    return f"take at most {most} of the stages, or {smaller}" if most else smaller


def _layers(count: int) -> str:
    return f"{count} layer" if count == 1 else f"{count} layers"


def _described(problem: SplitProblem, kind: str, index: int) -> Conflict:
    if kind == "least":
        each = f"each of {problem.num_stages} stages" if problem.num_stages > 1 else "the stage"
        text = f"{each} holds at least {_layers(problem.min_layers)}"
        if problem.num_stages * problem.min_layers > problem.num_layers:
            text += f", and the model has {_layers(problem.num_layers)}"
        return Conflict(kind=kind, place="", text=text)
    if kind == "links":
        return Conflict(kind=kind, place="", text="neighbouring stages have a link")
    place = problem.places[index]
    numbers = make_numbers(problem)
    most = int(make_cover(numbers, float("inf")).most[index])
    name = place.name if place.copies == 1 else f"{place.name} and {place.copies - 1} like it"
    text = f"{name} has {place.memory_bytes:.0f} bytes, room for {most} of {problem.num_layers} layers at most"
    return Conflict(kind=kind, place=place.name, text=text)
