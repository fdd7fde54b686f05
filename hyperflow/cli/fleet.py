"""The verb `fleet`."""

import argparse
from pathlib import Path
from typing import Any

from hyperflow.cli.output import print_findings, print_json, print_table
from hyperflow.errors import Finding, InputError, UsageError
from hyperflow.inventory.fleet import read_fleet, write_fleet
from hyperflow.inventory.fleet_summary import summarise_fleet
from hyperflow.inventory.hypernode_writer import discovery_yaml, hypernodes_yaml
from hyperflow.inventory.sources import split_source
from hyperflow.spec.fleet import Fleet


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `fleet`."""
    parser.add_argument(
        "sources",
        nargs="*",
        metavar="[CLUSTER=]SOURCE",
        help="node lists, pods, HyperNodes, Karmada Clusters, fleet.yaml, topograph, Slurm, UFM, NMX, ibnetdiscover",
    )
    parser.add_argument(
        "--context",
        action="append",
        default=[],
        metavar="[CLUSTER=]CONTEXT",
        help="read a live plane or cluster through this kubeconfig context; may be repeated",
    )
    parser.add_argument(
        "--tolerate", action="append", default=[], metavar="KEY[=VALUE]", help="count nodes with this taint as usable"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="write the fleet as fleet.yaml")
    parser.add_argument("--hypernodes", metavar="FILE", help="write HyperNode objects")
    parser.add_argument("--discovery", metavar="FILE", help="write Volcano's label discovery configuration")
    parser.add_argument("--strict", action="store_true", help="exit with 4 when there are warnings")


def run(args: argparse.Namespace) -> int:
    """Read the sources, write what was asked for, and print the fleet in short."""
    if not args.sources and not args.context:
        hint = "hyperflow fleet nodes.json, or hyperflow fleet --context NAME"
        raise UsageError(Finding(code="HF300", message="no source is given", hint=hint))
    fleet, read_findings = read_fleet(args.sources, args.tolerate, _fetch(args.context))
    findings = list(read_findings)
    failed = any(finding.severity == "error" for finding in findings)
    if not failed:
        findings += _write_files(args, fleet)
    summary = summarise_fleet(fleet)
    if args.format == "json":
        print_json({"clusters": summary}, findings)
    else:
        _print_clusters(summary)
    print_findings(findings)
    if failed:
        return 1
    return 4 if args.strict and any(finding.severity == "warning" for finding in findings) else 0


def _fetch(contexts: list[str]) -> list[tuple[str, list[Any]]]:
    fetched: list[tuple[str, list[Any]]] = []
    for given in contexts:
        from hyperflow.submit.live_inventory import KubernetesServer, fetch_objects

        cluster, context = split_source(given)
        fetched += fetch_objects(KubernetesServer(str(context)), cluster or str(context))
    return fetched


def _write_files(args: argparse.Namespace, fleet: Fleet) -> list[Finding]:
    findings: list[Finding] = []
    if args.output:
        _write(args.output, write_fleet(fleet))
    if args.hypernodes:
        _write(args.hypernodes, hypernodes_yaml(fleet))
    if args.discovery:
        text, findings = discovery_yaml(fleet)
        if text:
            _write(args.discovery, text)
    return findings


def _write(path: str, text: str) -> None:
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        message = f"cannot write {path}: {error.strerror or error}"
        raise InputError(Finding(code="HF101", message=message, where=path)) from None


def _print_clusters(summary: list[dict[str, Any]]) -> None:
    header = ("CLUSTER", "NODES", "USABLE", "DEVICE", "PER NODE", "DEVICES", "FREE", "TIERS (domains x largest)")
    rows: list[tuple[str, ...]] = []
    for cluster in summary:
        kinds = cluster["groups"]
        mixed = len({(kind["device"], kind["devices_per_node"]) for kind in kinds}) > 1
        device = "mixed" if mixed and cluster["device"] is None else _known(cluster["device"])
        size = "mixed" if mixed and cluster["devices_per_node"] is None else _known(cluster["devices_per_node"])
        tiers = "  ".join(
            f"{tier['tier']} {tier['name'] or '-'} {tier['domains']}x{_known(tier['largest_nodes'])}"
            for tier in cluster["tiers"]
        )
        numbers = [_known(cluster[key]) for key in ("nodes_total", "nodes_usable", "devices_total", "devices_free")]
        rows.append((cluster["name"], *numbers[:2], device, size, *numbers[2:], tiers or "none known"))
        if mixed:
            rows += [_group_row(kind) for kind in kinds]
    print_table(header, rows, right=(1, 2, 4, 5, 6))


def _group_row(group: dict[str, Any]) -> tuple[str, ...]:
    devices = group["nodes"] * group["devices_per_node"]
    numbers = (str(group["devices_per_node"]), str(devices), _known(group["devices_free"]))
    return ("", "", str(group["nodes"]), f"  {group['device']}", *numbers, "")


def _known(value: object) -> str:
    return "?" if value is None else str(value)
