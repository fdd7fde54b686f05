"""The verb `submit`."""

import argparse
import sys
from pathlib import Path

from hyperflow.cli.live_arguments import add_context, connected, needs_yes, seconds
from hyperflow.cli.live_view import View, print_final, show_while
from hyperflow.cli.output import print_findings, print_json, print_table
from hyperflow.cli.status_view import Plans, plan_columns, print_status
from hyperflow.errors import DegradedError
from hyperflow.inventory.bundle_reader import StoredBundle, bundle_text, read_bundle
from hyperflow.json_tree import dig, mapping, sequence, text
from hyperflow.submit.fallback import check_plans, run_plans
from hyperflow.submit.plane import Plane
from hyperflow.submit.snapshot import JobName
from hyperflow.submit.states import JobStatus
from hyperflow.submit.submit_bundle import apply_bundle, check_bundle, deed_counts
from hyperflow.submit.watch import Limits


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `submit`."""
    parser.add_argument("bundle", metavar="BUNDLE", help="the folder that compile wrote")
    parser.add_argument("--yes", "-y", action="store_true", help="do not ask")
    parser.add_argument(
        "--dry-run",
        nargs="?",
        const="client",
        choices=("client", "server"),
        help="print the exact manifests and nothing else; server: ask the server strictly, without effect",
    )
    parser.add_argument("--wait", action="store_true", help="follow until the job ends; Ctrl-C leaves it running")
    parser.add_argument("--replace", action="store_true", help="delete what is submitted of this job first")
    parser.add_argument(
        "--on-partial-failure", choices=("abort", "keep"), help="when a part fails, with --wait (default: as declared)"
    )
    parser.add_argument(
        "--fallback",
        action="append",
        default=[],
        metavar="BUNDLE",
        help="the next plan when one does not start in time",
    )
    for phase in ("queue", "schedule", "rendezvous", "run"):
        help_text = f"with --wait: give up when the phase {phase} takes longer, such as 30m"
        parser.add_argument(f"--{phase}-timeout", type=seconds, metavar="TIME", help=help_text)
    add_context(parser)


def run(args: argparse.Namespace) -> int:
    """Show the plan, ask, check against the server, apply in order, and follow where asked to."""
    bundles = [read_bundle(Path(folder)) for folder in (args.bundle, *args.fallback)]
    check_plans(bundles)
    bundle = bundles[0]
    if args.dry_run == "client":
        sys.stdout.write(bundle_text(bundle))
        return 0
    plane = connected(args)
    if args.dry_run:
        findings = check_bundle(plane, bundle, replace=args.replace, on_step=_say)
        if args.format == "json":
            print_json({"job": bundle.job, "name": bundle.name, "accepted": True}, findings)
        else:
            sys.stdout.write(f"{plane.context} would take all {len(bundle.documents)} objects of {bundle.name}\n")
        return 0
    if args.format == "table":
        _print_plan(bundle)
    if not args.yes and not _confirmed(bundle, args.context or "the current context"):
        return 0
    job = JobName(job=bundle.job, name=bundle.name, namespace=bundle.namespace)
    try:
        if args.wait or args.fallback:
            return _submit_and_wait(args, plane, bundles)
        return _submit(args, plane, bundle, job)
    except KeyboardInterrupt:
        where = f" --namespace {job.namespace}" if job.namespace != "default" else ""
        _say(
            "\ninterrupted while submitting; what was applied stays. Run the same command again to go on,\n"
            f"or take it away with\n  hyperflow delete {job.name}{where}"
        )
        raise


def _submit(args: argparse.Namespace, plane: Plane, bundle: StoredBundle, job: JobName) -> int:
    submission = apply_bundle(plane, bundle, replace=args.replace, on_step=_say)
    where = f" --namespace {job.namespace}" if job.namespace != "default" else ""
    following = [f"hyperflow {verb} {job.name}{where}" for verb in ("status", "logs", "delete")]
    if args.format == "json":
        deeds = [{"object": name, "deed": deed} for name, deed in submission.objects]
        print_json({"job": job.job, "name": job.name, "objects": deeds, "next": following}, submission.findings)
    else:
        sys.stdout.write(f"submitted {job.name}: {deed_counts(submission.objects)}\n")
        sys.stdout.write("".join(f"  {command}\n" for command in following))
        print_findings(submission.findings)
    return 0


def _submit_and_wait(args: argparse.Namespace, plane: Plane, bundles: list[StoredBundle]) -> int:
    limits = _limits(args, bundles[0])
    seen: list[JobStatus] = []
    plans = {bundle.name: plan_columns(sequence(bundle.plan.get("stages"))) for bundle in bundles}
    view = View(args.format, plans)

    def heard(status: JobStatus) -> None:
        seen[:] = [status]
        view.show(status)

    def work() -> JobStatus:
        return run_plans(
            plane, bundles, limits, replace=args.replace, on_step=_say, on_status=heard, on_plan=view.follow
        )

    try:
        status = show_while(view, work)
    except DegradedError as error:
        return _ended_badly(seen[-1], error, args.format, plans)
    if status is not None:
        print_final(status, args.format, plans)
    return 0


def _ended_badly(status: JobStatus, error: DegradedError, format: str, plans: Plans) -> int:
    if format == "json":
        print_json(status.as_json(), error.findings)
    else:
        print_status(status, plans)
    print_findings(error.findings)
    return error.exit_code


def _limits(args: argparse.Namespace, bundle: StoredBundle) -> Limits:
    keep = (args.on_partial_failure or text(dig(bundle.index, "guard", "on_partial_failure"))) == "keep"
    return Limits(
        queue_seconds=args.queue_timeout,
        schedule_seconds=args.schedule_timeout,
        rendezvous_seconds=args.rendezvous_timeout,
        run_seconds=args.run_timeout,
        on_partial_failure="keep" if keep else "abort",
    )


def _print_plan(bundle: StoredBundle) -> None:
    sys.stdout.write(f"{bundle.name}  mode {bundle.mode}, namespace {bundle.namespace}\n")
    stages = [mapping(stage) for stage in sequence(bundle.plan.get("stages"))]
    if stages:
        header = ("STAGE", "CLUSTER", "DEVICE", "LAYERS", "NODES", "IDLE")
        print_table(
            header,
            [
                (
                    str(stage.get("index")), text(stage.get("cluster")), text(stage.get("device")),
                    str(stage.get("layers")), str(stage.get("nodes")), _percent(stage.get("idle_fraction")),
                )
                for stage in stages
            ],
            right=(0, 3, 4, 5),
        )  # fmt: skip
        step, mfu = bundle.plan.get("step_seconds"), bundle.plan.get("mfu")
        if isinstance(step, int | float):
            sys.stdout.write(f"predicted step {step:.4g} s, MFU {_percent(mfu)}\n")
    rows = [
        (name, ", ".join(clusters) or "by its policy", str(sum(int(dig(t, "replicas") or 0) for t in _tasks(spec))))
        for name, clusters, spec in bundle.job_specs
    ]
    print_table(("CHILD", "CLUSTERS", "PODS"), rows, right=(2,))


def _tasks(spec: dict[str, object]) -> list[object]:
    return sequence(spec.get("tasks"))


def _percent(value: object) -> str:
    return f"{100 * value:.1f}%" if isinstance(value, int | float) else "?"


def _confirmed(bundle: StoredBundle, context: str) -> bool:
    question = f"submit {bundle.name} to {context}?"
    if not sys.stdin.isatty():
        raise needs_yes(question)
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() in ("y", "yes"):
        return True
    sys.stderr.write("nothing was submitted\n")
    return False


def _say(step: str) -> None:
    sys.stderr.write(step + "\n")
