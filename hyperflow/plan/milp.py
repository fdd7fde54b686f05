"""The split for a fixed order as a mixed-integer linear program, one function per constraint.

Two forms. Few runs of equal layers: an integer for each stage and run, how many of the run's layers it takes. Many
unlike layers: a binary for each piece [start, end) that a stage may hold, which the exact search has narrowed to
those that some split no worse than its own can contain. Times are scaled to about 1 and variables named by index.
"""

from dataclasses import dataclass, field
from itertools import groupby, pairwise
from typing import Any

import numpy as np
import pulp

from hyperflow.plan.arrays import Numbers
from hyperflow.plan.pieces import Piece
from hyperflow.plan.problem import Split

MOST_RUNS = 6
MARGIN = 1e-9
"""Relative room left for the rounding of sums where a known split narrows the program."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Consecutive layers that cost the same on every place."""

    first: int
    count: int


@dataclass(slots=True, kw_only=True)
class SplitModel:
    """A model with its parts by meaning. `seconds[i]` and `bytes[i]` are expressions of stage i.

    `counts[i][g]` are integers of the counting form; `pieces[i]` pairs of piece and binary of the other.
    """

    numbers: Numbers
    order: tuple[int, ...]
    program: Any
    period: Any = None
    seconds: list[Any] = field(default_factory=list[Any])
    cuts: list[Any] = field(default_factory=list[Any])
    runs: tuple[Run, ...] = ()
    counts: list[list[Any]] = field(default_factory=list[list[Any]])
    pieces: list[list[tuple[Piece, Any]]] = field(default_factory=list[list[tuple[Piece, Any]]])
    offset: float = 0.0
    rows: dict[str, str] = field(default_factory=dict[str, str])


def find_runs(numbers: Numbers) -> tuple[Run, ...]:
    """Give the runs of equal layers."""
    used = {numbers.problem.places[index].device for index in range(len(numbers.places))}
    tables = [numbers.problem.tables[device] for device in sorted(used)]
    columns = [values for t in tables for values in (t.seconds, t.state_bytes, t.held_bytes) if values is not None]
    layers = [tuple(column[i] for column in columns) for i in range(numbers.num_layers)]
    runs: list[Run] = []
    first = 0
    for _, group in groupby(layers):
        count = len(list(group))
        runs.append(Run(first=first, count=count))
        first += count
    return tuple(runs)


def can_count(numbers: Numbers, runs: tuple[Run, ...]) -> bool:
    """Say whether the counting form serves: few runs, and cuts that cost the same wherever they lie."""
    return len(runs) <= MOST_RUNS and numbers.by_layer is None


def counting_model(numbers: Numbers, runs: tuple[Run, ...], *, memory: bool = True) -> SplitModel:
    """Build the counting form."""
    model = _empty_model(numbers)
    model.runs = runs
    for i in range(numbers.num_stages):
        row = [
            model.program.add_variable(f"n_{i}_{g}", lowBound=0, upBound=run.count, cat="Integer")
            for g, run in enumerate(runs)
        ]
        model.counts.append(row)
    model.seconds = [_counted_seconds(model, i) for i in range(numbers.num_stages)]
    model.cuts = [_constant_cut(model, i) for i in range(numbers.num_stages - 1)]
    place_every_layer(model)
    keep_layers_in_order(model)
    give_each_stage_layers(model)
    if memory:
        fit_memory(model)
    bound_period(model)
    minimise_step(model)
    return model


def piece_model(numbers: Numbers, pieces: list[list[Piece]], least_period: float) -> SplitModel:
    """Build the form with a binary for each piece; memory and least layers hold in every piece already."""
    model = _empty_model(numbers)
    for i, choices in enumerate(pieces):
        named = [
            (piece, model.program.add_variable(f"z_{i}_{k}", lowBound=0, upBound=1, cat="Integer"))
            for k, piece in enumerate(choices)
        ]
        model.pieces.append(named)
        model.seconds.append(pulp.lpSum(piece.seconds * z for piece, z in named))
        if i < numbers.num_stages - 1:
            model.cuts.append(pulp.lpSum(piece.cut_after * z for piece, z in named))
    join_pieces(model)
    model.program += model.period >= least_period, "least_period"
    bound_period(model)
    minimise_step(model)
    return model


def narrow(model: SplitModel, low: float, limit: float) -> None:
    """Keep of the counting form the splits of period from `low` to `limit`: no stage takes more of a run than fits."""
    model.program += model.period >= low * (1 - MARGIN), "least_period"
    model.period.upBound = limit * (1 + MARGIN)
    for place, row in zip(model.order, model.counts, strict=True):
        seconds = model.numbers.places[place].seconds
        for run, count in zip(model.runs, row, strict=True):
            each = float(seconds[run.first + 1] - seconds[run.first])
            if each > 0:
                count.upBound = min(run.count, int(limit * (1 + MARGIN) / each))


def _empty_model(numbers: Numbers) -> SplitModel:
    order = numbers.problem.order
    assert order is not None, "the program needs a fixed order"
    program: Any = pulp.LpProblem("split", pulp.LpMinimize)
    model = SplitModel(numbers=numbers, order=order, program=program)
    model.period = program.add_variable("period", lowBound=0)
    return model


def _counted_seconds(model: SplitModel, i: int) -> Any:
    numbers, p = model.numbers, model.numbers.places[model.order[i]]
    ends = p.extra + p.first[0] * (i == 0) + p.last[0] * (i == numbers.num_stages - 1)
    each = [float(p.seconds[run.first + 1] - p.seconds[run.first]) for run in model.runs]
    return pulp.lpSum(t * n for t, n in zip(each, model.counts[i], strict=True)) + ends


