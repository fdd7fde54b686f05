"""Hybrids: layers of attention, recurrence, dense and expert blocks in turn, counted apart."""

import math

from hyperflow.cost.recurrent_shapes import gated_convolution, gated_linear_recurrence, mamba1, mamba2
from hyperflow.cost.shapes import assemble, feed_forward, grouped_query_attention, replicated
from hyperflow.inventory.hf_config import ConfigView
from hyperflow.inventory.hf_families.attention import read_heads
from hyperflow.inventory.hf_families.decoder import HEADS, HIDDEN, LAYERS, Flag, decoder, flag_of, join
from hyperflow.inventory.hf_families.experts import EXPERTS, PER_TOKEN, given, moe, shared_key
from hyperflow.spec.model import Layer, Model

_ATTENTION_KINDS = ("attention", "full_attention")
_RECURRENT_KINDS = ("mamba", "linear_attention", "mamba2", "conv")


def attention_block(
    view: ConfigView,
    hidden: int,
    *,
    bias: Flag = False,
    output_bias: Flag = False,
    head_norm: bool = False,
    window: int | None = None,
    class_kv_heads: int | None = None,
    class_head_dim: int | None = None,
) -> Layer:
    """Grouped-query attention of a hybrid's attention layers."""
    heads, kv_heads, head_dim = read_heads(view, hidden, class_kv_heads=class_kv_heads, class_head_dim=class_head_dim)
    return grouped_query_attention(
        hidden,
        heads,
        kv_heads,
        head_dim,
        window=window,
        qkv_bias=flag_of(view, bias),
        output_bias=flag_of(view, output_bias),
        extra=2 * head_dim if head_norm else 0,
    )


def attends(view: ConfigView, number: int, key: str = "layer_types") -> list[bool]:
    """Per layer whether the list under `key` calls it attention."""
    kinds = view.texts(key, number, (*_ATTENTION_KINDS, *_RECURRENT_KINDS))
    return [kind in _ATTENTION_KINDS for kind in kinds]


def mamba2_block(
    view: ConfigView, hidden: int, *, inner: int | None = None, gated_norm: bool = True, output_bias: bool | None = None
) -> Layer:
    """Mamba-2 under the names mamba_* that Bamba, Granite and Falcon-H1 share."""
    heads = view.count("mamba_n_heads")
    if inner is None:
        inner = view.count("mamba_expand", absent=2, null=2) * hidden
    head_dim = view.values.get("mamba_d_head", "auto")
    if head_dim not in ("auto", None):
        view.require(
            view.count("mamba_d_head") * heads == inner,
            "mamba_d_head",
            f"mamba_n_heads * mamba_d_head is not the inner width {inner}",
        )
    return mamba2(
        hidden,
        inner=inner,
        heads=heads,
        groups=view.count("mamba_n_groups", absent=1, null=1),
        state=view.count("mamba_d_state"),
        conv_width=view.count("mamba_d_conv", absent=4, null=4),
        conv_bias=view.flag("mamba_conv_bias", absent=True),
        projection_bias=view.flag("mamba_proj_bias", absent=False),
        output_bias=output_bias,
        gated_norm=gated_norm,
    )


def read_bamba(view: ConfigView) -> Model:
    """Bamba: Mamba-2 layers, attention at attn_layer_indices, a dense block in each."""
    hidden, number = view.count(*HIDDEN), view.layers(*LAYERS)
    where = set(view.numbers("attn_layer_indices")) if view.given("attn_layer_indices") else set[int]()
    attention = attention_block(view, hidden, bias="attention_bias", output_bias="attention_bias", class_kv_heads=8)
    mamba = mamba2_block(view, hidden)
    dense = feed_forward(hidden, view.count("intermediate_size"), bias=view.flag("mlp_bias", absent=False))
    mixers = [attention if index in where else mamba for index in range(number)]
    layers = join(mixers, [dense] * number, replicated(2 * hidden))
    return decoder(view, layers, hidden=hidden, tied=False)


