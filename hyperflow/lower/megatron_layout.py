"""Megatron's pipeline layout string: written from counts, and read back as Megatron reads it.

Grammar of `--pipeline-model-parallel-layout` (megatron.core pipeline_parallel_layer_layout.py, read at 0.16.1 and
0.20.0): letters E (embedding), t (layer), m (multi-token prediction), L (loss); `|` between stages; `x*N` and `(..)*N`
repeat; commas are cosmetic.
"""

import re
from collections.abc import Sequence

_REPEAT_GROUP = re.compile(r"\(([^()]*)\)\*(\d+)")
_REPEAT_LETTER = re.compile(r"([EtmL])\*(\d+)")


def write_layout(parts: Sequence[int], mtp_layers: int = 0) -> str:
    """Write the canonical string for the layer counts of the parts, first to last.

    >>> write_layout([6, 2])
    'Et*6|t*2L'
    """
    written = [_run("t", count) for count in parts]
    written[0] = "E" + written[0]
    written[-1] = written[-1] + _run("m", mtp_layers) + "L"
    return "|".join(written)


def read_layout(layout: str) -> list[int]:
    """Give the layer count of each part; raises ValueError as Megatron would refuse.

    >>> read_layout("E,(t|)*2t*3,L")
    [1, 1, 3]
    """
    text = layout.replace(",", "").replace(" ", "")
    while _REPEAT_GROUP.search(text):
        text = _REPEAT_GROUP.sub(lambda m: m[1] * int(m[2]), text)
    text = _REPEAT_LETTER.sub(lambda m: m[1] * int(m[2]), text)
    if set(text) - set("EtmL|"):
        raise ValueError(f"unknown letters in the layout {layout!r}")
    if not text.startswith("E") or not text.endswith("L") or text.count("E") != 1 or text.count("L") != 1:
        raise ValueError(f"the layout {layout!r} must begin with its one E and end with its one L")
    parts = text.split("|")
    if sum("m" in part for part in parts) > 1:
        raise ValueError(f"all m of the layout {layout!r} must be in one part")
    return [part.count("t") for part in parts]


def _run(letter: str, count: int) -> str:
    return "" if count == 0 else letter if count == 1 else f"{letter}*{count}"
