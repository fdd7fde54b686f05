"""The verb `report`."""

import argparse
import csv
import io
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hyperflow.cli.output import print_findings, print_json, print_table
from hyperflow.errors import Finding, InputError
from hyperflow.inventory.bundle_reader import StoredBundle, read_bundle
from hyperflow.inventory.documents import read_text
from hyperflow.json_tree import dig, sequence, text
from hyperflow.report.training_log import LogMeasures, measure_log, read_steps, with_seconds


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `report`."""
    parser.add_argument("bundle", metavar="BUNDLE", help="the folder that compile wrote")
    parser.add_argument(
        "--log", required=True, metavar="FILE", help="a log of Megatron-LM, torchtitan, or with step_seconds"
    )
    parser.add_argument("--submitted", type=_moment, metavar="TIME", help="when the job was submitted (UTC), for ETTR")
    parser.add_argument("--row", metavar="FILE", help="write the run as a row for hyperflow evaluate and calibrate")


def run(args: argparse.Namespace) -> int:
    """Print measured beside predicted: step time, MFU, goodput, ETTR."""
    bundle = read_bundle(Path(args.bundle))
    records = with_seconds(read_steps(read_text(args.log).splitlines()), _tokens_per_device(bundle.plan))
    if not records:
        raise InputError(
            Finding(
                code="HF521",
                message="no training steps are in the log",
                where=args.log,
                expected="lines `iteration N/M | ... elapsed time per iteration (ms): T`, `step: N loss: ... tps: R` "
                "or `step N ... step_seconds S`",
                hint="take the log of the last pipeline stage: hyperflow logs JOB GROUP/INDEX > FILE",
            )
        )
    measures = measure_log(records, args.submitted)
    findings = [] if measures.wall_seconds else [_no_times(args.log)]
    document = _document(bundle.plan, measures)
    if args.row:
        Path(args.row).write_text(_row(bundle, measures), encoding="utf-8")
    if args.format == "json":
        print_json({"job": bundle.job, **document}, findings)
        return 0
    rows = [
        ("step seconds", _number(document["predicted"]["step_seconds"]), _number(measures.step_seconds)),
        ("MFU", _percent(document["predicted"]["mfu"]), _percent(document["measured"]["mfu"])),
        ("goodput", "-", _percent(measures.goodput)),
        ("ETTR", "-", _percent(measures.ettr)),
        ("steps kept, lost", "-", f"{measures.kept_steps}, {measures.lost_steps}"),
        ("restarts", "-", str(measures.restarts)),
    ]
    print_table(("", "PREDICTED", "MEASURED"), rows, right=(1, 2))
    print_findings(findings)
    return 0


def _document(plan: dict[str, Any], measures: LogMeasures) -> dict[str, Any]:
    predicted, mfu = _positive(plan.get("step_seconds")), _positive(plan.get("mfu"))
    return {
        "predicted": {"step_seconds": predicted, "mfu": mfu},
        "measured": {
            "step_seconds": measures.step_seconds,
            "mfu": mfu * predicted / measures.step_seconds if mfu and predicted else None,
            "goodput": measures.goodput,
            "ettr": measures.ettr,
            "kept_steps": measures.kept_steps,
            "lost_steps": measures.lost_steps,
            "restarts": measures.restarts,
            "wall_seconds": measures.wall_seconds,
        },
        "step_seconds_ratio": measures.step_seconds / predicted if predicted else None,
    }


def _positive(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and value > 0 else None


def _world_size(plan: dict[str, Any]) -> int:
    sizes = [dig(plan, "degrees", name) for name in ("tp", "cp", "pp", "dp")]
    product = 1
    for size in sizes:
        product *= size if isinstance(size, int) else 1
    return product


def _tokens_per_device(plan: dict[str, Any]) -> float | None:
    """Tokens of one step for each device, from the plan's own tokens per second."""
    rate, seconds = _positive(plan.get("tokens_per_second")), _positive(plan.get("step_seconds"))
    return rate * seconds / _world_size(plan) if rate and seconds else None


def _no_times(log: str) -> Finding:
    return Finding(
        code="HF528",
        severity="note",
        message="the log's steps carry no times, so goodput and ETTR are not known",
        where=log,
        hint="keep the time stamps that Megatron-LM and torchtitan write at the start of the line",
    )


def _row(bundle: StoredBundle, measures: LogMeasures) -> str:
    """One row with the columns of `evaluate --template` that the plan knows; the model's shape is left to the user."""
    plan = bundle.plan
    stages = sequence(plan.get("stages"))
    devices = sorted({text(dig(stage, "device")) for stage in stages})
    degrees = {name: dig(plan, "degrees", name) for name in ("tp", "cp", "ep", "pp", "dp")}
    row = {
        "id": bundle.name, "source": "own run", "model": bundle.job, "layers": dig(plan, "model", "layers"),
        "hidden": "", "ffn": "", "heads": "", "vocab": "", "seq_len": "", "gpu": "+".join(devices),
        "n_gpus": _world_size(plan), **degrees, "micro_batch": plan.get("micro_batch_size"),
        "global_batch": plan.get("global_batch_size"), "precision": "", "schedule": plan.get("schedule"),
        "recompute": plan.get("recompute"), "zero": plan.get("zero"),
        "stage_layers": "-".join(str(dig(stage, "layers")) for stage in stages),
        "iter_time_s": f"{measures.step_seconds:.6g}",
    }  # fmt: skip
    out = io.StringIO()
    writer = csv.DictWriter(out, list(row), lineterminator="\n")
    writer.writeheader()
    writer.writerow(row)
    return out.getvalue()


def _moment(value: str) -> float:
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{value!r} is no time such as 2026-11-30T12:00:00Z") from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _number(value: float | None) -> str:
    return "?" if value is None else f"{value:.4g}"


def _percent(value: float | None) -> str:
    return "?" if value is None else f"{100 * value:.1f}%"
