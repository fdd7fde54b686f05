"""Reading a config.json: text to values, nested text config, family, model."""

import json
from pathlib import Path
from typing import Any

from hyperflow.errors import Finding, InputError
from hyperflow.inventory.config_family import read_family, text_view
from hyperflow.inventory.documents import read_text
from hyperflow.json_tree import is_mapping
from hyperflow.spec.model import Model


def read_config(path: Path) -> tuple[Model, tuple[Finding, ...]]:
    """Read the config at `path`, or the config.json in that folder; raises InputError with all faults found.

    The model is named for the file, or for the folder where the file is the usual config.json.
    """
    file = path / "config.json" if path.is_dir() else path
    model, findings = model_of_config(parse_config(read_text(file), str(file)), str(file))
    name = file.absolute().parent.name if file.name == "config.json" else file.stem
    return model.model_copy(update={"name": name}), findings


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
    model = read_family(view)
    return model, view.finish()


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
