"""Values as YAML text that can be nothing but that value: no user text ever becomes structure."""

import json
import re
from typing import Any

from hyperflow.json_tree import is_mapping, is_sequence

_PLAIN = re.compile(r"(--?)?[A-Za-z/][A-Za-z0-9_./=-]*(:[A-Za-z0-9_./=-]+)*")
_SPECIAL = {"y", "n", "yes", "no", "on", "off", "true", "false", "null", "none", "nan", "inf"}
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufeff\ufffe\uffff\u2028\u2029]")
_LONGEST_PLAIN = 120
_LONGEST_KEY = 1000


def scalar(value: object) -> str:
    """Write one value on one line: bare where that is safe, else as a JSON text, which is YAML too.

    >>> scalar("ghcr.io/acme/train"), scalar("yes"), scalar("a: b"), scalar(3)
    ('ghcr.io/acme/train', '"yes"', '"a: b"', '3')
    """
    if value is None or isinstance(value, bool | int | float):
        return json.dumps(value, allow_nan=False)
    text = str(value)
    if len(text) <= _LONGEST_PLAIN and _PLAIN.fullmatch(text) and text.casefold() not in _SPECIAL:
        return text
    return _UNSAFE.sub(_escape, json.dumps(text, ensure_ascii=False))


def text_block(value: str, indent: int) -> str:
    """Write a text with several lines as a literal block where YAML keeps every character of it, else as one line."""
    lines = value.split("\n")
    literal = (
        value.endswith("\n")
        and not value.endswith("\n\n")
        and len(lines) > 2
        and value[0] not in " \n\t"
        and not _UNSAFE.search(value)
        and all(line == line.rstrip() for line in lines)
    )
    if not literal:
        return scalar(value)
    pad = " " * indent
    return "|\n" + "\n".join(pad + line if line else "" for line in lines[:-1])


def block(value: object, indent: int) -> str:
    """Write a tree as block-style YAML, each line indented; empty mappings and lists in flow style."""
    return "\n".join(_lines(value, indent))


def _lines(value: object, indent: int) -> list[str]:
    pad = " " * indent
    if is_mapping(value) and value:
        return [line for key, item in value.items() for line in _pair(scalar(str(key)), item, indent)]
    if is_sequence(value) and value:
        return [line for item in value for line in _item(item, indent)]
    return [pad + _inline(value, indent)]


def _pair(key: str, item: Any, indent: int) -> list[str]:
    """One key with its value; a key too long for YAML's simple form stands on a line of its own."""
    pad = " " * indent
    if len(key) > _LONGEST_KEY:
        return [f"{pad}? {key}", *_entry(f"{pad}:", item, indent)]
    return _entry(f"{pad}{key}:", item, indent)


def _entry(head: str, item: Any, indent: int) -> list[str]:
    if (is_mapping(item) or is_sequence(item)) and item:
        return [head, *_lines(item, indent + 2)]
    return f"{head} {_inline(item, indent + 2)}".split("\n")


def _item(item: Any, indent: int) -> list[str]:
    pad = " " * indent
    if (is_mapping(item) or is_sequence(item)) and item:
        first, *rest = _lines(item, indent + 2)
        return [f"{pad}- {first.lstrip(' ')}", *rest]
    return f"{pad}- {_inline(item, indent + 2)}".split("\n")


def _inline(value: object, indent: int) -> str:
    if is_mapping(value):
        return "{}"
    if is_sequence(value):
        return "[]"
    return text_block(value, indent) if isinstance(value, str) and "\n" in value else scalar(value)


def _escape(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"
