"""Reading a config.json: text to values, nested text config, family, model."""

import json
from pathlib import Path
from typing import Any

from hyperflow.errors import Finding, InputError, nearest
from hyperflow.inventory.documents import read_text
from hyperflow.inventory.hf_config import WAY_OUT, ConfigView
from hyperflow.inventory.hf_families.registry import FAMILIES
from hyperflow.json_tree import is_mapping
from hyperflow.spec.model import Model

NESTED = ("text_config", "llm_config", "language_config")
"""Where configs of several towers keep the language model."""


def read_config(path: Path) -> tuple[Model, tuple[Finding, ...]]:
    """Read the config at `path`, or the config.json in that folder; raises InputError with all faults found."""
    file = path / "config.json" if path.is_dir() else path
    return model_of_config(parse_config(read_text(file), str(file)), str(file))


def parse_config(content: str, file: str) -> dict[str, Any]:
    """Parse a config's text; the bare tokens Infinity and NaN are allowed, as Python writes them."""
    try:
        value = json.loads(content.removeprefix("\ufeff"))
    except json.JSONDecodeError as error:
        raise _not_a_config(f"{file}:{error.lineno}:{error.colno}", error.msg) from None
    except (RecursionError, ValueError) as error:
        raise _not_a_config(file, str(error)) from None
    if not is_mapping(value):
        raise _not_a_config(file, f"the document is a {type(value).__name__}, not an object")
    return value


def model_of_config(values: dict[str, Any], file: str) -> tuple[Model, tuple[Finding, ...]]:
    """Read the parsed config; raises InputError with all faults found."""
    view = text_view(values, file)
    model_type = view.text("model_type", absent="")
    reader = FAMILIES.get(model_type)
    if reader is None:
        view.add(
            "HF157",
            f"the model type {model_type!r} is not known",
            key="model_type",
            got=model_type or "none",
            hint=nearest(model_type, FAMILIES) or WAY_OUT,
        )
        raise InputError(view.findings)
    model = reader(view)
    return model, view.finish()


def text_view(values: dict[str, Any], file: str) -> ConfigView:
    """The view of the language model: the config itself, or the nested part of a config of several towers."""
    for key in NESTED:
        if is_mapping(values.get(key)):
            return ConfigView(values[key], file=file, inside=key, outer=values)
    return ConfigView(values, file=file)


def _not_a_config(where: str, reason: str) -> InputError:
    return InputError(
        Finding(
            code="HF159",
            where=where,
            message=f"this is not a config.json: {reason}",
            expected="one JSON object",
            hint="is the file whole? a config.json starts with { and ends with }",
        )
    )
