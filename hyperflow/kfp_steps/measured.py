"""What the training itself says of its speed: the step lines in the logs of the job's pods."""

from collections.abc import Iterable

from hyperflow.ir.plan import Plan
from hyperflow.report.training_log import LogMeasures, measure_log, read_steps, with_seconds


def measured_steps(logs: Iterable[Iterable[str]], plan: Plan) -> LogMeasures | None:
    """Measure the first of these logs that has step lines; None where none has.

    Frameworks differ in the rank that writes them: torchtitan's is the first, Megatron-LM's the last.
    """
    tokens_per_device = plan.tokens_per_second * plan.step_seconds / plan.degrees.world_size
    for lines in logs:
        records = with_seconds(read_steps(lines), tokens_per_device)
        if records:
            return measure_log(records)
    return None
