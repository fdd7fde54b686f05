"""The verb `report`."""

import argparse
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hyperflow.cli.live_arguments import add_context, connected
from hyperflow.cli.output import print_findings, print_json, print_table
from hyperflow.errors import Finding, InputError, UsageError
from hyperflow.inventory.bundle_reader import StoredBundle, read_bundle
from hyperflow.inventory.documents import read_documents, read_text
from hyperflow.inventory.run_table import read_run_table
from hyperflow.ir.runs import SkippedRun
from hyperflow.report.job_history import JobHistory, read_history
from hyperflow.report.run_report import positive, report_document, report_rows
from hyperflow.report.run_row import run_row, world_size
from hyperflow.report.training_log import LogMeasures, measure_log, read_steps, with_seconds
from hyperflow.submit.job_objects import read_job_objects
from hyperflow.submit.snapshot import JobName, find_job

_ALIKE = 0.005  # a row's parameters within half a per cent of the plan's tell the same model


@dataclass(slots=True, kw_only=True)
class _Subject:
    """What is reported on: a bundle, or the name of a job alone, whose plan is then not known."""

    target: str
    bundle: StoredBundle | None

    @property
    def plan(self) -> dict[str, Any]:
        return self.bundle.plan if self.bundle else {}

    @property
    def name(self) -> str:
        return self.bundle.name if self.bundle else self.target


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `report`."""
    parser.add_argument("bundle", metavar="BUNDLE|JOB", help="the folder that compile wrote, or a submitted job's name")
    parser.add_argument("--log", metavar="FILE", help="a log of Megatron-LM, torchtitan, or with step_seconds")
    parser.add_argument(
        "--events",
        action="append",
        default=[],
        metavar="FILE",
        help="saved objects: kubectl get events,jobs.batch.volcano.sh,hyperjobs,pods -o json",
    )
    parser.add_argument(
        "--live", action="store_true", help="also read the live job (without --log and --events: always)"
    )
    parser.add_argument("--submitted", type=_moment, metavar="TIME", help="when the job was submitted (UTC), for ETTR")
    parser.add_argument(
        "--row", metavar="FILE", help="add the run as a row to a table for hyperflow evaluate and calibrate"
    )
    parser.add_argument("--namespace", default="default", help="where a job given by name was submitted")
    add_context(parser)


def run(args: argparse.Namespace) -> int:
    """Print measured beside predicted: step time, MFU, goodput, ETTR, waiting, restarts and evictions."""
    is_bundle = Path(args.bundle).is_dir() or "/" in args.bundle
    subject = _Subject(target=args.bundle, bundle=read_bundle(Path(args.bundle)) if is_bundle else None)
    if args.row and not (args.log and subject.bundle):
        hint = "hyperflow report BUNDLE --log FILE --row FILE"
        raise UsageError(Finding(code="HF100", message="--row needs a bundle and --log", where="report", hint=hint))
    findings: list[Finding] = []
    history = _history(args, subject, findings)
    measures = _measures(args, subject, history, findings) if args.log else None
    document = report_document(subject.plan, measures, history)
    if args.row and measures and subject.bundle:
        _write_row(args.row, subject.bundle, measures, findings)
    if args.format == "json":
        print_json({"job": subject.bundle.job if subject.bundle else args.bundle, **document}, findings)
        return 0
    print_table(("", "PREDICTED", "MEASURED"), report_rows(document), right=(1, 2))
    sys.stdout.write("\n" + "".join(f"{name}: {words}\n" for name, words in document["definitions"].items()))
    print_findings(findings)
    return 0


def _measures(
    args: argparse.Namespace, subject: _Subject, history: JobHistory | None, findings: list[Finding]
) -> LogMeasures:
    records = with_seconds(read_steps(read_text(args.log).splitlines()), _tokens_per_device(subject.plan))
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
    submitted = args.submitted if args.submitted is not None or history is None else history.submitted_at
    measures = measure_log(records, submitted)
    if not measures.wall_seconds:
        findings.append(_no_times(args.log))
    return measures


def _history(args: argparse.Namespace, subject: _Subject, findings: list[Finding]) -> JobHistory | None:
    """The history from saved objects, and from the live job where it is asked for or nothing else is given."""
    live = args.live or not (args.log or args.events)
    if not live and not args.events:
        return None
    objects: list[Any] = [document.value for file in args.events for document in read_documents(file)]
    name, until = subject.name, None
    if live:
        plane = connected(args, is_brief=True)
        bundle = subject.bundle
        job = (
            JobName(job=bundle.job, name=bundle.name, namespace=bundle.namespace)
            if bundle
            else find_job(plane, subject.target, args.namespace)
        )
        found, unreadable = read_job_objects(plane, job)
        objects += found
        name, until = job.name, time.time()
        if unreadable:
            findings.append(_unread(unreadable, plane.context))
    history = read_history(objects, name, until)
    if history is None:
        raise InputError(_no_objects(name, args.events, live=live))
    return history


def _unread(unreadable: tuple[str, ...], context: str) -> Finding:
    return Finding(
        code="HF524",
        severity="note",
        message=f"not readable, so not counted: {', '.join(unreadable)}",
        where=f"context {context}",
        hint="restarts and evictions may be missing",
    )


def _no_objects(name: str, files: list[str], *, live: bool) -> Finding:
    return Finding(
        code="HF530",
        message=f"no object of the job {name} is there to tell its history",
        where="the live server" if live else ", ".join(files),
        expected="its HyperJob or Jobs, with their events and pods",
        hint="kubectl get events,jobs.batch.volcano.sh,hyperjobs,pods -o json > FILE, on the plane and on each member",
    )


def _tokens_per_device(plan: dict[str, Any]) -> float | None:
    """Tokens of one step for each device, from the plan's own tokens per second."""
    rate, seconds = positive(plan.get("tokens_per_second")), positive(plan.get("step_seconds"))
    return rate * seconds / world_size(plan) if rate and seconds else None


