"""What the training itself says of its speed: step times in the log of the first rank."""

import re
import statistics
from dataclasses import dataclass

_MEGATRON = re.compile(r"iteration\s+(\d+)/\s*\d+ .*?elapsed time per iteration \(ms\):\s*([0-9.]+)")
_PLAIN = re.compile(r"\bstep[ =:]+(\d+)\b.*?\bstep_seconds[ =:]+([0-9.]+(?:e-?\d+)?)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The median time of a step, and how many steps the log covers."""

    step_seconds: float
    steps: int


def measured_steps(log: str) -> Measured | None:
    """Read Megatron-LM's lines, or `step N ... step_seconds X` of a script of one's own; None where there is neither.

    >>> measured_steps("iteration 10/ 100 | elapsed time per iteration (ms): 512.5 |")
    Measured(step_seconds=0.5125, steps=10)
    """
    found = [(int(step), float(time) / 1000) for step, time in _MEGATRON.findall(log)]
    found = found or [(int(step), float(time)) for step, time in _PLAIN.findall(log)]
    # the first line holds compilation and warm-up
    times = [seconds for _, seconds in found][1 if len(found) > 1 else 0 :]
    if not times or statistics.median(times) <= 0:
        return None
    return Measured(step_seconds=statistics.median(times), steps=max(step for step, _ in found))
