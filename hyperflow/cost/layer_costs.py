"""The cost pass: what each layer of a model costs on one device type under one configuration."""

from hyperflow.catalog.calibration import default_calibration, device_family
from hyperflow.cost.activations import attention_buffer_bytes, kept_bytes, saved_bytes
from hyperflow.cost.flops import head_forward_flops, layer_forward_flops
from hyperflow.cost.operations import (
    Context,
    Part,
    attention,
    experts,
    feed_forward,
    hidden_streams,
    linear,
    recurrence,
    stream,
)
from hyperflow.cost.parameters import (
    RankParameters,
    dense_shards,
    expert_shards,
    rank_parameters,
    state_bytes,
)
from hyperflow.cost.rates import Rates
from hyperflow.ir.calibration import Calibration
from hyperflow.ir.costs import CostSettings, DeviceCosts, LayerCost
from hyperflow.ir.device import Device
from hyperflow.spec.model import Layer, Model

ADAM_BYTES = 46
"""Traffic per parameter of the optimizer step, 32-bit values but for the written weight: norm of the gradient 4,
clipping 8, Adam 16 read and 12 written, master to weight 6."""
GRADIENT_BYTES = 12
"""Traffic per parameter of the gradient buffer before that: scaled for the mean (8) and zeroed (4)."""


def device_costs(
    model: Model, device: Device, settings: CostSettings, calibration: Calibration | None = None
) -> DeviceCosts:
    """Cost every layer, the embedding and the head of `model` on `device`.

    Layer times are per micro-batch on one rank of a tensor-parallel group. Raises nothing: any degrees are costed,
    whether they divide the model or not.
    """
    chosen = calibration or default_calibration()
    calibrated = chosen.of(device.name, device_family(device))
    rates = device_rates(device, settings, chosen)
    context = make_context(model, rates, settings)
    layers: list[LayerCost] = []
    step_seconds: list[float] = []
    for run in model.runs:
        cost, once = _layer(model, run.layer, context)
        layers += [cost] * run.count
        step_seconds += [once] * run.count
    embedding, head = _embedding(model, context), _head(model, context)
    ends = [_end_parameters(model, settings, first=True), _end_parameters(model, settings, first=False)]
    is_other = settings.precision == "fp8" or any(run.layer.experts for run in model.runs)
    overhead = max(_step_seconds(end, 0.0, context) for end in ends)
    return DeviceCosts(
        device=device,
        settings=settings,
        layers=tuple(layers),
        embedding=embedding,
        head=head,
        fixed_bytes=chosen.runtime_bytes,
        working_bytes=_working_bytes(model, settings),
        memory_limit_bytes=device.memory_bytes * chosen.memory_fraction,
        boundary_bytes=2 * context.tokens * model.hidden,
        step_overhead_seconds=overhead,
        step_seconds_per_layer=tuple(step_seconds),
        calibrated=calibrated.calibrated,
        relative_error_80=calibrated.relative_error_80_other if is_other else calibrated.relative_error_80,
        tied_bytes=embedding.state_bytes if model.tied_embeddings else 0.0,
    )


def device_rates(device: Device, settings: CostSettings, calibration: Calibration | None = None) -> Rates:
    """What the device reaches: seconds of products, streams and communication groups."""
    chosen = calibration or default_calibration()
    return Rates(device, chosen.of(device.name, device_family(device)).constants, settings)


def make_context(model: Model, rates: Rates, settings: CostSettings) -> Context:
    """Gather what all layers share: tokens per rank and the groups in Megatron's rank order tp-cp-dp-pp."""
    degrees = settings.degrees
    copies = max((run.layer.experts.active for run in model.runs if run.layer.experts), default=1)
    return Context(
        rates=rates,
        settings=settings,
        hidden=model.hidden,
        sequence_length=model.sequence_length,
        tokens=settings.micro_batch_size * model.sequence_length / degrees.cp,
        tensor=rates.group(degrees.tp, 1),
        context=rates.group(degrees.cp, degrees.tp),
        expert=rates.spread(degrees.ep, copies),
    )


