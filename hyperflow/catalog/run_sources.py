"""Lookup of what published sources and model families say outside a run table's columns."""

from collections.abc import Mapping
from typing import Any

from hyperflow.catalog.data import load
from hyperflow.json_tree import mapping


def source_facts(source: str) -> Mapping[str, Any]:
    """Facts of the software behind a row's source; empty for an unknown source."""
    return _first([row for row in load("run_sources.yaml")["sources"] if row["match"] in source])


def model_facts(model: str) -> Mapping[str, Any]:
    """Facts of a model family by the start of the model's name; empty for an unknown one."""
    return _first([row for row in load("run_sources.yaml")["models"] if model.startswith(row["match"])])


def _first(rows: list[Any]) -> Mapping[str, Any]:
    return mapping(mapping(rows[0]).get("facts")) if rows else mapping(None)
