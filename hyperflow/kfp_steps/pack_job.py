"""Packing a declared job, with every mistake found first that can be found before the pipeline runs."""

import dataclasses
from pathlib import Path
from typing import Any

from hyperflow.dsl.declared_job import DeclaredJob
from hyperflow.dsl.options import read_options
from hyperflow.errors import Finding, UsageError
from hyperflow.kfp_steps.late_values import bind
from hyperflow.kfp_steps.packed_job import pack
from hyperflow.kfp_steps.prepare import COMPILE_TIME, RUN_TIME
from hyperflow.kfp_steps.run_names import name_in_run


def pack_job(
    train: DeclaredJob,
    *,
    plan: str = COMPILE_TIME,
    mode: str = "auto",
    calibration: str | Path | None = None,
    profile: str | Path | None = None,
    templates: str | Path | None = None,
) -> dict[str, Any]:
    """Give the job as the input `job` of the components; with `plan="compile"` every pass is run first.

    The other arguments are those of the compile verb; what their files hold travels inside. Raises HyperFlowError with
    all that is wrong, HF555 for a function that takes the plan with `plan="runtime"`.
    """
    options = read_options(mode=mode, calibration=calibration, profile=profile, templates=templates)
    if plan == RUN_TIME:
        if train.takes_plan:
            raise UsageError(
                Finding(
                    code="HF555",
                    message=f"{train.name}: an entry point made from the plan needs the plan at compile time",
                    where="plan",
                    got=f'plan="{RUN_TIME}"',
                    expected=f'plan="{COMPILE_TIME}"',
                    hint="let the decorated function take no plan; the pods read it from HF_* and HF_PLAN_FILE",
                )
            )
        return pack(train.training_job(), train.launch(None), train.folder, None, options)
    # names in a run are longer, and one too long for a server shall show here
    in_run = bind(train, {"job.name": name_in_run(train.name, "any", {})})
    done = in_run.compilation(dataclasses.replace(options, stop_after="validate"))
    made = done.needed_plan
    job = done.job.model_copy(update={"name": train.name})
    return pack(job, train.launch(made), train.folder, made if train.takes_plan else None, options)
