"""Solve a split: the exact search first, then the integer program started from its answer, then our own check.

Both must name the same objective. Where they differ the better split that passes the check is kept and the bound is
the lower of the two, so that neither a wrong status nor a wrong search can make a plan look proven.
"""

import time
from dataclasses import dataclass, replace

from hyperflow.plan.arrays import Numbers, make_numbers
from hyperflow.plan.best import search_exact
from hyperflow.plan.cover import least_period, longest_period
from hyperflow.plan.milp import (
    SplitModel,
    can_count,
    counting_model,
    find_runs,
    narrow,
    piece_model,
    read_split,
    start_from,
)
from hyperflow.plan.pieces import useful_pieces
from hyperflow.plan.price import Price, price_split
from hyperflow.plan.problem import Split, SplitProblem
from hyperflow.plan.solver import SOLVER_NAME, run_solver

AGREEMENT = 1e-6
MOST_PIECES = 6000
CONFIRMATION_SECONDS = 0.5
"""What the integer program may take to confirm an answer that the exact search has proven."""
MOST_PERIOD_ROWS = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class Solved:
    """The best split, what it costs, and how far that is proven; `split` is None when nothing satisfies all.

    `proven` with no split means proven infeasible. `remarks` say where the methods disagreed or one was left out.
    """

    split: Split | None
    price: Price | None
    proven: bool
    bound_seconds: float
    gap: float
    solver: str
    solve_seconds: float
    remarks: tuple[str, ...] = ()


def solve_split(
    problem: SplitProblem, *, seconds: float = 30.0, confirmation_seconds: float = CONFIRMATION_SECONDS
) -> Solved:
    """Find the best split of a problem, its bound and its gap, within about `seconds`.

    `confirmation_seconds` is what the integer program may take once the exact search has proven its answer.
    """
    start = time.monotonic()
    exact = search_exact(problem, seconds)
    if exact.split is None:
        return _solved(problem, None, exact.bound_seconds, exact.proven, "exact search", start, ())
    split, bound, proven = exact.split, exact.bound_seconds, exact.proven
    left = confirmation_seconds if proven else max(1.0, seconds - (time.monotonic() - start))
    program = solve_program(replace(problem, order=split.order, grouped=False), split, left)
    remarks = list(program.remarks)
    solver = "exact search"
    if program.split is not None:
        mine, its = price_split(problem, split), price_split(problem, program.split)
        if its.feasible and its.objective_seconds < mine.objective_seconds * (1 - AGREEMENT):
            split = program.split
            remarks.append("the integer program found a better split than the exact search")
            bound, proven = min(bound, program.bound_seconds), False
    if program.proven:
        solver = f"{SOLVER_NAME} and exact search"
        if problem.order is not None and not proven and program.bound_seconds > bound:
            bound = program.bound_seconds
            proven = bound >= price_split(problem, split).objective_seconds * (1 - AGREEMENT)
    return _solved(problem, split, bound, proven, solver, start, tuple(remarks))


def _solved(
    problem: SplitProblem,
    split: Split | None,
    bound: float,
    proven: bool,
    solver: str,
    start: float,
    remarks: tuple[str, ...],
) -> Solved:
    price = None if split is None else price_split(problem, split)
    assert price is None or price.feasible, "an answer passed no check"
    objective = price.objective_seconds if price else float("inf")
    gap = 0.0 if proven else (max(0.0, 1 - bound / objective) if price and objective > 0 else float("inf"))
    return Solved(
        split=split,
        price=price,
        proven=proven,
        bound_seconds=objective if proven else bound,
        gap=gap,
        solver=solver,
        solve_seconds=time.monotonic() - start,
        remarks=remarks,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramAnswer:
    """What the integer program gave for a fixed order, checked: `bound_seconds` is 0 when it proved nothing."""

    split: Split | None
    proven: bool
    bound_seconds: float
    remarks: tuple[str, ...] = ()


def solve_program(problem: SplitProblem, known: Split | None, seconds: float) -> ProgramAnswer:
    """Solve the fixed order as an integer program, from a known split where there is one, and check the answer."""
    numbers = make_numbers(problem)
    model = _build(numbers, known)
    if model is None:
        return ProgramAnswer(
            split=None, proven=False, bound_seconds=0.0, remarks=("too large for the integer program",)
        )
    if known is not None:
        start_from(model, known)
    answer = run_solver(model.program, seconds, warm=known is not None)
    if answer.status in ("infeasible", "failed"):
        told = known is not None and answer.status == "infeasible"
        remarks = (f"{SOLVER_NAME} calls a problem infeasible that has a checked split",) if told else ()
        return ProgramAnswer(split=None, proven=False, bound_seconds=0.0, remarks=remarks)
    split = read_split(model)
    if split is not None and not price_split(problem, split).feasible:
        split = None
    bound = 0.0 if answer.bound is None else (answer.bound + model.offset) * numbers.scale
    best = [price_split(problem, s).objective_seconds for s in (split, known) if s is not None]
    proven = bool(best) and bound >= min(best) * (1 - AGREEMENT)
    remarks: tuple[str, ...] = ()
    if not proven:
        remarks = (f"{SOLVER_NAME} {answer.status} with the bound {bound:.6g} s",)
    return ProgramAnswer(split=split, proven=proven, bound_seconds=bound, remarks=remarks)


def _build(numbers: Numbers, known: Split | None) -> SplitModel | None:
    runs = find_runs(numbers)
    counts = can_count(numbers, runs) and not (numbers.links and numbers.num_stages**2 / 2 > MOST_PERIOD_ROWS)
    model = counting_model(numbers, runs) if counts else None
    if known is None:
        return model
    price = price_split(numbers.problem, known)
    worst, low = price.objective_seconds / numbers.scale, 0.0
    if numbers.period_weight > 0:
        low = least_period(numbers, price.period_seconds / numbers.scale, 1e-4 if model else 1e-12)
    if model is not None:
        if numbers.period_weight > 0:
            narrow(model, low, longest_period(numbers, worst))
        return model
    pieces = useful_pieces(numbers, low, worst, MOST_PIECES)
    return None if pieces is None else piece_model(numbers, pieces, low)
