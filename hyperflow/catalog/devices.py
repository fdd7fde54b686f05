"""Lookup of accelerators by their catalogue key or by a spelling that readers meet."""

import functools
from typing import Any

from hyperflow.catalog.data import load
from hyperflow.ir.device import Device

MEMORY_BYTES_PER_LABEL_GB = 0.985 * 1024**3
"""A vendor's GB label is close to GiB: an 80 GB A100 shows about 79.1 GiB (measured, see devices.yaml)."""


def device_names() -> tuple[str, ...]:
    """All catalogue keys, sorted."""
    return tuple(sorted(load("devices.yaml")))


@functools.cache
def find_device(name: str) -> Device | None:
    """The device of that key or alias, letter case ignored; None when unknown."""
    wanted = name.casefold()
    for key, row in load("devices.yaml").items():
        if wanted == key.casefold() or wanted in (alias.casefold() for alias in row["aliases"]):
            return _device(key, row)
    return None


def _device(key: str, row: dict[str, Any]) -> Device:
    return Device(
        name=key,
        vendor=row["vendor"],
        peak_flops_bf16=row["bf16_tflops"] * 1e12,
        peak_flops_fp8=row["fp8_tflops"] * 1e12 if row["fp8_tflops"] else None,
        memory_bytes=int(row["memory_gb"] * MEMORY_BYTES_PER_LABEL_GB),
        memory_bytes_per_second=row["memory_gbps"] * 1e9,
        scaleup_bytes_per_second=row["scaleup_gbps"] * 1e9,
        scaleup_domain=row["scaleup_domain"],
        network_bytes_per_second=row["network_gbps"] * 1e9 / 8,
        resource=row["resource"],
        aliases=tuple(row["aliases"]),
        uncertain=tuple(row["uncertain"]),
        sources=tuple(row["sources"]),
    )
