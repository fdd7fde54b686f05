"""The only file that names a solver: runs HiGHS through PuLP and says what it answered, believed by nobody yet."""

import os
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import pulp

SOLVER_NAME = "HiGHS"

Status = Literal["optimal", "infeasible", "stopped", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SolverAnswer:
    """What the solver said; `bound` is its proven bound on the objective (None: none)."""

    status: Status
    bound: float | None
    seconds: float


def run_solver(program: Any, seconds: float, *, warm: bool = False) -> SolverAnswer:
    """Solve a PuLP program within a time limit, one thread, no gap left on purpose.

    The status is read from the solver itself, since PuLP 3 and 4 name outcomes differently and PuLP 3 calls a
    time-out optimal.
    """
    solver: Any = pulp.HiGHS(
        msg=False, timeLimit=seconds, gapRel=1e-9, threads=1, warmStart=warm, mip_abs_gap=1e-9, random_seed=0
    )
    start = time.monotonic()
    try:
        with quiet_stdout():
            program.solve(solver)
    except pulp.PulpSolverError:
        return SolverAnswer(status="failed", bound=None, seconds=time.monotonic() - start)
    engine = program.solverModel
    text = str(engine.modelStatusToString(engine.getModelStatus()))
    statuses: dict[str, Status] = {"Optimal": "optimal", "Infeasible": "infeasible", "Time limit reached": "stopped"}
    bound = float(engine.getInfo().mip_dual_bound)
    return SolverAnswer(
        status=statuses.get(text, "failed"),
        bound=bound if abs(bound) < 1e29 else None,
        seconds=time.monotonic() - start,
    )


@contextmanager
def quiet_stdout() -> Generator[None]:
    """Drop what native code writes to standard output: HiGHS prints a banner even when silenced."""
    sys.stdout.flush()
    try:
        saved = os.dup(1)
    except OSError:  # no standard output to protect
        yield
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 1)
        yield
    finally:
        os.dup2(saved, 1)
        os.close(saved)
        os.close(nowhere)
