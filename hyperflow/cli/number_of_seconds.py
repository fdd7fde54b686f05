"""The argument of options that take a plain number of seconds."""

import argparse
import math


def number_of_seconds(value: str) -> float:
    """Read a finite number of seconds that is not negative; for argparse."""
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not 0 <= number < math.inf:
        raise argparse.ArgumentTypeError(f"{value!r} is no number of seconds such as 30")
    return number
