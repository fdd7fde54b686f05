"""A split problem as arrays, scaled so that times are about 1, for the exact search."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hyperflow.plan.problem import SplitProblem

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

ROOM = 1 + 1e-12
"""A stage may exceed its memory by so little, which is the rounding of sums."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceNumbers:
    """Prefix sums over the layers of one place, and what the ends add."""

    seconds: Floats
    state: Floats
    held: Floats
    fixed: float
    limit: float
    copies: int
    first: tuple[float, float, float]
    last: tuple[float, float, float]
    tail: float
    extra: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbers:
    """The problem in arrays; `pair[a, b]` is NaN where two places have no link. `scale` turns times back.

    `each[j]` are the seconds of any layer on place j, where all layers are alike on every place.
    """

    problem: SplitProblem
    scale: float
    num_layers: int
    num_stages: int
    places: tuple[PlaceNumbers, ...]
    pair: Floats
    by_position: Floats
    by_layer: Floats | None
    links: bool
    period_weight: float
    cut_weight: float
    tail_weight: float
    weights: Floats
    paces: Floats
    least_cuts: Floats
    largest_round_trip: float
    place_matters: bool
    each: Floats | None


def make_numbers(problem: SplitProblem) -> Numbers:
    """Scale the problem and build its prefix sums."""
    scale = _scale(problem)
    places = tuple(_place(problem, index, scale) for index in range(len(problem.places)))
    mean = np.mean(np.vstack([np.diff(place.seconds) for place in places]), axis=0)
    cuts = max(1, problem.num_stages - 1)
    by_position = np.array(problem.cuts.by_position or (0.0,) * cuts, dtype=np.float64) / scale
    rows = problem.cuts.by_layer
    by_layer = None if rows is None else _by_layer_matrix(rows, problem.num_layers, scale)
    pair = _pair_matrix(problem) / scale
    bottleneck, links = problem.objective == "bottleneck", problem.objective == "1f1b-links"
    terms = [np.nan_to_num(pair), by_position] + ([] if by_layer is None else [by_layer])
    largest_cut = sum(float(np.max(term, initial=0.0)) for term in terms)
    return Numbers(
        problem=problem,
        scale=scale,
        num_layers=problem.num_layers,
        num_stages=problem.num_stages,
        places=places,
        pair=pair,
        by_position=by_position,
        by_layer=by_layer,
        links=links,
        period_weight=1.0 if bottleneck else float(problem.microbatches - 1),
        cut_weight=0.0 if bottleneck else 2.0 if problem.objective in ("1f1b-links", "1f1b-hidden") else 1.0,
        tail_weight=0.0 if bottleneck else float(problem.microbatches),
        weights=np.concatenate([np.zeros(1), np.cumsum(mean)]),
        least_cuts=_least_cuts(problem, pair, by_position, by_layer),
        paces=np.array([_pace(np.diff(place.seconds), mean) for place in places]),
        largest_round_trip=2 * largest_cut,
        each=_each(problem, scale),
        place_matters=problem.cuts.by_pair is not None or problem.grouped,
    )


def _least_cuts(problem: SplitProblem, pair: Floats, by_position: Floats, by_layer: Floats | None) -> Floats:
    """Give for each i the least that the cuts after the first i stages can cost together, one way."""
    each = by_position[: problem.num_stages - 1].copy()
    if by_layer is not None:
        each += np.min(by_layer[min(1, problem.min_layers) :], axis=0)[: problem.num_stages - 1]
    if problem.order is not None:
        each += np.nan_to_num(pair[list(problem.order[:-1]), list(problem.order[1:])])
    elif not problem.grouped and all(place.copies == 1 for place in problem.places):
        others = pair[~(np.isnan(pair) | np.eye(len(pair), dtype=np.bool_))]
        each += float(np.min(others)) if len(others) else 0.0
    return np.concatenate([np.zeros(1), np.cumsum(each), np.full(1, np.sum(each))])


def _pace(seconds: Floats, mean: Floats) -> float:
    """The least seconds that a unit of mean weight takes; a little less, so that rounding keeps it a bound."""
    ratios = seconds[mean > 0] / mean[mean > 0]
    return float(np.min(ratios)) * (1 - 1e-12) if len(ratios) else 0.0


def _scale(problem: SplitProblem) -> float:
    """A power of two near the mean stage time: scaling by it loses no digit."""
    totals = [sum(table.seconds) + table.last.seconds for table in problem.tables.values()]
    mean = sum(totals) / len(totals) / problem.num_stages
    return 2.0 ** round(math.log2(mean)) if mean > 0 else 1.0


def _each(problem: SplitProblem, scale: float) -> Floats | None:
    used = [problem.table(index).seconds for index in range(len(problem.places))]
    alike = all(seconds.count(seconds[0]) == len(seconds) for seconds in used)
    return np.array([seconds[0] for seconds in used]) / scale if alike else None


def _place(problem: SplitProblem, index: int, scale: float) -> PlaceNumbers:
    table, place = problem.table(index), problem.places[index]
    zeros = (0.0,) * problem.num_layers
    return PlaceNumbers(
        seconds=_prefix(table.seconds) / scale,
        state=_prefix(table.state_bytes or zeros),
        held=_prefix(table.held_bytes or zeros),
        fixed=table.fixed_bytes,
        limit=np.inf if place.memory_bytes is None else place.memory_bytes * ROOM,
        copies=place.copies,
        first=(table.first.seconds / scale, table.first.state_bytes, table.first.held_bytes),
        last=(table.last.seconds / scale, table.last.state_bytes, table.last.held_bytes),
        tail=table.tail_seconds / scale,
        extra=place.extra_seconds / scale,
    )


def _prefix(values: tuple[float, ...]) -> Floats:
    return np.concatenate([np.zeros(1), np.cumsum(np.array(values, dtype=np.float64))])


def _pair_matrix(problem: SplitProblem) -> Floats:
    count = len(problem.places)
    matrix = np.zeros((count, count))
    pairs = problem.cuts.by_pair
    if pairs is not None:
        names = [place.name for place in problem.places]
        for a, first in enumerate(names):
            for b, second in enumerate(names):
                matrix[a, b] = pairs.get((first, second), 0.0 if a == b else np.nan)
    return matrix


def _by_layer_matrix(rows: tuple[tuple[float, ...], ...], num_layers: int, scale: float) -> Floats:
    """Row l holds the cut after l layers; the last given row serves to the end, row 0 is never used alone."""
    given = np.array(rows, dtype=np.float64) / scale
    index = np.clip(np.arange(num_layers + 1) - 1, 0, len(given) - 1)
    matrix = given[index]
    matrix[0] = 0.0
    return matrix
