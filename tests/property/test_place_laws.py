"""Laws of node placement on random small clusters and jobs."""

import copy
import json
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from hyperflow.errors import HyperFlowError
from hyperflow.inventory.documents import Document
from hyperflow.inventory.place_objects import read_placement
from hyperflow.place.advice import judge_input
from hyperflow.place.demo_topology import DemoSize, demo_documents
from hyperflow.place.domains import build_tree
from hyperflow.place.feasibility import partition_capacity
from hyperflow.place.placer import place_jobs
from hyperflow.place.records import (
    ClusterRecord,
    JobRecord,
    NodeRecord,
    PartitionRule,
    PodShape,
    TaskRecord,
    TopologyLimit,
)
from hyperflow.spec.fleet import HyperNode, HyperNodeMember

LIMITS = st.one_of(
    st.none(), st.builds(TopologyLimit, tier=st.integers(1, 4)), st.just(TopologyLimit(mode="soft"))
)  # fmt: skip


def _hypernode(name, tier, kind, members):
    return HyperNode(name=name, tier=tier, members=tuple(HyperNodeMember(type=kind, name=m) for m in members))


@st.composite
def clusters(draw):
    sizes = draw(st.lists(st.integers(1, 4), min_size=2, max_size=4))
    outside = draw(st.integers(0, 1))
    names = [f"n{leaf}-{at}" for leaf, size in enumerate(sizes) for at in range(size)]
    gpus = st.sampled_from([4.0, 8.0])
    nodes = [
        NodeRecord(
            name=name,
            labels={"kind": draw(st.sampled_from("ab"))},
            allocatable={"cpu": 64.0, "gpu": draw(gpus)},
            cordoned=draw(st.integers(0, 9)) == 0,
        )
        for name in [*names, *(f"x-{at}" for at in range(outside))]
    ]
    leaves = [
        _hypernode(f"l{leaf}", 1, "Node", [f"n{leaf}-{at}" for at in range(size)]) for leaf, size in enumerate(sizes)
    ]
    mids = [
        _hypernode(f"m{at}", 2, "HyperNode", [f"l{leaf}" for leaf in range(len(sizes)) if leaf % 2 == at])
        for at in (0, 1)
    ]
    return ClusterRecord(
        name=None,
        nodes=tuple(nodes),
        hypernodes=(*leaves, *mids, _hypernode("top", 3, "HyperNode", ["m0", "m1"])),
    )


@st.composite
def jobs(draw, name="j"):
    count, size = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    partitioned = draw(st.booleans())
    pods = count * size if partitioned else draw(st.integers(1, 10))
    rule = PartitionRule(count=count, size=size, minimum=draw(st.integers(1, count)), topology=draw(LIMITS))
    if partitioned:
        least = rule.minimum * size
    else:
        least = draw(st.integers(1, pods))
    shape = PodShape(
        requests=(("cpu", 4.0), ("gpu", draw(st.sampled_from([1.0, 2.0, 4.0, 8.0])))),
        node_selector=draw(st.sampled_from([(), (), (("kind", "a"),)])),
    )
    task = TaskRecord(name="w", replicas=pods, minimum=least, shape=shape, partition=rule if partitioned else None)
    return JobRecord(name=name, tasks=(task,), minimum=least, topology=draw(LIMITS))


@st.composite
def worlds(draw):
    return draw(clusters()), [draw(jobs(name=f"j{at}")) for at in range(draw(st.integers(1, 4)))]


def _used(placements, job_list):
    used = {}
    for placement, job in zip(placements, job_list, strict=True):
        for node in placement.nodes:
            if node:
                used.setdefault(node, []).append(job.tasks[0].shape.demand)
    return used


@settings(max_examples=80, deadline=None, derandomize=True)
@given(worlds())
def test_no_node_gives_more_than_it_has_and_none_that_may_not_be_used(world):
    cluster, job_list = world
    placements = place_jobs([cluster], job_list).placements
    nodes = {node.name: node for node in cluster.nodes}
    for name, demands in _used(placements, job_list).items():
        for resource, amount in nodes[name].allocatable.items():
            assert sum(demand.get(resource, 0.0) for demand in demands) <= amount
    for placement, job in zip(placements, job_list, strict=True):
        for name in filter(None, placement.nodes):
            assert not nodes[name].cordoned
            assert all(nodes[name].labels[k] == v for k, v in job.tasks[0].shape.node_selector)


@settings(max_examples=80, deadline=None, derandomize=True)
@given(worlds())
def test_hard_jobs_and_their_partitions_stay_inside_one_allowed_domain(world):
    cluster, job_list = world
    names = sorted(node.name for node in cluster.nodes)
    tree = build_tree(cluster.hypernodes, names)

    def inside_one(held, tier):
        at = {names.index(name) for name in held}
        return any(at <= set(d.nodes) for d in tree.domains if d.tier <= tier)

    for placement, job in zip(place_jobs([cluster], job_list).placements, job_list, strict=True):
        held = [name for name in placement.nodes if name]
        if held and job.topology and job.topology.tier is not None:
            assert inside_one(held, job.topology.tier)
        rule = job.tasks[0].partition
        for part in placement.partitions:
            assert len(part.nodes) == rule.size
            if rule.topology and rule.topology.tier is not None:
                assert inside_one(part.nodes, max(rule.topology.tier, 1))


