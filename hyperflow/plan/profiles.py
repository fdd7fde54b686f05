"""Measured layers in place of computed ones."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from hyperflow.ir.costs import DeviceCosts, LayerCost


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredLayer:
    """What was measured of one layer: seconds forward and backward per micro-batch, and bytes where known."""

    seconds: float
    state_bytes: float | None = None
    held_bytes: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Measured layers by (device, tp, micro-batch size); one entry serves all layers, else one per layer."""

    rows: Mapping[tuple[str, int, int], tuple[MeasuredLayer, ...]]

    def applied(self, costs: DeviceCosts) -> DeviceCosts:
        """Give the costs with the measured layers in them; unchanged where nothing was measured."""
        settings = costs.settings
        measured = self.rows.get((costs.device.name, settings.degrees.tp, settings.micro_batch_size))
        if measured is None:
            return costs
        rows = measured * len(costs.layers) if len(measured) == 1 else measured
        return replace(costs, layers=tuple(_measured(a, b) for a, b in zip(costs.layers, rows, strict=True)))


def _measured(layer: LayerCost, row: MeasuredLayer) -> LayerCost:
    """Keep the computed shares of forward, input and weight gradient, and scale them to the measured time."""
    ratio = row.seconds / layer.seconds if layer.seconds else 0.0
    return replace(
        layer,
        forward_seconds=layer.forward_seconds * ratio,
        backward_input_seconds=layer.backward_input_seconds * ratio,
        backward_weight_seconds=layer.backward_weight_seconds * ratio,
        state_bytes=layer.state_bytes if row.state_bytes is None else row.state_bytes,
        activation_bytes=layer.activation_bytes if row.held_bytes is None else row.held_bytes,
    )
