"""can_place: does a child ever fit in an empty cluster, and what is missing if not."""

import pytest

from hyperflow.place.feasibility import can_place
from hyperflow.spec.fleet import Cluster, HyperNode, HyperNodeMember, NodeGroup, Tier


def _group(names):
    return NodeGroup(device="h100", count=len(names), devices_per_node=4, node_names=tuple(names))


def _hypernode(name, tier, tier_name, members, kind="Node"):
    found = tuple(HyperNodeMember(type=kind, name=m) for m in members)
    return HyperNode(name=name, tier=tier, tier_name=tier_name, members=found)


def _two_rows(rack=18):
    names = [f"n{row}{r}-{i}" for row in (1, 2) for r in (1, 2, 3) for i in range(rack)]
    racks = [
        _hypernode(f"rack{row}{r}", 1, "rack", [f"n{row}{r}-{i}" for i in range(rack)])
        for row in (1, 2)
        for r in (1, 2, 3)
    ]
    rows = [_hypernode(f"row{row}", 2, "row", [f"rack{row}{r}" for r in (1, 2, 3)], "HyperNode") for row in (1, 2)]
    top = [_hypernode("dc", 3, "dc", ["row1", "row2"], "HyperNode")]
    return Cluster(name="talk", groups=(_group([*names, "extra-0"]),), hypernodes=tuple(racks + rows + top))


def test_a_whole_rack_fits_in_the_first_rack():
    answer = can_place(_two_rows(), 18, job_tier=1)
    assert (answer.fits, answer.domain, answer.domain_nodes, answer.missing_nodes) == (True, "rack11", 18, 0)


def test_one_node_more_than_a_rack_says_the_largest_rack_and_the_next_tier():
    answer = can_place(_two_rows(), 19, job_tier=1)
    assert (answer.fits, answer.domain_nodes, answer.missing_nodes) == (False, 18, 1)
    assert answer.reason == (
        "can never fit: 19 nodes wanted, the largest allowed domain is rack23 (tier 1, rack, 18 nodes)"
    )
    assert answer.hint == "use tier 2 (row, 54 nodes) or soft"


def test_a_lower_tier_is_preferred_to_the_allowed_one():
    assert can_place(_two_rows(), 10, job_tier=3).domain == "rack11"


def test_a_tier_above_the_highest_uses_nodes_outside_all_hypernodes():
    assert can_place(_two_rows(), 109, job_tier=3).fits is False
    assert can_place(_two_rows(), 109, job_tier=4).fits is True
    assert can_place(_two_rows(), 109).fits is True


def test_partitions_must_be_whole_in_their_tier():
    assert can_place(_two_rows(), 54, job_tier=2, partition_tier=1, partition_nodes=18).domain == "row1"
    refused = can_place(_two_rows(), 40, job_tier=2, partition_tier=1, partition_nodes=10)
    assert (refused.fits, refused.domain_nodes, refused.missing_nodes) == (False, 30, 10)
    assert refused.reason == (
        "can never fit: 40 nodes wanted, the largest allowed domain is row2 (tier 2, row, 54 nodes) "
        "and takes 3 of 4 partitions of 10 nodes"
    )


def test_a_partition_larger_than_every_domain_of_its_tier():
    refused = can_place(_two_rows(), 38, job_tier=3, partition_tier=1, partition_nodes=19)
    assert refused.fits is False
    assert refused.hint == "at most 0 nodes fit under this partition tier"


def test_more_nodes_than_the_cluster_has():
    refused = can_place(_two_rows(), 200)
    assert (refused.missing_nodes, refused.reason) == (91, "can never fit: 200 nodes wanted, talk has 109 usable nodes")


def test_tier_zero_holds_nothing():
    assert can_place(_two_rows(), 1, job_tier=0).hint == "use tier 1 or higher"
    assert can_place(Cluster(name="flat", groups=(_group("ab"),)), 1, job_tier=0).fits is False


def test_without_hypernodes_the_whole_cluster_is_tier_one():
    answer = can_place(Cluster(name="flat", groups=(_group("abc"),)), 3, job_tier=1)
    assert answer.fits is True
    assert "no HyperNodes" in answer.reason


def test_two_parents_freeze_only_jobs_with_a_topology():
    broken = _two_rows()
    twice = _hypernode("row3", 2, "row", ["rack11"], "HyperNode")
    broken = broken.model_copy(update={"hypernodes": (*broken.hypernodes, twice)})
    assert can_place(broken, 4, job_tier=1).reason == (
        "can never fit: 4 nodes wanted, HyperNode rack11 has two parents, row1 and row3"
    )
    assert can_place(broken, 4).fits is True


def test_tiers_known_only_as_counts():
    cluster = Cluster(
        name="counted",
        groups=(NodeGroup(device="h100", count=64, devices_per_node=8),),
        tiers=(Tier(tier=1, name="rack", domain_nodes=(16,) * 4), Tier(tier=2, name="row", domain_nodes=(64,))),
    )
    assert can_place(cluster, 16, job_tier=1).fits is True
    refused = can_place(cluster, 17, job_tier=1)
    assert (refused.domain_nodes, refused.hint) == (16, "use tier 2 (row, 64 nodes) or soft")
    assert can_place(cluster, 64, job_tier=2, partition_tier=1, partition_nodes=16).exact is False
    assert can_place(cluster, 40, job_tier=2, partition_tier=1, partition_nodes=20).missing_nodes == 40


def test_usable_nodes_without_names_are_taken_to_be_the_members():
    unnamed = NodeGroup(device="h100", count=108, devices_per_node=4)
    answer = can_place(_two_rows().model_copy(update={"groups": (unnamed,)}), 18, job_tier=1)
    assert (answer.fits, answer.exact) == (True, False)
    assert can_place(_two_rows(), 18, job_tier=1).exact is True


def test_only_groups_of_the_device_count():
    a100 = NodeGroup(device="a100", count=4, devices_per_node=8, node_names=tuple("wxyz"))
    mixed = Cluster(name="mixed", groups=(a100, _group("ab")))
    assert can_place(mixed, 3, device="h100").fits is False
    assert can_place(mixed, 3, device="a100").fits is True


@pytest.mark.parametrize(("nodes", "size"), [(0, None), (5, 2), (4, -1)])
def test_impossible_counts_are_refused(nodes, size):
    with pytest.raises(ValueError, match="partitions"):
        can_place(_two_rows(), nodes, partition_nodes=size)
