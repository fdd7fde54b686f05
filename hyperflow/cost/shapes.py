"""From shapes to parameter counts: the blocks that layers given by hand and layers read from configs are made of.

A block is a `Layer` record that holds one part only; `assemble` adds blocks up to a whole layer. Counts follow
cost-formulas section 2: attention h*d*(2a+2k), feed-forward 2hf or 3hf, experts E of them and the router h*E.
"""

from collections.abc import Iterable, Sequence

from hyperflow.spec.model import Attention, Experts, FeedForward, Layer, LayerRun, Model

_PARTS = ("attention", "recurrence", "feed_forward", "experts")
_COUNTS = (
    "mixer_parameters",
    "feed_forward_parameters",
    "expert_parameters",
    "active_expert_parameters",
    "replicated_parameters",
)


def linear(inputs: int, outputs: int, bias: bool = False) -> int:
    """Parameters of a linear map.

    >>> linear(3, 5, bias=True)
    20
    """
    return inputs * outputs + (outputs if bias else 0)


def grouped_query_attention(
    hidden: int,
    heads: int,
    kv_heads: int,
    head_dim: int,
    *,
    value_head_dim: int | None = None,
    window: int | None = None,
    qkv_bias: bool = False,
    output_bias: bool = False,
    extra: int = 0,
) -> Layer:
    """Attention with `kv_heads` key/value heads (equal to `heads`: multi-head; 1: multi-query); `extra` are further
    parameters of the mixer, such as gates or sinks."""
    value_dim = head_dim if value_head_dim is None else value_head_dim
    query = linear(hidden, heads * head_dim, qkv_bias)
    key_value = linear(hidden, kv_heads * head_dim, qkv_bias) + linear(hidden, kv_heads * value_dim, qkv_bias)
    output = linear(heads * value_dim, hidden, output_bias)
    attention = Attention(
        heads=heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        value_head_dim=value_head_dim if value_dim != head_dim else None,
        window=window,
    )
    return Layer(attention=attention, mixer_parameters=query + key_value + output + extra)


def latent_attention(
    hidden: int,
    heads: int,
    *,
    query_rank: int | None,
    kv_rank: int,
    plain_dim: int,
    rope_dim: int,
    value_dim: int,
    bias: bool = False,
    window: int | None = None,
) -> Layer:
    """Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434): queries, keys and values through low-rank maps.

    A key or query head is `plain_dim + rope_dim` wide. Without `query_rank` the query projection is whole. The bias is
    that of the maps from and to the hidden width that have a norm or nothing behind them.
    """
    width = plain_dim + rope_dim
    if query_rank is None:
        query = linear(hidden, heads * width)
    else:
        query = linear(hidden, query_rank, bias) + query_rank + linear(query_rank, heads * width)
    key_value = linear(hidden, kv_rank + rope_dim, bias) + kv_rank + linear(kv_rank, heads * (plain_dim + value_dim))
    attention = Attention(
        kind="mla",
        heads=heads,
        kv_heads=heads,
        head_dim=width,
        value_head_dim=value_dim,
        window=window,
        query_lora_rank=query_rank,
        kv_lora_rank=kv_rank,
        rope_head_dim=rope_dim,
    )
    return Layer(attention=attention, mixer_parameters=query + key_value + linear(heads * value_dim, hidden, bias))


def feed_forward(hidden: int, width: int, *, gated: bool = True, bias: bool = False) -> Layer:
    """A dense feed-forward block: up (and gate) of hidden x width, down of width x hidden."""
    return Layer(
        feed_forward=FeedForward(width=width, gated=gated),
        feed_forward_parameters=(2 if gated else 1) * linear(hidden, width, bias) + linear(width, hidden, bias),
    )


def routed_experts(
    hidden: int,
    width: int,
    *,
    count: int,
    active: int,
    shared_width: int = 0,
    latent_width: int | None = None,
    gated: bool = True,
    bias: bool = False,
    plain_bias: bool = False,
    router_bias: bool = False,
    shared_extra: int = 0,
) -> Layer:
    """Routed experts with their router, and the shared experts as one block of `shared_width`.

    With `latent_width` the routed experts work on tokens that are projected to it and back. `bias` is that of the
    routed experts, `plain_bias` that of the shared ones and the projections. `shared_extra` are further parameters
    beside the shared experts, such as their gate.
    """
    one = feed_forward(latent_width or hidden, width, gated=gated, bias=bias).feed_forward_parameters
    plain = shared_extra
    if shared_width:
        plain += feed_forward(hidden, shared_width, gated=gated, bias=plain_bias).feed_forward_parameters
    if latent_width:
        plain += linear(hidden, latent_width, plain_bias) + linear(latent_width, hidden, plain_bias)
    return Layer(
        experts=Experts(
            count=count, active=active, width=width, shared_width=shared_width, latent_width=latent_width, gated=gated
        ),
        feed_forward_parameters=plain,
        expert_parameters=count * one,
        active_expert_parameters=active * one,
        replicated_parameters=linear(hidden, count, router_bias),
    )


