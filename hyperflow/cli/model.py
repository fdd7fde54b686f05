"""`hyperflow model CONFIG.json...`: exact parameters of Hugging Face configs, layer by layer."""

import argparse
from itertools import groupby
from pathlib import Path

from hyperflow.cli.output import print_findings, print_json, print_table
from hyperflow.errors import Finding, HyperFlowError, UsageError
from hyperflow.inventory.models import load_model
from hyperflow.inventory.presets import preset_names, preset_source
from hyperflow.spec.model import Layer, Model
from hyperflow.spec.training_job import ModelRequest


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("config", nargs="*", metavar="CONFIG.json", help="a config.json, or a folder that has one")
    parser.add_argument("--preset", action="append", default=[], metavar="NAME", help="count a preset as well")
    parser.add_argument("--list", action="store_true", help="list the presets with where their values come from")


def run(args: argparse.Namespace) -> int:
    """Count every config; the unreadable ones are told, the others still counted. Exit 1 when one was refused."""
    if args.list:
        return print_presets(args.format)
    requests = [(path, ModelRequest(config=str(Path(path).absolute()))) for path in args.config]
    requests += [(name, ModelRequest(preset=name)) for name in args.preset]
    if not requests:
        raise UsageError(Finding(code="HF163", message="nothing to count", expected="a config.json or --preset NAME"))
    counted: list[tuple[str, Model]] = []
    findings: list[Finding] = []
    failed = False
    for source, request in requests:
        try:
            model, told = load_model(request, Path())
        except HyperFlowError as error:
            failed = True
            findings += error.findings
        else:
            counted.append((source, model))
            findings += told
    if args.format == "json":
        print_json({"models": [as_json(source, model) for source, model in counted]}, findings)
    else:
        print_counts(counted)
    print_findings(findings)
    return 1 if failed else 0


def print_presets(form: str) -> int:
    """Print the names of all presets and their sources."""
    rows = [[name, preset_source(name)] for name in preset_names()]
    if form == "json":
        print_json({"presets": [{"name": name, "source": source} for name, source in rows]})
    else:
        print_table(["preset", "source"], rows)
    return 0


def as_json(source: str, model: Model) -> dict[str, object]:
    """Give the model as the JSON document shows it; equal neighbours are one entry with their count."""
    return {
        "file": source,
        "name": model.name,
        "total_parameters": model.total_parameters,
        "active_parameters": model.active_parameters,
        "tied_embeddings": model.tied_embeddings,
        "num_layers": model.num_layers,
        "layers": [
            {
                "count": run.count,
                "kind": run.layer.kind,
                "parameters": run.layer.parameters,
                "active_parameters": run.layer.active_parameters,
            }
            for run in model.runs
        ],
        "outside_layers_parameters": model.outside_parameters,
        "embedding_parameters": model.embedding_parameters,
        "head_parameters": model.head_parameters,
        "mtp_parameters": model.mtp_parameters,
        "mtp_layers": model.mtp_layers,
        "hidden": model.hidden,
        "vocab": model.vocab,
        "sequence_length": model.sequence_length,
    }


def print_counts(counted: list[tuple[str, Model]]) -> None:
    """Print one line a model, and below it its kinds of layers where they differ."""
    rows: list[list[str]] = []
    for source, model in counted:
        rows.append(
            [
                source if len(counted) == 1 else Path(source).name,
                f"{model.total_parameters:,}",
                f"{model.active_parameters:,}",
                str(model.num_layers),
                "tied" if model.tied_embeddings else "own",
                f"{model.outside_parameters:,}",
                f"{model.mtp_parameters:,}" if model.mtp_parameters else "-",
            ]
        )
        rows += [
            [f"  {count} x {layer.kind}", f"{layer.parameters:,}", f"{layer.active_parameters:,}", "", "", "", ""]
            for layer, count in kinds_of(model)
        ]
    if rows:
        header = ["model", "parameters", "active per token", "layers", "head", "outside layers", "MTP apart"]
        print_table(header, rows, right=(1, 2, 3, 5, 6))


def kinds_of(model: Model) -> list[tuple[Layer, int]]:
    """Each distinct size of layer with how often it occurs, in order of first appearance."""
    order = {size: index for index, size in reversed(list(enumerate(map(_size, model.layers))))}
    ordered = sorted(model.layers, key=lambda layer: order[_size(layer)])
    groups = [list(group) for _, group in groupby(ordered, key=_size)]
    return [(group[0], len(group)) for group in groups]


def _size(layer: Layer) -> tuple[str, int, int]:
    return layer.kind, layer.parameters, layer.active_parameters
