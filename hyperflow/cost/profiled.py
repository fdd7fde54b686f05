"""Replace computed layer costs by measured ones."""

from dataclasses import replace

from hyperflow.cost.layer_costs import device_costs
from hyperflow.ir.calibration import Calibration
from hyperflow.ir.costs import DeviceCosts, LayerCost
from hyperflow.ir.profile import MeasuredLayer, Profile
from hyperflow.spec.model import Model


def apply_profile(
    costs: DeviceCosts, profile: Profile, model: Model, calibration: Calibration | None = None
) -> DeviceCosts:
    """Use the profile's layers where it has this device; a step paid by measured layers counts as calibrated.

    A measurement with the same TP and micro-batch size replaces the computed time. One with others is carried over:
    what it exceeds the computed time of its own configuration by (launches, framework) is added to the computed time
    here; where it is below, the computed time shrinks in proportion. State and activations scale with micro-batch
    and TP. The split of the backward time into input and weight gradients stays as computed.
    """
    settings = costs.settings
    places: list[int | str] = [*range(len(costs.layers)), "embedding", "head"]
    rows = [profile.measured(costs.device.name, settings.degrees.tp, settings.micro_batch_size, p) for p in places]
    if not any(rows[:-2]):
        return costs
    measured_at: dict[tuple[int, int], list[LayerCost]] = {}

    def replaced(index: int, cost: LayerCost) -> LayerCost:
        row = rows[index]
        if row is None:
            return cost
        key = (row.tp, row.micro_batch_size)
        if key not in measured_at:
            degrees = replace(settings.degrees, tp=row.tp)
            there = replace(settings, degrees=degrees, micro_batch_size=row.micro_batch_size)
            found = device_costs(model, costs.device, there, calibration)
            measured_at[key] = [*found.layers, found.embedding, found.head]
        return _replaced(cost, measured_at[key][index], row, settings.degrees.tp, settings.micro_batch_size)

    return replace(
        costs,
        layers=tuple(replaced(index, cost) for index, cost in enumerate(costs.layers)),
        embedding=replaced(len(costs.layers), costs.embedding),
        head=replaced(len(costs.layers) + 1, costs.head),
        calibrated=costs.calibrated or all(rows[:-2]),
    )


def _carried(measured: float, computed_there: float, computed_here: float) -> float:
    """A measured time in another configuration, see `apply_profile`."""
    if measured >= computed_there:
        return measured + computed_here - computed_there
    return measured * computed_here / computed_there


def _replaced(cost: LayerCost, there: LayerCost, row: MeasuredLayer, tp: int, micro_batch_size: int) -> LayerCost:
    work = micro_batch_size / row.micro_batch_size * row.tp / tp
    here_backward = cost.backward_input_seconds + cost.backward_weight_seconds
    there_backward = there.backward_input_seconds + there.backward_weight_seconds
    backward = max(0.0, _carried(row.backward_seconds, there_backward, here_backward))
    weight_share = cost.backward_weight_seconds / here_backward if here_backward else 0.0
    return replace(
        cost,
        forward_seconds=max(0.0, _carried(row.forward_seconds, there.forward_seconds, cost.forward_seconds)),
        backward_input_seconds=backward * (1 - weight_share),
        backward_weight_seconds=backward * weight_share,
        activation_bytes=cost.activation_bytes if row.activation_bytes is None else row.activation_bytes * work,
        state_bytes=cost.state_bytes if row.state_bytes is None else row.state_bytes * row.tp / tp,
    )
