"""Seconds of the parts of a layer on one rank: products, attention cores, streams through memory, communication.

Every part gives forward, input-gradient and weight-gradient seconds. Products have all three at equal work; attention
cores and elementwise work have no weight part (cost-formulas section 1). Streams count reads and writes of 16-bit
values; the counts follow Megatron-LM's fused kernels (bias-gelu, bias-dropout-add, norm).
"""

from dataclasses import dataclass
from typing import NamedTuple

from hyperflow.cost.flops import attention_core_flops, context_length, scan_flops
from hyperflow.cost.rates import Group, Rates
from hyperflow.ir.costs import CostSettings
from hyperflow.spec.model import Attention, Experts, Layer, Recurrence

FLASH_BACKWARD = 2.5
"""Flash kernels recompute QK^T in the backward pass: five products for two (arXiv 2205.14135, section 3.1)."""

FLASH_1_SHARE = 0.5
"""First-generation flash kernels reach half the rate of the second (arXiv 2307.08691, section 4.1)."""
CAST_BYTES = 4
"""Per value of an operand made 8-bit by rows and by columns: 2 read, 2 written."""
EAGER_STREAMS = 2
EAGER_KERNELS = 4
"""A fused elementwise kernel stands for several eager ones (bias and activation, dropout and residual, casts), which
stream about twice the bytes."""


class Part(NamedTuple):
    """Seconds of one part of a layer.

    `core` is the share of the forward that selective recompute repeats.
    """

    forward: float = 0.0
    backward_input: float = 0.0
    backward_weight: float = 0.0
    core: float = 0.0

    def plus(self, *others: "Part") -> "Part":
        """Add parts up."""
        return Part(*map(sum, zip(self, *others, strict=True)))


@dataclass(frozen=True, slots=True)
class Context:
    """What all parts of a layer share: the tokens of one micro-batch on one rank, and the groups."""

    rates: Rates
    settings: CostSettings
    hidden: int
    sequence_length: int
    tokens: float
    tensor: Group
    context: Group
    expert: Group

    @property
    def tp(self) -> int:
        """Degree of tensor parallelism."""
        return self.settings.degrees.tp

    @property
    def stream_share(self) -> float:
        """Share of the hidden stream that a rank keeps between blocks: 1/tp with sequence parallelism."""
        return 1 / self.tp if self.settings.sequence_parallel else 1.0


def linear(c: Context, rows: float, inner: float, columns: float) -> Part:
    """A dense matrix product with its two gradients; the weight gradient is added to a wide buffer."""
    r = c.rates
    product = Part(
        r.product(rows, inner, columns),
        r.product(rows, columns, inner),
        r.product(inner, rows, columns, kept_bytes=2 * c.settings.gradient_bytes * inner * columns),
    )
    return product.plus(_casts(c, rows * inner, rows * columns))


def _casts(c: Context, inputs: float, outputs: float) -> Part:
    """8-bit copies of a product's input and of its output's gradient, by rows and by columns: 2 read, 2 written."""
    if c.settings.precision != "fp8":
        return Part()
    return Part(CAST_BYTES * inputs / c.rates.memory, CAST_BYTES * outputs / c.rates.memory)


def stream(c: Context, forward_bytes: float, backward_bytes: float, kernels: int) -> Part:
    """Elementwise work, both ways."""
    if not c.settings.fused_elementwise:
        forward_bytes, backward_bytes = EAGER_STREAMS * forward_bytes, EAGER_STREAMS * backward_bytes
        kernels *= EAGER_KERNELS
    return Part(c.rates.stream(forward_bytes, kernels), c.rates.stream(backward_bytes, kernels))


def hidden_streams(c: Context) -> Part:
    """Two norms and two (dropout and) residual adds: 10 bytes a value forward and 14 backward, each twice."""
    values = c.tokens * c.hidden * c.stream_share
    masks = 2 if c.settings.dropout else 0
    return stream(c, (20 + masks) * values, (28 + masks) * values, 4)


