"""Capability rows of node placement."""

import re

import pytest

from hyperflow.cli import main
from hyperflow.inventory.documents import Document, read_documents
from hyperflow.inventory.place_objects import read_placement
from hyperflow.place.demo_topology import DemoSize, demo_documents
from hyperflow.place.feasibility import can_place
from hyperflow.place.placer import place_jobs
from hyperflow.place.records import TopologyLimit


def _place(*values):
    given = read_placement([Document(file="demo", index=at, value=value) for at, value in enumerate(values)])
    return place_jobs(given.clusters, given.jobs)


@pytest.fixture(scope="module")
def demo():
    return demo_documents(DemoSize(rows=2, racks=3, nodes=18, extra=10))


def _fleet(demo):
    return [*demo["nodes"], *demo["hypernodes"]]


def _job(name, pods, tier):
    made = demo_documents(DemoSize(rows=1, racks=1, nodes=pods))["jobs-racks"][0]
    made["metadata"]["name"] = name
    made["spec"]["networkTopology"]["highestTierAllowed"] = tier
    return made


def test_e4_the_demo_writes_118_nodes_with_6_racks_2_rows_and_1_top(tmp_path):
    command = ["demo", "topology", "--rows", "2", "--racks", "3", "--nodes", "18", "--extra", "10", "-o", str(tmp_path)]
    assert main(command) == 0
    nodes = [d.value for d in read_documents(tmp_path / "nodes.yaml")]
    tiers = [d.value["spec"]["tier"] for d in read_documents(tmp_path / "hypernodes.yaml")]
    assert (len(nodes), tiers.count(1), tiers.count(2), tiers.count(3)) == (118, 6, 2, 1)
    talk = re.compile(r"node-region1-zone1-dc1-row[12]-rack0[1-3]-node(0[1-9]|1[0-8])")
    assert sum(1 for node in nodes if talk.fullmatch(node["metadata"]["name"])) == 108
    assert {node["status"]["allocatable"]["nvidia.com/gpu"] for node in nodes} == {"4"}


def test_e5_three_rack_jobs_go_to_three_distinct_racks(demo):
    placed = _place(*_fleet(demo), *demo["jobs-racks"]).placements
    assert [(p.verdict, p.pods_placed, p.tier) for p in placed] == [("fits", 18, 1)] * 3
    assert len({p.domain for p in placed}) == 3
    for p in placed:
        assert all(p.domain in name for name in p.nodes)


def test_e6_two_row_jobs_take_one_row_each_with_three_racks(demo):
    placed = _place(*_fleet(demo), *demo["jobs-rows"]).placements
    assert [(p.verdict, p.pods_placed, p.tier) for p in placed] == [("fits", 54, 2)] * 2
    assert len({p.domain for p in placed}) == 2
    for p in placed:
        assert {name.rsplit("-node", 1)[0].split("dc1-")[1] for name in p.nodes} == {
            f"{p.domain}-rack{n:02d}" for n in (1, 2, 3)
        }


def test_e7_hard_job_that_cannot_fit_a_rack_says_never_and_what_would_do(demo):
    placed = _place(*_fleet(demo), _job("large", 19, 1)).placements[0]
    assert (placed.verdict, placed.looks_like) == ("never", "unschedulable")
    assert placed.reason == (
        "can never fit: the largest domain it may use, row1-rack01 (tier 1, rack, 18 nodes), "
        "takes 18 of 19 pods, 1 missing"
    )
    assert placed.change == "tier 2 (row, 54 nodes) or soft or at most 18 pods"


def test_e7_a_row_job_more_than_there_are_rows_fits_later(demo):
    third = _job("third", 54, 2)
    placed = _place(*_fleet(demo), *demo["jobs-rows"], third).placements[2]
    assert (placed.verdict, placed.pods_placed) == ("later", 0)
    assert "it fits when row-job-" in placed.reason


def test_e7_plans_that_can_never_be_placed_are_told_by_can_place(demo):
    given = read_placement(
        [Document(file="demo", index=at, value=value) for at, value in enumerate([*_fleet(demo), _job("x", 1, 1)])]
    )
    from hyperflow.spec.fleet import Cluster, NodeGroup

    names = tuple(node.name for node in given.clusters[0].nodes)
    group = NodeGroup(device="h100", count=len(names), devices_per_node=4, node_names=names)
    cluster = Cluster(name="talk", groups=(group,), hypernodes=given.clusters[0].hypernodes)
    assert can_place(cluster, 18, job_tier=1).fits
    refused = can_place(cluster, 19, job_tier=1)
    assert (refused.fits, refused.missing_nodes, refused.hint) == (False, 1, "use tier 2 (row, 54 nodes) or soft")


def test_h7_whole_racks_left_free_and_fragmentation_are_told(demo):
    space = _place(*_fleet(demo), *demo["jobs-racks"]).spaces[0]
    assert (space.before.whole_domains[1], space.after.whole_domains[1]) == (6, 3)
    assert (space.before.idle_nodes, space.after.idle_nodes) == (118, 64)
    # idle nodes in no idle rack: 10 of 118 before; 10 of 64 after, since the rest stand in three idle racks
    assert space.before.fragmentation == pytest.approx(10 / 118, abs=1e-6)
    assert space.after.fragmentation == pytest.approx(10 / 64, abs=1e-6)


def test_t11_elastic_under_hard_topology_is_never_placed(demo):
    job = _job("elastic", 36, 1)
    job["spec"]["minAvailable"] = job["spec"]["tasks"][0]["minAvailable"] = 18
    placed = _place(*_fleet(demo), job).placements[0]
    assert (placed.verdict, placed.pods_placed, placed.looks_like) == ("never", 0, "unschedulable")
    assert "not only minAvailable 18" in placed.reason


def test_t12_two_parents_stop_every_hard_job_but_no_plain_one(demo):
    extra = {
        "kind": "HyperNode",
        "metadata": {"name": "row9"},
        "spec": {
            "tier": 2,
            "members": [{"type": "HyperNode", "selector": {"exactMatch": {"name": "row1-rack01"}}}],
        },
    }
    plain = _job("plain", 4, 1)
    del plain["spec"]["networkTopology"]
    hard, free = _place(*_fleet(demo), extra, _job("hard", 2, 1), plain).placements
    assert (hard.verdict, hard.looks_like) == ("never", "unschedulable")
    assert "HyperNode row1-rack01 has two parents, row1 and row9" in hard.reason
    assert free.verdict == "fits"


def test_t7_an_unknown_tier_name_is_void_for_the_scheduler(demo):
    given = read_placement(
        [Document(file="d", index=at, value=v) for at, v in enumerate([*_fleet(demo), _job("x", 60, 1)])]
    )
    unknown = given.jobs[0].__class__(
        name="x", tasks=given.jobs[0].tasks, minimum=60, topology=TopologyLimit(tier_name="rak")
    )
    placed = place_jobs(given.clusters, [unknown]).placements[0]
    assert (placed.verdict, placed.pods_placed) == ("fits", 60)