def layer_part(layer: Layer, context: Context) -> Part:
    """Seconds of one layer without recompute."""
    parts: list[Part] = []
    if layer.attention is not None:
        parts.append(attention(context, layer, layer.attention))
    if layer.recurrence is not None:
        parts.append(recurrence(context, layer, layer.recurrence))
    if layer.feed_forward is not None:
        parts.append(feed_forward(context, layer.feed_forward.width, layer.feed_forward.gated))
    if layer.experts is not None:
        parts.append(experts(context, layer.experts))
        if layer.experts.shared_width:
            parts.append(feed_forward(context, layer.experts.shared_width, layer.experts.gated))
    return hidden_streams(context).plus(*parts)


def _layer(model: Model, layer: Layer, context: Context) -> tuple[LayerCost, float]:
    settings = context.settings
    part = layer_part(layer, context)
    repeated = _repeated_seconds(part, settings)
    parameters = rank_parameters(layer, settings)
    forward, backward = part.forward, part.backward_input + repeated
    if settings.zero == 3:
        gather = _weight_gather_seconds(parameters, context)
        forward = max(forward, gather)
        backward = max(backward + part.backward_weight, 2 * gather) - part.backward_weight
    tokens = settings.micro_batch_size * model.sequence_length
    cost = LayerCost(
        forward_seconds=forward,
        backward_input_seconds=backward,
        backward_weight_seconds=part.backward_weight,
        state_bytes=state_bytes(parameters, settings),
        activation_bytes=kept_bytes(layer, model.hidden, model.sequence_length, settings),
        parameters=layer.parameters,
        model_flops=3 * layer_forward_flops(layer, tokens, model.sequence_length),
    )
    backward_seconds = cost.backward_input_seconds + cost.backward_weight_seconds
    return cost, _step_seconds(parameters, backward_seconds, context)


def _repeated_seconds(part: Part, settings: CostSettings) -> float:
    """Forward seconds that the backward pass repeats. Flash kernels recompute scores in their own backward pass."""
    if settings.recompute == "full":
        return part.forward
    if settings.recompute == "operations":
        return (part.forward - part.core) / 2
    return part.core if settings.recompute == "selective" and settings.attention_kernel == "unfused" else 0.0


def _weight_gather_seconds(parameters: RankParameters, context: Context) -> float:
    degrees = context.settings.degrees
    group = context.rates.group(degrees.dp * degrees.cp, degrees.tp)
    return group.all_gather(2 * (parameters.dense + parameters.expert))


def _step_seconds(parameters: RankParameters, backward_seconds: float, context: Context) -> float:
    """Optimizer and data-parallel communication of these parameters, once a step.

    Sources: ZeRO paper (arXiv 1910.02054) section 7 for the volumes; the overlapped form hides what the last
    micro-batch's backward covers.
    """
    settings, rates = context.settings, context.rates
    degrees = settings.degrees
    dense_group = rates.group(dense_shards(settings), degrees.tp)
    expert_group = rates.group(int(expert_shards(settings)), degrees.ep)
    exchange = 0.0
    if settings.zero < 3:
        width = settings.gradient_bytes + (2 if settings.zero else settings.gradient_bytes)
        exchange = dense_group.all_gather(width * parameters.dense) + expert_group.all_gather(width * parameters.expert)
    if settings.overlap:
        exchange = max(0.0, exchange - backward_seconds)
    sharded = settings.zero > 0
    updated = parameters.dense / (dense_shards(settings) if sharded else 1)
    updated += parameters.expert / (expert_shards(settings) if sharded else 1)
    traffic = ADAM_BYTES * updated + GRADIENT_BYTES * (parameters.dense + parameters.expert)
    return exchange + traffic / rates.memory


def _end_parameters(model: Model, settings: CostSettings, *, first: bool) -> RankParameters:
    """Parameters of the embedding or the head on one rank; the head of a tied model holds a copy of the embedding."""
    head = model.embedding_parameters if model.tied_embeddings else model.head_parameters
    count = model.embedding_parameters if first else head
    return RankParameters(count / settings.degrees.tp + (0 if first else model.other_parameters), 0.0)


