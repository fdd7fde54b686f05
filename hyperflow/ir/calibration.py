"""The few efficiency constants per device that turn work into seconds, and how sure they are."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceConstants:
    """Shares of the catalogue's peaks that real kernels reach, and one fixed time per kernel.

    `gemm`, `grouped_gemm`, `fp8_gemm` and `attention` are shares of peak FLOP/s, `memory` of memory bandwidth,
    `scaleup` and `network` of link bandwidth. `kernel_seconds` is what each kernel costs beyond its work (launch,
    ramp and tail).
    """

    gemm: float
    grouped_gemm: float
    fp8_gemm: float
    attention: float
    memory: float
    scaleup: float
    network: float
    kernel_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceCalibration:
    """The constants of a device and how sure predictions with them are.

    `calibrated` says whether runs on this device were fitted. `relative_error_80` is the half width of the 80 %
    interval of step time for dense 16-bit models, `relative_error_80_other` for experts and 8-bit products; both
    come from runs that were left out of the fit. `basis` says in words where the constants come from.
    """

    constants: DeviceConstants
    calibrated: bool
    relative_error_80: float
    relative_error_80_other: float
    basis: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Calibrations by device and by device family, that of all other devices, and what a plan may use of memory.

    A device without runs takes the constants of its family (same peak and same scale-up link), else the fallback.
    """

    devices: Mapping[str, DeviceCalibration]
    families: Mapping[str, DeviceCalibration]
    fallback: DeviceCalibration
    memory_fraction: float
    runtime_bytes: float
    source: str

    def of(self, device: str, family: str) -> DeviceCalibration:
        """The calibration of a device by its catalogue key, else of its family, else the fallback."""
        return self.devices.get(device) or self.families.get(family) or self.fallback

    def constants(self, device: str, family: str = "") -> DeviceConstants:
        """The constants alone of a device."""
        return self.of(device, family).constants
