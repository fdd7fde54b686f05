"""`hyperflow lint FILE...`: what the member's and the plane's servers would say to each document."""

import argparse
import json
import sys
from typing import Any

import yaml

from hyperflow.admission.tables import KindTable, Server, catalogue_table, kinds_of_crd
from hyperflow.cli.lint_run import JudgedDocument, ServerBench, judge_files, mended
from hyperflow.cli.output import print_findings, print_json, print_table
from hyperflow.errors import Finding
from hyperflow.inventory.documents import read_documents
from hyperflow.json_tree import mapping

FORMATS = ("table", "json", "sarif")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("files", nargs="+", metavar="FILE", help="YAML or JSON documents to judge")
    parser.add_argument("--with", dest="present", nargs="+", default=[], metavar="FILE",
                        help="objects that the member holds already, CRDs included")  # fmt: skip
    parser.add_argument("--with-plane", nargs="+", metavar="FILE", help="the same for the plane (default: as --with)")
    parser.add_argument(
        "--old", nargs="+", default=[], metavar="FILE", help="what the documents replace: judge updates"
    )
    parser.add_argument("--server", choices=("member", "plane", "both"), default="both", help="who is asked")
    parser.add_argument("--target", choices=("current", "patched"), default="current",
                        help="patched: the HyperJob CRD is the one that `hyperflow crd` prints")  # fmt: skip
    parser.add_argument("--strict", action="store_true", help="exit 4 when a document is risky")
    parser.add_argument("--fix", action="store_true", help="print the documents with all certain mends made")


def run(args: argparse.Namespace) -> int:
    """Judge the files; exit 1 when one is denied or unreadable, 4 with --strict when one is risky."""
    members, plane = _objects(args.present), _objects(args.with_plane or args.present)
    servers: tuple[Server, ...] = ("member", "plane") if args.server == "both" else (args.server,)
    held: dict[Server, list[Any]] = {"member": members, "plane": plane}
    benches = [ServerBench.holding(server, held[server], _table(held[server], args.target)) for server in servers]
    results = list(judge_files(args.files, benches, _objects(args.old)))
    if args.fix:
        _print_mended(results, as_json=args.format == "json")
    elif args.format == "sarif":
        from hyperflow.report.sarif import sarif_log

        log = sarif_log([finding for result in results for finding in result.findings])
        sys.stdout.write(json.dumps(log, indent=2, ensure_ascii=False) + "\n")
    elif args.format == "json":
        findings = [finding for result in results for finding in result.findings]
        print_json({"documents": [result.as_json() for result in results]}, findings)
    else:
        _print_table(results)
    if any(result.verdict == "denied" or result.is_unreadable for result in results):
        return 1
    return 4 if args.strict and any(result.verdict == "risky" for result in results) else 0


def _objects(paths: list[str]) -> list[Any]:
    return [document.value for path in paths for document in read_documents(path)]


def _table(objects: list[Any], target: str) -> KindTable:
    crds = [mapping(o) for o in objects if mapping(o).get("kind") == "CustomResourceDefinition"]
    table = catalogue_table().with_kinds([kind for crd in crds for kind in kinds_of_crd(crd)])
    return table.patched() if target == "patched" else table


def _print_table(results: list[JudgedDocument]) -> None:
    rows = [
        [r.file, str(r.index), r.kind or "-", r.name or "-", r.verdict, ", ".join(r.denied_by) or "-"] for r in results
    ]
    print_table(("file", "document", "kind", "name", "verdict", "denied by"), rows, right=(1,))
    print_findings([finding for result in results for finding in result.findings])
    counts = [f"{sum(r.verdict == v for r in results)} {v}" for v in ("accepted", "risky", "denied", "unjudged")]
    sys.stdout.write(f"{len(results)} documents: {', '.join(counts)}\n")


def _print_mended(results: list[JudgedDocument], *, as_json: bool) -> None:
    findings: list[Finding] = []
    items: list[dict[str, Any]] = []
    for result in results:
        if result.value is None:
            findings += result.findings
            continue
        document, left = mended(result)
        findings += left
        items.append(document)
    if as_json:
        print_json({"apiVersion": "v1", "kind": "List", "items": items}, findings)
        return
    for document in items:
        sys.stdout.write("---\n")
        yaml.safe_dump(document, sys.stdout, sort_keys=False, allow_unicode=True)
    print_findings(findings)
