"""A torchtitan config that sets the modules of each model part from model_parts.json, nothing else."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from types import ModuleType
from typing import Any


def planned() -> Any:
    """Give the user's config with the planned model parts."""
    plan = json.loads(Path(__file__).with_name("model_parts.json").read_text(encoding="utf-8"))
    config = getattr(_registry(plan["module"]), plan["config"])()
    config.parallelism.module_fqns_per_model_part = plan["parts"]
    return config


def _registry(module: str) -> ModuleType:
    """Find the config registry as torchtitan does: its own models and experiments first, then a full module path."""
    tried: list[str] = []
    for name in (
        f"torchtitan.models.{module}.config_registry",
        f"torchtitan.experiments.{module}.config_registry",
        f"{module}.config_registry",
        module,
    ):
        try:
            return importlib.import_module(name)
        except ImportError as error:
            tried.append(f"{name}: {error}")
    raise ImportError("no config registry for module {}; tried {}".format(module, "; ".join(tried)))
