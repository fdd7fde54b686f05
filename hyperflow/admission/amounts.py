"""Kubernetes quantities as exact numbers, for the comparisons that webhooks make."""

import functools
import re
from fractions import Fraction

from hyperflow.json_tree import mapping

_QUANTITY = re.compile(r"([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))(?:[eE]([+-]?[0-9]{1,3})|([KMGTPE]i|[numkMGTPE]))?")
_SCALES = {
    **{unit: Fraction(1000) ** power for power, unit in enumerate(("", "k", "M", "G", "T", "P", "E"))},
    **{unit: Fraction(1024) ** power for power, unit in enumerate(("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")) if unit},
    **{unit: Fraction(1, 1000**power) for power, unit in enumerate(("", "m", "u", "n")) if unit},
}


def amount(value: object) -> Fraction | None:
    """Give the exact number that a quantity stands for, or None when it is no quantity.

    >>> amount("1500m")
    Fraction(3, 2)
    """
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    return _amount(str(value).strip())


@functools.lru_cache(maxsize=4096)
def _amount(content: str) -> Fraction | None:
    match = _QUANTITY.fullmatch(content)
    if match is None:
        return None
    number, exponent, unit = match.groups()
    return Fraction(number) * (Fraction(10) ** int(exponent) if exponent else _SCALES[unit or ""])


def amounts(value: object) -> dict[str, Fraction]:
    """Give the exact numbers of a resource list; what is no quantity is left out."""
    found = {name: amount(quantity) for name, quantity in mapping(value).items()}
    return {name: number for name, number in found.items() if number is not None}
