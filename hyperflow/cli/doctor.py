"""The verb `doctor`."""

import argparse
from pathlib import Path

from hyperflow.cli.live_arguments import add_context, connected
from hyperflow.cli.output import print_findings, print_json, print_table
from hyperflow.inventory.bundle_reader import read_bundle
from hyperflow.submit.doctor import examine

_MARKS = {"ok": "ok", "bad": "BAD", "unknown": "?"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `doctor`."""
    parser.add_argument("bundle", metavar="BUNDLE", help="the folder that compile wrote")
    add_context(parser)


def run(args: argparse.Namespace) -> int:
    """Print a table of server x check, each bad cell with its fix; 3 when something blocks."""
    bundle = read_bundle(Path(args.bundle))
    cells = examine(connected(args, is_brief=True), bundle)
    bad = [cell for cell in cells if cell.state == "bad"]
    findings = [cell.as_finding() for cell in cells if cell.state != "ok"]
    if args.format == "json":
        print_json({"job": bundle.job, "ready": not bad, "checks": [cell.as_json() for cell in cells]}, findings)
        return 3 if bad else 0
    servers = list(dict.fromkeys(cell.server for cell in cells))
    checks = list(dict.fromkeys(cell.check for cell in cells))
    marks = {(cell.server, cell.check): _MARKS[cell.state] for cell in cells}
    rows = [(check, *(marks.get((server, check), "-") for server in servers)) for check in checks]
    print_table(("CHECK", *servers), rows)
    print_findings(findings)
    return 3 if bad else 0
