"""Reading of files: text, and the YAML or JSON documents in it."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from hyperflow.errors import Finding, InputError
from hyperflow.json_tree import mapping, sequence, text

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One document of a file; `index` counts from 0 in file order, items of Lists included."""

    file: str
    index: int
    value: Any


def read_text(path: str | Path) -> str:
    """Read a UTF-8 file; raises InputError (HF101) when it is absent, unreadable or not text."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        reason = error.strerror or str(error)
    except UnicodeDecodeError as error:
        reason = f"byte {error.start} is not UTF-8"
    raise InputError(
        Finding(
            code="HF101", message=f"cannot read {path}: {reason}", where=str(path), hint="give a readable text file"
        )
    )


def read_documents(path: str | Path) -> list[Document]:
    """Read all YAML or JSON documents of a file, with the items of Kubernetes Lists as documents of their own.

    Raises InputError: HF101 for an unreadable file, HF102 for text that does not parse.
    """
    content = read_text(path)
    values: list[Any] = []
    for value in _parse(content, str(path)):
        is_list = text(mapping(value).get("kind")).endswith("List") and "items" in mapping(value)
        values += sequence(mapping(value)["items"]) if is_list else [value]
    return [Document(file=str(path), index=index, value=value) for index, value in enumerate(values)]


def _parse(content: str, file: str) -> list[Any]:
    if content.lstrip().startswith(("{", "[")):
        try:
            return [json.loads(content)]
        except (ValueError, RecursionError):
            pass  # flow-style YAML also starts so; the YAML reader tells what is wrong
    try:
        return [value for value in yaml.load_all(content, Loader=_Loader) if value is not None]
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f"{file}:{mark.line + 1}:{mark.column + 1}" if mark else file
        problem = error.problem or "not YAML"
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        where, problem = file, str(error)
    raise InputError(
        Finding(code="HF102", message=f"cannot parse: {problem}", where=where, hint="the file must be YAML or JSON")
    )
