"""The verb `evaluate`."""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace

from hyperflow.cli.output import print_findings, print_json, print_table
from hyperflow.cost.evaluation import EvaluatedRun, SourceSummary, evaluate_run, summarise
from hyperflow.cost.spending import device_hours, money
from hyperflow.errors import Finding, UsageError
from hyperflow.inventory.calibration_file import read_calibration
from hyperflow.inventory.profile import read_profile
from hyperflow.inventory.run_table import read_run_table, template_text
from hyperflow.ir.runs import Run, SkippedRun
from hyperflow.units import GIB, format_seconds

CONVENTIONS = {
    "mfu": "model FLOP of forward and backward, causal attention counted half, over the 16-bit peak",
    "hfu": "with recomputed FLOP and attention counted full, over the 16-bit peak",
    "memory": "tensors of the fullest rank; neither CUDA context nor fragmentation",
    "interval": "80 %, from runs left out of the fit",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `evaluate`."""
    parser.add_argument("runs", nargs="?", metavar="RUNS.csv", help="measured runs, one a row")
    parser.add_argument("--template", action="store_true", help="print an empty table with all columns and stop")
    parser.add_argument("--calibration", metavar="FILE", help="constants that hyperflow calibrate wrote")
    parser.add_argument("--profile", metavar="FILE", help="measured layer times that replace computed ones")
    parser.add_argument("--price", type=float, metavar="PER_HOUR", help="price of a device and hour, for money")
    parser.add_argument("--rows", action="store_true", help="also list every row")


def run(args: argparse.Namespace) -> int:
    """Predict every run of a table and print errors per source; 1 when a row could not be read."""
    if args.template:
        sys.stdout.write(template_text())
        return 0
    if not args.runs:
        raise UsageError(
            Finding(code="HF605", message="evaluate needs a table of runs", hint="give RUNS.csv, or --template")
        )
    calibration = read_calibration(args.calibration) if args.calibration else None
    profile = read_profile(args.profile) if args.profile else None
    table = read_run_table(args.runs, profile)
    rows: list[EvaluatedRun | SkippedRun] = [
        evaluate_run(row, calibration, profile) if isinstance(row, Run) else row for row in table.rows
    ]
    evaluated = [row for row in rows if isinstance(row, EvaluatedRun)]
    summary = summarise(evaluated, [row for row in rows if isinstance(row, SkippedRun)])
    if args.format == "json":
        document = {
            "conventions": CONVENTIONS,
            "rows": [_row_json(row, args.price) for row in rows],
            "summary": [_summary_json(item) for item in summary],
        }
        print_json(document, table.findings)
    else:
        if args.rows:
            _print_rows(rows)
        _print_summary(summary)
    print_findings(_first_of_each(table.findings))
    return 1 if any(finding.severity == "error" for finding in table.findings) else 0


def _first_of_each(findings: Sequence[Finding]) -> list[Finding]:
    """For people: findings that differ by their row alone are shown once, with the number of the others."""
    alike: dict[tuple[str, str, str | None], list[Finding]] = {}
    for finding in findings:
        alike.setdefault((finding.code, finding.message, finding.got), []).append(finding)
    return [
        replace(first, message=f"{first.message} ({len(others)} more rows alike)") if others else first
        for first, *others in alike.values()
    ]


def _row_json(row: EvaluatedRun | SkippedRun, price: float | None) -> dict[str, object]:
    if isinstance(row, SkippedRun):
        return {
            "id": row.identifier, "source": row.source, "measured_seconds": row.measured_seconds,
            "predicted_seconds": None, "measured_memory_gib": _gib(row.measured_bytes),
            "predicted_memory_gib": None, "skipped": row.reason,
        }  # fmt: skip
    prediction = row.prediction
    return {
        "id": row.run.identifier,
        "source": row.run.source,
        "kind": row.run.kind,
        "measured_seconds": row.run.measured_seconds,
        "predicted_seconds": prediction.seconds,
        "predicted_seconds_low": prediction.seconds_low,
        "predicted_seconds_high": prediction.seconds_high,
        "measured_memory_gib": _gib(row.run.measured_bytes),
        "predicted_memory_gib": _gib(prediction.memory_bytes),
        "mfu": prediction.mfu,
        "hfu": prediction.hfu,
        "tokens_per_second": prediction.tokens_per_second,
        "gpu_hours_per_1000_steps": device_hours(prediction.seconds, row.run.num_devices),
        "money_per_1000_steps": money(prediction.seconds, [(row.run.num_devices, price)]),
        "calibrated": prediction.calibrated,
        "assumptions": list(row.run.assumptions),
        "skipped": None,
    }


def _summary_json(item: SourceSummary) -> dict[str, object]:
    document = asdict(item)
    document["skipped_why"] = dict(item.skipped_why)
    return document


def _gib(size: float | None) -> float | None:
    return size / GIB if size is not None else None


def _percent(value: float | None, *, signed: bool = False) -> str:
    if value is None:
        return "-"
    return f"{value * 100:+.1f}%" if signed else f"{value * 100:.1f}%"


def _print_summary(summary: Sequence[SourceSummary]) -> None:
    header = [
        "source",
        "device",
        "kind",
        "rows",
        "time error",
        "bias",
        "in 80% interval",
        "memory error",
        "worst under",
    ]
    lines = [
        [
            item.source[:40], _device(item), item.kind, str(item.rows), _percent(item.time_mape),
            _percent(item.time_bias, signed=True), _percent(item.interval_coverage), _percent(item.memory_mape),
            _percent(item.memory_worst_under, signed=True),
        ]
        for item in summary
        if item.rows
    ]  # fmt: skip
    print_table(header, lines, right=(3, 4, 5, 6, 7, 8))
    skipped = [(item.source[:40], reason, count) for item in summary for reason, count in item.skipped_why]
    if skipped:
        sys.stdout.write("\nskipped\n")
        print_table(["source", "rows", "why"], [[s, str(n), why] for s, why, n in skipped], right=(1,))


def _device(item: SourceSummary) -> str:
    return item.device if item.calibrated else f"{item.device} (uncalibrated)"


def _print_rows(rows: Sequence[EvaluatedRun | SkippedRun]) -> None:
    lines: list[list[str]] = []
    for row in rows:
        if isinstance(row, SkippedRun):
            lines.append([row.identifier, "", "", "", "", "", f"skipped: {row.reason}"])
            continue
        measured, memory = row.run.measured_seconds, row.run.measured_bytes
        lines.append(
            [
                row.run.identifier, row.run.model.name, format_seconds(measured) if measured else "-",
                format_seconds(row.prediction.seconds), _percent(row.time_error, signed=True),
                f"{memory / GIB:.1f}" if memory else "-",
                f"{row.prediction.memory_bytes / GIB:.1f} GiB {_percent(row.memory_error, signed=True)}",
            ]
        )  # fmt: skip
    print_table(["id", "model", "measured", "predicted", "error", "GiB", "predicted memory"], lines, right=(2, 3, 4, 5))
    sys.stdout.write("\n")
