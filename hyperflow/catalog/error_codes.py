"""The meaning of every error code, gathered from catalog/error_texts/*.yaml (one file per area)."""

import functools
from importlib.resources import files

from hyperflow.catalog.data import load


@functools.cache
def error_codes() -> dict[str, str]:
    """Give code -> meaning for all codes, sorted by code."""
    names = sorted(
        entry.name
        for entry in files("hyperflow.catalog").joinpath("error_texts").iterdir()
        if entry.name.endswith(".yaml")
    )
    return dict(sorted(item for name in names for item in load(f"error_texts/{name}").items()))
