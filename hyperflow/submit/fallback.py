"""Plans in order: when one does not start in time it is deleted whole before the next is applied, so never two run."""

from collections.abc import Callable, Sequence

from hyperflow.errors import Finding, InputError
from hyperflow.inventory.bundle_reader import StoredBundle
from hyperflow.submit.plane import Plane
from hyperflow.submit.snapshot import JobName
from hyperflow.submit.states import JobStatus
from hyperflow.submit.submit_bundle import apply_bundle
from hyperflow.submit.watch import Limits, Pace, PhaseTimeoutError, wait_for


def check_plans(bundles: Sequence[StoredBundle]) -> None:
    """Refuse (HF527) plans that are not of one job, or that have one name twice: they could run side by side."""
    first = bundles[0]
    for bundle in bundles[1:]:
        if (bundle.job, bundle.namespace) != (first.job, first.namespace) or bundle.name == first.name:
            raise InputError(
                Finding(
                    code="HF527",
                    message=f"{bundle.folder} is no fallback of {first.folder}",
                    got=f"job {bundle.job} in {bundle.namespace}, {bundle.name}",
                    expected=f"job {first.job} in {first.namespace}, another bundle than {first.name}",
                    hint="compile the same job with another fleet or other degrees into a folder of its own",
                )
            )


def run_plans(
    plane: Plane,
    bundles: Sequence[StoredBundle],
    limits: Limits,
    *,
    replace: bool = False,
    pace: Pace | None = None,
    on_step: Callable[[str], None] = lambda _step: None,
    on_status: Callable[[JobStatus], None] = lambda _status: None,
    on_plan: Callable[[JobName | None], None] = lambda _job: None,
) -> JobStatus:
    """Submit the plans in order until one starts in time, and wait for its end; raises as `wait_for` does.

    `on_plan` hears which job is there to come back to: each one when it is submitted, and None before.
    """
    check_plans(bundles)
    for number, bundle in enumerate(bundles):
        on_plan(None)
        submission = apply_bundle(plane, bundle, replace=replace, on_step=on_step)
        job: JobName = submission.job
        on_plan(job)
        try:
            return wait_for(plane, job, limits=limits, pace=pace, on_status=on_status, on_step=on_step)
        except PhaseTimeoutError as error:
            if number + 1 == len(bundles) or "phase run " in error.findings[0].message:
                raise
            on_step(f"{error.findings[0].message}; next plan: {bundles[number + 1].folder}")
    raise AssertionError("there is at least one plan")
