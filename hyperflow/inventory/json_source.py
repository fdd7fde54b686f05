"""Positions and repeated keys in JSON text, found by walking it to the field that is asked for."""

import json
import re
from collections.abc import Sequence
from json.decoder import scanstring  # pyright: ignore[reportUnknownVariableType, reportAttributeAccessIssue]
from typing import cast

_BLANK = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder()


def position_in_json(content: str, path: Sequence[str | int], begin: int = 0) -> tuple[int, int, int]:
    """Give line, column and width of a field's value (its key's for a mapping entry), from 1.

    A field that is not there gives the nearest parent. `begin` is where the walk starts: 0, or one of `item_starts`.
    """
    index = _skip(content, begin)
    start, width = index, 1
    for step in path:
        found = _entry(content, index, step)
        if found is None:
            break
        start, width, index = found
    line = content.count("\n", 0, start) + 1
    return line, start - content.rfind("\n", 0, start), width


def item_starts(content: str, name: str) -> list[int]:
    """Give where each item of the list under the key `name` of the outermost mapping begins."""
    found = _entry(content, _skip(content, 0), name)
    if found is None:
        return []
    index = _skip(content, found[2] + 1)
    starts: list[int] = []
    while content[index : index + 1] not in ("", "]"):
        starts.append(index)
        _, index = _DECODER.raw_decode(content, index)
        index = _skip(content, index)
        if content[index : index + 1] == ",":
            index = _skip(content, index + 1)
    return starts


def _skip(content: str, index: int) -> int:
    match = _BLANK.match(content, index)
    return match.end() if match else index


def _string(content: str, index: int) -> tuple[str, int]:
    return cast(tuple[str, int], scanstring(content, index + 1, False))


def _entry(content: str, index: int, step: str | int) -> tuple[int, int, int] | None:
    """Give start, width and the index of the value of one entry of the mapping or list that begins at `index`."""
    opening = content[index : index + 1]
    if (opening == "{") != isinstance(step, str) or opening not in ("{", "["):
        return None
    index = _skip(content, index + 1)
    number = 0
    while content[index : index + 1] not in ("", "}", "]"):
        start, width, key = index, 1, None
        if opening == "{":
            key, end = _string(content, index)
            width = end - start
            index = _skip(content, _skip(content, end) + 1)
        if key == step or (opening == "[" and number == step):
            return start, width, index
        _, index = _DECODER.raw_decode(content, index)
        index = _skip(content, index)
        if content[index : index + 1] == ",":
            index = _skip(content, index + 1)
        number += 1
    return None


def duplicate_keys(content: str) -> list[tuple[int, int, str]]:
    """Give line of the first, line of the second, and the key itself, for keys that stand twice in one mapping."""
    names: list[str] = []

    def pairs(entries: list[tuple[str, object]]) -> None:
        if len({name for name, _ in entries}) != len(entries):
            seen: set[str] = set()
            for name, _ in entries:
                if name in seen:
                    names.append(name)
                seen.add(name)

    json.loads(content, object_pairs_hook=pairs)
    return [place for name in names[:1] for place in _places(content, name)]


def _places(content: str, name: str) -> list[tuple[int, int, str]]:
    """Walk the text to the first mapping that holds the name twice."""
    stack: list[dict[str, int]] = []
    index = 0
    token = re.compile(r'[{}\[\]]|"')
    while match := token.search(content, index):
        index = match.end()
        if match[0] == "{":
            stack.append({})
        elif match[0] == "[":
            stack.append({"[": -1})
        elif match[0] in "}]":
            stack.pop()
        else:
            start = match.start()
            text, index = _string(content, start)
            after = _skip(content, index)
            if content[after : after + 1] == ":" and text == name:
                if text in stack[-1]:
                    lines = [content.count("\n", 0, place) + 1 for place in (stack[-1][text], start)]
                    return [(lines[0], lines[1], name)]
                stack[-1][text] = start
    return []
