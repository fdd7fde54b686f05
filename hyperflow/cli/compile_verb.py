"""The verb `compile`: a job file in, a bundle out."""

import argparse
import sys
from pathlib import Path

from hyperflow.cli.compile_kfp import check_kfp_arguments, pipeline_path, write_pipeline
from hyperflow.cli.output import print_findings, print_json, stdout_as_stderr
from hyperflow.compiler import PASSES, Compilation
from hyperflow.dsl.discover import load_job
from hyperflow.dsl.fleet import Fleet
from hyperflow.dsl.options import MODES, read_options
from hyperflow.inventory.bundle_files import write_bundle
from hyperflow.report.dump import dump_record, tree_of
from hyperflow.report.explain_text import explain_lines
from hyperflow.report.plan_json import plan_document
from hyperflow.report.plan_table import plan_lines


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    add_job_arguments(parser)
    parser.add_argument("-o", "--output", type=Path, default=Path("out"), metavar="DIR", help="where the bundle goes")
    parser.add_argument("--explain", action="store_true", help="say why, and what was not chosen")
    parser.add_argument("--check", action="store_true", help="run every pass, write nothing")
    parser.add_argument("--stop-after", choices=[name for name, _ in PASSES], metavar="PASS", help="print that record")
    parser.add_argument("--expand", action="store_true", help="also write what the HyperJob controller would make")
    parser.add_argument(
        "--kfp", action="store_true", help="also write the job as a Kubeflow pipeline, DIR.pipeline.yaml"
    )
    parser.add_argument("--strict", action="store_true", help="exit 4 when there are warnings")


def add_job_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what every verb takes that compiles a job file."""
    parser.add_argument("job", metavar="FILE[:NAME]", help="a Python file that declares a job")
    parser.add_argument("--fleet", type=Path, metavar="FLEET", help="use this fleet instead of the declared one")
    parser.add_argument("--mode", choices=MODES, default="auto", help="kind of manifests")
    parser.add_argument("--set", action="append", default=[], metavar="PATH=VALUE", help="such as parallel.tp=4")
    parser.add_argument("--templates", type=Path, metavar="DIR", help="your own templates")
    parser.add_argument("--calibration", type=Path, metavar="FILE", help="constants fitted by hyperflow calibrate")
    parser.add_argument("--profile", type=Path, metavar="FILE", help="measured layer times, JSON or CSV")


def compile_from(args: argparse.Namespace, stop_after: str | None = None) -> Compilation:
    """Run the passes as the arguments say."""
    fleet = Fleet.load(args.fleet) if args.fleet else None
    options = read_options(
        mode=args.mode,
        stop_after=stop_after,
        templates=args.templates,
        calibration=args.calibration,
        profile=args.profile,
        expand=getattr(args, "expand", False),
    )
    with stdout_as_stderr():  # the job file is the user's program, stdout holds our result only
        return load_job(args.job).with_settings(args.set).compilation(options, fleet)


def run(args: argparse.Namespace) -> int:
    """Compile, write, print; exit 0, or 4 with --strict when there are warnings."""
    if args.kfp:
        check_kfp_arguments(args)
    done = compile_from(args, args.stop_after)
    if args.stop_after and args.stop_after != PASSES[-1][0]:
        print_findings(done.findings)
        if args.format == "json":
            print_json(tree_of(done.last_record), done.findings)
        else:
            sys.stdout.write(dump_record(done.last_record))
    else:
        if not args.check:
            write_bundle(done.needed_bundle, args.output)
            if args.kfp:
                write_pipeline(args, done)
        _print(args, done)
    warned = any(finding.severity == "warning" for finding in done.findings)
    return 4 if args.strict and warned else 0


def _print(args: argparse.Namespace, done: Compilation) -> None:
    bundle, plan = done.needed_bundle, done.needed_plan
    files = [] if args.check else [str(args.output / file.path) for file in bundle.files]
    files += [str(pipeline_path(args.output))] * (args.kfp and not args.check)
    print_findings(done.findings)
    if args.format == "json":
        print_json({"files": files, "mode": bundle.mode, "plan": plan_document(plan)}, done.findings)
        return
    explained = (
        explain_lines(done.needed_resolved, plan, done.needed_manifests, ()) if args.explain else plan_lines(plan)
    )
    where = ["", f"mode {bundle.mode}: {bundle.mode_reason}"]
    where += ["checked, nothing written"] if args.check else [f"wrote {args.output}/:", *_file_lines(done)]
    where += [f"wrote {pipeline_path(args.output)}"] * (args.kfp and not args.check)
    sys.stdout.write("\n".join([*explained, *where]) + "\n")


def _file_lines(done: Compilation) -> list[str]:
    return [f"  {file.path}" for file in done.needed_bundle.files]
