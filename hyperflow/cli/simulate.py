"""`hyperflow simulate`: time pipeline schedules exactly, and draw one or compare several."""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from hyperflow.cli.output import print_findings, print_json, print_table
from hyperflow.errors import Finding, HyperFlowError, InputError, UsageError, nearest
from hyperflow.inventory.documents import read_documents
from hyperflow.ir.timeline import Timeline
from hyperflow.json_tree import mapping
from hyperflow.report.timeline_svg import Panel, draw_timelines
from hyperflow.simulate.cases import Case, case_id, read_case, rows_of, run_case, settle_warmup
from hyperflow.simulate.torch_csv import compute_only_csv

_MEASURES = (
    "makespan",
    "span_max",
    "idle_per_rank",
    "idle_fraction_per_rank",
    "bubble_fraction",
    "peak_until_W",
    "peak_until_B",
    "warmup",
    "idle_by_cluster",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("cases", metavar="CASES.json", help="cases, as a list or under `rows` (docs/schedules.md)")
    parser.add_argument("--case", action="append", default=[], metavar="ID", help="only this case; may be repeated")
    parser.add_argument("--svg", metavar="FILE", help="draw the first case, or all of --case on one time scale")
    parser.add_argument("--unit", default="", metavar="NAME", help="the unit of the times, for the picture")
    parser.add_argument("--csv", metavar="FILE", help="write the first case's order as PyTorch's compute-only file")
    parser.add_argument("--blocking-sends", action="store_true", help="a rank waits while what it sent is on its way")
    parser.add_argument(
        "--queue-transfers", action="store_true", help="a link carries one transfer at a time, each way"
    )


def run(args: argparse.Namespace) -> int:
    """Time the cases; exit 1 only when all are refused."""
    shown: list[tuple[Case, Timeline]] = []  # only what is drawn: the timelines of many cases take much memory
    lines: list[list[str]] = []
    results: list[dict[str, object]] = []
    findings: list[Finding] = []
    for index, row in _chosen_rows(args):
        try:
            case, reasons = settle_warmup(_with_options(read_case(row, index), args))
            timeline = run_case(case)
        except HyperFlowError as error:
            refused = _refused(row, index, error)
            results.append(refused)
            findings += [replace(f, where=f"case {refused['id']}, {f.where}".strip(", ")) for f in error.findings]
            continue
        if args.case or not shown:
            shown.append((case, timeline))
        lines.append(_line(case, timeline))
        results.append(_result(case, timeline))
        if reasons:
            text = " ".join(reasons)
            findings.append(Finding(code="HF660", severity="note", message=text, where=f"case {case.id}, warmup"))
    if shown and args.svg:
        _draw(args, shown)
    if shown and args.csv:
        _write(args.csv, compute_only_csv(shown[0][1].order))
    if args.format == "json":
        print_json({"results": results}, findings)
    else:
        _print(lines)
        print_findings(findings)
    return 0 if shown else 1


def _chosen_rows(args: argparse.Namespace) -> list[tuple[int, object]]:
    """Give (index, row) of all cases, or of those that --case names, in the order named."""
    documents = read_documents(args.cases)
    rows = list(enumerate(rows_of(documents[0].value if documents else None, args.cases)))
    if not args.case:
        return rows
    by_id = {str(case_id(row, index)): (index, row) for index, row in rows}
    unknown = [name for name in args.case if name not in by_id]
    if unknown:
        raise UsageError(
            Finding(
                code="HF659",
                message=f"no case has the id {', '.join(unknown)}",
                where="--case",
                got=", ".join(unknown),
                hint=nearest(unknown[0], by_id) or "an id is the field `id`, or the index of the case from 0",
            )
        )
    return [by_id[name] for name in args.case]


def _with_options(case: Case, args: argparse.Namespace) -> Case:
    """Apply the switches that hold for all cases."""
    return replace(
        case,
        blocking_sends=case.blocking_sends or args.blocking_sends,
        occupancy=case.links if args.queue_transfers else case.occupancy,
    )


def _result(case: Case, timeline: Timeline) -> dict[str, object]:
    return {
        "id": case.id,
        "schedule": case.schedule,
        "makespan": timeline.makespan,
        "span_max": timeline.span_max,
        "idle_per_rank": list(timeline.idle_per_rank),
        "idle_fraction_per_rank": [round(share, 6) for share in timeline.idle_fractions],
        "bubble_fraction": round(timeline.bubble_fraction, 6),
        "peak_until_W": list(timeline.peak_until_weight),
        "peak_until_B": list(timeline.peak_until_input),
        "warmup": list(case.warmup) if case.warmup else None,
        "idle_by_cluster": dict(timeline.idle_by_cluster(case.clusters)) if case.clusters else None,
        "error": None,
    }


def _refused(row: object, index: int, error: HyperFlowError) -> dict[str, object]:
    text = "; ".join(f"{finding.where}: {finding.message} (got {finding.got})" for finding in error.findings)
    nothing = dict.fromkeys(_MEASURES)
    return {"id": case_id(row, index), "schedule": mapping(row).get("schedule"), **nothing, "error": text}


def _draw(args: argparse.Namespace, shown: Sequence[tuple[Case, Timeline]]) -> None:
    panels = [
        Panel(title=f"{case.id}: {case.schedule}", timeline=timeline, clusters=case.clusters)
        for case, timeline in shown
    ]
    _write(args.svg, draw_timelines(panels, unit=args.unit))


def _write(path: str, text: str) -> None:
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(
            Finding(
                code="HF658",
                message=f"cannot write {path}: {error.strerror or error}",
                where=path,
                hint="give a path in a directory that exists and may be written",
            )
        ) from error


def _line(case: Case, timeline: Timeline) -> list[str]:
    """Give the table's line of a case; peaks in whole micro-batches."""
    return [
        str(case.id),
        case.schedule,
        str(case.times.num_ranks),
        str(case.chunks),
        str(case.microbatches),
        f"{timeline.makespan:g}",
        f"{timeline.span_max:g}",
        f"{timeline.bubble_fraction:.1%}",
        " ".join(f"{share:.0%}" for share in timeline.idle_fractions),
        " ".join(f"{peak / case.chunks:g}" for peak in timeline.peak_until_weight),
    ]


def _print(lines: Sequence[Sequence[str]]) -> None:
    if lines:
        header = ["case", "schedule", "p", "v", "m", "makespan", "span", "idle", "idle by rank", "peak micro-batches"]
        print_table(header, lines, right=(2, 3, 4, 5, 6, 7))
