"""The parts of the placer on their own: predicates, queue sums, gangs, domains, free room."""

import numpy as np
import pytest

from hyperflow.place.domains import build_tree
from hyperflow.place.feasibility import partition_capacity
from hyperflow.place.gang import Gang, groups_of, minimum_resources
from hyperflow.place.predicates import tolerates, why_not
from hyperflow.place.queues import QueueBook
from hyperflow.place.records import (
    JobRecord,
    NodeRecord,
    PartitionRule,
    PodShape,
    QueueRecord,
    Requirement,
    TaskRecord,
    Toleration,
)
from hyperflow.place.room import Room
from hyperflow.spec.fleet import HyperNode, HyperNodeMember, Taint

ONE = PodShape(requests=(("gpu", 1.0),))


def _node(name="n", **more):
    return NodeRecord(name=name, labels={"zone": "a", "size": "8"}, allocatable={"gpu": 8.0, "cpu": 64.0}, **more)


def _tree(*specs, names):
    made = [
        HyperNode(name=n, tier=t, members=tuple(HyperNodeMember(type=kind, name=m) for m in members))
        for n, t, kind, members in specs
    ]
    return build_tree(made, names)


@pytest.mark.parametrize(
    ("toleration", "expected"),
    [
        (Toleration(key="gpu", operator="Exists"), True),
        (Toleration(key="gpu", value="yes"), True),
        (Toleration(key="gpu", value="no"), False),
        (Toleration(operator="Exists"), True),
        (Toleration(key="gpu", operator="Exists", effect="NoExecute"), False),
        (Toleration(), False),
    ],
)
def test_a_taint_is_tolerated_by_key_value_and_effect(toleration, expected):
    assert tolerates((toleration,), Taint(key="gpu", value="yes", effect="NoSchedule")) is expected


@pytest.mark.parametrize(
    ("operator", "values", "expected"),
    [
        ("In", ("a", "b"), True),
        ("NotIn", ("a",), False),
        ("Exists", (), True),
        ("DoesNotExist", (), False),
    ],
)
def test_node_affinity_operators(operator, values, expected):
    term = (Requirement(key="zone", operator=operator, values=values),)
    shape = PodShape(requests=(), affinity=(term,))
    assert (why_not(_node(), shape) == "") is expected


def test_gt_and_lt_compare_numbers_and_fields_compare_names():
    larger = (
        Requirement(key="size", operator="Gt", values=("7",)),
        Requirement(key="size", operator="Lt", values=("9",)),
    )
    assert why_not(_node(), PodShape(requests=(), affinity=(larger,))) == ""
    words = (Requirement(key="zone", operator="Gt", values=("7",)),)
    assert why_not(_node(), PodShape(requests=(), affinity=(words,))) == "node affinity"
    named = (Requirement(key="metadata.name", operator="In", values=("n",), on_name=True),)
    assert why_not(_node(), PodShape(requests=(), affinity=(named,))) == ""
    assert why_not(_node(), PodShape(requests=(), affinity=((),))) == "node affinity"


def test_a_cordoned_node_is_named_before_its_taints_and_preferences_do_not_count():
    taint = Taint(key="gpu", effect="NoSchedule")
    assert why_not(_node(cordoned=True, taints=(taint,)), ONE) == "cordoned"
    assert why_not(_node(taints=(taint,)), ONE) == "taint gpu"
    assert why_not(_node(taints=(Taint(key="gpu", effect="PreferNoSchedule"),)), ONE) == ""


def test_a_job_that_entered_holds_its_minimum_and_no_more():
    book = QueueBook({"gpu": 16.0}, [], {})
    book.enter("elastic", "default", {"gpu": 4.0}, {"gpu": 12.0})
    assert book.shortage("default", {"gpu": 12.0}) is None
    book.allocate("elastic", {"gpu": 12.0})
    # the queue counts 4, but 1.2 times the cluster less the 12 in use leaves 7.2
    assert book.shortage("default", {"gpu": 7.0}) is None
    short = book.shortage("default", {"gpu": 8.0})
    assert (short.whose, short.held, round(short.ceiling, 6)) == ("1.2 times the cluster", 12.0, 19.2)


