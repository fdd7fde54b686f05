"""Replace computed layer costs by measured ones."""

from dataclasses import replace

from hyperflow.ir.costs import CostSettings, DeviceCosts, LayerCost
from hyperflow.ir.profile import MeasuredLayer, Profile


def apply_profile(costs: DeviceCosts, profile: Profile) -> DeviceCosts:
    """Use the profile's layers where it has this device; a step paid by measured layers counts as calibrated.

    A measurement with other TP or micro-batch size is scaled: times and activations by micro-batch over TP, state by
    TP; one without TP gets the computed exchanges on top. The split of the backward time into input and weight
    gradients stays as computed.
    """
    settings = costs.settings
    key = (costs.device.name, settings.degrees.tp, settings.micro_batch_size)
    found = [profile.measured(*key, layer=i) for i in range(len(costs.layers))]
    embedding, head = profile.measured(*key, layer="embedding"), profile.measured(*key, layer="head")
    if not any(found):
        return costs
    return replace(
        costs,
        layers=tuple(_replaced(cost, row, settings) for cost, row in zip(costs.layers, found, strict=True)),
        embedding=_replaced(costs.embedding, embedding, settings),
        head=_replaced(costs.head, head, settings),
        calibrated=costs.calibrated or all(found),
    )


def _replaced(cost: LayerCost, row: MeasuredLayer | None, settings: CostSettings) -> LayerCost:
    if row is None:
        return cost
    tensor = settings.degrees.tp / row.tp
    work = settings.micro_batch_size / row.micro_batch_size / tensor
    backward = cost.backward_input_seconds + cost.backward_weight_seconds
    sent = (cost.sent_forward_seconds, cost.sent_backward_seconds) if row.tp == 1 < settings.degrees.tp else (0.0, 0.0)
    weight_share = cost.backward_weight_seconds / backward if backward else 0.0
    return replace(
        cost,
        forward_seconds=row.forward_seconds * work + sent[0],
        backward_input_seconds=row.backward_seconds * work * (1 - weight_share) + sent[1],
        backward_weight_seconds=row.backward_seconds * work * weight_share,
        activation_bytes=cost.activation_bytes if row.activation_bytes is None else row.activation_bytes * work,
        state_bytes=cost.state_bytes if row.state_bytes is None else row.state_bytes / tensor,
    )
