"""What steps cost in device hours and in money."""

from collections.abc import Sequence

STEPS = 1000


def device_hours(step_seconds: float, devices: int, steps: int = STEPS) -> float:
    """Hours of all devices together for so many steps.

    >>> device_hours(3.6, 8)
    8.0
    """
    return step_seconds * steps * devices / 3600


def money(step_seconds: float, parts: Sequence[tuple[int, float | None]], steps: int = STEPS) -> float | None:
    """Price of so many steps on parts of (devices, price per device and hour); None where a price is not known.

    >>> money(3.6, [(8, 2.5), (4, 1.0)]), money(3.6, [(8, 2.5), (4, None)])
    (24.0, None)
    """
    total = 0.0
    for devices, price in parts:
        if price is None:
            return None
        total += device_hours(step_seconds, devices, steps) * price
    return total
