"""Arguments that all verbs on a live server share."""

import argparse
import sys
from pathlib import Path

from hyperflow.errors import Finding, UsageError
from hyperflow.inventory.bundle_reader import INDEX, read_bundle
from hyperflow.submit.plane import Patience, Plane, connect
from hyperflow.submit.snapshot import JobName, find_job
from hyperflow.units import parse_duration

BRIEF_SECONDS = 3.0


def add_context(parser: argparse.ArgumentParser) -> None:
    """Add --context."""
    parser.add_argument("--context", metavar="NAME", help="kubeconfig context of the plane (default: the current one)")


def connected(args: argparse.Namespace, *, is_brief: bool = False) -> Plane:
    """Give the plane of --context, which tells on stderr that it is not reached yet.

    `is_brief`: somebody waits for one look at it, so that a server which is not reached is given up soon.
    """
    plane = connect(args.context)
    plane.on_wait = lambda reason: print(f"context {plane.context}: {reason}", file=sys.stderr, flush=True)
    if is_brief:
        plane.patience = Patience(unreached_seconds=BRIEF_SECONDS)
    return plane


def add_job(parser: argparse.ArgumentParser) -> None:
    """Add the job's name, --namespace and --context."""
    parser.add_argument("job", metavar="JOB", help="the job's name, its full name, or the folder of its bundle")
    parser.add_argument("--namespace", default="default", help="where the job was submitted (default: default)")
    add_context(parser)


def named_job(plane: Plane, args: argparse.Namespace, *, remains: bool = False) -> JobName:
    """Find the job that the arguments name; see `find_job`."""
    if (Path(args.job) / INDEX).is_file():
        bundle = read_bundle(Path(args.job))
        return JobName(job=bundle.job, name=bundle.name, namespace=bundle.namespace)
    return find_job(plane, args.job, args.namespace, remains=remains)


def seconds(value: str) -> float:
    """Read a duration such as 15m; for argparse."""
    try:
        return parse_duration(value)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def needs_yes(question: str) -> UsageError:
    """Say (HF513) that nobody is there to answer."""
    return UsageError(
        Finding(
            code="HF513",
            message=f"{question} nobody can answer here, because this is no terminal",
            hint="add --yes",
        )
    )