def read_granite_hybrid(view: ConfigView) -> Model:
    """Granite 4: layer_types says which layers attend; no routed experts where num_local_experts is 0."""
    hidden, number = view.count(*HIDDEN), view.layers(*LAYERS)
    bias = "attention_bias"
    attention, mamba = attention_block(view, hidden, bias=bias, output_bias=bias), mamba2_block(view, hidden)
    mixers = [attention if here else mamba for here in attends(view, number)]
    if view.count(*EXPERTS, least=0):
        shared = shared_key("shared_intermediate_size", absent=1024)
        blocks = moe(width=("intermediate_size",), shared=shared)(view, hidden, number)
    else:
        view.used.update(PER_TOKEN)
        blocks = [feed_forward(hidden, view.count("shared_intermediate_size"))] * number
    return decoder(view, join(mixers, blocks, replicated(2 * hidden)), hidden=hidden, tied=False)


def read_falcon_h1(view: ConfigView) -> Model:
    """Falcon-H1: attention and Mamba-2 side by side in every layer."""
    hidden, number = view.count(*HIDDEN), view.layers(*LAYERS)
    attention = attention_block(view, hidden, bias="attention_bias", output_bias="attention_bias", class_kv_heads=8)
    inner = view.optional("mamba_d_ssm")
    mamba = mamba2_block(
        view,
        hidden,
        inner=inner,
        gated_norm=view.flag("mamba_rms_norm", absent=False),
        output_bias=view.flag("projectors_bias", absent=False),
    )
    dense = feed_forward(hidden, view.count("intermediate_size"), bias=view.flag("mlp_bias", absent=False))
    layer = assemble("mamba+dense", attention, mamba, dense, replicated(2 * hidden))
    return decoder(view, [layer] * number, hidden=hidden, tied=False)


def read_jamba(view: ConfigView) -> Model:
    """Jamba: attention every attn_layer_period layers, experts every expert_layer_period."""
    hidden, number = view.count(*HIDDEN), view.layers(*LAYERS)
    attention = attention_block(view, hidden, class_kv_heads=8)
    rank = view.count("mamba_dt_rank") if _is_number(view, "mamba_dt_rank") else math.ceil(hidden / 16)
    mamba = mamba1(
        hidden,
        inner=view.count("mamba_expand", absent=2) * hidden,
        state=view.count("mamba_d_state", absent=16),
        rank=rank,
        conv_width=view.count("mamba_d_conv", absent=4),
        conv_bias=view.flag("mamba_conv_bias", absent=True),
        projection_bias=view.flag("mamba_proj_bias", absent=False),
        inner_norms=True,
    )
    mixers = [attention if here else mamba for here in _periodic(view, number, "attn_layer", 8, 4)]
    sparse = _periodic(view, number, "expert_layer", 2, 1)
    dense = feed_forward(hidden, view.count("intermediate_size"))
    if view.count(*EXPERTS) == 1:
        blocks = [dense] * number
    else:
        blocks = moe(width=("intermediate_size",), sparse=given(sparse))(view, hidden, number)
    return decoder(view, join(mixers, blocks, replicated(2 * hidden)), hidden=hidden, tied=False)


def _is_number(view: ConfigView, key: str) -> bool:
    view.used.add(key)
    return isinstance(view.values.get(key), int)


def _periodic(view: ConfigView, number: int, name: str, period: int, offset: int) -> list[bool]:
    step = view.count(f"{name}_period", absent=period)
    first = view.count(f"{name}_offset", absent=offset, least=0)
    return [index % step == first for index in range(number)]


def read_mamba(view: ConfigView) -> Model:
    """Mamba and Falcon-Mamba: nothing but Mamba mixers."""
    hidden, number = view.count(*HIDDEN), view.layers(*LAYERS)
    expand = view.count("expand", absent=2, null=2)
    inner = expand * hidden
    if view.given("intermediate_size"):
        inner = view.count("intermediate_size")
    rank = view.count("time_step_rank") if _is_number(view, "time_step_rank") else math.ceil(hidden / 16)
    block = mamba1(
        hidden,
        inner=inner,
        state=view.count("state_size", absent=16),
        rank=rank,
        conv_width=view.count("conv_kernel", absent=4),
        conv_bias=view.flag("use_conv_bias", absent=True),
        projection_bias=view.flag("use_bias", absent=False),
    )
    layer = assemble("mamba", block, replicated(hidden))
    return decoder(view, [layer] * number, hidden=hidden, tied=True)


