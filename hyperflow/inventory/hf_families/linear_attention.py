"""Families whose layers are mostly linear attention, with full attention every few layers."""

from collections.abc import Callable

from hyperflow.cost.recurrent_shapes import gated_delta_net, kimi_delta_attention
from hyperflow.cost.shapes import grouped_query_attention, linear, replicated
from hyperflow.inventory.hf_config import ConfigView
from hyperflow.inventory.hf_families.attention import norm_parameters, read_heads
from hyperflow.inventory.hf_families.decoder import (
    HIDDEN,
    LAYERS,
    Blocks,
    decoder,
    join,
    mtp_parameters,
)
from hyperflow.inventory.hf_families.experts import (
    after_dense_prefix,
    dense,
    moe,
    qwen_sparse,
    shared_key,
    shared_times,
)
from hyperflow.inventory.hf_families.hybrid import attends
from hyperflow.inventory.hf_families.latent import latent_block
from hyperflow.spec.model import Layer, Model, Recurrence

_QWEN_EXPERTS = moe(
    shared=shared_key("shared_expert_intermediate_size", absent=512), shared_gate=True, sparse=qwen_sparse
)
_SHAPE_CHANGING_K3_KEYS = {
    "attn_res_block_size": "attention residual blocks",
    "latent_moe_use_norm": "experts in a latent space",
    "routed_expert_hidden_size": "experts in a latent space",
    "mla_use_output_gate": "an output gate on latent attention",
}


def _delta_net(view: ConfigView, hidden: int) -> Layer:
    key_heads, value_heads = view.count("linear_num_key_heads"), view.count("linear_num_value_heads")
    view.require(
        value_heads % key_heads == 0,
        "linear_num_value_heads",
        f"{value_heads} value heads are not a multiple of {key_heads} key heads",
    )
    return gated_delta_net(
        hidden,
        key_heads=key_heads,
        value_heads=value_heads,
        key_dim=view.count("linear_key_head_dim"),
        value_dim=view.count("linear_value_head_dim"),
        conv_width=view.count("linear_conv_kernel_dim", absent=4),
    )


def _full_layers(view: ConfigView, number: int) -> list[bool]:
    if view.given("layer_types"):
        return attends(view, number)
    step = view.count("full_attention_interval", absent=4)
    return [(index + 1) % step == 0 for index in range(number)]


def qwen_next(class_kv_heads: int, feed_forward: Blocks = _QWEN_EXPERTS) -> Callable[[ConfigView], Model]:
    """Qwen3-Next and Qwen3.5: gated delta nets, and every fourth layer full attention with an output gate that
    doubles the query projection."""

    def read(view: ConfigView) -> Model:
        hidden, number = view.count(*HIDDEN), view.layers(*LAYERS)
        heads, kv_heads, head_dim = read_heads(view, hidden, class_kv_heads=class_kv_heads, class_head_dim=256)
        bias = view.flag("attention_bias", absent=False)
        gate = linear(hidden, heads * head_dim, bias)
        full = grouped_query_attention(
            hidden, heads, kv_heads, head_dim, qkv_bias=bias, output_bias=bias, extra=gate + 2 * head_dim
        )
        delta = _delta_net(view, hidden)
        blocks = feed_forward(view, hidden, number)
        mixers = [full if here else delta for here in _full_layers(view, number)]
        norms = replicated(2 * hidden)
        mtp_layers = view.count("mtp_num_hidden_layers", absent=0, null=0, least=0, most=64)
        mtp = mtp_parameters(hidden, join([full], blocks[-1:], norms)[0])
        return decoder(
            view,
            join(mixers, blocks, norms),
            hidden=hidden,
            tied=False,
            mtp_layers=mtp_layers,
            mtp_parameters=mtp_layers * mtp,
        )

    return read


def read_olmo_hybrid(view: ConfigView) -> Model:
    """OLMo-Hybrid: gated delta nets, and full attention with norms over the whole projections."""
    hidden, number = view.count(*HIDDEN), view.layers(*LAYERS)
    heads, kv_heads, head_dim = read_heads(view, hidden)
    bias = view.flag("attention_bias", absent=False)
    norms = norm_parameters("projection", heads, kv_heads, head_dim)
    full = grouped_query_attention(hidden, heads, kv_heads, head_dim, qkv_bias=bias, output_bias=bias, extra=norms)
    delta = _delta_net(view, hidden)
    mixers = [full if here else delta for here in _full_layers(view, number)]
    layers = join(mixers, dense()(view, hidden, number), replicated(2 * hidden))
    return decoder(view, layers, hidden=hidden, tied=False)


def read_kimi_linear(view: ConfigView) -> Model:
    """Kimi-Linear: linear_attn_config lists layers from 1 on; the others attend through a latent."""
    for key, reason in _SHAPE_CHANGING_K3_KEYS.items():
        if view.given(key):
            view.refuse(key, reason)
    hidden, number = view.count(*HIDDEN), view.layers(*LAYERS)
    options = view.part("linear_attn_config")
    if options.given("use_full_rank_gate"):
        options.refuse("use_full_rank_gate", "a gate that is not low-rank")
    full, delta = set(options.numbers("full_attn_layers", least=1)), set(options.numbers("kda_layers", least=1))
    options.require(
        full | delta == set(range(1, number + 1)) and not full & delta,
        "full_attn_layers",
        f"full_attn_layers and kda_layers do not share out the layers 1 to {number}",
    )
    latent = latent_block(view, hidden)
    kimi = kimi_delta_attention(
        hidden,
        heads=options.count("num_heads"),
        head_dim=options.count("head_dim"),
        conv_width=options.count("short_conv_kernel_size"),
    )
    experts = moe(shared=shared_times("num_shared_experts", absent=1), sparse=after_dense_prefix(1, null=1))
    mixers = [latent if index + 1 in full else kimi for index in range(number)]
    layers = join(mixers, experts(view, hidden, number), replicated(2 * hidden))
    return decoder(view, layers, hidden=hidden, tied=False)


def read_minimax(view: ConfigView) -> Model:
    """MiniMax-01: lightning attention (one fused projection, an output gate, a norm) and full attention in turn."""
    hidden, number = view.count(*HIDDEN), view.layers(*LAYERS)
    heads, kv_heads, head_dim = read_heads(view, hidden, class_kv_heads=8)
    full = grouped_query_attention(hidden, heads, kv_heads, head_dim)
    width = heads * head_dim
    recurrence = Recurrence(kind="linear-attention", inner_width=width, state_size=head_dim, heads=heads)
    lightning = Layer(recurrence=recurrence, mixer_parameters=5 * linear(hidden, width) + width)
    if view.given("layer_types"):
        here = attends(view, number)
    elif view.given("attn_type_list"):
        here = [kind == 1 for kind in view.numbers("attn_type_list", number)]
    else:
        here = [(index + 1) % 2 == 1 for index in range(number)]
    mixers = [full if attending else lightning for attending in here]
    experts = moe(width=("intermediate_size",), class_per_token=2)
    layers = join(mixers, experts(view, hidden, number), replicated(2 * hidden))
    return decoder(view, layers, hidden=hidden, tied=False)
