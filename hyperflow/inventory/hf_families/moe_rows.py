"""Families with routed experts whose attention and experts are of the usual kinds, as rows of one table."""

from hyperflow.inventory.hf_config import ConfigView
from hyperflow.inventory.hf_families import windows
from hyperflow.inventory.hf_families.attention import gqa
from hyperflow.inventory.hf_families.decoder import Family
from hyperflow.inventory.hf_families.experts import (
    after_dense_prefix,
    moe,
    qwen_sparse,
    shared_key,
    shared_times,
)
from hyperflow.inventory.hf_families.latent import mla

_BIAS = "attention_bias"
_NEXTN = "num_nextn_predict_layers"
_ONE_WIDTH = ("intermediate_size",)
_DEEPSEEK_V3_EXPERTS = moe(
    shared=shared_times("n_shared_experts", absent=1), sparse=after_dense_prefix(3, class_default=True)
)
_DEEPSEEK_V3 = Family(attention=mla(class_query_rank=1536), feed_forward=_DEEPSEEK_V3_EXPERTS, mtp_key=_NEXTN)
_DEEPSEEK_V32 = Family(
    attention=mla(query_rank_required=True, indexer=True), feed_forward=_DEEPSEEK_V3_EXPERTS, mtp_key=_NEXTN
)
_QWEN3_ATTENTION = gqa(qkv_bias=_BIAS, output_bias=_BIAS, norm="head", class_kv_heads=4, windows=windows.if_enabled)


def _dense_layers(view: ConfigView, number: int) -> list[bool]:
    dense = view.count("num_dense_layers", absent=1, null=0, least=0)
    return [index >= dense for index in range(number)]


def _llama4_sparse(view: ConfigView, number: int) -> list[bool]:
    if view.given("moe_layers"):
        sparse = set(view.numbers("moe_layers"))
        return [index in sparse for index in range(number)]
    step = view.count("interleave_moe_layer_step", absent=1, null=1)
    return [(index + 1) % step == 0 for index in range(number)]


def _ernie_sparse(view: ConfigView, number: int) -> list[bool]:
    first = view.count("moe_layer_start_index", absent=1, null=1, least=0)
    last = view.count("moe_layer_end_index", absent=-1, null=-1, least=-1)
    step = view.count("moe_layer_interval", absent=1, null=1)
    last = number - 1 if last == -1 else last
    return [(index + 1) % step == 0 and first <= index <= last for index in range(number)]