def replicated(parameters: int) -> Layer:
    """Norms and other small tensors that every rank holds."""
    return Layer(replicated_parameters=parameters)


def assemble(kind: str, *blocks: Layer) -> Layer:
    """Add blocks up to one layer; at most one block may bring each of attention, recurrence, experts and so on."""
    fields: dict[str, object] = {"kind": kind}
    for name in _PARTS:
        given = [part for block in blocks if (part := getattr(block, name)) is not None]
        assert len(given) <= 1, f"two blocks bring {name}"
        fields[name] = given[0] if given else None
    for name in _COUNTS:
        fields[name] = sum(getattr(block, name) for block in blocks)
    return Layer.model_validate(fields)


def runs_of(layers: Iterable[Layer]) -> tuple[LayerRun, ...]:
    """Join equal neighbours to runs."""
    runs: list[tuple[int, Layer]] = []
    for layer in layers:
        if runs and (layer is runs[-1][1] or layer == runs[-1][1]):
            runs[-1] = (runs[-1][0] + 1, layer)
        else:
            runs.append((1, layer))
    return tuple(LayerRun(count=count, layer=layer) for count, layer in runs)


def has_counts(layer: Layer) -> bool:
    """Whether any parameter count of the layer is given."""
    return any(getattr(layer, name) for name in _COUNTS)


def with_counts(layer: Layer, hidden: int) -> Layer:
    """Fill the counts of a layer given by shapes alone (no biases, two RMS norms); a layer with counts stays.

    A recurrence has no standard shape, so its layer must come with counts; so must latent attention without its rank.
    """
    if has_counts(layer):
        return layer
    blocks: list[Layer] = []
    if (a := layer.attention) is not None:
        blocks.append(_attention_of(a, hidden))
    if (f := layer.feed_forward) is not None:
        blocks.append(feed_forward(hidden, f.width, gated=f.gated))
    if (e := layer.experts) is not None:
        blocks.append(
            routed_experts(
                hidden,
                e.width,
                count=e.count,
                active=e.active,
                shared_width=e.shared_width,
                latent_width=e.latent_width,
                gated=e.gated,
            )
        )
    counts = assemble(layer.kind, *blocks, replicated(2 * hidden))
    return layer.model_copy(update={name: getattr(counts, name) for name in _COUNTS})


def _attention_of(a: Attention, hidden: int) -> Layer:
    if a.kind == "gqa":
        return grouped_query_attention(hidden, a.heads, a.kv_heads, a.head_dim, value_head_dim=a.value_head_dim)
    return latent_attention(
        hidden,
        a.heads,
        query_rank=a.query_lora_rank,
        kv_rank=a.kv_lora_rank or 0,
        plain_dim=a.head_dim - a.rope_head_dim,
        rope_dim=a.rope_head_dim,
        value_dim=a.value_head_dim or a.head_dim,
    )


def decoder_of(
    layers: Sequence[Layer], *, name: str, hidden: int, vocab: int, sequence_length: int, tied: bool
) -> Model:
    """A decoder of the given layers with embedding, final RMS norm and head, all of the usual shape."""
    return Model(
        name=name,
        hidden=hidden,
        vocab=vocab,
        sequence_length=sequence_length,
        runs=runs_of(layers),
        embedding_parameters=vocab * hidden,
        head_parameters=0 if tied else vocab * hidden,
        other_parameters=hidden,
        tied_embeddings=tied,
    )


def dense_decoder(
    num_layers: int,
    *,
    name: str,
    hidden: int,
    ffn: int,
    heads: int,
    kv_heads: int,
    head_dim: int,
    vocab: int,
    sequence_length: int,
    gated: bool = True,
    tied: bool = False,
) -> Model:
    """A Llama-shaped decoder of equal layers: grouped-query attention, feed-forward, two RMS norms, no biases.

    >>> model = dense_decoder(32, name="8b", hidden=4096, ffn=14336, heads=32, kv_heads=8, head_dim=128,
    ...                       vocab=128256, sequence_length=8192)
    >>> model.total_parameters
    8030261248
    """
    layer = assemble(
        "dense",
        grouped_query_attention(hidden, heads, kv_heads, head_dim),
        feed_forward(hidden, ffn, gated=gated),
        replicated(2 * hidden),
    )
    run = LayerRun(count=num_layers, layer=layer)
    whole = decoder_of([layer], name=name, hidden=hidden, vocab=vocab, sequence_length=sequence_length, tied=tied)
    return whole.model_copy(update={"runs": (run,)})
