"""Families that bring their own modelling code, and others whose keys are not the usual ones."""

from hyperflow.cost.shapes import assemble, feed_forward, grouped_query_attention, replicated, routed_experts
from hyperflow.inventory.hf_config import ConfigView
from hyperflow.inventory.hf_families.attention import check_groups, gqa
from hyperflow.inventory.hf_families.decoder import HEADS, HIDDEN, LAYERS, Family, decoder, join
from hyperflow.inventory.hf_families.experts import after_dense_prefix, check_active, dense, moe, shared_times
from hyperflow.inventory.hf_families.windows import sliding_layers
from hyperflow.spec.model import Layer, Model


def read_chatglm(view: ConfigView) -> Model:
    """ChatGLM2, ChatGLM3 and GLM-4-9B: multi_query_group_num, kv_channels, padded_vocab_size."""
    hidden, number, heads = view.count(*HIDDEN), view.layers(*LAYERS), view.count(*HEADS)
    view.require(not view.given("position_encoding_2d"), "position_encoding_2d", "the first ChatGLM has another shape")
    grouped = view.flag("multi_query_attention", absent=False)
    kv_heads = view.count("multi_query_group_num") if grouped else heads
    check_groups(view, heads, kv_heads)
    bias = view.flag("add_bias_linear", absent=False)
    attention = grouped_query_attention(
        hidden,
        heads,
        kv_heads,
        view.count("kv_channels"),
        qkv_bias=bias or view.flag("add_qkv_bias", absent=False),
        output_bias=bias,
    )
    norm = hidden * (1 if view.flag("rmsnorm", absent=True) else 2)
    block = feed_forward(hidden, view.count("ffn_hidden_size"), bias=bias)
    layers = join([attention] * number, [block] * number, replicated(2 * norm))
    final = norm if view.flag("post_layer_norm", absent=True) else 0
    return decoder(view, layers, hidden=hidden, tied=False, final_norm=final)