def test_only_resources_that_the_job_asks_are_compared():
    book = QueueBook({"gpu": 16.0, "cpu": 4.0}, [QueueRecord(name="q", capability={"cpu": 0.0})], {})
    assert book.shortage("q", {"gpu": 16.0}) is None
    assert book.shortage("q", {"cpu": 1.0}).whose == "queue q"


def test_leaving_gives_everything_back():
    book = QueueBook({"gpu": 16.0}, [], {"gpu": 1.0})
    book.enter("a", "default", {"gpu": 10.0}, {"gpu": 10.0})
    book.allocate("a", {"gpu": 10.0})
    assert book.shortage("default", {"gpu": 8.0}) is not None
    assert book.without(["a"]).shortage("default", {"gpu": 8.0}) is None
    assert book.shortage("default", {"gpu": 8.0}) is not None
    book.leave("a")
    assert book.shortage("default", {"gpu": 16.0}) is None


def test_what_a_queue_deserves_is_shared_by_weight_and_what_is_left_again():
    queues = [QueueRecord(name="one", weight=1), QueueRecord(name="three", weight=3)]
    book = QueueBook({"gpu": 16.0}, queues, {})
    book.enter("a", "one", {"gpu": 1.0}, {"gpu": 12.0})
    assert book.remaining("one") == {"gpu": pytest.approx(12.0)}
    book.enter("b", "three", {"gpu": 1.0}, {"gpu": 12.0})
    assert book.remaining("one") == {"gpu": pytest.approx(4.0)}
    assert book.remaining("three") == {"gpu": pytest.approx(12.0)}
    book.leave("b")
    book.enter("c", "three", {"gpu": 1.0}, {"gpu": 6.0})
    assert book.remaining("one") == {"gpu": pytest.approx(10.0)}


def _task(name, replicas, minimum, priority=0, partition=None, shape=ONE):
    return TaskRecord(
        name=name, replicas=replicas, minimum=minimum, shape=shape, priority=priority, partition=partition
    )


def test_min_resources_take_each_tasks_minimum_then_pods_by_priority():
    two = PodShape(requests=(("gpu", 2.0),))
    tasks = (_task("low", 4, 1), _task("high", 4, 1, priority=9, shape=two))
    assert minimum_resources(JobRecord(name="j", tasks=tasks, minimum=2)) == {"gpu": 3.0}
    assert minimum_resources(JobRecord(name="j", tasks=tasks, minimum=4)) == {"gpu": 7.0}
    assert minimum_resources(JobRecord(name="j", tasks=tasks, minimum=1)) == {"gpu": 2.0}


def test_a_gang_is_ready_when_job_tasks_and_partitions_have_their_minimum():
    rule = PartitionRule(count=2, size=2, minimum=2)
    gang = Gang(JobRecord(name="j", tasks=(_task("w", 4, 2, partition=rule),), minimum=2))
    first, second = groups_of(gang.job)
    gang.note(first, first.pods)
    assert not gang.ready()
    gang.note(second, second.pods)
    assert gang.ready()
    gang.note(second, second.pods, -1)
    assert not gang.ready()


def test_pods_of_several_tasks_are_tried_by_priority_then_index():
    job = JobRecord(name="j", tasks=(_task("a", 2, 2), _task("b", 2, 2), _task("c", 1, 1, priority=5)), minimum=5)
    (group,) = groups_of(job)
    assert group.pods == ((2, 0), (0, 0), (1, 0), (0, 1), (1, 1))


def test_the_virtual_top_is_one_above_the_highest_tier_and_holds_every_node():
    tree = _tree(("l0", 1, "Node", ["a"]), ("m0", 5, "HyperNode", ["l0"]), names=["a", "b"])
    top = tree.domains[tree.top]
    assert (top.name, top.tier, top.nodes) == (None, 6, (0, 1))
    assert _tree(names=["a"]).highest_tier == 1