def _no_times(log: str) -> Finding:
    return Finding(
        code="HF528",
        severity="note",
        message="the log's steps carry no times, so goodput and ETTR are not known",
        where=log,
        hint="keep the time stamps that Megatron-LM and torchtitan write at the start of the line",
    )


def _write_row(file: str, bundle: StoredBundle, measures: LogMeasures, findings: list[Finding]) -> None:
    """Add the row, read it back as `evaluate` does, and note (HF529) what it cannot tell."""
    header, line = run_row(bundle.job, bundle.name, bundle.plan, measures.step_seconds)
    before = read_text(file) if Path(file).exists() else ""
    if before and before.splitlines()[0] + "\n" != header:
        raise InputError(_cannot_write(file, "it holds something else than rows of report"))
    try:
        Path(file).write_text((before or header) + line, encoding="utf-8")
    except OSError as error:
        raise InputError(_cannot_write(file, error.strerror or str(error))) from None
    row = read_run_table(file).rows[-1]
    wanted = bundle.plan.get("model", {}).get("total_parameters")
    said = ""
    if isinstance(row, SkippedRun):
        said = f"hyperflow evaluate will skip the row: {row.reason}"
    elif wanted and abs(row.model.total_parameters - wanted) > _ALIKE * wanted:
        said = (
            f"the row describes a model of {row.model.total_parameters:,} parameters, the plan's has {wanted:,}: "
            "a table knows one kind of layer"
        )
    if said:
        hint = "correct the cells, or describe the model in the catalogue's run sources"
        findings.append(Finding(code="HF529", severity="note", message=said, where=file, hint=hint))


def _cannot_write(file: str, reason: str) -> Finding:
    hint = "choose a new file, in a folder that you may write to"
    return Finding(code="HF106", message=f"cannot write {file}: {reason}", where="--row", hint=hint)


def _moment(value: str) -> float:
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{value!r} is no time such as 2026-11-30T12:00:00Z") from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
