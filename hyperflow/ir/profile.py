"""Measured layer times and devices that replace computed ones."""

from dataclasses import dataclass

from hyperflow.ir.device import Device


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredLayer:
    """One layer (or all: `layer` None) on a device, per micro-batch, as measured with `tp` and `micro_batch_size`.

    `layer` counts from 0, or is `embedding` or `head`. Bytes are None where they were not measured.
    """

    device: str
    tp: int
    micro_batch_size: int
    layer: int | str | None
    forward_seconds: float
    backward_seconds: float
    activation_bytes: float | None = None
    state_bytes: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredLink:
    """A link between two clusters as measured: a rate with a round trip, or (message bytes, seconds) points."""

    a: str
    b: str
    bytes_per_second: float
    round_trip_seconds: float
    curve: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """All that a profile file states. `devices` are devices it declares itself, by the names tables use."""

    layers: tuple[MeasuredLayer, ...] = ()
    links: tuple[MeasuredLink, ...] = ()
    devices: tuple[Device, ...] = ()

    def device(self, name: str) -> Device | None:
        """The declared device of that name, or None."""
        return next((device for device in self.devices if device.name == name), None)

    def measured(self, device: str, tp: int, micro_batch_size: int, layer: int | str) -> MeasuredLayer | None:
        """The measurement to use: of this very layer before that for all layers, and of the nearest configuration."""
        fitting = [
            row
            for row in self.layers
            if row.device == device and (row.layer == layer or (row.layer is None and isinstance(layer, int)))
        ]
        return min(
            fitting,
            key=lambda row: (
                row.tp != tp or row.micro_batch_size != micro_batch_size,
                abs(row.tp - tp),
                abs(row.micro_batch_size - micro_batch_size),
                row.layer is None,
            ),
            default=None,
        )