def block_communication(c: Context, first: Part, last: Part) -> Part:
    """Gather before and scatter after one tensor-parallel block, both ways (arXiv 2205.05198, section 4.2.2).

    In the backward pass the reduction of the input gradient runs beside the weight gradient of the block's first
    product; with sequence parallelism that is half of the traffic, without all of it. Asynchronous TP cuts each
    exchange into pieces beside the pieces of the product that needs or makes it.
    """
    size = 2 * c.tokens * c.hidden
    seconds = 2 * c.tensor.all_gather(size) if c.settings.sequence_parallel else c.tensor.all_reduce(size)
    overlap = c.settings.tensor_overlap
    if overlap == "none" or c.tp == 1:
        return Part(seconds, seconds)
    if overlap == "all":
        forward = max(0.0, seconds / 2 - first.forward) + max(0.0, seconds / 2 - last.forward)
        backward = max(0.0, seconds / 2 - first.backward_input) + max(0.0, seconds / 2 - last.backward_input)
        return Part(forward, backward)
    hidden = min(first.backward_weight, seconds / 2 if c.settings.sequence_parallel else seconds)
    return Part(seconds, seconds - hidden)


def attention(c: Context, layer: Layer, a: Attention) -> Part:
    """Projections, rotary or position work, and the attention core."""
    value_dim = a.value_head_dim or a.head_dim
    if a.kind == "mla":
        projections = _mla_projections(c, a, value_dim)
    else:
        columns = (a.heads * a.head_dim + a.kv_heads * (a.head_dim + value_dim)) / c.tp
        projections = linear(c, c.tokens, c.hidden, columns)
    output = linear(c, c.tokens, a.heads * value_dim / c.tp, c.hidden)
    turned = 4 * c.tokens * (a.heads + a.kv_heads) * a.head_dim / c.tp
    core = _unfused_core(c, a, value_dim) if c.settings.attention_kernel == "unfused" else _flash_core(c, layer)
    exchange = _context_exchange(c, a, value_dim, core)
    sent = block_communication(c, projections, output)
    return projections.plus(output, stream(c, turned, turned, 2), core, exchange, sent)


def _mla_projections(c: Context, a: Attention, value_dim: int) -> Part:
    nope = a.head_dim - a.rope_head_dim
    kv_rank = a.kv_lora_rank or 0
    down = linear(c, c.tokens, c.hidden, kv_rank + a.rope_head_dim)
    up = linear(c, c.tokens, kv_rank, a.heads * (nope + value_dim) / c.tp)
    if a.query_lora_rank:
        query = linear(c, c.tokens, c.hidden, a.query_lora_rank)
        query = query.plus(linear(c, c.tokens, a.query_lora_rank, a.heads * a.head_dim / c.tp))
    else:
        query = linear(c, c.tokens, c.hidden, a.heads * a.head_dim / c.tp)
    return down.plus(up, query)


def _flash_core(c: Context, layer: Layer) -> Part:
    rate = c.rates.attention * (FLASH_1_SHARE if c.settings.attention_kernel == "flash-1" else 1.0)
    seconds = attention_core_flops(layer, c.tokens, c.sequence_length) / c.tp / rate
    forward = seconds + c.rates.kernel
    return Part(forward, FLASH_BACKWARD * seconds + 2 * c.rates.kernel, 0.0, forward)


def _unfused_core(c: Context, a: Attention, value_dim: int) -> Part:
    """Batched products over the full square, with softmax and dropout streamed through memory.

    Bytes per score: product written 2, softmax 4, dropout 5 (mask of 1), read by the second product 2; backward 19.
    """
    keys = context_length(a, c.sequence_length, full=True)
    scores = c.tokens * keys * a.heads / c.tp
    seconds = 2 * scores * (a.head_dim + value_dim) / c.rates.gemm
    dropout_forward, dropout_backward = (5, 5) if c.settings.dropout else (0, 0)
    forward = seconds + c.rates.stream((8 + dropout_forward) * scores, 4)
    backward = 2 * seconds + c.rates.stream((14 + dropout_backward) * scores, 6)
    return Part(forward, backward, 0.0, forward)


