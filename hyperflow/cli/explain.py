"""The verb `explain`: the plan and its reasons, nothing written."""

import argparse
import sys

from hyperflow.cli.compile_verb import add_job_arguments, compile_from
from hyperflow.cli.output import print_findings, print_json
from hyperflow.report.explain_text import explain_lines
from hyperflow.report.plan_json import plan_document


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    add_job_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Compile without writing and print the explanation."""
    done = compile_from(args)
    plan = done.needed_plan
    if args.format == "json":
        print_findings(done.findings)
        print_json({"plan": plan_document(plan)}, done.findings)
        return 0
    lines = explain_lines(done.needed_resolved, plan, done.needed_manifests, done.findings)
    sys.stdout.write("\n".join(lines) + "\n")
    return 0
