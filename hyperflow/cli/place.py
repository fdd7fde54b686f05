"""The verb `place`: read documents, place their jobs, print the verdicts."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from hyperflow.cli.output import print_findings, print_json, print_table

if TYPE_CHECKING:
    from hyperflow.place.placer import PlacementReport


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `place`."""
    parser.add_argument("files", nargs="+", metavar="FILE", help="Node, HyperNode, Queue, Pod and job documents")
    parser.add_argument(
        "--by-priority", action="store_true", help="higher priorityClassName first, instead of the order given"
    )
    parser.add_argument("--svg", type=Path, metavar="FILE", help="draw the nodes by domain, coloured by job")


def run(args: argparse.Namespace) -> int:
    """Place the jobs; 0 when all fit, 3 when some wait or never fit."""
    from hyperflow.inventory.documents import read_documents
    from hyperflow.inventory.place_objects import read_placement
    from hyperflow.place.advice import judge_input
    from hyperflow.place.placer import place_jobs

    documents = [document for file in args.files for document in read_documents(file)]
    given = read_placement(documents)
    report = place_jobs(given.clusters, given.jobs, by_priority=args.by_priority)
    findings = [*given.findings, *judge_input(given.clusters, given.jobs)]
    if args.svg:
        from hyperflow.report.topology_svg import draw_topology

        args.svg.write_text(draw_topology(given.clusters, report.placements), encoding="utf-8")
    if args.format == "json":
        placements = [placement.as_json() for placement in report.placements]
        print_json({"placements": placements, "clusters": [space.as_json() for space in report.spaces]}, findings)
    else:
        _print_tables(report)
        print_findings(findings)
    return 0 if all(placement.verdict == "fits" for placement in report.placements) else 3


def _print_tables(report: "PlacementReport") -> None:
    rows = [
        (
            placement.job,
            placement.cluster or "-",
            placement.verdict,
            f"{placement.pods_placed}/{placement.pods_total}",
            placement.domain or "-",
            "-" if placement.tier is None else str(placement.tier),
            placement.looks_like,
        )
        for placement in report.placements
    ]
    print_table(("job", "cluster", "verdict", "pods", "domain", "tier", "looks like"), rows, right=(3, 5))
    print()
    for placement in report.placements:
        print(f"{placement.job}: {placement.reason}")
        if placement.change:
            print(f"  smallest change: {placement.change}")
    print()
    for space in report.spaces:
        name = f"cluster {space.cluster}" if space.cluster else "cluster"
        print(
            f"{name}: {space.before.idle_nodes} -> {space.after.idle_nodes} of {space.nodes} nodes idle, "
            f"fragmentation {space.before.fragmentation:.2f} -> {space.after.fragmentation:.2f}"
        )
        for tier, count in sorted(space.domains.items()):
            name = f", {space.tier_names[tier]}" if tier in space.tier_names else ""
            free = space.before.whole_domains.get(tier, 0), space.after.whole_domains.get(tier, 0)
            print(f"  whole domains free, tier {tier}{name}: {free[0]} -> {free[1]} of {count}")