def _embedding(model: Model, context: Context) -> LayerCost:
    """The lookup: one read and write per value, a scattered add of the gradient, one reduce over TP."""
    settings = context.settings
    values = context.tokens * model.hidden
    tensor = context.tensor
    reduce = tensor.all_gather(2 * values) if settings.sequence_parallel else tensor.all_reduce(2 * values)
    part = stream(context, 4 * values, 10 * values, 2)
    return LayerCost(
        forward_seconds=part.forward + reduce,
        backward_input_seconds=0.0,
        backward_weight_seconds=part.backward_input + (reduce if settings.sequence_parallel else 0.0),
        state_bytes=state_bytes(_end_parameters(model, settings, first=True), settings),
        activation_bytes=2 * values * context.stream_share + (values if settings.dropout else 0) * context.stream_share,
        parameters=model.embedding_parameters,
        model_flops=0.0,
    )


def _head(model: Model, context: Context) -> LayerCost:
    """Final norm, logits and loss. One micro-batch's logits are held (16-bit logits and their gradient, 32-bit
    softmax unless fused; arXiv 2205.05198 section 4.3). An unfused loss also widens the scores to 32 bits and keeps
    them: 14 bytes a score forward and 8 backward, against 6 and 4."""
    settings = context.settings
    columns = model.vocab / settings.degrees.tp
    product = linear(context, context.tokens, model.hidden, columns)
    scores = context.tokens * columns
    loss = stream(context, (6 if settings.fused_loss else 14) * scores, (4 if settings.fused_loss else 8) * scores, 3)
    gather = context.tensor.all_gather(2 * context.tokens * model.hidden)
    part = product.plus(loss, Part(gather, gather))
    tokens = settings.micro_batch_size * model.sequence_length
    hidden_bytes = 4 * context.tokens * model.hidden * context.stream_share
    if settings.zero == 3:  # gathered weight, its 16-bit gradient, and the buffer that is reduced
        weight = (4 + settings.gradient_bytes) * model.hidden * columns
    else:
        weight = 2 * model.hidden * columns if settings.fused_gradients else 0.0
    return LayerCost(
        forward_seconds=part.forward,
        backward_input_seconds=part.backward_input,
        backward_weight_seconds=part.backward_weight,
        state_bytes=state_bytes(_end_parameters(model, settings, first=False), settings),
        activation_bytes=(4 if settings.fused_loss else 10) * scores + hidden_bytes + weight,
        parameters=model.head_parameters + model.other_parameters,
        model_flops=3 * head_forward_flops(model, tokens),
    )


def _working_bytes(model: Model, settings: CostSettings) -> float:
    """Transient needs beside the activations kept: recomputed or gathered layers, unfused squares, dummy gradients."""
    largest = 0.0
    for run in model.runs:
        need = attention_buffer_bytes(run.layer, model.sequence_length, settings)
        if settings.recompute in ("full", "operations"):
            need += saved_bytes(run.layer, model.hidden, model.sequence_length, settings)
        if settings.zero == 3:
            parameters = rank_parameters(run.layer, settings)
            need += 4 * (parameters.dense + parameters.expert)
        largest = max(largest, need)
    return largest + _dummy_gradient_bytes(model, settings)


def _dummy_gradient_bytes(model: Model, settings: CostSettings) -> float:
    """One 16-bit gradient per distinct weight shape (cost-formulas section 4, last but one line)."""
    if not settings.fused_gradients or settings.zero == 3:
        return 0.0
    shapes: set[tuple[str, float]] = set()
    for run in model.runs:
        layer = run.layer
        shapes.add(("mixer", layer.mixer_parameters / settings.degrees.tp))
        shapes.add(("feed-forward", layer.feed_forward_parameters / settings.degrees.tp))
        if layer.experts is not None:
            shapes.add(("expert", layer.expert_parameters / layer.experts.count))
    return 2 * sum(count for _, count in shapes)
