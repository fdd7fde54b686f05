"""The verb `status`."""

import argparse

from hyperflow.cli.live_arguments import add_job, connected, named_job
from hyperflow.cli.live_view import watch_job
from hyperflow.cli.output import print_findings, print_json
from hyperflow.cli.status_view import plan_columns, print_status
from hyperflow.errors import Finding
from hyperflow.submit.snapshot import read_snapshot, read_stages
from hyperflow.submit.states import judge_state


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `status`."""
    add_job(parser)
    parser.add_argument("--watch", action="store_true", help="follow until the job ends; Ctrl-C leaves it running")


def run(args: argparse.Namespace) -> int:
    """Print what the job does and why it waits; 5 when it is degraded or failed."""
    plane = connected(args, is_brief=not args.watch)
    job = named_job(plane, args)
    plans = {job.name: plan_columns(read_stages(plane, job) if args.format == "table" else [])}
    if args.watch:
        return watch_job(plane, job, args.format, plans)
    snapshot = read_snapshot(plane, job)
    status = judge_state(snapshot)
    unread = Finding(
        code="HF524",
        severity="note",
        message=f"not readable, so not looked at: {', '.join(snapshot.unreadable)}",
        where=f"context {plane.context}",
        hint="reasons may be missing; hyperflow doctor BUNDLE lists the rights",
    )
    findings = [unread] if snapshot.unreadable else []
    if args.format == "json":
        print_json(status.as_json(), findings)
    else:
        print_status(status, plans)
        print_findings(findings)
    return 5 if status.state in ("DEGRADED", "FAILED") else 0
