"""Models by name: the rows of catalog/models.yaml, read like any config.json."""

import difflib
from typing import Any

from hyperflow.catalog.data import load
from hyperflow.errors import Finding, InputError
from hyperflow.inventory.config_file import model_of_config
from hyperflow.spec.model import Model

_FILE = "models.yaml"


def preset_names() -> tuple[str, ...]:
    """All preset names, sorted, aliases not among them."""
    return tuple(sorted(load(_FILE)))


def preset_source(name: str) -> str:
    """Where the values of a preset were taken from."""
    return load(_FILE)[name]["source"]


def model_of_preset(name: str) -> tuple[Model, tuple[Finding, ...]]:
    """Give the model of that name or alias, letter case and underscores ignored; raises InputError (HF162)."""
    rows: dict[str, dict[str, Any]] = load(_FILE)
    wanted = name.strip().lower().replace("_", "-")
    names = {alias: key for key, row in rows.items() for alias in (key, *row.get("aliases", ()))}
    if wanted not in names:
        close = difflib.get_close_matches(wanted, sorted(names), n=3, cutoff=0.5)
        raise InputError(
            Finding(
                code="HF162",
                where="model: preset",
                message="no preset has that name",
                got=name,
                expected="one of those that hyperflow model --list shows",
                hint=f"did you mean {', '.join(close)}?" if close else 'or give config="config.json"',
            )
        )
    key = names[wanted]
    model, findings = model_of_config(rows[key]["config"], f"catalog/{_FILE}: {key}")
    return model.model_copy(update={"name": key}), findings
