"""The verb `diff`."""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hyperflow.cli.live_arguments import add_context, connected
from hyperflow.cli.output import print_json, print_table
from hyperflow.inventory.bundle_reader import StoredBundle, read_bundle
from hyperflow.json_tree import dig, is_mapping, is_sequence, text
from hyperflow.submit.live_diff import Change, changes
from hyperflow.submit.plane import Plane
from hyperflow.submit.server_kinds import kind_of

CELL_LENGTH = 60


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `diff`."""
    parser.add_argument("bundle", metavar="BUNDLE", help="the folder that compile wrote")
    parser.add_argument("other", nargs="?", metavar="BUNDLE", help="another bundle; without one: the live objects")
    add_context(parser)


def run(args: argparse.Namespace) -> int:
    """Print each field that differs by meaning, and whether a living job would refuse the change; 0 either way."""
    bundle = read_bundle(Path(args.bundle))
    other = read_bundle(Path(args.other)) if args.other else None
    found, absent = (_between(bundle, other)) if other else _live(bundle, connected(args, is_brief=True))
    if args.format == "json":
        rows = [
            {
                "kind": c.kind,
                "name": c.name,
                "path": c.path,
                "from": c.live,
                "to": c.wanted,
                "immutable": c.is_immutable,
            }
            for c in found
        ]
        print_json({"changes": rows, "absent": absent})
        return 0
    for name in absent:
        print_table((name if other else f"{name} is not on the server",), [])
    if found:
        rows = [
            (f"{c.kind} {c.name}", c.path, _cell(c.live), _cell(c.wanted), "yes" if c.is_immutable else "no")
            for c in found
        ]
        print_table(("OBJECT", "FIELD", "FROM", "TO", "IMMUTABLE"), rows)
    elif not absent:
        print_table(("no difference",), [])
    return 0


def _cell(value: str) -> str:
    """Shorten a value to one line that a table holds; `--format json` has it whole."""
    line = " ".join(value.split())
    return line if len(line) <= CELL_LENGTH else line[: CELL_LENGTH - 3] + "..."


def _live(bundle: StoredBundle, plane: Plane) -> tuple[list[Change], list[str]]:
    found: list[Change] = []
    absent: list[str] = []
    for document in bundle.documents:
        namespace = text(dig(document.value, "metadata", "namespace"))
        live = plane.get(kind_of(document.value), document.name, namespace)
        if live is None:
            absent.append(f"{document.kind} {document.name}")
        else:
            found += changes(document.value, live)
    return found, absent


def _between(bundle: StoredBundle, other: StoredBundle) -> tuple[list[Change], list[str]]:
    """Compare from the first to the second; names differ by their hash, so it is taken out of both."""

    def keyed(stored: StoredBundle) -> dict[tuple[str, str], Mapping[str, Any]]:
        return {
            (d.kind, d.name.replace(stored.name, "JOB")): _without_hash(d.value, stored.name) for d in stored.documents
        }

    mine, theirs = keyed(bundle), keyed(other)
    found = [c for key, value in theirs.items() if key in mine for c in changes(value, mine[key])]
    absent = [f"{kind} {name} is not in {bundle.folder}" for kind, name in theirs if (kind, name) not in mine]
    absent += [f"{kind} {name} is not in {other.folder}" for kind, name in mine if (kind, name) not in theirs]
    return found, absent


def _without_hash(value: Any, name: str) -> Any:
    if is_mapping(value):
        return {k: _without_hash(v, name) for k, v in value.items()}
    if is_sequence(value):
        return [_without_hash(item, name) for item in value]
    return value.replace(name, "JOB") if isinstance(value, str) else value
