"""Which accelerator a node has, and how many of them whole: every vendor says it with other labels and resources."""

from collections.abc import Mapping
from dataclasses import dataclass

from hyperflow.catalog.devices import (
    device_of_family,
    device_of_instance_type,
    device_resources,
    find_device,
    fits_memory,
)
from hyperflow.ir.device import Device
from hyperflow.units import parse_quantity

DEVICE_LABEL = "hyperflow.io/device"
_TRUSTED_PRODUCTS = (
    DEVICE_LABEL,
    "nvidia.com/gpu.product",
    "amd.com/gpu.product-name",
    "beta.amd.com/gpu.product-name",
)
_OTHER_PRODUCTS = (
    "cloud.google.com/gke-accelerator",
    "cloud.google.com/gke-tpu-accelerator",
    "accelerator-type",
    "amd.com/gpu.device-id",
    "beta.amd.com/gpu.device-id",
)
_INSTANCE_TYPES = ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type")
_FAMILIES = ("karpenter.k8s.aws/instance-gpu-name",)
_MIB_LABELS = ("nvidia.com/gpu.memory", "karpenter.k8s.aws/instance-gpu-memory")
_SIZE_LABELS = ("amd.com/gpu.vram", "beta.amd.com/gpu.vram")
IDENTITY_LABELS = (*_TRUSTED_PRODUCTS, *_OTHER_PRODUCTS, _INSTANCE_TYPES[0], *_FAMILIES)
"""Labels by which pods of a job may choose nodes of one device."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeDevices:
    """The accelerators of one node.

    `code` and `cause` say why none or not all of them can be used ("" where all can); `device` is None where the
    catalogue does not know it.
    """

    device: Device | None = None
    resource: str = ""
    whole: int = 0
    capacity: int = 0
    code: str = ""
    cause: str = ""


def read_devices(
    labels: Mapping[str, str], allocatable: Mapping[str, float], capacity: Mapping[str, float]
) -> NodeDevices:
    """Count the whole accelerators of a node and name them; zero whole ones always have a cause.

    `allocatable` and `capacity` hold plain numbers by resource name.
    """
    resources = sorted(device_resources() & (allocatable.keys() | capacity.keys()))
    resource = max(resources, key=lambda name: (allocatable.get(name, 0), capacity.get(name, 0)), default="")
    whole, full = int(allocatable.get(resource, 0)), int(capacity.get(resource, 0))
    sliced = sorted(name for name, count in capacity.items() if name.startswith("nvidia.com/mig-") and count > 0)
    product = labels.get("nvidia.com/gpu.product", "")
    if "-MIG-" in product or (sliced and whole == 0):
        what = product.partition("-MIG-")[2] or ", ".join(name.removeprefix("nvidia.com/mig-") for name in sliced)
        return NodeDevices(resource=resource, code="HF313", cause=f"cut into MIG slices ({what})")
    if _is_shared(labels, allocatable):
        return NodeDevices(resource=resource, code="HF314", cause="time-sliced: one GPU is offered several times")
    if whole == 0:
        return _no_whole_device(resource, full, capacity)
    device, fault = identify(labels, resource)
    if device is None:
        return NodeDevices(resource=resource, capacity=full, code="HF316", cause=fault)
    partial = whole < full
    cause = f"{whole} of {full} devices are allocatable" if partial else ""
    return NodeDevices(
        device=device, resource=resource, whole=whole, capacity=full, code="HF315" if partial else "", cause=cause
    )


def _is_shared(labels: Mapping[str, str], allocatable: Mapping[str, float]) -> bool:
    replicas = labels.get("nvidia.com/gpu.replicas", "1")
    return (
        labels.get("nvidia.com/gpu.product", "").endswith("-SHARED")
        or labels.get("nvidia.com/gpu.sharing-strategy", "none") not in ("none", "")
        or (replicas.isascii() and replicas.isdigit() and int(replicas[:9]) > 1)
        or allocatable.get("nvidia.com/gpu.shared", 0) > 0
    )


def _no_whole_device(resource: str, full: int, capacity: Mapping[str, float]) -> NodeDevices:
    if full:
        return NodeDevices(resource=resource, capacity=full, code="HF315", cause=f"0 of {full} devices are allocatable")
    passed = sorted(name for name, count in capacity.items() if count > 0 and _is_passed_through(name))
    if passed:
        names = ", ".join(name.partition("/")[2] for name in passed)
        return NodeDevices(code="HF317", cause=f"handed to virtual machines as PCI functions ({names})")
    return NodeDevices(code="HF307", cause="no accelerator")


def _is_passed_through(resource: str) -> bool:
    domain, _, name = resource.partition("/")
    vendors = {known.partition("/")[0] for known in device_resources()}
    return domain in vendors and resource not in device_resources() and name.isupper()


def identify(labels: Mapping[str, str], resource: str) -> tuple[Device | None, str]:
    """Name the device of a node's labels; None comes with what was seen instead.

    A vendor's own product label is believed or reported; only where there is none do weaker clues count.
    """
    memory_gib = _memory_gib(labels)
    for key in _TRUSTED_PRODUCTS:
        if value := labels.get(key, ""):
            return _checked(find_device(value), f"{key}={value}", memory_gib, resource)
    for key in _OTHER_PRODUCTS:
        if device := find_device(labels.get(key, "")):
            return _checked(device, f"{key}={labels[key]}", memory_gib, resource)
    for key in _INSTANCE_TYPES:
        if device := device_of_instance_type(labels.get(key, "")):
            return _checked(device, f"{key}={labels[key]}", memory_gib, resource)
    for key in _FAMILIES:
        if memory_gib and (device := device_of_family(labels.get(key, ""), memory_gib)):
            return _checked(device, f"{key}={labels[key]}", memory_gib, resource)
    domain = resource.partition("/")[0]
    for key, value in sorted(labels.items()):
        if key.startswith(domain + "/") and (device := find_device(value)):
            return _checked(device, f"{key}={value}", memory_gib, resource)
    return None, f"{resource} without a label that names the device"


def _checked(device: Device | None, seen: str, memory_gib: float | None, resource: str) -> tuple[Device | None, str]:
    if device is None:
        return None, f"{seen} is not in the catalogue"
    if memory_gib and not fits_memory(device, memory_gib):
        return None, f"{seen} reads as {device.name}, but the node states {memory_gib:.0f} GiB of device memory"
    if device.resource != resource:
        return None, f"{seen} reads as {device.name}, but the node offers {resource}"
    return device, ""


def _memory_gib(labels: Mapping[str, str]) -> float | None:
    """Give the device memory that the labels state: MiB as a bare number (NVIDIA), or with a unit (AMD's `192G`)."""
    for key in _MIB_LABELS:
        value = labels.get(key, "")
        if value.isascii() and value.isdigit():
            return int(value[:12]) / 1024
    for key in _SIZE_LABELS:
        value = labels.get(key, "")
        if value.endswith("G") and value[:-1].isascii() and value[:-1].isdigit():
            return float(value[:-1][:9])
        try:
            return parse_quantity(value) / 1024**3
        except ValueError:
            continue
    return None
