"""What hard topology leaves of a cluster: a child must stand inside one domain, a stage inside another."""

from itertools import groupby

from hyperflow.errors import Finding, InfeasibleError, raise_errors
from hyperflow.ir.plan import Plan
from hyperflow.ir.resolved import ResolvedJob
from hyperflow.place.feasibility import can_place
from hyperflow.plan.checks import span_of
from hyperflow.plan.domain_room import hard_tier_number, nodes_for_one_child


def tier_notes(job: ResolvedJob) -> list[Finding]:
    """Say (HF228) where the job's hard tier leaves nodes of a cluster out."""
    notes: list[Finding] = []
    for cluster in job.clusters:
        for group in cluster.groups:
            left = nodes_for_one_child(job, cluster, group, group.count)
            if left < group.count and job.job_tier is not None:
                notes.append(
                    Finding(
                        code="HF228",
                        severity="note",
                        message=f'hard "{job.job_tier.name}" lets the job use {left} of the {group.count} nodes of '
                        f"{cluster.name}",
                        where="@hf.topology(job=)",
                        span=span_of(job, "topology.job", "topology"),
                        got=f"{left} nodes in the largest domain",
                        expected=f"{group.count} nodes to use the whole cluster",
                        hint="a higher tier or hf.soft() lets a child spread further",
                    )
                )
    return notes


def check_domains(job: ResolvedJob, plan: Plan) -> None:
    """Raise InfeasibleError (HF229) when a child, or a stage of it, can never be placed under the hard tiers."""
    findings: list[Finding] = []
    pipeline = [stage for stage in plan.stages if stage.replica == 0]
    for name, group in groupby(pipeline, key=lambda stage: stage.cluster):
        stages = list(group)
        cluster = next(item for item in job.clusters if item.name == name)
        stage_tier = hard_tier_number(job.stage_tier, cluster)
        nodes = sum(stage.nodes for stage in stages)
        per_node = next(group.devices_per_node for group in cluster.groups if group.device == stages[0].device)
        if plan.degrees.devices_per_stage % per_node:
            continue  # pods that share a node are counted by devices, not by nodes
        answer = can_place(
            cluster,
            nodes,
            job_tier=hard_tier_number(job.job_tier, cluster),
            partition_tier=stage_tier,
            partition_nodes=stages[0].nodes if stage_tier is not None else None,
            device=stages[0].device,
        )
        if not answer.fits:
            findings.append(
                Finding(
                    code="HF229",
                    message=f"the child on {name} can never be placed: {answer.reason}",
                    where="@hf.topology",
                    span=span_of(job, "topology.stage", "topology.job", "topology"),
                    got=f"{answer.domain_nodes} nodes",
                    expected=f"{answer.domain_nodes + answer.missing_nodes} nodes",
                    hint=answer.hint or "a higher tier or hf.soft()",
                )
            )
    raise_errors(findings, InfeasibleError)
