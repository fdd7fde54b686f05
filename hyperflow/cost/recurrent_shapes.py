"""From shapes to parameter counts for mixers whose work grows linearly with the sequence."""

from hyperflow.cost.shapes import linear
from hyperflow.spec.model import Layer, Recurrence


def mamba2(
    hidden: int,
    *,
    inner: int,
    heads: int,
    groups: int,
    state: int,
    conv_width: int,
    conv_bias: bool = True,
    projection_bias: bool = False,
    output_bias: bool | None = None,
    gated_norm: bool = True,
) -> Layer:
    """A Mamba-2 mixer (arXiv 2405.21060).

    One input projection for gate, values, B, C and time steps; a short convolution over values, B and C; three
    numbers per head; a gated norm; the output projection, which has the bias of the input one unless `output_bias`
    says otherwise.
    """
    mixed = inner + 2 * groups * state
    parameters = (
        linear(hidden, inner + mixed + heads, projection_bias)
        + linear(conv_width, mixed, conv_bias)
        + 3 * heads
        + (inner if gated_norm else 0)
        + linear(inner, hidden, projection_bias if output_bias is None else output_bias)
    )
    recurrence = Recurrence(kind="mamba", inner_width=inner, state_size=state, heads=heads, conv_width=conv_width)
    return Layer(recurrence=recurrence, mixer_parameters=parameters)


def mamba1(
    hidden: int,
    *,
    inner: int,
    state: int,
    rank: int,
    conv_width: int,
    conv_bias: bool = True,
    projection_bias: bool = False,
    inner_norms: bool = False,
) -> Layer:
    """A Mamba mixer (arXiv 2312.00752); `inner_norms` adds norms of the time step, B and C (Jamba)."""
    parameters = (
        linear(hidden, 2 * inner, projection_bias)
        + linear(conv_width, inner, conv_bias)
        + linear(inner, rank + 2 * state)
        + linear(rank, inner, True)
        + inner * state
        + inner
        + (rank + 2 * state if inner_norms else 0)
        + linear(inner, hidden, projection_bias)
    )
    recurrence = Recurrence(kind="mamba", inner_width=inner, state_size=state, heads=1, conv_width=conv_width)
    return Layer(recurrence=recurrence, mixer_parameters=parameters)


def gated_delta_net(
    hidden: int, *, key_heads: int, value_heads: int, key_dim: int, value_dim: int, conv_width: int
) -> Layer:
    """A gated delta-rule mixer (arXiv 2412.06464) with an output gate: projections of queries, keys, values, gate,
    decay and step; a convolution over queries, keys and values; a norm of one value head."""
    keys, values = key_heads * key_dim, value_heads * value_dim
    parameters = (
        linear(hidden, 2 * keys + 2 * values + 2 * value_heads)
        + conv_width * (2 * keys + values)
        + 2 * value_heads
        + value_dim
        + linear(values, hidden)
    )
    recurrence = Recurrence(
        kind="linear-attention", inner_width=values, state_size=key_dim, heads=value_heads, conv_width=conv_width
    )
    return Layer(recurrence=recurrence, mixer_parameters=parameters)


def kimi_delta_attention(hidden: int, *, heads: int, head_dim: int, conv_width: int) -> Layer:
    """Kimi delta attention (arXiv 2510.26692): a gated delta rule whose forget and output gates are low-rank."""
    inner = heads * head_dim
    low_rank = linear(hidden, head_dim) + linear(head_dim, inner)
    parameters = (
        3 * linear(hidden, inner)
        + 3 * conv_width * inner
        + 2 * low_rank
        + inner
        + heads
        + linear(hidden, heads)
        + head_dim
        + linear(inner, hidden)
    )
    recurrence = Recurrence(
        kind="linear-attention", inner_width=inner, state_size=head_dim, heads=heads, conv_width=conv_width
    )
    return Layer(recurrence=recurrence, mixer_parameters=parameters)


def gated_linear_recurrence(hidden: int, *, width: int, heads: int, conv_width: int) -> Layer:
    """Griffin's recurrent block (arXiv 2402.19427): two input maps, a convolution, two block-diagonal gates of
    `heads` blocks, one number per channel, an output map; all with biases."""
    block = width // heads
    parameters = (
        2 * linear(hidden, width, True)
        + linear(conv_width, width, True)
        + 2 * heads * linear(block, block, True)
        + width
        + linear(width, hidden, True)
    )
    recurrence = Recurrence(
        kind="linear-attention", inner_width=width, state_size=1, heads=heads, conv_width=conv_width
    )
    return Layer(recurrence=recurrence, mixer_parameters=parameters)


def gated_convolution(hidden: int, *, conv_width: int, bias: bool = False) -> Layer:
    """A short gated convolution (LFM2): three input projections, a depthwise convolution, an output projection."""
    parameters = linear(hidden, 3 * hidden, bias) + linear(conv_width, hidden, bias) + linear(hidden, hidden, bias)
    recurrence = Recurrence(kind="linear-attention", inner_width=hidden, state_size=1, heads=1, conv_width=conv_width)
    return Layer(recurrence=recurrence, mixer_parameters=parameters)
