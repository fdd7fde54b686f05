"""What one device reaches: seconds for a matrix product, for memory traffic, and for each communication group."""

import math
from dataclasses import dataclass

from hyperflow.cost.collectives import all_gather_seconds, all_to_all_seconds, p2p_seconds
from hyperflow.ir.calibration import DeviceConstants
from hyperflow.ir.costs import CostSettings
from hyperflow.ir.device import Device

SCALEUP_LATENCY_SECONDS = 3e-6
NETWORK_LATENCY_SECONDS = 8e-6
"""Per ring step. Order of NCCL's small-message latencies; large models hardly feel them."""


@dataclass(frozen=True, slots=True)
class Group:
    """A communication group: ranks, achieved bytes per second of its slowest hop per rank, latency per ring step."""

    ranks: int
    bandwidth: float
    latency: float

    def all_gather(self, size: float) -> float:
        """Seconds of an all-gather or reduce-scatter of `size` bytes."""
        return all_gather_seconds(size, self.ranks, self.bandwidth, self.latency)

    def all_to_all(self, size: float) -> float:
        """Seconds of an all-to-all of `size` bytes per rank."""
        return all_to_all_seconds(size, self.ranks, self.bandwidth, self.latency)

    def p2p(self, size: float) -> float:
        """Seconds of one message."""
        return p2p_seconds(size, self.bandwidth, self.latency)


class Rates:
    """Achieved rates of one device under one configuration."""

    __slots__ = ("_net", "_node", "_scaleup", "attention", "gemm", "grouped", "kernel", "memory")

    def __init__(self, device: Device, constants: DeviceConstants, settings: CostSettings) -> None:
        peak = device.peak_flops_bf16
        if settings.precision == "fp8" and device.peak_flops_fp8:
            self.gemm = device.peak_flops_fp8 * constants.fp8_gemm
            self.grouped = self.gemm * constants.grouped_gemm / constants.gemm
        else:
            self.gemm = peak * constants.gemm
            self.grouped = peak * constants.grouped_gemm
        self.attention = peak * constants.attention
        self.memory = device.memory_bytes_per_second * constants.memory
        self.kernel = constants.kernel_seconds
        self._scaleup = device.scaleup_bytes_per_second * constants.scaleup
        self._net = device.network_bytes_per_second * constants.network
        self._node = settings.devices_per_node or device.scaleup_domain

    def product(self, rows: float, inner: float, columns: float, *, kept_bytes: float = 0.0) -> float:
        """Seconds of a rows x inner x columns product: the slower of arithmetic and traffic, and one kernel.

        `kept_bytes` is traffic beside the 16-bit operands, such as a 32-bit gradient that is added to.
        """
        traffic = 2 * (rows * inner + inner * columns + rows * columns) + kept_bytes
        return max(2 * rows * inner * columns / self.gemm, traffic / self.memory) + self.kernel

    def stream(self, size: float, kernels: int = 1) -> float:
        """Seconds to move `size` bytes through device memory in so many kernels."""
        return size / self.memory + kernels * self.kernel

    def group(self, ranks: int, stride: int) -> Group:
        """The group of `ranks` devices that are `stride` apart in rank order.

        Inside the scale-up domain it has the scale-up bandwidth. Across nodes the ring leaves a node once for all
        members in it, so it may use the network ports of all of them (NCCL's multi-rail rings).
        """
        if ranks * stride <= self._node:
            return Group(ranks, self._scaleup, SCALEUP_LATENCY_SECONDS)
        local = max(1, self._node // stride)
        bandwidth = min(self._scaleup, self._net * local) if local > 1 else self._net
        latency = (NETWORK_LATENCY_SECONDS + (local - 1) * SCALEUP_LATENCY_SECONDS) / local
        return Group(ranks, bandwidth, latency)

    def neighbour(self, stride: int, world: int) -> Group:
        """The slowest hop between two devices `stride` apart, in a job of `world` devices."""
        inside = world <= self._node
        return (
            Group(2, self._scaleup, SCALEUP_LATENCY_SECONDS) if inside else Group(2, self._net, NETWORK_LATENCY_SECONDS)
        )

    def spread(self, ranks: int, stride: int) -> Group:
        """The group for an all-to-all: its members in other nodes are reached through the own network port."""
        if ranks * stride <= self._node:
            return Group(ranks, self._scaleup, SCALEUP_LATENCY_SECONDS)
        local = max(1, self._node // stride)
        far = (ranks - local) / max(1, ranks - 1)
        seconds_per_byte = max(far / self._net, (1 - far) / self._scaleup)
        return Group(ranks, 1 / seconds_per_byte, NETWORK_LATENCY_SECONDS / math.sqrt(ranks))
