"""`hyperflow split PROBLEM.json`: divide layers over stages, proven optimal."""

import argparse

from hyperflow.cli.number_of_seconds import number_of_seconds
from hyperflow.cli.output import print_findings, print_json, print_table
from hyperflow.errors import Finding, InputError
from hyperflow.inventory.documents import read_documents
from hyperflow.plan.conflicts import fewer_stages, find_conflicts, find_mend
from hyperflow.plan.problem_json import read_problem
from hyperflow.plan.split import Solved, solve_split
from hyperflow.plan.symmetry import Merged, merge_equal_places
from hyperflow.units import format_bytes, format_seconds


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the problem and the time limit."""
    parser.add_argument(
        "problem",
        metavar="PROBLEM.json",
        help="microbatches, stages, layer_seconds and more: docs/planner.md, The problem file, has every key and an "
        "example; - reads standard input",
    )
    parser.add_argument("--seconds", type=number_of_seconds, default=30.0, help="time limit of the search (default 30)")


def run(args: argparse.Namespace) -> int:
    """Solve the problem of the file; 3 when no split exists."""
    documents = read_documents(args.problem)
    if len(documents) > 1:
        message, got = "a file holds one problem", f"{len(documents)} documents"
        raise InputError(Finding(code="HF200", message=message, where=args.problem, got=got, expected="one"))
    problem, findings = read_problem(documents[0].value if documents else None, args.problem)
    merged = merge_equal_places(problem)
    solved = solve_split(merged.problem, seconds=args.seconds)
    if solved.split is None:
        return _print_infeasible(args, merged, solved, findings)
    findings = [*findings, *_doubts(solved, args.problem)]
    if args.format == "json":
        print_json(_as_json(merged, solved), findings)
    else:
        _print_split(merged, solved)
        print_findings(findings)
    return 0


def _as_json(merged: Merged, solved: Solved) -> dict[str, object]:
    assert solved.split is not None and solved.price is not None, "only a found split is printed"
    return {
        "order": merged.names(solved.split),
        "split": list(solved.split.layers),
        "stage_seconds": list(solved.price.stage_seconds),
        "boundary_seconds": list(solved.price.cut_seconds),
        "memory_bytes": list(solved.price.memory_bytes),
        "period_seconds": solved.price.period_seconds,
        "objective_seconds": solved.price.objective_seconds,
        "proven": solved.proven,
        "bound": solved.bound_seconds,
        "gap": solved.gap,
        "solver": solved.solver,
        "solve_seconds": solved.solve_seconds,
    }


def _print_split(merged: Merged, solved: Solved) -> None:
    assert solved.split is not None and solved.price is not None, "only a found split is printed"
    price, places = solved.price, merged.problem.places
    names = merged.names(solved.split)
    rows: list[list[str]] = []
    for i, layers in enumerate(solved.split.layers):
        place = places[solved.split.order[i]]
        limit = place.memory_bytes if merged.problem.tables[place.device].state_bytes else None
        memory = f"{format_bytes(price.memory_bytes[i])} of {format_bytes(limit)}" if limit is not None else "-"
        busy = price.stage_seconds[i] / price.period_seconds if price.period_seconds else 0.0
        rows.append(
            [str(i), names[i], place.device, str(layers), format_seconds(price.stage_seconds[i]), f"{busy:.0%}", memory]
        )
    print_table(["#", "STAGE", "DEVICE", "LAYERS", "TIME", "BUSY", "MEMORY"], rows, right=(0, 3, 4, 5))
    proof = "proven optimal" if solved.proven else f"not proven: within {solved.gap:.2%} of the bound"
    print(
        f"objective {format_seconds(price.objective_seconds)}, {proof} ({solved.solver}, {solved.solve_seconds:.2f} s)"
    )


def _doubts(solved: Solved, where: str) -> list[Finding]:
    if solved.proven:
        return []
    return [
        Finding(
            code="HF202",
            severity="warning",
            message=f"the time limit ended the search {solved.gap:.2%} above its bound",
            where=where,
            hint="raise --seconds",
        )
    ]


def _print_infeasible(args: argparse.Namespace, merged: Merged, solved: Solved, findings: list[Finding]) -> int:
    if not solved.proven:
        finding = Finding(
            code="HF202",
            message="the time limit ended the search before it found a split",
            where=args.problem,
            hint="raise --seconds, or fix the order",
        )
        conflicts, mend = (), None
    else:
        conflicts, mend = find_conflicts(merged.problem), find_mend(merged.problem)
        hint = fewer_stages(merged.problem)
        if mend is not None:
            whole = format_bytes(mend.memory_bytes)
            hint = f"{format_bytes(mend.more_bytes)} more on {mend.place} ({whole} in all) would do"
        told = "; ".join(conflict.text for conflict in conflicts)
        finding = Finding(
            code="HF209", message=f"no split exists: these cannot hold together: {told}", where=args.problem, hint=hint
        )
    if args.format == "json":
        document: dict[str, object] = {
            "order": None,
            "split": None,
            "proven": solved.proven,
            "solver": solved.solver,
            "solve_seconds": solved.solve_seconds,
            "conflicts": [{"kind": c.kind, "stage": c.place or None, "text": c.text} for c in conflicts],
            "smallest_change": None
            if mend is None
            else {"stage": mend.place, "memory_bytes": mend.memory_bytes, "more_bytes": mend.more_bytes},
        }
        print_json(document, [*findings, finding])
    print_findings([*findings, finding])
    return 3
