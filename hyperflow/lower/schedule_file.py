"""The order of a plan whose warm-up differs from 1F1B's own, as the file that PyTorch's pipelining reads."""

from hyperflow.ir.plan import Plan
from hyperflow.lower.virtual_stages import schedule_key
from hyperflow.simulate.looped import one_f_one_b
from hyperflow.simulate.torch_csv import compute_only_csv

FILE = "schedule.csv"


def needs_schedule_file(plan: Plan) -> bool:
    """Say whether the plan's order is another than the framework's own 1F1B."""
    stages = plan.degrees.pp
    standard = tuple(min(plan.microbatches, stages - index) for index in range(stages))
    return schedule_key(plan.schedule) == "1f1b" and plan.warmup not in ((), standard)


def schedule_csv(plan: Plan) -> str:
    """Give the compute-only CSV of the plan's order."""
    return compute_only_csv(one_f_one_b(plan.degrees.pp, plan.microbatches, plan.warmup))
