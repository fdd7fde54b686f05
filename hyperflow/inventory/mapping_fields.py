"""Typed reading of hand-written mappings: one finding per wrong, missing or unknown key, none of them fatal alone."""

from collections.abc import Callable
from typing import Any

from hyperflow.errors import Finding, nearest
from hyperflow.json_tree import is_mapping, is_sequence
from hyperflow.units import parse_quantity

_SIZES = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12} | {
    f"{prefix}iB": 1024 ** (power + 1) for power, prefix in enumerate("KMGTP")
}


def shown(value: object) -> str:
    """Give a short text of any parsed value, whatever its size or nesting.

    >>> shown([1, 2]), shown("x" * 200) == "x" * 60 + "..."
    ('a list of 2', True)
    """
    if is_mapping(value):
        return f"a mapping of {len(value)}"
    if is_sequence(value):
        return f"a list of {len(value)}"
    if value is None:
        return "nothing"
    text = str(value)
    return text if len(text) <= 60 else text[:60] + "..."


def parse_size(value: object) -> float:
    """Read a size with its unit (`2000GiB`, `1.5 TB`, `64Gi`) as bytes; raises ValueError for a bare number.

    >>> parse_size("2 GiB")
    2147483648.0
    """
    text = str(value).replace(" ", "")
    for unit in sorted(_SIZES, key=len, reverse=True):
        if text.endswith(unit) and not isinstance(value, bool):
            return float(text.removesuffix(unit)) * _SIZES[unit]
    if text and text[-1].isdigit():
        raise ValueError("a size needs its unit")
    return parse_quantity(text)


class Fields:
    """One mapping being read: each getter takes a key, `finish` reports the keys that nobody took."""

    def __init__(self, value: object, where: str, findings: list[Finding]) -> None:
        self.where = where
        self.findings = findings
        self._known: list[str] = []
        if not is_mapping(value):
            self.fault("", shown(value), "a mapping")
        self.values: dict[str, Any] = {str(k): v for k, v in value.items()} if is_mapping(value) else {}

    def take(self, key: str) -> Any:
        """Give the raw value of a key, None where it is absent."""
        self._known.append(key)
        return self.values.get(key)

    def text(self, key: str, default: str = "", *, required: bool = False) -> str:
        """Give a text; a number is taken as its text, since YAML reads versions such as 1.15 as numbers."""
        value = self.take(key)
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            if not required or str(value):
                return str(value)
        elif value is None and not required:
            return default
        self.fault(key, shown(value), "a text")
        return default

    def choice(self, key: str, choices: tuple[str, ...], default: str) -> str:
        """Give one of the named choices."""
        value = self.text(key, default)
        if value in choices:
            return value
        self.fault(key, value, " or ".join(choice for choice in choices if choice), nearest(value, choices))
        return default

    def integer(self, key: str, default: int | None = None, *, required: bool = False, least: int = 0) -> int | None:
        """Give a whole number of at least `least`."""
        value = self.number(key, required=required, least=least)
        if value is None:
            return default
        if value != int(value):
            self.fault(key, shown(value), "a whole number")
            return default
        return int(value)

    def number(self, key: str, *, required: bool = False, least: float = 0) -> float | None:
        """Give a finite number of at least `least`."""
        value = self.take(key)
        if value is None and not required:
            return None
        if isinstance(value, int | float) and not isinstance(value, bool) and least <= value < 1e300:
            return value
        self.fault(key, shown(value), f"a number of at least {least}")
        return None

    def parsed(self, key: str, parse: Callable[[object], float], expected: str) -> float | None:
        """Give a number read by `parse`, which raises ValueError."""
        value = self.take(key)
        if value is None:
            return None
        try:
            if is_mapping(value) or is_sequence(value):
                raise ValueError
            return parse(value)
        except ValueError:
            self.fault(key, shown(value), expected)
            return None

    def items(self, key: str) -> list[Any]:
        """Give the items of a list; an absent key is an empty one."""
        value = self.take(key)
        if value is None or is_sequence(value):
            return value or []
        self.fault(key, shown(value), "a list")
        return []

    def child(self, key: str) -> "Fields | None":
        """Give the mapping under a key for reading, None where it is absent."""
        value = self.take(key)
        return None if value is None else Fields(value, self.at(key), self.findings)

    def mapping(self, key: str) -> dict[str, Any]:
        """Give the mapping under a key as it is; an absent key is an empty one."""
        child = self.child(key)
        return child.values if child else {}

    def texts(self, key: str) -> dict[str, str]:
        """Give a mapping of texts, such as labels."""
        child = self.child(key)
        return {name: child.text(name) for name in list(child.values)} if child else {}

    def names(self, key: str) -> list[str]:
        """Give the items of a list of names."""
        values = self.items(key)
        for value in values:
            if not isinstance(value, str | int) or isinstance(value, bool) or value == "":
                self.fault(key, shown(value), "a list of names")
                return []
        return [str(value) for value in values]

    def at(self, key: str) -> str:
        """Give the place of a key."""
        return f"{self.where}.{key}" if key else self.where

    def fault(self, key: str, got: str, expected: str, hint: str = "") -> None:
        """Report a wrong value (HF301)."""
        place = self.at(key)
        self.findings.append(
            Finding(
                code="HF301",
                message=f"{key or 'this entry'} is not {expected}",
                where=place,
                got=got,
                expected=expected,
                hint=hint,
            )
        )

    def finish(self) -> None:
        """Report unknown keys."""
        for key in self.values:
            if key not in self._known:
                self.findings.append(
                    Finding(
                        code="HF302",
                        message=f"unknown key {shown(key)!r}",
                        where=self.where,
                        got=shown(key),
                        expected="one of " + ", ".join(sorted(set(self._known))),
                        hint=nearest(key, self._known),
                    )
                )
