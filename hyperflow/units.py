"""Units are converted once, on entry; inside HyperFlow there are seconds, bytes, FLOP and bytes per second.

Decimal prefixes (GB, Gb/s) are powers of 1000, binary ones (GiB) of 1024.
"""

import re
from typing import NewType

Seconds = NewType("Seconds", float)
Bytes = NewType("Bytes", int)
Flops = NewType("Flops", float)
BytesPerSecond = NewType("BytesPerSecond", float)

GIB = 1024**3

_SUFFIXES = {
    "": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15, "E": 10**18,
    "Ki": 1024, "Mi": 1024**2, "Gi": 1024**3, "Ti": 1024**4, "Pi": 1024**5, "Ei": 1024**6,
    "m": 1e-3, "u": 1e-6, "n": 1e-9,
}  # fmt: skip
_QUANTITY = re.compile(r"([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))(?:([eE][+-]?[0-9]{1,4})|([KMGTPE]i|[numkMGTPE])?)")
_DURATION = re.compile(r"(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?)s)?(?:(\d+)ms)?")


def parse_quantity(text: str | int | float) -> float:
    """Read a Kubernetes quantity (`192Gi`, `500m`, `8`) as a plain number.

    Raises ValueError for anything else, `192G B` and `lots` included.

    >>> parse_quantity("64Gi")
    68719476736.0
    """
    match = _QUANTITY.fullmatch(str(text).strip())
    if match is None:
        raise ValueError(f"{text!r} is not a quantity")
    number, exponent, suffix = match.groups()
    return float(number + (exponent or "")) * _SUFFIXES[suffix or ""]


def parse_duration(text: str) -> Seconds:
    """Read a duration such as `15m`, `1h30m`, `45s` or `250ms` as seconds.

    Raises ValueError for text without a unit.

    >>> parse_duration("1h30m")
    5400.0
    """
    match = _DURATION.fullmatch(text.strip())
    if match is None or not any(match.groups()):
        raise ValueError(f"{text!r} is not a duration such as 15m, 1h30m or 45s")
    hours, minutes, seconds, milliseconds = match.groups()
    return Seconds(
        int(hours or 0) * 3600.0 + int(minutes or 0) * 60.0 + float(seconds or 0) + int(milliseconds or 0) / 1000.0
    )


def gigabits_per_second(gbps: float) -> BytesPerSecond:
    """Turn network Gb/s into bytes per second."""
    return BytesPerSecond(gbps * 1e9 / 8)


def format_seconds(seconds: float) -> str:
    """Print a time with the unit that keeps it readable.

    >>> format_seconds(1.122), format_seconds(0.0056), format_seconds(3e-9), format_seconds(0)
    ('1.12 s', '5.60 ms', '3.0 ns', '0 s')
    """
    if seconds >= 1:
        return f"{seconds:.2f} s"
    if seconds >= 1e-3:
        return f"{seconds * 1e3:.2f} ms"
    if seconds >= 1e-6:
        return f"{seconds * 1e6:.1f} us"
    return f"{seconds * 1e9:.1f} ns" if seconds else "0 s"


def format_duration(seconds: float) -> str:
    """Print a wait as a person would say it, in whole minutes from two minutes on.

    >>> format_duration(60), format_duration(1859.03)
    ('60 s', '31 min')
    """
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def format_bytes(count: float) -> str:
    """Print a size in decimal units, as network and disk sizes are quoted.

    >>> format_bytes(134_217_728)
    '134.2 MB'
    """
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if abs(count) >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count:.0f} B"


def format_gib(count: float) -> str:
    """Print a memory size in GiB, as device memory is quoted.

    >>> format_gib(80 * 1024**3)
    '80.0 GiB'
    """
    return f"{count / GIB:.1f} GiB"
