"""Any record of the compiler as readable JSON, for `--stop-after`."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import cast

from pydantic import BaseModel


def dump_record(record: object) -> str:
    """Print a record (dataclass or pydantic) as indented JSON with a line end."""
    return json.dumps(_tree(record), indent=2, ensure_ascii=False, default=str) + "\n"


def tree_of(record: object) -> dict[str, object]:
    """Give a record as plain JSON values."""
    return cast(dict[str, object], _tree(record))


def _tree(value: object) -> object:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", fallback=lambda other: getattr(other, "__qualname__", str(other)))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _tree(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _tree(item) for key, item in cast(Mapping[object, object], value).items()}
    if isinstance(value, tuple | list):
        return [_tree(item) for item in cast(Sequence[object], value)]
    return value