def _constant_cut(model: SplitModel, i: int) -> float:
    pair = float(model.numbers.pair[model.order[i], model.order[i + 1]])
    return pair + float(model.numbers.by_position[i])


def _name(model: SplitModel, name: str, meaning: str) -> str:
    model.rows[name] = meaning
    return name


def place_every_layer(model: SplitModel) -> None:
    """All layers of each run are held by some stage."""
    for g, run in enumerate(model.runs):
        name = _name(model, f"layers_{g}", f"all {run.count} layers from {run.first} on are placed")
        model.program += pulp.lpSum(row[g] for row in model.counts) == run.count, name


def keep_layers_in_order(model: SplitModel) -> None:
    """A stage prefix takes layers of a run only when it has taken all of the run before."""
    for g, (run, after) in enumerate(pairwise(model.runs)):
        for i in range(model.numbers.num_stages - 1):
            begun = model.program.add_variable(f"b_{i}_{g}", lowBound=0, upBound=1, cat="Integer")
            taken = pulp.lpSum(row[g] for row in model.counts[: i + 1])
            later = pulp.lpSum(row[g + 1] for row in model.counts[: i + 1])
            model.program += taken >= run.count * begun, _name(model, f"ended_{i}_{g}", "layers keep their order")
            model.program += later <= after.count * begun, _name(model, f"begun_{i}_{g}", "layers keep their order")


def give_each_stage_layers(model: SplitModel) -> None:
    """Each stage holds the least number of layers."""
    least = model.numbers.problem.min_layers
    for i, row in enumerate(model.counts):
        name = _name(model, f"least_{i}", f"{_stage(model, i)} holds at least {least} layers")
        model.program += pulp.lpSum(row) >= least, name


def fit_memory(model: SplitModel) -> None:
    """State and held activations of each stage fit its memory."""
    for i, place in enumerate(model.order):
        p, held = model.numbers.places[place], model.numbers.problem.held(i)
        if np.isinf(p.limit):
            continue
        ends = [p.first] * (i == 0) + [p.last] * (i == model.numbers.num_stages - 1)
        room = p.limit - p.fixed - sum(end[1] + held * end[2] for end in ends)
        weights = p.state + held * p.held
        each = [float(weights[run.first + 1] - weights[run.first]) for run in model.runs]
        unit = max(each) or 1.0
        load = pulp.lpSum(b / unit * n for b, n in zip(each, model.counts[i], strict=True))
        model.program += load <= room / unit, _name(model, f"memory_{i}", f"{_stage(model, i)} fits its memory")


def join_pieces(model: SplitModel) -> None:
    """The pieces of neighbouring stages meet: one path from the first layer to the last."""
    model.program += pulp.lpSum(z for _, z in model.pieces[0]) == 1, "one_path"
    for i, (pieces, following) in enumerate(pairwise(model.pieces)):
        for at in sorted({piece.end for piece, _ in pieces} | {piece.start for piece, _ in following}):
            arriving = pulp.lpSum(z for piece, z in pieces if piece.end == at)
            leaving = pulp.lpSum(z for piece, z in following if piece.start == at)
            model.program += arriving == leaving, f"meet_{i}_{at}"


def bound_period(model: SplitModel) -> None:
    """The period is no less than any stage, and with links than the mean of any run of neighbours and their cuts."""
    for r in range(len(model.seconds)):
        total: Any = 0
        reach = len(model.seconds) if model.numbers.links else r + 1
        for q in range(r, reach):
            total = total + model.seconds[q] + (2 * model.cuts[q - 1] if q > r else 0)
            model.program += (q - r + 1) * model.period >= total, f"period_{r}_{q}"


def minimise_step(model: SplitModel) -> None:
    """The objective: stages and cuts once, and the period for each further micro-batch; its constant is the offset.

    PuLP does not hand the constant to the solver, whose bound would lack it.
    """
    numbers = model.numbers
    tail = numbers.places[model.order[-1]].tail * numbers.tail_weight
    if numbers.problem.objective == "bottleneck":
        model.program += model.period
        return
    total: Any = pulp.lpSum([*model.seconds, *(numbers.cut_weight * cut for cut in model.cuts)])
    constant = _constant(total)
    model.offset = constant + tail
    model.program += total - constant + numbers.period_weight * model.period


def _constant(expression: Any) -> float:
    return float(expression.constant)


def start_from(model: SplitModel, split: Split) -> None:
    """Give the solver a split to start from."""
    start = 0
    for i, layers in enumerate(split.layers):
        end = start + layers
        for run, variable in zip(model.runs, model.counts[i] if model.counts else (), strict=False):
            overlap = max(0, min(end, run.first + run.count) - max(start, run.first))
            variable.setInitialValue(overlap)
        for piece, variable in model.pieces[i] if model.pieces else ():
            variable.setInitialValue(int((piece.start, piece.end) == (start, end)))
        start = end


def read_split(model: SplitModel) -> Split | None:
    """Read the solver's values; None when they are absent or not integers."""
    layers: list[int] = []
    for i in range(model.numbers.num_stages):
        if model.counts:
            values = [variable.varValue for variable in model.counts[i]]
        else:
            values = [(piece.end - piece.start) * (z.varValue or 0) for piece, z in model.pieces[i]]
        if any(value is None or abs(value - round(value)) > 1e-4 for value in values):
            return None
        layers.append(sum(round(value) for value in values))
    return Split(order=model.order, layers=tuple(layers))


def _stage(model: SplitModel, i: int) -> str:
    return f"stage {i} ({model.numbers.problem.places[model.order[i]].name})"
