"""The verb `logs`."""

import argparse
import sys

from hyperflow.cli.live_arguments import add_job, connected, named_job
from hyperflow.cli.output import print_json, print_table
from hyperflow.submit.pod_logs import find_pod, list_pods, read_log


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `logs`."""
    add_job(parser)
    parser.add_argument("part", nargs="?", metavar="GROUP/INDEX", help="which pod, such as shanghai/3; or rank0")
    parser.add_argument("--follow", "-f", action="store_true", help="go on with what the pod writes")
    parser.add_argument("--tail", type=int, metavar="N", help="only the last N lines")


def run(args: argparse.Namespace) -> int:
    """Print one pod's log; without a part, list the pods and the commands."""
    plane = connected(args, is_brief=not args.follow)
    job = named_job(plane, args)
    if args.part is None:
        pods, unreadable = list_pods(plane, job)
        if len(pods) != 1:
            rows = [(pod.part, pod.cluster or "-", pod.name, pod.phase, _shown(pod.rank)) for pod in pods]
            if args.format == "json":
                keys = ("part", "cluster", "pod", "phase", "rank")
                print_json({"pods": [dict(zip(keys, row, strict=True)) for row in rows], "unreadable": unreadable})
            else:
                print_table(("PART", "CLUSTER", "POD", "PHASE", "RANK"), rows)
                first = pods[0].part if pods else "GROUP/INDEX"
                sys.stderr.write(f"one pod's log: hyperflow logs {args.job} {first}\n")
            return 0
    pod = find_pod(plane, job, None if args.part in (None, "rank0") else args.part)
    lines = read_log(plane, pod, follow=args.follow, tail=args.tail)
    if args.format == "json":
        print_json({"pod": pod.name, "cluster": pod.cluster or None, "lines": list(lines)})
        return 0
    for line in lines:
        sys.stdout.write(line + "\n")
    return 0


def _shown(rank: int | None) -> str:
    return "?" if rank is None else str(rank)
