"""The default calibration, and the same record read from any parsed file."""

import functools
from typing import Any

from hyperflow.catalog.data import load
from hyperflow.ir.calibration import Calibration, DeviceConstants

SCHEMA = "hyperflow.calibration/v1"


@functools.cache
def default_calibration() -> Calibration:
    """The constants that HyperFlow ships, fitted as catalog/calibration.yaml states."""
    return parse_calibration(load("calibration.yaml"))


def parse_calibration(document: dict[str, Any]) -> Calibration:
    """Turn a parsed calibration file into its record; raises KeyError or TypeError where a field is missing."""
    return Calibration(
        devices={name: DeviceConstants(**row) for name, row in document["devices"].items()},
        fallback=DeviceConstants(**document["fallback"]),
        memory_fraction=document["memory_fraction"],
        runtime_bytes=document["runtime_bytes"],
        source=document["source"],
    )
