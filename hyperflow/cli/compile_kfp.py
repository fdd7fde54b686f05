"""`compile --kfp`: the job as a pipeline of one step, beside its bundle."""

import argparse
from pathlib import Path

from hyperflow.compiler import Compilation
from hyperflow.dsl.discover import load_job
from hyperflow.errors import Finding, InputError, UsageError


def check_kfp_arguments(args: argparse.Namespace) -> None:
    """Refuse (HF563) to stop early, and (HF550) an installation without kfp."""
    from hyperflow.kfp_steps.require_kfp import load_kfp

    load_kfp()
    if args.stop_after:
        raise UsageError(
            Finding(
                code="HF563",
                message="--kfp cannot be combined with --stop-after",
                where="--kfp",
                got=f"--stop-after {args.stop_after}",
                expected="every pass",
                hint="leave --stop-after out: a pipeline is written for a job that passed every pass",
            )
        )


def pipeline_path(output: Path) -> Path:
    """Give the file of the pipeline: beside the bundle's folder, since a bundle holds what is applied."""
    return output.with_name(f"{output.name}.pipeline.yaml")


def write_pipeline(args: argparse.Namespace, done: Compilation) -> Path:
    """Write the pipeline and give its path; raises InputError (HF106) where it cannot be written."""
    from hyperflow.kfp_steps.job_pipeline import pipeline_text

    text = pipeline_text(done, takes_plan=load_job(args.job).takes_plan)
    path = pipeline_path(args.output)
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(
            Finding(
                code="HF106",
                message=f"cannot write {path}: {error.strerror or error}",
                where=str(path),
                hint="give a folder that can be written with -o",
            )
        ) from None
    return path
