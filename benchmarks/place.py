"""How fast jobs are placed on large trees, beside a plain first fit that knows no domains.

    python benchmarks/place.py [--nodes 2500 5000 10000] [--nodes-per-job 20]

Racks of 16 nodes, rows of 16 racks, one top; jobs of 2 to 8 partitions, hard in a rack each, hard in a row together.
Jobs grow with nodes, so that linear growth shows. Prints CPU seconds of the placer (reasons and second run for ties
included) and of first fit, how many jobs each placed, and how many of first fit's keep each partition in one rack.
"""

import argparse
import time
from collections.abc import Sequence

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

RACK, ROW = 16, 16
SHAPE = PodShape(requests=(("cpu", 8.0), ("memory", 64e9), ("nvidia.com/gpu", 8.0)))
NODE = {"cpu": 64.0, "memory": 512e9, "nvidia.com/gpu": 8.0, "pods": 110.0}


def make_cluster(count: int) -> ClusterRecord:
    """Build nodes in racks, racks in rows, rows in one top."""
    names = [f"node-{at:05d}" for at in range(count)]
    racks = [names[at : at + RACK] for at in range(0, count, RACK)]
    tree = [_hypernode(f"rack-{at:04d}", 1, "Node", members) for at, members in enumerate(racks)]
    rows = [[h.name for h in tree[at : at + ROW]] for at in range(0, len(tree), ROW)]
    row_nodes = [_hypernode(f"row-{at:03d}", 2, "HyperNode", members) for at, members in enumerate(rows)]
    top = _hypernode("top", 3, "HyperNode", [h.name for h in row_nodes])
    nodes = tuple(NodeRecord(name=name, labels={}, allocatable=NODE) for name in names)
    return ClusterRecord(name=None, nodes=nodes, hypernodes=(*tree, *row_nodes, top))


def _hypernode(name: str, tier: int, kind: str, members: Sequence[str]) -> HyperNode:
    found = tuple(HyperNodeMember(type=kind, name=member) for member in members)
    return HyperNode(name=name, tier=tier, members=found)


def make_jobs(count: int) -> list[JobRecord]:
    """Build jobs whose partitions of 2, 4 or 8 nodes need a rack each and a row together."""
    jobs = []
    for at in range(count):
        size, parts = (2, 4, 8)[at % 3], 2 + at % 7
        rule = PartitionRule(count=parts, size=size, minimum=parts, topology=TopologyLimit(tier=1))
        task = TaskRecord(name="w", replicas=size * parts, minimum=size * parts, shape=SHAPE, partition=rule)
        jobs.append(
            JobRecord(name=f"job-{at:04d}", tasks=(task,), minimum=size * parts, topology=TopologyLimit(tier=2))
        )
    return jobs


def first_fit(cluster: ClusterRecord, jobs: Sequence[JobRecord]) -> tuple[int, int]:
    """Give every pod the first node with room; count jobs placed, and those whose partitions kept to one rack."""
    free = [dict(node.allocatable) for node in cluster.nodes]
    placed = whole = start = 0
    for job in jobs:
        task, chosen = job.tasks[0], []
        demand = task.shape.demand
        while start < len(free) and any(free[start][k] < v for k, v in demand.items()):
            start += 1
        at = start
        while len(chosen) < task.replicas and at < len(free):
            if all(free[at][k] >= v for k, v in demand.items()):
                for k, v in demand.items():
                    free[at][k] -= v
                chosen.append(at)
            else:
                at += 1
        if len(chosen) == task.replicas:
            placed += 1
            size = task.partition.size if task.partition else task.replicas
            groups = [chosen[i : i + size] for i in range(0, len(chosen), size)]
            whole += all(len({node // RACK for node in group}) == 1 for group in groups)
    return placed, whole


def main() -> None:
    """Time both on growing clusters."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, nargs="+", default=[2500, 5000, 10000])
    parser.add_argument("--nodes-per-job", type=int, default=20)
    args = parser.parse_args()
    print("nodes   jobs  place s  fits  later  never  first-fit s  placed  racks kept")
    for count in args.nodes:
        cluster, jobs = make_cluster(count), make_jobs(count // args.nodes_per_job)
        begin = time.process_time()
        report = place_jobs([cluster], jobs)
        middle = time.process_time()
        plain, whole = first_fit(cluster, jobs)
        end = time.process_time()
        verdicts = [placement.verdict for placement in report.placements]
        counts = [verdicts.count(v) for v in ("fits", "later", "never")]
        print(
            f"{count:5d} {len(jobs):6d} {middle - begin:8.2f} {counts[0]:5d} {counts[1]:6d} {counts[2]:6d} "
            f"{end - middle:12.2f} {plain:7d} {whole:11d}"
        )


if __name__ == "__main__":
    main()
