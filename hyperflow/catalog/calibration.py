"""The default calibration, the same record from any parsed file, and back."""

import functools
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from hyperflow.catalog.data import load
from hyperflow.ir.calibration import Calibration, DeviceCalibration, DeviceConstants
from hyperflow.ir.device import Device

SCHEMA = "hyperflow.calibration/v1"


@functools.cache
def default_calibration() -> Calibration:
    """The constants that HyperFlow ships, fitted as catalog/calibration.yaml states."""
    return parse_calibration(load("calibration.yaml"))


def device_family(device: Device) -> str:
    """Devices of one die: same vendor, peak and scale-up link, whatever their memory.

    >>> from hyperflow.catalog.devices import find_device
    >>> device_family(find_device("A100-40GB-SXM")) == device_family(find_device("A100-80GB-SXM"))
    True
    """
    peak, link = device.peak_flops_bf16 / 1e12, device.scaleup_bytes_per_second / 1e9
    return f"{device.vendor} {peak:g} TFLOP/s {link:g} GB/s"


def parse_calibration(document: Mapping[str, Any]) -> Calibration:
    """Turn a parsed calibration file into its record; raises KeyError, TypeError or ValueError for a wrong one."""
    if document["schema"] != SCHEMA:
        raise ValueError(f"schema is {document['schema']!r}, expected {SCHEMA!r}")
    return Calibration(
        devices={name: _parse_device(row) for name, row in document["devices"].items()},
        families={name: _parse_device(row) for name, row in document["families"].items()},
        fallback=_parse_device(document["fallback"]),
        memory_fraction=float(document["memory_fraction"]),
        runtime_bytes=float(document["runtime_bytes"]),
        source=document["source"],
    )


def calibration_document(calibration: Calibration) -> dict[str, Any]:
    """The calibration as plain data in the form of the file, numbers cut to four digits."""
    return {
        "schema": SCHEMA,
        "source": calibration.source,
        "memory_fraction": calibration.memory_fraction,
        "runtime_bytes": calibration.runtime_bytes,
        "fallback": _device_document(calibration.fallback),
        "families": {name: _device_document(row) for name, row in sorted(calibration.families.items())},
        "devices": {name: _device_document(row) for name, row in sorted(calibration.devices.items())},
    }


def _parse_device(row: Mapping[str, Any]) -> DeviceCalibration:
    values = {field.name: float(row["constants"][field.name]) for field in fields(DeviceConstants)}
    if wrong := sorted(name for name, value in values.items() if not 0 < value < float("inf")):
        raise ValueError(f"{wrong[0]} must be above 0")
    return DeviceCalibration(
        constants=DeviceConstants(**values),
        calibrated=bool(row["calibrated"]),
        relative_error_80=float(row["relative_error_80"]),
        relative_error_80_other=float(row["relative_error_80_other"]),
        basis=str(row["basis"]),
    )


def _device_document(row: DeviceCalibration) -> dict[str, Any]:
    document = asdict(row)
    document["constants"] = {name: float(f"{value:.4g}") for name, value in document["constants"].items()}
    for name in ("relative_error_80", "relative_error_80_other"):
        document[name] = float(f"{document[name]:.3g}")
    return document
