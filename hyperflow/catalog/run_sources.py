"""Lookup of what published sources and model families say outside a run table's columns."""

from collections.abc import Mapping
from typing import Any

from hyperflow.catalog.data import load


def source_facts(source: str) -> Mapping[str, Any]:
    """Facts of the software behind a row's source; empty for an unknown source."""
    return next((row["facts"] for row in load("run_sources.yaml")["sources"] if row["match"] in source), {})


def model_facts(model: str) -> Mapping[str, Any]:
    """Facts of a model family by the start of the model's name; empty for an unknown one."""
    return next((row["facts"] for row in load("run_sources.yaml")["models"] if model.startswith(row["match"])), {})
