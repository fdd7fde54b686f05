"""The verb `demo`: write demonstration inputs, and for the topology a picture of its jobs placed."""

import argparse
from pathlib import Path

import yaml

from hyperflow.cli.output import print_findings, print_json
from hyperflow.errors import Finding, InputError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `demo`."""
    parser.add_argument("name", choices=("topology",), help="rows of racks of kwok nodes with jobs that fill them")
    parser.add_argument("--rows", type=int, default=2, help="rows (default 2)")
    parser.add_argument("--racks", type=int, default=3, help="racks in each row (default 3)")
    parser.add_argument("--nodes", type=int, default=18, help="nodes in each rack (default 18)")
    parser.add_argument("--extra", type=int, default=10, help="nodes in no HyperNode (default 10)")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="DIR", help="where the files go")


def run(args: argparse.Namespace) -> int:
    """Write nodes, hypernodes, jobs-racks and jobs-rows as YAML, and a picture of each set of jobs."""
    from hyperflow.inventory.documents import Document
    from hyperflow.inventory.place_objects import read_placement
    from hyperflow.place.demo_topology import DemoSize, demo_documents
    from hyperflow.place.placer import place_jobs
    from hyperflow.report.topology_svg import draw_topology

    too_small = [name for name in ("rows", "racks", "nodes") if getattr(args, name) < 1]
    too_small += ["extra"] if args.extra < 0 else []
    if too_small:
        got = ", ".join(f"--{name} {getattr(args, name)}" for name in too_small)
        hint = "at least 1 row, rack and node; 0 or more extra nodes"
        raise InputError(Finding(code="HF373", message="the demo needs positive sizes", got=got, hint=hint))
    files = demo_documents(DemoSize(rows=args.rows, racks=args.racks, nodes=args.nodes, extra=args.extra))
    args.output.mkdir(parents=True, exist_ok=True)
    written: list[str] = []
    for stem, documents in files.items():
        path = args.output / f"{stem}.yaml"
        path.write_text(yaml.safe_dump_all(documents, sort_keys=False), encoding="utf-8")
        written.append(str(path))
    for stem in ("jobs-racks", "jobs-rows"):
        values = [*files["nodes"], *files["hypernodes"], *files[stem]]
        given = read_placement([Document(file=stem, index=at, value=value) for at, value in enumerate(values)])
        path = args.output / f"{stem}.svg"
        picture = draw_topology(given.clusters, place_jobs(given.clusters, given.jobs).placements)
        path.write_text(picture, encoding="utf-8")
        written.append(str(path))
    if args.format == "json":
        print_json({"files": written, "nodes": len(files["nodes"]), "hypernodes": len(files["hypernodes"])})
    else:
        print(f"{len(files['nodes'])} nodes, {len(files['hypernodes'])} HyperNodes")
        print(*written, sep="\n")
        base = args.output
        print(f"next: hyperflow place {base}/nodes.yaml {base}/hypernodes.yaml {base}/jobs-racks.yaml")
    print_findings(())
    return 0
