"""Loading of the catalogue's YAML files, once each."""

import functools
from importlib.resources import files
from typing import Any

import yaml


@functools.cache
def load(name: str) -> Any:
    """Give the parsed catalogue file `name`, such as `devices.yaml`; callers must not change it."""
    text = files("hyperflow.catalog").joinpath(name).read_text(encoding="utf-8")
    return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