MOE_FAMILIES: dict[str, Family] = {
    "mixtral": Family(
        attention=gqa(class_kv_heads=8, windows=windows.all_layers()),
        feed_forward=moe(width=_ONE_WIDTH, class_per_token=2),
    ),
    "qwen2_moe": Family(
        attention=gqa(class_kv_heads=16, qkv_bias=("qkv_bias", True), windows=windows.if_enabled),
        feed_forward=moe(
            shared=shared_key("shared_expert_intermediate_size", absent=None), shared_gate=True, sparse=qwen_sparse
        ),
    ),
    "qwen3_moe": Family(attention=_QWEN3_ATTENTION, feed_forward=moe(sparse=qwen_sparse)),
    "qwen3_vl_moe_text": Family(
        attention=gqa(qkv_bias=_BIAS, output_bias=_BIAS, norm="head", class_kv_heads=16),
        feed_forward=moe(sparse=qwen_sparse),
    ),
    "deepseek_v2": Family(
        attention=mla(class_query_rank=1536),
        feed_forward=moe(
            shared=shared_times("n_shared_experts", absent=2),
            sparse=after_dense_prefix(0, class_default=True),
            plain_bias="mlp_bias",
        ),
    ),
    "deepseek_v3": _DEEPSEEK_V3,
    "kimi_k2": _DEEPSEEK_V3,
    "deepseek_v32": _DEEPSEEK_V32,
    "glm_moe_dsa": _DEEPSEEK_V32,
    "glm4_moe": Family(
        attention=gqa(qkv_bias=_BIAS, norm="head", norm_if="use_qk_norm", class_kv_heads=8),
        feed_forward=moe(
            shared=shared_times("n_shared_experts", absent=1), sparse=after_dense_prefix(1, class_default=True)
        ),
        mtp_key=_NEXTN,
    ),
    "glm4_moe_lite": Family(
        attention=mla(class_query_rank=768),
        feed_forward=moe(shared=shared_times("n_shared_experts", absent=1), sparse=after_dense_prefix(1, null=1)),
        mtp_key=_NEXTN,
    ),
    "dots1": Family(
        attention=gqa(class_kv_heads=32, qkv_bias=_BIAS, output_bias=_BIAS, norm="head", windows=windows.if_enabled),
        feed_forward=moe(shared=shared_times("n_shared_experts"), sparse=after_dense_prefix(0)),
    ),
    "solar_open": Family(
        attention=gqa(qkv_bias=_BIAS, class_kv_heads=8, class_head_dim=128),
        feed_forward=moe(shared=shared_times("n_shared_experts", absent=1)),
    ),
    "gpt_oss": Family(
        attention=gqa(
            qkv_bias=(_BIAS, True),
            output_bias=(_BIAS, True),
            class_kv_heads=8,
            class_head_dim=64,
            windows=windows.every(2),
            extra=lambda hidden, heads, kv_heads, head_dim: heads,
        ),
        feed_forward=moe(width=_ONE_WIDTH, bias=True, router_bias=True),
    ),
    "llama4_text": Family(
        attention=gqa(
            qkv_bias=_BIAS,
            output_bias=_BIAS,
            class_kv_heads=8,
            class_head_dim=128,
            windows=windows.where(lambda index: (index + 1) % 4 != 0, "attention_chunk_size"),
        ),
        feed_forward=moe(
            width=_ONE_WIDTH,
            dense_width=("intermediate_size_mlp",),
            shared=lambda view, width: width,
            sparse=_llama4_sparse,
        ),
    ),
    "olmoe": Family(
        attention=gqa(qkv_bias=_BIAS, output_bias=_BIAS, norm="projection"), feed_forward=moe(width=_ONE_WIDTH)
    ),
    "flex_olmo": Family(
        attention=gqa(qkv_bias=_BIAS, output_bias=_BIAS, norm="projection"), feed_forward=moe(width=_ONE_WIDTH)
    ),
    "phimoe": Family(
        attention=gqa(qkv_bias=_BIAS, output_bias=_BIAS, class_kv_heads=8, windows=windows.all_layers()),
        feed_forward=moe(width=_ONE_WIDTH, class_per_token=2),
        norm_bias=True,
        head_bias="lm_head_bias",
    ),
    "granitemoe": Family(attention=gqa(qkv_bias=_BIAS, output_bias=_BIAS), feed_forward=moe(width=_ONE_WIDTH)),
    "granitemoeshared": Family(
        attention=gqa(qkv_bias=_BIAS, output_bias=_BIAS),
        feed_forward=moe(width=_ONE_WIDTH, shared=shared_key("shared_intermediate_size")),
    ),
    "minimax_m2": Family(
        attention=gqa(norm="projection", norm_if=("use_qk_norm", True), class_kv_heads=8, class_head_dim=128),
        feed_forward=moe(width=_ONE_WIDTH),
    ),
    "ernie4_5_moe": Family(
        attention=gqa(qkv_bias="use_bias", output_bias="use_bias", class_kv_heads=4),
        feed_forward=moe(
            shared=shared_times("moe_num_shared_experts", absent=2),
            sparse=_ernie_sparse,
            router_extra=True,
            plain_bias="use_bias",
        ),
        head_bias="use_bias",
        tied=True,
    ),
    "afmoe": Family(
        attention=gqa(
            qkv_bias=_BIAS,
            output_bias=_BIAS,
            norm="head",
            class_head_dim=128,
            windows=windows.every(4, "global_attn_every_n_layers"),
            extra=lambda hidden, heads, kv_heads, head_dim: hidden * heads * head_dim,
        ),
        feed_forward=moe(shared=shared_times("num_shared_experts", absent=2), sparse=_dense_layers, router_extra=True),
        norms=4,
    ),
    "exaone_moe": Family(
        attention=gqa(class_kv_heads=32, norm="head", windows=windows.every(4)),
        feed_forward=moe(shared=shared_times("num_shared_experts", absent=1), sparse=after_dense_prefix(1)),
        mtp_key=_NEXTN,
    ),
    "hy_v3": Family(
        attention=gqa(qkv_bias=_BIAS, output_bias=_BIAS, class_kv_heads=8, norm="head", class_head_dim=128),
        feed_forward=moe(
            shared=shared_times("num_shared_experts", absent=1),
            sparse=after_dense_prefix(1, null=1),
            plain_bias="mlp_bias",
        ),
    ),
    "cohere2_moe": Family(
        attention=gqa(qkv_bias=_BIAS, output_bias=_BIAS, class_head_dim=128, windows=windows.every(4)),
        feed_forward=moe(
            width=_ONE_WIDTH,
            dense_width=("prefix_dense_intermediate_size",),
            shared=shared_times("num_shared_experts"),
            sparse=after_dense_prefix(0),
        ),
        norms=1,
        tied=True,
    ),
    "grok-1": Family(attention=gqa(), feed_forward=moe(width=_ONE_WIDTH), norms=4, tied=True),
}
