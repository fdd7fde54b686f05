"""What the components of a pipeline call: each takes the inputs and artifacts of its component by name."""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from hyperflow.errors import Finding, HyperFlowError
from hyperflow.inventory.fleet import load_fleet, write_fleet
from hyperflow.inventory.fleet_summary import summarise_fleet
from hyperflow.json_tree import text
from hyperflow.kfp_steps.backend import open_place
from hyperflow.kfp_steps.follow import FollowPolicy
from hyperflow.kfp_steps.late_values import from_struct
from hyperflow.kfp_steps.outputs import Artifact, metrics_of, write_text
from hyperflow.kfp_steps.prepare import JobInputs, compiled, live_fleet
from hyperflow.kfp_steps.run_names import RUN_LABEL, run_key
from hyperflow.kfp_steps.train_step import (
    Metrics,
    StepOutputs,
    TrainResult,
    reported,
    run_train,
    say,
    show_plan,
    task_fields,
)
from hyperflow.report.html import error_page

__all__ = ["cleanup", "discover", "from_struct", "plan", "train"]


class Discovered(NamedTuple):
    """The output parameters of a task that reads the fleet."""

    devices: int


class Cleaned(NamedTuple):
    """The output parameters of a task that cleans up."""

    deleted_jobs: int


class PlanResult(NamedTuple):
    """The output parameters of a step that plans."""

    feasible: bool
    predicted_step_seconds: float
    reason: str


def train(
    *,
    job: Mapping[str, Any],
    values: Mapping[str, object],
    run_id: str,
    backend: str,
    context: str,
    plan_at: str,
    fleet_file: str,
    work_dir: str,
    poll_seconds: float,
    queue_timeout_seconds: float,
    run_timeout_seconds: float,
    on_cancel: str,
    on_failure: str,
    must_complete: bool,
    checkpoint: Artifact,
    plan: Artifact,
    timeline: Artifact,
    metrics: Metrics,
    status: Artifact,
    task_config: object = None,
) -> TrainResult:
    """Train; give the state that the job ended in, the predicted seconds of a step and where checkpoints are."""
    policy = reported(
        lambda: FollowPolicy(
            poll_seconds=poll_seconds,
            queue_timeout_seconds=queue_timeout_seconds,
            run_timeout_seconds=run_timeout_seconds,
            on_cancel=on_cancel,
            on_failure=on_failure,
        )
    )
    inputs = JobInputs(
        packed=job,
        values=values,
        run_id=run_id,
        plan=plan_at,
        context=context,
        fleet_file=fleet_file,
        task=task_fields(task_config),
    )
    outputs = StepOutputs(checkpoint=checkpoint, plan=plan, timeline=timeline, status=status, metrics=metrics)
    return run_train(inputs, policy, outputs, backend=backend, work_dir=work_dir, must_complete=must_complete)


def plan(
    *,
    job: Mapping[str, Any],
    values: Mapping[str, object],
    context: str,
    plan_at: str,
    fleet_file: str,
    plan: Artifact,
    metrics: Metrics,
) -> PlanResult:
    """Plan only; give whether a plan exists, the seconds of its step (0 where none does), and why not.

    Mistakes that have nothing to do with degrees, devices and memory end the process as in `train`.
    """
    inputs = JobInputs(packed=job, values=values, plan=plan_at, context=context, fleet_file=fleet_file)

    def body() -> PlanResult:
        try:
            done = compiled(inputs)
        except HyperFlowError as error:
            if not all(_says_no_plan(finding) for finding in error.findings if finding.severity == "error"):
                raise
            for finding in error.findings:
                say(finding.as_text())
            write_text(plan, error_page(text(job.get("name")), error.findings))
            return PlanResult(False, 0.0, error.findings[0].message)
        show_plan(done, plan)
        for name, value in metrics_of(done.needed_plan, None, None).items():
            metrics.log_metric(name, value)
        return PlanResult(True, done.needed_plan.step_seconds, "")

    return reported(body)


def discover(*, context: str, sources: list[str], fleet: Artifact) -> Discovered:
    """Read the fleet, live or from files, and leave it as fleet.yaml; give the number of usable devices."""

    def body() -> Discovered:
        found = load_fleet(sources)[0] if sources else live_fleet(context)
        write_text(fleet, write_fleet(found))
        summary = summarise_fleet(found)
        say(json.dumps(summary, indent=2, ensure_ascii=False))
        return Discovered(sum(cluster.devices_total for cluster in found.clusters))

    return reported(body)


def cleanup(
    *, run_id: str, backend: str, context: str, namespace: str, run_state: str, on_failure: str, on_success: str
) -> Cleaned:
    """Delete what the run has left, as its end says; give the number of jobs that were deleted."""

    def body() -> Cleaned:
        FollowPolicy(on_failure=on_failure, on_cancel=on_success)
        choice = on_success if run_state == "SUCCEEDED" else on_failure
        place = open_place(backend, context, namespace)
        names = place.jobs_with_label(RUN_LABEL, run_key(run_id))
        for name in names:
            say(f"hyperflow: run {run_state}: {choice} {name}")
            if choice == "delete":
                place.delete(name)
        if not names:
            say(f"hyperflow: run {run_state}: no job is left")
        return Cleaned(len(names) if choice == "delete" else 0)

    return reported(body)


def _says_no_plan(finding: Finding) -> bool:
    """Codes of parallelism, plan and split: these degrees do not fit this fleet, others may."""
    return finding.code.startswith("HF2")
