"""Nominal rates of link kinds, and the time light takes."""

from hyperflow.catalog.data import load
from hyperflow.units import BytesPerSecond, Seconds, gigabits_per_second


def nominal_rate(kind: str) -> BytesPerSecond | None:
    """Give what one port of a link kind carries one way; None where a fleet must state it.

    >>> nominal_rate("infiniband"), nominal_rate("wan")
    (50000000000.0, None)
    """
    gbps = load("links.yaml")[kind]["gbps"]
    return None if gbps is None else gigabits_per_second(gbps)


def fibre_round_trip(kilometres: float) -> Seconds:
    """Give the shortest round trip over so much fibre.

    >>> fibre_round_trip(1200)
    0.012
    """
    return Seconds(kilometres * load("links.yaml")["light_in_fibre"]["rtt_ms_per_km"] / 1e3)
