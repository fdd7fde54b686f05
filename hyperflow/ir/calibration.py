"""The few efficiency constants per device that turn work into seconds, and how sure they are."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceConstants:
    """Shares of the catalogue's peaks that real kernels reach, and one fixed time per kernel.

    `gemm`, `grouped_gemm`, `fp8_gemm` and `attention` are shares of peak FLOP/s, `memory` of memory bandwidth,
    `scaleup` and `network` of link bandwidth. `kernel_seconds` is what each kernel costs beyond its work (launch,
    ramp and tail). `calibrated` says whether runs on this device were fitted; `relative_error_80` is the half width
    of the 80 % interval of step time; `basis` says in words where the constants come from.
    """

    gemm: float
    grouped_gemm: float
    fp8_gemm: float
    attention: float
    memory: float
    scaleup: float
    network: float
    kernel_seconds: float
    calibrated: bool
    relative_error_80: float
    basis: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Constants by device, those for devices without runs, and what a plan may use of the memory."""

    devices: Mapping[str, DeviceConstants]
    fallback: DeviceConstants
    memory_fraction: float
    runtime_bytes: float
    source: str

    def constants(self, device: str) -> DeviceConstants:
        """The constants of a device by its catalogue key; the fallback where none were fitted."""
        return self.devices.get(device, self.fallback)
