"""The verb `run-local`: a compiled bundle as processes on this machine."""

import argparse
import os
import sys
import threading
from pathlib import Path

from hyperflow.cli.number_of_seconds import number_of_seconds
from hyperflow.cli.output import print_json, print_table
from hyperflow.report.dump import tree_of
from hyperflow.run_local.bundle_folder import read_bundle_folder
from hyperflow.run_local.options import RunOptions, RunResult, parse_delays, parse_kills
from hyperflow.run_local.run_bundle import run_bundle


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("bundle", type=Path, metavar="DIR", help="a folder written by compile")
    parser.add_argument("--run-dir", type=Path, metavar="DIR", help="logs and volumes (default: DIR.run)")
    parser.add_argument(
        "--workdir", type=Path, default=Path(), metavar="DIR", help="where commands start (default: here)"
    )
    parser.add_argument("--kill", action="append", default=[], metavar="CLUSTER/INDEX@SECONDS", help="lose a pod")
    parser.add_argument(
        "--delay", action="append", default=[], metavar="A-B=25ms", help="one-way delay between two clusters"
    )
    parser.add_argument(
        "--start-spread", type=number_of_seconds, default=0.0, metavar="SECONDS", help="start pods at random times"
    )
    parser.add_argument("--seed", type=int, default=0, help="order and times of the start")
    parser.add_argument(
        "--timeout", type=number_of_seconds, default=3600.0, metavar="SECONDS", help="end the run after this time"
    )
    cores = os.cpu_count() or 1
    parser.add_argument("--max-processes", type=int, default=max(16, 4 * cores), help="refuse larger jobs")
    parser.add_argument("--skip-init", action="store_true", help="do not run init containers")


def run(args: argparse.Namespace) -> int:
    """Run the bundle; exit 0 when it completed, 5 when it failed."""
    bundle = read_bundle_folder(args.bundle)
    clusters = sorted({child.cluster for child in bundle.children})
    pods = sorted({(pod.cluster, pod.index) for child in bundle.children for pod in child.pods})
    options = RunOptions(
        work_dir=args.workdir.resolve(),
        kills=parse_kills(args.kill, pods),
        delays=parse_delays(args.delay, clusters),
        start_spread_seconds=args.start_spread,
        seed=args.seed,
        timeout_seconds=args.timeout,
        max_processes=args.max_processes,
        run_init_containers=not args.skip_init,
    )
    root = (args.run_dir or args.bundle.with_name(f"{args.bundle.name}.run")).resolve()
    stream = sys.stderr if args.format == "json" else sys.stdout
    lock = threading.Lock()

    def say(line: str) -> None:
        with lock:
            stream.write(line + "\n")
            stream.flush()

    result = run_bundle(bundle, options, root, say)
    _print(result, args.format, root / "logs")
    return 0 if result.state == "COMPLETED" else 5


def _print(result: RunResult, form: str, logs: Path) -> None:
    if form == "json":
        print_json(tree_of(result))
        return
    rows = [
        [child.name, child.cluster, child.phase, str(child.retries), child.reason or "-"] for child in result.children
    ]
    print_table(["child", "cluster", "phase", "restarts", "reason"], rows, right=(3,))
    sys.stdout.write(f"{result.job}: {result.state}; logs of the pods: {logs}\n")
