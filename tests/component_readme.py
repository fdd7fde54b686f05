"""The README of a component, made from its code and metadata in the form of kubeflow/pipelines-components."""

import inspect
from pathlib import Path

import docstring_parser
import yaml

CUSTOM = "<!-- custom-content -->"
"""What stands below this mark is written by hand and kept."""


def readme_of(folder: Path, function) -> str:
    """Give the text for the function of the folder's component.py."""
    said = docstring_parser.parse(inspect.getdoc(function))
    told = {item.arg_name: " ".join(item.description.split()) for item in said.params}
    metadata = yaml.safe_load((folder / "metadata.yaml").read_text(encoding="utf-8"))
    example = (folder / "example_pipelines.py").read_text(encoding="utf-8").strip()
    before = folder / "README.md"
    custom = before.read_text(encoding="utf-8").partition(CUSTOM)[2] if before.is_file() else "\n"
    parameters = inspect.signature(function).parameters.values()
    inputs = [item for item in parameters if "Output" not in str(item.annotation)]
    outputs = [item for item in parameters if item not in inputs]
    lines = [
        f"# {folder.name.replace('_', ' ').title().replace('Hyperflow', 'HyperFlow')}",
        "",
        f"Stability: {metadata['stability']}.",
        "",
        "## Overview",
        "",
        said.short_description,
        "",
        "## Inputs",
        "",
        "| Parameter | Type | Default | Description |",
        "|---|---|---|---|",
        *[f"| `{item.name}` | `{_kind(item.annotation)}` | {_default(item)} | {told[item.name]} |" for item in inputs],
        "",
        "## Outputs",
        "",
        "| Name | Type | Description |",
        "|---|---|---|",
        *[f"| `{item.name}` | `{_artifact(item.annotation)}` | {told[item.name]} |" for item in outputs],
        *[f"| `{name}` | `{kind.__name__}` | {text} |" for name, kind, text in _returned(function, said)],
        "",
        "## Usage Examples",
        "",
        "```python",
        example,
        "```",
        "",
        "## Metadata",
        "",
        *[f"- **{key}**: {_shown(value)}" for key, value in metadata.items()],
        "",
        CUSTOM,
    ]
    return "\n".join(lines) + custom


def _kind(annotation) -> str:
    return getattr(annotation, "__name__", str(annotation))


def _default(parameter) -> str:
    return "Required" if parameter.default is inspect.Parameter.empty else f"`{parameter.default!r}`"


def _artifact(annotation) -> str:
    return annotation.__origin__.__name__


def _returned(function, said):
    kinds = inspect.signature(function).return_annotation.__annotations__
    lines = f"{said.returns.type_name}: {said.returns.description}".splitlines()  # it takes the first name for a type
    told = dict(line.strip().split(": ", 1) for line in lines)
    return [(name, kind, told[name]) for name, kind in kinds.items()]


def _shown(value) -> str:
    if isinstance(value, dict) and "version" in value:
        return f"{value['name']} {value['version']}"
    if isinstance(value, dict):
        return "; ".join(f"{key}: {_shown(item)}" for key, item in value.items())
    if isinstance(value, list):
        return ", ".join(_shown(item) for item in value)
    return f"{value:%Y-%m-%d}" if hasattr(value, "strftime") else str(value)
