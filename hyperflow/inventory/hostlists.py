"""Slurm host lists: `node[001-003,7]` for node001, node002, node003 and node7."""

import itertools
import re
from collections.abc import Iterable

MAX_HOSTS = 200_000
_BRACKETS = re.compile(r"\[([^\[\]]*)\]")


def expand_hosts(text: str) -> list[str]:
    """Expand a comma-separated host list; raises ValueError for an empty or reversed range or one too large.

    >>> expand_hosts("srv[08-10,3],gw")
    ['srv08', 'srv09', 'srv10', 'srv3', 'gw']
    """
    return [name for part in _split_outside_brackets(text) for name in _expand_one(part)]


def _split_outside_brackets(text: str) -> list[str]:
    parts: list[str] = []
    depth, current = 0, ""
    for character in text:
        depth += (character == "[") - (character == "]")
        if depth not in (0, 1):
            raise ValueError(f"brackets do not match in {text[:60]!r}")
        if character == "," and depth == 0:
            parts.append(current)
            current = ""
        else:
            current += character
    if depth:
        raise ValueError(f"brackets do not match in {text[:60]!r}")
    return [part.strip() for part in [*parts, current] if part.strip()]


def _expand_one(pattern: str) -> list[str]:
    pieces = _BRACKETS.split(pattern)
    choices = [[piece] if i % 2 == 0 else _expand_ranges(piece) for i, piece in enumerate(pieces)]
    total = 1
    for choice in choices:
        total *= len(choice)
    if total > MAX_HOSTS:
        raise ValueError(f"{pattern[:60]!r} names {total} hosts, more than {MAX_HOSTS}")
    return ["".join(parts) for parts in itertools.product(*choices)]


def _expand_ranges(text: str) -> list[str]:
    names: list[str] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isascii() or not first.isdigit() or (dash and not (last.isascii() and last.isdigit())):
            raise ValueError(f"{part[:60]!r} is not a number or a range of numbers")
        if len(first) > 18 or len(last) > 18:
            raise ValueError(f"{part[:60]!r} is too large")
        start, end = int(first), int(last or first)
        if end < start:
            raise ValueError(f"the range {part[:60]!r} runs backwards")
        if end - start >= MAX_HOSTS:
            raise ValueError(f"{part[:60]!r} names {end - start + 1} hosts, more than {MAX_HOSTS}")
        names += [str(number).zfill(len(first)) for number in range(start, end + 1)]
    return names


def compress_hosts(names: Iterable[str]) -> list[str]:
    """Give the shortest list of host-list texts for the names, sorted; `expand_hosts` gives the names back.

    >>> compress_hosts(["n1", "n2", "n3", "login"])
    ['login', 'n[1-3]']
    """
    plain: list[str] = []
    numbered: dict[tuple[str, str], list[str]] = {}
    for name in sorted(set(names)):
        match = None if set(name) & set("[],") else _last_number(name)
        if match is None:
            plain.append(name)
        else:
            head, digits, tail = match
            numbered.setdefault((head, tail), []).append(digits)
    texts = [*plain]
    for (head, tail), all_digits in numbered.items():
        for width, numbers in _by_width(all_digits).items():
            ranges = [_range_text(start, end, width) for start, end in _consecutive(sorted(numbers))]
            single = len(ranges) == 1 and "-" not in ranges[0]
            texts.append(f"{head}{ranges[0]}{tail}" if single else f"{head}[{','.join(ranges)}]{tail}")
    return sorted(texts)


def _by_width(all_digits: list[str]) -> dict[int, list[int]]:
    """Put numbers together that are written alike: padded to one width (09, 10), or unpadded (width 0)."""
    padded = {len(digits) for digits in all_digits if digits.startswith("0") and len(digits) > 1}
    widths: dict[int, list[int]] = {}
    for digits in all_digits:
        widths.setdefault(len(digits) if len(digits) in padded else 0, []).append(int(digits))
    return widths


def _last_number(name: str) -> tuple[str, str, str] | None:
    match = re.fullmatch(r"(.*?)([0-9]{1,18})([^0-9]*)", name, re.DOTALL)
    return (match[1], match[2], match[3]) if match else None


def _consecutive(numbers: list[int]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return runs


def _range_text(start: int, end: int, width: int) -> str:
    first, last = str(start).zfill(width), str(end).zfill(width)
    return first if start == end else f"{first}-{last}"
