"""Lookup of accelerators by catalogue key, or by a spelling that people or node labels use."""

import functools
from typing import Any

from hyperflow.catalog.data import load
from hyperflow.ir.device import Device

MEMORY_BYTES_PER_LABEL_GB = 0.985 * 1024**3
"""A vendor's GB label is close to GiB: an 80 GB A100 shows about 79.1 GiB (measured, see devices.yaml)."""

MEMORY_TOLERANCE = 0.1
"""How far a node's own memory figure may lie from the label: drivers keep a few per cent, ECC on a T4 takes 6 %."""


def device_names() -> tuple[str, ...]:
    """All catalogue keys, sorted."""
    return tuple(sorted(load("devices.yaml")))


def device_spellings() -> tuple[str, ...]:
    """All catalogue keys and the names that people write instead, sorted."""
    rows = load("devices.yaml").items()
    return tuple(sorted({spelling for key, row in rows for spelling in (key, *row["aliases"])}))


def device_resources() -> frozenset[str]:
    """The extended resources that pods ask for, such as nvidia.com/gpu."""
    return frozenset(row["resource"] for row in load("devices.yaml").values())


@functools.cache
def find_device(name: str) -> Device | None:
    """The device of that key, alias or product label, letter case ignored; None when unknown."""
    key = _spellings().get(name.casefold())
    return _device(key, load("devices.yaml")[key]) if key else None


@functools.cache
def device_of_instance_type(name: str) -> Device | None:
    """The device of a cloud's machine type such as p5.48xlarge; None when unknown."""
    for key, row in load("devices.yaml").items():
        if name.casefold() in (known.casefold() for known in row.get("instance_types", [])):
            return find_device(key)
    return None


@functools.cache
def device_of_family(family: str, memory_gib: float) -> Device | None:
    """The device of a coarse name such as `a100` with so much memory; None when unknown.

    Where several fit, the one that people mean by the bare name is given (SXM before PCIe).
    """
    wanted = family.casefold()
    rows = load("devices.yaml").items()
    fitting = [find_device(key) for key, row in rows if row.get("family", "").casefold() == wanted]
    named = find_device(family)
    candidates = [device for device in (named, *fitting) if device and fits_memory(device, memory_gib)]
    return candidates[0] if candidates else None


def fits_memory(device: Device, memory_gib: float) -> bool:
    """Say whether a node's own figure of device memory agrees with the catalogue.

    >>> h20 = find_device("H20")
    >>> fits_memory(h20, 95.6), fits_memory(h20, 140.4)
    (True, False)
    """
    label_gib = device.memory_bytes / MEMORY_BYTES_PER_LABEL_GB
    return abs(memory_gib - label_gib) <= MEMORY_TOLERANCE * label_gib


@functools.cache
def _spellings() -> dict[str, str]:
    spellings: dict[str, str] = {}
    for key, row in load("devices.yaml").items():
        for spelling in (key, *row["aliases"], *row.get("labels", [])):
            spellings.setdefault(spelling.casefold(), key)
    return spellings


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