@settings(max_examples=80, deadline=None, derandomize=True)
@given(worlds())
def test_a_job_that_fits_has_its_minimum_and_one_that_does_not_has_nothing(world):
    cluster, job_list = world
    for placement, job in zip(place_jobs([cluster], job_list).placements, job_list, strict=True):
        if placement.verdict == "fits":
            assert placement.pods_placed >= job.minimum
            assert placement.looks_like == "running"
        else:
            assert placement.pods_placed == 0
            assert placement.looks_like in ("unschedulable", "no-pods")
        assert placement.pods_placed == sum(1 for name in placement.nodes if name)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(worlds(), st.randoms(use_true_random=False))
def test_the_order_of_nodes_and_hypernodes_does_not_matter(world, random):
    cluster, job_list = world
    nodes, tree = list(cluster.nodes), list(cluster.hypernodes)
    random.shuffle(nodes)
    random.shuffle(tree)
    shuffled = replace(cluster, nodes=tuple(nodes), hypernodes=tuple(tree))
    assert place_jobs([cluster], job_list) == place_jobs([shuffled], job_list)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(clusters(), jobs(), st.sampled_from(["l0", "l1", None]))
def test_a_free_node_more_never_turns_fits_into_never(cluster, job, where):
    before = place_jobs([cluster], [job]).placements[0]
    extra = NodeRecord(name="zz-new", labels={"kind": "a"}, allocatable={"cpu": 64.0, "gpu": 8.0})
    tree = tuple(
        h.model_copy(update={"members": (*h.members, HyperNodeMember(type="Node", name=extra.name))})
        if h.name == where
        else h
        for h in cluster.hypernodes
    )
    after = place_jobs([replace(cluster, nodes=(*cluster.nodes, extra), hypernodes=tree)], [job]).placements[0]
    assert not (before.verdict == "fits" and after.verdict == "never")


@settings(max_examples=60, deadline=None, derandomize=True)
@given(worlds())
def test_the_change_that_is_offered_for_never_fits(world):
    cluster, job_list = world
    for placement, job in zip(place_jobs([cluster], job_list).placements, job_list, strict=True):
        if placement.verdict == "never" and "at most" in placement.change and not job.tasks[0].partition:
            pods = int(placement.change.split("at most ")[1].split()[0])
            task = replace(job.tasks[0], replicas=pods, minimum=min(job.tasks[0].minimum, pods))
            smaller = replace(job, tasks=(task,), minimum=min(job.minimum, pods))
            assert place_jobs([cluster], [smaller]).placements[0].verdict == "fits"


def _slots(node, shape):
    if node.cordoned or any(node.labels[k] != v for k, v in shape.node_selector):
        return 0
    return int(min(node.allocatable[name] // amount for name, amount in shape.demand.items()))


@settings(max_examples=120, deadline=None, derandomize=True)
@given(clusters(), jobs())
def test_the_first_job_of_an_empty_cluster_fits_exactly_when_the_rules_written_out_say_so(cluster, job):
    """The rules of docs/placement.md, written as plain sums over domains, for jobs of one task."""
    nodes = sorted(cluster.nodes, key=lambda n: n.name)
    tree = build_tree(cluster.hypernodes, [n.name for n in nodes])
    task = job.tasks[0]
    slots = [_slots(node, task.shape) for node in nodes]
    demand = task.shape.demand

    def holds(domain, pods):
        return all(sum(nodes[n].allocatable[r] for n in domain.nodes) >= a * pods for r, a in demand.items())

    def tier(limit):
        return tree.highest_tier if limit and limit.mode == "soft" else limit.tier if limit else None

    enters = holds(tree.domains[tree.top], job.minimum)
    top = tree.domains[tree.top]
    own = tier(job.topology)
    allowed = [top] if own is None else [d for d in tree.domains if d.tier <= own]
    if task.partition:
        rule = task.partition
        inner = partition_capacity(tree, slots, rule.size, tier(rule.topology))
        needed = max(rule.minimum, -(-job.minimum // rule.size))
        fits = any(inner[tree.domains.index(d)] >= needed and (own is None or holds(d, job.minimum)) for d in allowed)
    elif own is None:
        fits = sum(slots) >= job.minimum
    else:
        fits = any(sum(slots[n] for n in d.nodes) >= job.minimum and holds(d, task.replicas) for d in allowed)
    placed = place_jobs([cluster], [job]).placements[0]
    looks = "running" if enters and fits else "unschedulable" if enters else "no-pods"
    assert (placed.verdict == "fits", placed.looks_like) == (enters and fits, looks)


MUTANTS = st.sampled_from([None, 0, -1, 2.5, "x", "", [], {}, True, 10**30, "1e999", "l0", ["a"]])


def _spots(value, path=()):
    found = [path] if path else []
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        found += _spots(inner, (*path, key))
    return found


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.data())
def test_spoilt_documents_are_read_or_refused_by_findings(data):
    files = demo_documents(DemoSize(rows=1, racks=2, nodes=2, extra=1))
    values = copy.deepcopy([*files["nodes"], *files["hypernodes"], *files["jobs-racks"]])
    for _ in range(data.draw(st.integers(1, 3))):
        *path, last = data.draw(st.sampled_from(_spots(values)))
        holder = values
        for step in path:
            holder = holder[step]
        holder[last] = copy.deepcopy(data.draw(MUTANTS))
    documents = [Document(file="f", index=at, value=value) for at, value in enumerate(values)]
    try:
        read = read_placement(documents)
    except HyperFlowError as error:
        assert error.findings
    else:
        report = place_jobs(read.clusters, read.jobs)
        assert len(report.placements) == len(read.jobs)
        assert json.dumps([p.as_json() for p in report.placements], allow_nan=False)
        assert all(finding.message for finding in judge_input(read.clusters, read.jobs))
