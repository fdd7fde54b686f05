"""The split as the frameworks need it: layers per pipeline stage, equal on all data-parallel replicas."""

from hyperflow.errors import Finding, InfeasibleError
from hyperflow.ir.plan import Plan


def layers_per_stage(plan: Plan) -> list[int]:
    """Give the layers of each pipeline stage in order.

    Raises InfeasibleError (HF406) when replicas differ: no framework knows a split of its own per replica.
    """
    counts: dict[int, int] = {}
    for stage in sorted(plan.stages, key=lambda stage: (stage.index, stage.replica)):
        if counts.setdefault(stage.index, stage.layers) != stage.layers:
            raise InfeasibleError(
                Finding(
                    code="HF406",
                    message=f"stage {stage.index} has {counts[stage.index]} layers in one replica and {stage.layers} "
                    "in another",
                    where=f"plan of {plan.job}",
                    expected="the same split in all data-parallel replicas",
                    hint="let clusters share one pipeline instead, or give them equal splits",
                )
            )
    return [counts[index] for index in sorted(counts)]


def data_parallel_clusters(plan: Plan) -> int:
    """How many clusters share one pipeline stage by data parallelism; 1 when stages stay inside a cluster."""
    return max(len({s.cluster for s in plan.stages if s.index == index}) for index in {s.index for s in plan.stages})


def expert_tensor_parallel(plan: Plan) -> int:
    """The tensor-parallel degree of experts: as elsewhere where EP then fits into CP x DP, else 1.

    Megatron counts expert ranks as expert-tensor x expert x data inside a stage (parallel_state.py).
    """
    degrees = plan.degrees
    return degrees.tp if (degrees.cp * degrees.dp) % degrees.ep == 0 else 1