def read_mamba2(view: ConfigView) -> Model:
    """Mamba-2: nothing but Mamba-2 mixers; num_heads and head_dim are those of the mixer."""
    hidden, number = view.count(*HIDDEN), view.layers(*LAYERS)
    heads, expand = view.count("num_heads"), view.count("expand", absent=2, null=2)
    view.require(
        heads * view.count("head_dim") == expand * hidden, "num_heads", "num_heads * head_dim is not expand * hidden"
    )
    block = mamba2(
        hidden,
        inner=expand * hidden,
        heads=heads,
        groups=view.count("n_groups", absent=8),
        state=view.count("state_size", absent=128),
        conv_width=view.count("conv_kernel", absent=4),
        conv_bias=view.flag("use_conv_bias", absent=True),
        projection_bias=view.flag("use_bias", absent=False),
    )
    layer = assemble("mamba", block, replicated(hidden))
    return decoder(view, [layer] * number, hidden=hidden, tied=False)


def read_lfm2(view: ConfigView) -> Model:
    """LFM2: short convolutions, attention where layer_types or full_attn_idxs say, experts after a dense prefix."""
    hidden, number = view.count(*HIDDEN), view.layers(*LAYERS)
    if view.given("layer_types"):
        here = attends(view, number)
    else:
        where = set(view.numbers("full_attn_idxs"))
        here = [index in where for index in range(number)]
    attention = attention_block(view, hidden, head_norm=True, class_kv_heads=8)
    conv = gated_convolution(
        hidden,
        conv_width=view.count("conv_L_cache", class_default=3),
        bias=view.flag("conv_bias", absent=False),
    )
    mixers = [attention if attending else conv for attending in here]
    if view.values.get("model_type") == "lfm2_moe" or view.given(*EXPERTS):
        prefix = view.count("num_dense_layers", absent=2, null=0, least=0)
        sparse = [index >= prefix for index in range(number)]
        blocks = moe(sparse=given(sparse))(view, hidden, number)
    else:
        blocks = [feed_forward(hidden, _lfm2_width(view))] * number
    tied = view.flag("tie_embedding", absent=True)
    return decoder(view, join(mixers, blocks, replicated(2 * hidden)), hidden=hidden, tied=tied)


def _lfm2_width(view: ConfigView) -> int:
    width = view.count("block_ff_dim", "intermediate_size")
    if not view.flag("block_auto_adjust_ff_dim", absent=True):
        return width
    scaled = int(2 * width / 3)
    factor = view.values.get("block_ffn_dim_multiplier", 1.0)
    view.used.add("block_ffn_dim_multiplier")
    if isinstance(factor, int | float) and not isinstance(factor, bool) and 0 < factor < 1000:
        scaled = int(factor * scaled)
    elif factor is not None:
        view.wrong("block_ffn_dim_multiplier", factor, "a positive number")
    step = view.count("block_multiple_of", absent=256, null=256)
    return step * max((scaled + step - 1) // step, 1)


def read_recurrent_gemma(view: ConfigView) -> Model:
    """RecurrentGemma: gated linear recurrences and local attention by block_types; intermediate_size counts gate and
    up together."""
    hidden, number, heads = view.count(*HIDDEN), view.layers(*LAYERS), view.count(*HEADS)
    window = view.count("attention_window_size", absent=2048, null=2048)
    bias = "attention_bias"
    attention = attention_block(view, hidden, bias=bias, output_bias=True, window=window)
    width = view.count("lru_width", absent=hidden, null=hidden)
    view.require(width % heads == 0, "lru_width", f"lru_width {width} is not a multiple of {heads} heads")
    conv_width = view.count("conv1d_width", absent=4, null=4)
    recurrent = gated_linear_recurrence(hidden, width=max(width, heads), heads=heads, conv_width=conv_width)
    names = ("recurrent", "attention")
    pattern = view.texts("block_types", None, names) if view.given("block_types") else ["recurrent"] * 2 + ["attention"]
    view.require(bool(pattern), "block_types", "block_types names no block")
    mixers = [
        attention if (pattern or names)[index % len(pattern or names)] == "attention" else recurrent
        for index in range(number)
    ]
    dense = feed_forward(hidden, max(view.count("intermediate_size", least=2) // 2, 1), bias=True)
    return decoder(view, join(mixers, [dense] * number, replicated(2 * hidden)), hidden=hidden, tied=True)