def read_qwen_first(view: ConfigView) -> Model:
    """The first Qwen: a fused projection with bias, and an intermediate_size that counts gate and up together."""
    hidden, number, heads = view.count(*HIDDEN), view.layers(*LAYERS), view.count(*HEADS)
    width = view.count("intermediate_size")
    view.require(width % 2 == 0, "intermediate_size", "intermediate_size counts two matrices, so it is even")
    view.require(
        view.count("kv_channels", absent=hidden // heads or 1) * heads == hidden,
        "kv_channels",
        "kv_channels * num_attention_heads is not hidden_size",
    )
    bias = not view.flag("no_bias", absent=True)
    attention = grouped_query_attention(hidden, heads, heads, max(hidden // heads, 1), qkv_bias=True, output_bias=bias)
    block = feed_forward(hidden, max(width // 2, 1), bias=bias)
    layers = join([attention] * number, [block] * number, replicated(2 * hidden))
    return decoder(view, layers, hidden=hidden, tied=False)


def read_dbrx(view: ConfigView) -> Model:
    """DBRX: nested attn_config and ffn_config, norms without bias, every layer with experts."""
    hidden, number, heads = view.count(*HIDDEN), view.layers(*LAYERS), view.count(*HEADS)
    attention, experts = view.part("attn_config"), view.part("ffn_config")
    kv_heads = attention.count("kv_n_heads")
    view.used.add("num_key_value_heads")  # what the class writes, not what it reads
    check_groups(view, heads, kv_heads)
    view.require(hidden % heads == 0, "n_heads", f"{hidden} is not a multiple of {heads} heads")
    count, active = experts.count("moe_num_experts"), experts.count("moe_top_k")
    check_active(experts, active, count)
    layer = assemble(
        "moe",
        grouped_query_attention(hidden, heads, kv_heads, max(hidden // heads, 1)),
        routed_experts(hidden, experts.count("ffn_hidden_size"), count=count, active=active),
        replicated(2 * hidden),
    )
    return decoder(view, [layer] * number, hidden=hidden, tied=False)


def read_mimo_v2(view: ConfigView) -> Model:
    """MiMo-V2-Flash: sliding layers have their own heads and sinks; values are narrower than keys."""
    hidden, number = view.count(*HIDDEN), view.layers(*LAYERS)
    if view.given("hybrid_layer_pattern"):
        sliding = [bool(value) for value in view.numbers("hybrid_layer_pattern", number)]
    else:
        sliding = sliding_layers(view, number, lambda index: index != 0 and (index + 1) % 6 != 0)
    heads, kv_heads = view.count(*HEADS), view.count("num_key_value_heads", class_default=4)
    full = _mimo_attention(view, hidden, "", heads, kv_heads, None, False)
    window = view.count("sliding_window_size", "sliding_window", class_default=128)
    slid = _mimo_attention(
        view,
        hidden,
        "swa_",
        view.count("swa_num_attention_heads", absent=heads, null=heads),
        view.count("swa_num_key_value_heads", absent=2 * kv_heads, null=2 * kv_heads),
        window,
        True,
    )
    experts = moe(shared=shared_times("n_shared_experts"), sparse=after_dense_prefix(1, null=1))
    mixers = [slid if here else full for here in sliding]
    layers = join(mixers, experts(view, hidden, number), replicated(2 * hidden))
    return decoder(view, layers, hidden=hidden, tied=False)


def _mimo_attention(
    view: ConfigView, hidden: int, prefix: str, heads: int, kv_heads: int, window: int | None, sinks: bool
) -> Layer:
    check_groups(view, heads, kv_heads)
    head_dim, value_dim = view.count("head_dim", class_default=192), view.count("v_head_dim", class_default=128)
    key = "add_swa_attention_sink_bias" if sinks else "add_full_attention_sink_bias"
    return grouped_query_attention(
        hidden,
        heads,
        kv_heads,
        view.count(f"{prefix}head_dim", absent=head_dim, null=head_dim),
        value_head_dim=view.count(f"{prefix}v_head_dim", absent=value_dim, null=value_dim),
        window=window,
        qkv_bias=view.flag("attention_bias", absent=False),
        extra=heads if view.flag(key, absent=sinks) else 0,
    )


_LLAMA_SHAPED = Family(attention=gqa(), feed_forward=dense())

REMOTE_ROWS: dict[str, Family] = {
    "baichuan": Family(attention=gqa(multi_head=True), feed_forward=dense()),
    "Yi": _LLAMA_SHAPED,
    "xverse": _LLAMA_SHAPED,
    "aquila": _LLAMA_SHAPED,
    "exaone": Family(
        attention=gqa(class_kv_heads=8, qkv_bias="attention_bias", output_bias="attention_bias"),
        feed_forward=dense(bias="mlp_bias"),
    ),
    "minicpm": Family(attention=gqa(), feed_forward=dense(), tied=True),
    "internlm": Family(attention=gqa(qkv_bias=("bias", True), output_bias=("bias", True)), feed_forward=dense()),
    "internlm2": Family(attention=gqa(qkv_bias="bias", output_bias="bias"), feed_forward=dense()),
    "internlm3": Family(
        attention=gqa(class_kv_heads=2, qkv_bias="qkv_bias", output_bias="bias", class_head_dim=128),
        feed_forward=dense(bias="bias"),
    ),
    "orion": Family(attention=gqa(), feed_forward=dense(), norm_bias=True),
    "phi3small": Family(
        attention=gqa(qkv_bias=True, output_bias=True),
        feed_forward=dense(bias=True, width=("ff_intermediate_size",)),
        norm_bias=True,
        tied=True,
    ),
    "mimo": Family(
        attention=gqa(qkv_bias=("attention_bias", True)), feed_forward=dense(), mtp_key="num_nextn_predict_layers"
    ),
    "bailing_moe": Family(
        attention=gqa(qkv_bias="use_qkv_bias", output_bias="use_bias", norm="head", norm_if="use_qk_norm"),
        feed_forward=moe(shared=shared_times("num_shared_experts"), sparse=after_dense_prefix(0)),
    ),
    "deepseek": Family(
        attention=gqa(qkv_bias="attention_bias", output_bias="attention_bias"),
        feed_forward=moe(shared=shared_times("n_shared_experts"), sparse=after_dense_prefix(0)),
    ),
}
