"""Hard topology is a constraint of the plan: what can never be placed is not offered."""

import dataclasses

import pytest

from hyperflow.errors import InfeasibleError
from hyperflow.ir.resolved import ResolvedTier
from hyperflow.plan.make_plan import make_plan
from hyperflow.spec.fleet import Tier
from tests.plan_jobs import cluster, decoder, link, resolved

RACKS = (Tier(tier=1, name="rack", domain_nodes=(4, 4)), Tier(tier=2, name="row", domain_nodes=(8,)))


def job(*, job_tier=None, stage_tier=None, **parallel):
    clusters = [cluster(name, gpu, 8, tiers=RACKS) for name, gpu in (("a", "B200"), ("b", "H100"))]
    plain = resolved(clusters, [link("a", "b")], decoder(16), parallel=parallel)

    def tier(number):
        names = {1: "rack", 2: "row"}
        return number and ResolvedTier(mode="hard", name=names[number], number_by_cluster={"a": number, "b": number})

    return dataclasses.replace(plain, job_tier=tier(job_tier), stage_tier=tier(stage_tier))


def nodes_by_cluster(plan):
    return {name: sum(stage.nodes for stage in plan.stages if stage.cluster == name) for name in plan.clusters}


def test_e7_a_child_takes_no_more_nodes_than_its_domain_has():
    free = make_plan(job(dp="auto", pp="auto", global_batch_size=64))
    racked = make_plan(job(dp="auto", pp="auto", global_batch_size=64, job_tier=1))
    assert max(nodes_by_cluster(free).values()) > 4
    assert max(nodes_by_cluster(racked).values()) <= 4
    notes = [finding for finding in racked.findings if finding.code == "HF228"]
    assert [finding.message for finding in notes] == [
        'hard "rack" lets the job use 4 of the 8 nodes of a',
        'hard "rack" lets the job use 4 of the 8 nodes of b',
    ]


def test_e7_a_stage_that_no_domain_holds_is_refused_with_both_numbers():
    with pytest.raises(InfeasibleError) as caught:
        make_plan(job(dp=8, pp=2, global_batch_size=64, stage_tier=1))
    finding = caught.value.findings[0]
    assert finding.code == "HF229"
    assert finding.message == (
        "the child on a can never be placed: can never fit: 8 nodes wanted, tier 1 takes 0 partitions of 8 nodes, "
        "1 are needed"
    )
    assert finding.hint == "use partitions of at most 4 nodes or a higher partition tier"
    assert make_plan(job(dp=4, pp=2, global_batch_size=64, stage_tier=1)).degrees.dp == 4
