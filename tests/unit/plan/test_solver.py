"""The solver's traps: it is never believed, and it never writes to standard output."""

import pulp
import pytest

from hyperflow.plan import split as split_module
from hyperflow.plan.problem import LayerTable, Place, SplitProblem
from hyperflow.plan.solver import SolverAnswer, run_solver


def five_binaries():
    """A feasible problem that CBC calls infeasible (coin-or/pulp#662): x all 1, c all 0."""
    program = pulp.LpProblem("five", pulp.LpMinimize)
    x = [program.add_variable(f"x_{i}", lowBound=0, upBound=1, cat="Integer") for i in range(3)]
    c = [program.add_variable(f"c_{i}", lowBound=0, upBound=1, cat="Integer") for i in range(2)]
    program += c[0] + c[1]
    program += x[0] + c[1] == 1, "one"
    program += x[0] + c[0] >= 1, "two"
    program += x[1] + c[1] <= 1, "three"
    program += c[0] + c[1] <= 1, "four"
    program += x[2] == 1, "five"
    program += 9000 * x[1] + 7200 * x[2] + 10800 * c[1] >= 16200, "six"
    return program, x, c


def test_the_five_binaries_that_cbc_calls_infeasible_are_solved():
    program, x, c = five_binaries()
    assert run_solver(program, 10).status == "optimal"
    assert [round(v.varValue) for v in (*x, *c)] == [1, 1, 1, 0, 0]


def test_an_infeasible_program_is_called_so():
    program, x, _ = five_binaries()
    program += x[2] <= 0, "seven"
    assert run_solver(program, 10).status == "infeasible"


def two_stages():
    return SplitProblem(
        places=(Place(name="a", device="fast"), Place(name="b", device="slow")),
        tables={"fast": LayerTable(seconds=(1.0,) * 8), "slow": LayerTable(seconds=(3.0,) * 8)},
        num_stages=2,
        microbatches=32,
        order=(0, 1),
    )


@pytest.mark.parametrize("status", ["infeasible", "failed", "stopped"])
def test_a_wrong_word_of_the_solver_changes_neither_answer_nor_proof(monkeypatch, status):
    wrong = SolverAnswer(status=status, bound=1e9, seconds=0.0)
    monkeypatch.setattr(split_module, "run_solver", lambda *_, **__: wrong)
    solved = split_module.solve_split(two_stages())
    assert solved.split is not None
    assert (solved.split.layers, solved.proven) == ((6, 2), True)
    assert solved.bound_seconds == pytest.approx(6 + 6 + 31 * 6)


def test_values_that_are_no_split_are_dropped(monkeypatch):
    def lie(program, seconds, *, warm):
        for variable in program.variables():
            variable.setInitialValue(0.5)
        return SolverAnswer(status="optimal", bound=0.0, seconds=0.0)

    monkeypatch.setattr(split_module, "run_solver", lie)
    solved = split_module.solve_split(two_stages())
    assert solved.split is not None
    assert (solved.split.layers, solved.solver) == ((6, 2), "exact search")
