"""How often to save, and what a restart costs."""

import math

from hyperflow.errors import Finding
from hyperflow.ir.plan import Plan
from hyperflow.ir.resolved import ResolvedJob
from hyperflow.units import format_duration

EXAMPLE_WRITE_SECONDS = 60.0


def save_interval_steps(job: ResolvedJob, plan: Plan) -> int | None:
    """Turn the wanted time between checkpoints into steps; None when the user left it to the framework."""
    checkpoint = job.job.checkpoint
    if checkpoint is None or checkpoint.every_seconds is None or plan.step_seconds <= 0:
        return None
    return max(1, round(checkpoint.every_seconds / plan.step_seconds))


def young_seconds(write_seconds: float, mtbf_seconds: float) -> float:
    """The best time between checkpoints: sqrt(2 x write x MTBF) (J. W. Young, CACM 17(9), 1974).

    >>> young_seconds(60, 6 * 3600)
    1609.968943799849
    """
    return math.sqrt(2 * write_seconds * mtbf_seconds)


def check_checkpoints(job: ResolvedJob, plan: Plan) -> tuple[Finding, ...]:
    """Warn (HF423) of restarts from step 0, and hint (HF424) at the best interval when the MTBF is given."""
    checkpoint = job.job.checkpoint
    if checkpoint is None:
        if job.job.retries == 0:
            return ()
        return (
            Finding(
                code="HF423",
                severity="warning",
                message=f"a restart starts from step 0: {job.job.retries} retries are allowed, no checkpoint is made",
                where="checkpoint",
                hint='add @hf.checkpoint(to="pvc://...", every="20m"), or retries=0',
                span=job.job.sources.get("job.retries"),
            ),
        )
    if checkpoint.mtbf_seconds is None:
        return ()
    best = young_seconds(EXAMPLE_WRITE_SECONDS, checkpoint.mtbf_seconds)
    chosen = f"every {format_duration(checkpoint.every_seconds)}" if checkpoint.every_seconds else "no interval given"
    return (
        Finding(
            code="HF424",
            severity="note",
            message=f"if a checkpoint takes {EXAMPLE_WRITE_SECONDS:.0f} s to write, the best interval is "
            f"{format_duration(best)}, about {max(1, round(best / plan.step_seconds))} steps",
            where="checkpoint.every",
            got=chosen,
            expected="sqrt(2 x write time x MTBF) (Young)",
            hint="measure the write time and put it into the formula",
            span=job.job.sources.get("checkpoint.every"),
        ),
    )
