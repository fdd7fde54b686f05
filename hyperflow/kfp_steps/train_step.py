"""The body of the training step: plan, start or take over, follow to the end, leave the outputs, clean up."""

import dataclasses
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

from hyperflow.compiler import Compilation
from hyperflow.errors import DegradedError, Finding, HyperFlowError
from hyperflow.inventory.bundle_files import write_bundle
from hyperflow.kfp_steps.backend import Backend, open_backend
from hyperflow.kfp_steps.follow import Cancelled, FollowPolicy, Outcome, cancellable, follow
from hyperflow.kfp_steps.measured import measured_steps
from hyperflow.kfp_steps.outputs import (
    NEXT,
    Artifact,
    metrics_of,
    point_to,
    status_text,
    timeline_markdown,
    write_text,
)
from hyperflow.kfp_steps.prepare import JobInputs, compiled
from hyperflow.report.plan_table import plan_lines

Result = TypeVar("Result")


class Metrics(Protocol):
    """The part of a kfp Metrics artifact that a step uses."""

    def log_metric(self, metric: str, value: float) -> None:
        """Note one figure."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class StepOutputs:
    """The artifacts that the step fills."""

    checkpoint: Artifact
    plan: Artifact
    timeline: Artifact
    status: Artifact
    metrics: Metrics


class TrainResult(NamedTuple):
    """The output parameters of a step that trains."""

    state: str
    predicted_step_seconds: float
    checkpoint_uri: str


def run_train(
    inputs: JobInputs,
    policy: FollowPolicy,
    outputs: StepOutputs,
    *,
    backend: str = "plane",
    work_dir: str = "",
    must_complete: bool = True,
) -> TrainResult:
    """Run the job to its end; give its state, the predicted seconds of a step and where checkpoints are.

    A job that does not complete ends the process with exit code 5, unless `must_complete` is False. SIGTERM ends it
    with 143 after `on_cancel` was followed. A user's mistake prints its findings and ends with the exit code that
    the command line would give.
    """
    return reported(lambda: _run_train(inputs, policy, outputs, backend, work_dir, must_complete))


def reported(body: Callable[[], Result]) -> Result:
    """Call the body; findings are printed and become the exit code, never a traceback."""
    try:
        return body()
    except HyperFlowError as error:
        for finding in error.findings:
            say(finding.as_text())
        raise SystemExit(error.exit_code) from None


def say(line: str) -> None:
    """Print one line of the step's log at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def task_fields(task_config: object) -> dict[str, Any]:
    """Give the fields of a dsl.TaskConfig that are set."""
    if not dataclasses.is_dataclass(task_config) or isinstance(task_config, type):
        return {}
    return {name: value for name, value in dataclasses.asdict(task_config).items() if value}


def show_plan(done: Compilation, plan: Artifact) -> None:
    """Print the plan and leave it as a page."""
    for finding in done.findings:
        say(finding.as_text())
    for line in plan_lines(done.needed_plan):
        say(line)
    page = next(file.text for file in done.needed_bundle.files if file.path == "report.html")
    write_text(plan, page)


def _run_train(
    inputs: JobInputs, policy: FollowPolicy, outputs: StepOutputs, target: str, work_dir: str, must_complete: bool
) -> TrainResult:
    runs = open_backend(target, inputs.context, work_dir, say)
    done = compiled(inputs)
    mode = runs.mode_for(done.needed_bundle.mode, done.job.namespace)
    if mode != done.needed_bundle.mode:
        say(
            f"hyperflow: {done.needed_bundle.mode_reason}; on this plane it needs policies, so it is compiled as {mode}"
        )
        done = compiled(inputs, mode=mode)
    policy = dataclasses.replace(
        policy, abort_when_degraded=policy.abort_when_degraded and done.job.guard.on_partial_failure == "abort"
    )
    show_plan(done, outputs.plan)
    with cancellable():
        outcome, adopted = _carry(runs, done, policy)
        _leave(outputs, done, outcome, adopted, runs)
        if outcome.state != "COMPLETED" and policy.on_failure == "delete":
            say(f"hyperflow: deleting {done.needed_bundle.name} (on_failure=delete)")
            runs.delete()
    if outcome.state != "COMPLETED" and must_complete:
        raise DegradedError(_failure(done.needed_bundle.name, outcome))
    uri = done.job.checkpoint.to if done.job.checkpoint is not None else ""
    return TrainResult(outcome.state, done.needed_plan.step_seconds, uri)


def _carry(runs: Backend, done: Compilation, policy: FollowPolicy) -> tuple[Outcome, bool]:
    name = done.needed_bundle.name
    try:
        with tempfile.TemporaryDirectory() as folder:
            write_bundle(done.needed_bundle, Path(folder) / name)
            adopted = runs.start(Path(folder) / name, name)
        say(f"hyperflow: {'took over' if adopted else 'started'} {name}")
        return follow(runs, policy, say), adopted
    except Cancelled:
        say(f"hyperflow: cancelled; {policy.on_cancel} {name}")
        if policy.on_cancel == "delete":
            runs.delete()
        raise


def _leave(outputs: StepOutputs, done: Compilation, outcome: Outcome, adopted: bool, runs: Backend) -> None:
    plan, name = done.needed_plan, done.needed_bundle.name
    figures = metrics_of(plan, measured_steps(runs.logs(), plan), outcome, adopted=adopted)
    for metric, value in figures.items():
        outputs.metrics.log_metric(metric, value)
    write_text(outputs.timeline, timeline_markdown(name, outcome, figures))
    write_text(outputs.status, status_text(name, adopted, outcome, figures))
    if done.job.checkpoint is not None:
        point_to(outputs.checkpoint, done.job.checkpoint.to)
    outputs.checkpoint.metadata.update(_origin(done))


def _origin(done: Compilation) -> Mapping[str, Any]:
    degrees = done.needed_plan.degrees
    kinds = {"tp": degrees.tp, "cp": degrees.cp, "ep": degrees.ep, "pp": degrees.pp, "dp": degrees.dp}
    return {
        "hyperflow_bundle": done.needed_bundle.name,
        "layers": [stage.layers for stage in done.needed_plan.stages if stage.replica == 0],
        **kinds,
    }


def _failure(name: str, outcome: Outcome) -> Finding:
    return Finding(
        code="HF560",
        message=f"job {name} ended {outcome.state}: {outcome.reason or 'no reason was given'}",
        where=name,
        got=outcome.state,
        expected="COMPLETED",
        hint=next(iter(NEXT[outcome.state]), ""),
    )