def _context_exchange(c: Context, a: Attention, value_dim: int, core: Part) -> Part:
    """Ring exchange of keys and values behind the core's arithmetic; what does not fit shows (cost-formulas 6)."""
    if c.context.ranks == 1:
        return Part()
    size = 2 * c.tokens * c.context.ranks * a.kv_heads * (a.head_dim + value_dim) / c.tp
    seconds = c.context.all_gather(size)
    return Part(max(0.0, seconds - core.forward), max(0.0, 2 * seconds - core.backward_input))


def recurrence(c: Context, layer: Layer, r: Recurrence) -> Part:
    """A state-space or linear-attention mixer: two projections and a scan that also streams its states."""
    width = layer.mixer_parameters / c.hidden / c.tp
    inner = r.inner_width / c.tp
    into = linear(c, c.tokens, c.hidden, max(1.0, width - inner))
    out = linear(c, c.tokens, inner, c.hidden)
    seconds = scan_flops(layer, c.tokens) / c.tp / c.rates.attention
    streams = stream(c, 16 * c.tokens * inner, 32 * c.tokens * inner, 4)
    scan = Part(seconds, 2 * seconds, 0.0, seconds)
    return into.plus(out, scan, streams, block_communication(c, into, out))


def feed_forward(c: Context, width: float, gated: bool) -> Part:
    """Up (and gate), activation, down, and their communication over TP."""
    inner = width / c.tp
    matrices = 2 if gated else 1
    up, down = linear(c, c.tokens, c.hidden, matrices * inner), linear(c, c.tokens, inner, c.hidden)
    values = c.tokens * inner
    activation = stream(c, (6 if gated else 4) * values, (10 if gated else 6) * values, 1)
    return up.plus(down, activation, block_communication(c, up, down))


def experts(c: Context, e: Experts) -> Part:
    """Router, dispatch, grouped products, combine. Tokens are split over TP ranks before dispatch (expert TP 1).

    Experts of a latent width get tokens that were projected down before dispatch and are projected up after.
    """
    tokens = c.tokens / c.tp
    routed = tokens * e.active * c.settings.expert_imbalance
    local = max(1.0, e.count / c.settings.degrees.ep)
    matrices = 2 if e.gated else 1
    router = linear(c, tokens, c.hidden, e.count)
    width = e.latent_width or c.hidden
    latent = Part()
    if e.latent_width:
        latent = linear(c, tokens, c.hidden, width).plus(linear(c, tokens, width, c.hidden))
    moved = 2 * routed * width
    transfer = 2 * c.expert.all_to_all(moved)
    permutes = stream(c, 8 * routed * width, 8 * routed * width, 6)
    inner = routed * e.width
    activation = stream(c, (6 if e.gated else 4) * inner, (10 if e.gated else 6) * inner, 1)
    up = _grouped(c, routed, local, width, matrices * e.width)
    down = _grouped(c, routed, local, e.width, width)
    return router.plus(latent, permutes, activation, up, down, Part(transfer, transfer))


def _grouped(c: Context, rows: float, groups: float, inner: float, columns: float) -> Part:
    r = c.rates
    work = 2 * rows * inner * columns / r.grouped
    weights = groups * inner * columns
    traffic = 2 * (rows * inner + weights + rows * columns)
    wide = traffic + 2 * c.settings.gradient_bytes * weights
    seconds = max(work, traffic / r.memory) + r.kernel
    product = Part(seconds, seconds, max(work, wide / r.memory) + r.kernel)
    return product.plus(_casts(c, rows * inner, rows * columns))
