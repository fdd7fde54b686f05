"""What one device reaches: seconds for a matrix product, for memory traffic, and for each communication group."""

import math
from dataclasses import dataclass

from hyperflow.cost.collectives import (
    all_gather_seconds,
    all_reduce_seconds,
    all_to_all_seconds,
    nvls_all_reduce_seconds,
    p2p_seconds,
)
from hyperflow.ir.calibration import DeviceConstants
from hyperflow.ir.costs import CostSettings
from hyperflow.ir.device import Device

SCALEUP_LATENCY_SECONDS = 5e-6
NETWORK_LATENCY_SECONDS = 8e-6
"""Per ring step. The first reproduces NCCL all-reduce on 8 H100 at 16 and 64 MiB (cost-formulas section 7)."""

ADDING_LINK = 450e9
"""NVIDIA fabrics from NVLink 4 (450 GB/s one way) on reduce inside the switch: measured bus bandwidth 473 against 366
GB/s on 8 H200, 838 against 682 on 8 B200 (cost-formulas section 7)."""
EXPOSED_OUTPUT = 0.5
"""Share of a product's result traffic that its arithmetic does not hide: the last tiles write with nothing left to
compute. Chosen among 0, 0.5 and 1 by leave-one-source-out error on A100 rows."""


@dataclass(frozen=True, slots=True)
class Group:
    """A communication group: ranks, achieved bytes per second of its slowest hop per rank, latency per ring step.

    `in_switch` says that the fabric adds up what passes through it (NVLink 4 and later).
    """

    ranks: int
    bandwidth: float
    latency: float
    in_switch: bool = False

    def all_reduce(self, size: float) -> float:
        """Seconds of an all-reduce of `size` bytes, in the switch where it can and that is faster."""
        ring = all_reduce_seconds(size, self.ranks, self.bandwidth, self.latency)
        if not self.in_switch:
            return ring
        return min(ring, nvls_all_reduce_seconds(size, self.ranks, self.bandwidth, self.latency))

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

    __slots__ = ("_adds", "_net", "_node", "_scaleup", "attention", "gemm", "grouped", "kernel", "memory")

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
        self._adds = device.vendor == "nvidia" and device.scaleup_bytes_per_second >= ADDING_LINK
        self._net = device.network_bytes_per_second * constants.network
        self._node = settings.devices_per_node or device.scaleup_domain

    def product(self, rows: float, inner: float, columns: float, *, kept_bytes: float = 0.0) -> float:
        """Seconds of a rows x inner x columns product.

        `kept_bytes` is traffic beside the 16-bit operands, such as a 32-bit gradient that is added to. Arithmetic
        hides the reading of operands; of the results' traffic a share shows (EXPOSED_OUTPUT), which is what makes
        products with a short inner dimension slow. Never faster than all traffic.
        """
        results = 2 * rows * columns + kept_bytes
        operands = 2 * inner * (rows + columns)
        arithmetic = 2 * rows * inner * columns / self.gemm + EXPOSED_OUTPUT * results / self.memory
        return max(arithmetic, (operands + results) / self.memory) + self.kernel

    def stream(self, size: float, kernels: int = 1) -> float:
        """Seconds to move `size` bytes through device memory in so many kernels."""
        return size / self.memory + kernels * self.kernel

    def group(self, ranks: int, stride: int) -> Group:
        """The group of `ranks` devices that are `stride` apart in rank order.

        Inside the scale-up domain it has the scale-up bandwidth. Across nodes the ring leaves a node once for all
        members in it, so it may use the network ports of all of them (NCCL's multi-rail rings).
        """
        if ranks * stride <= self._node:
            return Group(ranks, self._scaleup, SCALEUP_LATENCY_SECONDS, self._adds)
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

    def spread(self, ranks: int, copies: int) -> Group:
        """The group for an expert all-to-all in which each token has `copies` destinations.

        Inside the scale-up domain every copy is sent. To other nodes a token goes once per node and is copied there
        (DeepSeek-V3, arXiv 2412.19437, section 3.2.2; the dispatchers of Megatron do the same). With uniform
        routing over g nodes the expected share of tokens that a given node needs is 1 - (1 - 1/g)^copies.
        """
        if ranks <= self._node:
            return Group(ranks, self._scaleup, SCALEUP_LATENCY_SECONDS)
        nodes = ranks / self._node
        crossing = (nodes - 1) * (1 - (1 - 1 / nodes) ** copies) / copies
        kept = (ranks - 1) / ranks
        seconds_per_byte = max(crossing / self._net, kept / self._scaleup) / kept
        return Group(ranks, 1 / seconds_per_byte, NETWORK_LATENCY_SECONDS / math.sqrt(ranks))
