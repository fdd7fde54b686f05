"""A pipeline of one step for a compiled job: what `compile --kfp` writes beside the bundle."""

import contextlib
import sys
import tempfile
from pathlib import Path
from typing import Any

from hyperflow.compiler import Compilation
from hyperflow.kfp_steps.components import cleanup, component
from hyperflow.kfp_steps.packed_job import pack
from hyperflow.kfp_steps.prepare import COMPILE_TIME, JobInputs, compiled
from hyperflow.kfp_steps.require_kfp import load_kfp


def pipeline_text(done: Compilation, *, takes_plan: bool) -> str:
    """Give the pipeline's IR as YAML; late values, backend, limits and policies are its parameters.

    `takes_plan` says that the entry point was made from the plan, which then may not change. Raises InputError for a
    job that cannot travel, UsageError (HF550) without kfp.
    """
    kfp = load_kfp()
    assert done.job.launch is not None
    packed = pack(done.job, done.job.launch, done.base, done.needed_plan if takes_plan else None, done.options)
    compiled(JobInputs(packed=packed, run_id="any"), stop_after="lower")  # as the step will, names of a run included
    train = component("hyperflow_train")

    def pipeline(
        values: dict[str, Any] = {},  # noqa: B006 - kfp reads defaults from the signature
        backend: str = "plane",
        context: str = "",
        plan_at: str = COMPILE_TIME,
        queue_timeout_seconds: float = 0.0,
        run_timeout_seconds: float = 0.0,
        on_cancel: str = "delete",
        on_failure: str = "delete",
    ) -> None:
        where: dict[str, Any] = {"backend": backend, "context": context}
        with kfp.dsl.ExitHandler(cleanup(on_failure=on_failure, namespace=done.job.namespace, **where)):
            task = train(
                job=packed,
                values=values,
                plan_at=plan_at,
                run_id=kfp.dsl.PIPELINE_JOB_ID_PLACEHOLDER,
                queue_timeout_seconds=queue_timeout_seconds,
                run_timeout_seconds=run_timeout_seconds,
                on_cancel=on_cancel,
                on_failure=on_failure,
                **where,
            )
            task.set_caching_options(False)

    made: Any = kfp.dsl.pipeline(pipeline, name=done.job.name, description=f"Train {done.job.name} with HyperFlow.")
    from kfp import compiler

    writer: Any = compiler.Compiler()
    # kfp prints notes of its own; what is printed by a verb is its result and nothing else
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(sys.stderr):
        path = Path(folder) / "pipeline.yaml"
        writer.compile(made, str(path))
        return path.read_text(encoding="utf-8")
