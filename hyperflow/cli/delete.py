"""The verb `delete`."""

import argparse
import sys

from hyperflow.cli.live_arguments import add_job, connected, named_job, needs_yes
from hyperflow.cli.output import print_json
from hyperflow.submit.delete_job import DELETE_SECONDS, delete_job


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `delete`."""
    add_job(parser)
    parser.add_argument("--yes", action="store_true", help="do not ask")


def run(args: argparse.Namespace) -> int:
    """Delete a job with its children, policies and companions, and wait until nothing is left."""
    plane = connected(args)
    job = named_job(plane, args, remains=True)
    if not args.yes:
        question = f"delete job {job.name} in namespace {job.namespace}?"
        if not sys.stdin.isatty():
            raise needs_yes(question)
        sys.stderr.write(f"{question} [y/N] ")
        sys.stderr.flush()
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            sys.stderr.write("nothing was deleted\n")
            return 0
    deleted = delete_job(
        plane, job, seconds=DELETE_SECONDS, on_step=lambda step: None if args.format == "json" else _say(step)
    )
    if args.format == "json":
        print_json({"job": job.job, "name": job.name, "deleted": list(deleted)})
    else:
        sys.stdout.write(f"{job.name} is gone ({len(deleted)} objects deleted)\n")
    return 0


def _say(step: str) -> None:
    sys.stderr.write(step + "\n")
