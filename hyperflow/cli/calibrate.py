"""The verb `calibrate`."""

import argparse
import sys
from dataclasses import asdict
from pathlib import Path

from hyperflow.catalog.calibration import default_calibration
from hyperflow.cli.output import print_findings, print_json, print_table
from hyperflow.cost.evaluation import mean, mean_absolute
from hyperflow.cost.fitting import FEWEST_RUNS, SCRATCH, Fit, fit_calibration
from hyperflow.errors import Finding, InputError
from hyperflow.inventory.calibration_file import calibration_text, read_calibration
from hyperflow.inventory.run_table import read_run_table
from hyperflow.ir.calibration import Calibration
from hyperflow.ir.runs import Run


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `calibrate`."""
    parser.add_argument("runs", metavar="RUNS.csv", help="measured runs, one a row (evaluate --template)")
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="where to write the calibration")
    parser.add_argument(
        "--prior",
        metavar="FILE",
        help="start from this calibration and keep its other devices; `shipped` names HyperFlow's own "
        "(default: usual shares, so that errors of left-out runs are honest)",
    )


def run(args: argparse.Namespace) -> int:
    """Fit the constants, write them, and print the errors of runs that were left out of the fit."""
    table = read_run_table(args.runs)
    usable = [row for row in table.rows if isinstance(row, Run) and row.measured_seconds and row.fit]
    by_device: dict[str, int] = {}
    for row in usable:
        by_device[row.stage_devices[0].name] = by_device.get(row.stage_devices[0].name, 0) + 1
    if max(by_device.values(), default=0) < FEWEST_RUNS:
        raise InputError([*table.findings, _too_few(args.runs, by_device)])
    start = _prior(args.prior)
    fit = fit_calibration(usable, Path(args.runs).name, start, lambda line: print(line, file=sys.stderr))
    try:
        Path(args.output).write_text(calibration_text(fit.calibration), encoding="utf-8")
    except OSError as error:
        raise InputError(
            Finding(
                code="HF607",
                message=f"cannot write {args.output}: {error.strerror or error}",
                where=str(args.output),
                hint="give a path that can be written",
            )
        ) from error
    lines = _error_lines(fit)
    if args.format == "json":
        document = {
            "file": args.output,
            "rows_fitted": len(usable),
            "devices": {name: asdict(row) for name, row in sorted(fit.calibration.devices.items())},
            "left_out": [
                {"group": group, "device": device, "kind": kind, "rows": count, "time_mape": mape, "time_bias": bias}
                for group, device, kind, count, mape, bias in lines
            ],
        }
        print_json(document, table.findings)
    else:
        sys.stdout.write("errors of runs that were left out of the fit (each group by constants fitted without it)\n")
        shown = [[g[:48], d, k, str(n), f"{m * 100:.1f}%", f"{b * 100:+.1f}%"] for g, d, k, n, m, b in lines]
        print_table(["left out", "device", "kind", "rows", "time error", "bias"], shown, right=(3, 4, 5))
        sys.stdout.write(f"\nwrote {args.output}: {len(usable)} runs, {len(fit.calibration.devices)} devices\n")
    print_findings(table.findings)
    return 1 if any(finding.severity == "error" for finding in table.findings) else 0


def _prior(given: str | None) -> Calibration:
    if given is None:
        return SCRATCH
    return default_calibration() if given == "shipped" else read_calibration(given)


def _error_lines(fit: Fit) -> list[tuple[str, str, str, int, float, float]]:
    groups: dict[tuple[str, str, str], list[float]] = {}
    for item in fit.left_out:
        key = (item.group, item.run.stage_devices[0].name, item.run.kind)
        groups.setdefault(key, []).append(item.error)
    return [(*key, len(errors), mean_absolute(errors) or 0.0, mean(errors) or 0.0) for key, errors in groups.items()]


def _too_few(path: str, by_device: dict[str, int]) -> Finding:
    got = ", ".join(f"{name}: {count}" for name, count in sorted(by_device.items())) or "no usable row"
    return Finding(
        code="HF606",
        message=f"too few runs to fit any device: {got}",
        where=path,
        got=got,
        expected=f"at least {FEWEST_RUNS} runs on one device",
        hint="add rows with iter_time_s; different models, degrees and batch sizes tell most",
    )