def test_cycles_and_second_parents_freeze_and_missing_members_do_not():
    turning = _tree(("m0", 2, "HyperNode", ["m1"]), ("m1", 2, "HyperNode", ["m0"]), names=["a"])
    assert turning.frozen == "HyperNodes m0 and m1 contain each other"
    itself = _tree(("m0", 2, "HyperNode", ["m0"]), names=["a"])
    assert itself.frozen == "HyperNode m0 contains itself"
    dangling = _tree(("m0", 2, "HyperNode", ["l9"]), ("l0", 1, "Node", ["a", "z"]), names=["a"])
    assert (dangling.frozen, dangling.missing) == ("", (("l0", "node z"), ("m0", "HyperNode l9")))


def test_the_smallest_domain_that_holds_nodes():
    tree = _tree(
        ("l0", 1, "Node", ["a", "b"]), ("l1", 1, "Node", ["c"]), ("m", 2, "HyperNode", ["l0", "l1"]),
        names=["a", "b", "c", "x"],
    )  # fmt: skip
    assert tree.domains[tree.smallest_holding([0, 1])].name == "l0"
    assert tree.domains[tree.smallest_holding([1, 2])].name == "m"
    assert tree.smallest_holding([0, 3]) is None
    assert (tree.overlapping, tree.smallest_holding([])) == (False, None)


def test_room_counts_slots_per_node_and_domain_and_gives_back_what_was_taken():
    tree = _tree(("l0", 1, "Node", ["a"]), ("l1", 1, "Node", ["b", "c"]), names=["a", "b", "c"])
    room = Room([_node(n) for n in "abc"], tree, ["gpu", "cpu"])
    row = room.vector({"gpu": 3.0})
    assert room.slots(row).tolist() == [2, 2, 2]
    before = room.domain_idle.copy()
    room.take(np.array([1, 2]), row, np.array([1, 2]))
    assert room.slots(row).tolist() == [2, 1, 0]
    assert (before - room.domain_idle)[:, room.column["gpu"]].tolist() == [0.0, 9.0, 9.0]
    room.take(np.array([1, 2]), row, np.array([-1, -2]))
    assert (room.domain_idle == before).all()


def test_partitions_per_domain_agree_with_the_plain_recursion():
    names = [f"n{at}" for at in range(7)]
    tree = _tree(
        ("l0", 1, "Node", names[:2]), ("l1", 1, "Node", names[2:4]), ("l2", 1, "Node", names[4:]),
        ("m", 2, "HyperNode", ["l0", "l1"]), ("t", 3, "HyperNode", ["m", "l2"]), names=names,
    )  # fmt: skip
    room = Room([_node(n) for n in names], tree, ["gpu"])
    slots = np.array([3, 2, 1, 1, 5, 0, 2])
    by_domain = room.sum_by_domain(slots.astype(float)).astype(int)
    for size in (1, 2, 3, 4):
        for tier in (None, 1, 2, 3, 4):
            expected = partition_capacity(tree, slots.tolist(), size, tier)
            assert room.partitions(by_domain, size, tier).tolist() == expected


def test_a_fuller_domain_scores_higher_and_one_without_room_zero():
    tree = _tree(("l0", 1, "Node", ["a"]), ("l1", 1, "Node", ["b"]), names=["a", "b"])
    room = Room([_node(n) for n in "ab"], tree, ["cpu"])
    room.take(np.array([0]), room.vector({"cpu": 32.0}), np.array([1]))
    both = np.array([0, 1])
    assert room.fullness(room.vector({"cpu": 16.0}), both).tolist() == [0.75, 0.25]
    assert room.fullness(room.vector({"cpu": 40.0}), both).tolist() == [0.0, 0.625]
    assert room.fullness(room.vector({"gpu": 1.0}), both).tolist() == [0.0, 0.0]
