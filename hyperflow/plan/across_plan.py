"""The plan record for data parallelism across clusters."""

from dataclasses import replace

from hyperflow.ir.plan import Degrees, LinkLoad, Plan, Stage
from hyperflow.plan.across import Across
from hyperflow.plan.build_plan import Context, build_plan, build_stages
from hyperflow.plan.pricing import Pricer


def build_across(pricer: Pricer, across: Across, context: Context) -> Plan:
    """Lay out the pipelines of all clusters in one plan.

    Global ranks follow Megatron's order, stages outermost: stage 0 of every cluster, then stage 1 of every cluster.
    """
    count, first = len(across.replicas), across.replicas[0]
    plan = build_plan(pricer, first, context)
    degrees = Degrees(
        tp=plan.degrees.tp, cp=plan.degrees.cp, ep=plan.degrees.ep, pp=plan.degrees.pp, dp=plan.degrees.dp * count
    )
    step = across.step_seconds
    stages = _stages(pricer, across)
    peaks = sum(pricer.job.devices[stage.device].peak_flops_bf16 for stage in stages) * plan.degrees.devices_per_stage
    own_peaks = sum(pricer.job.devices[s.device].peak_flops_bf16 for s in plan.stages) * plan.degrees.devices_per_stage
    spread = step / plan.step_seconds
    return replace(
        plan,
        shape="data-parallel",
        degrees=degrees,
        step_seconds=step,
        step_seconds_low=plan.step_seconds_low * spread,
        step_seconds_high=plan.step_seconds_high * spread,
        mfu=plan.mfu * own_peaks / (peaks * spread),
        tokens_per_second=plan.global_batch_size * pricer.job.model.sequence_length / step,
        stages=stages,
        links=_links(across),
    )


def _stages(pricer: Pricer, across: Across) -> tuple[Stage, ...]:
    count = len(across.replicas)
    stages: list[Stage] = []
    for replica, candidate in enumerate(across.replicas):
        settings = candidate.bounded.settings
        for stage in build_stages(pricer, candidate):
            busy = settings.microbatches * stage.seconds_per_microbatch
            stages.append(
                replace(
                    stage,
                    replica=replica,
                    node_rank_offset=(stage.index * count + replica) * stage.nodes,
                    idle_fraction=max(0.0, 1 - busy / across.step_seconds),
                )
            )
    return tuple(sorted(stages, key=lambda stage: (stage.index, stage.replica)))


def _links(across: Across) -> tuple[LinkLoad, ...]:
    names = [replica.bounded.choice.sites[0].cluster for replica in across.replicas]
    microbatches = across.replicas[0].bounded.settings.microbatches
    return tuple(
        LinkLoad(
            source=a,
            target=b,
            purpose="dp",
            bytes_per_step=round(across.exchange.bytes),
            seconds_per_microbatch=across.exchange.seconds / microbatches,
        )
        for a in names
        for b in names
        if a != b
    )
