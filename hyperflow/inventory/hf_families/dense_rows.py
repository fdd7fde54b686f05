"""Families whose layers are all alike and dense, as rows of one table."""

from hyperflow.inventory.hf_config import ConfigView
from hyperflow.inventory.hf_families import windows
from hyperflow.inventory.hf_families.attention import gqa
from hyperflow.inventory.hf_families.decoder import Family
from hyperflow.inventory.hf_families.experts import dense, four_times
from hyperflow.inventory.hf_families.latent import mla

_BIAS = "attention_bias"
_GEMMA_WINDOWS = windows.every(2)


def _parallel_norms(view: ConfigView) -> int:
    return 1 if view.flag("use_parallel_residual", absent=False) else 2


def _post_norms(view: ConfigView) -> int:
    return 4 if view.flag("use_post_norm", absent=True) else 2


LLAMA = Family(attention=gqa(qkv_bias=_BIAS, output_bias=_BIAS), feed_forward=dense(bias="mlp_bias"))
_MISTRAL = Family(attention=gqa(class_kv_heads=8, windows=windows.all_layers()), feed_forward=dense())

_GPT_J = Family(
    attention=gqa(multi_head=True),
    feed_forward=four_times(),
    norms=1,
    norm_bias=True,
    head_bias=True,
)

DENSE_FAMILIES: dict[str, Family] = {
    "llama": LLAMA,
    "mistral": _MISTRAL,
    "ministral": _MISTRAL,
    "ministral3": Family(
        attention=gqa(class_kv_heads=8, class_head_dim=128, windows=windows.all_layers()), feed_forward=dense()
    ),
    "qwen2": Family(attention=gqa(class_kv_heads=32, qkv_bias=True, windows=windows.if_enabled), feed_forward=dense()),
    "qwen3": Family(
        attention=gqa(
            class_kv_heads=32,
            qkv_bias=_BIAS,
            output_bias=_BIAS,
            norm="head",
            class_head_dim=128,
            windows=windows.if_enabled,
        ),
        feed_forward=dense(),
    ),
    "phi3": Family(attention=gqa(windows=windows.all_layers()), feed_forward=dense()),
    "gemma": Family(
        attention=gqa(class_kv_heads=16, qkv_bias=_BIAS, output_bias=_BIAS, class_head_dim=256),
        feed_forward=dense(),
        tied=True,
    ),
    "gemma2": Family(
        attention=gqa(class_kv_heads=4, qkv_bias=_BIAS, output_bias=_BIAS, class_head_dim=256, windows=_GEMMA_WINDOWS),
        feed_forward=dense(),
        norms=4,
        tied=True,
    ),
    "gemma3_text": Family(
        attention=gqa(
            qkv_bias=_BIAS,
            output_bias=_BIAS,
            norm="head",
            class_heads=8,
            class_kv_heads=4,
            class_head_dim=256,
            windows=windows.every(6),
        ),
        feed_forward=dense(),
        norms=4,
        tied=True,
        class_vocab=262208,
    ),
    "vaultgemma": Family(
        attention=gqa(class_kv_heads=4, qkv_bias=_BIAS, output_bias=_BIAS, class_head_dim=256, windows=_GEMMA_WINDOWS),
        feed_forward=dense(),
        tied=True,
    ),
    "olmo": Family(attention=gqa(qkv_bias=_BIAS, output_bias=_BIAS), feed_forward=dense(), norms=0, final_norm=0),
    "olmo2": Family(attention=gqa(qkv_bias=_BIAS, output_bias=_BIAS, norm="projection"), feed_forward=dense()),
    "olmo3": Family(
        attention=gqa(qkv_bias=_BIAS, output_bias=_BIAS, norm="projection", windows=windows.every(4)),
        feed_forward=dense(),
    ),
    "granite": Family(attention=gqa(qkv_bias=_BIAS, output_bias=_BIAS), feed_forward=dense(bias="mlp_bias")),
    "cohere": Family(
        attention=gqa(qkv_bias=_BIAS, output_bias=_BIAS, norm="projection", norm_if="use_qk_norm"),
        feed_forward=dense(),
        norms=1,
        tied=True,
    ),
    "cohere2": Family(
        attention=gqa(qkv_bias=_BIAS, output_bias=_BIAS, windows=windows.every(4)),
        feed_forward=dense(),
        norms=1,
        tied=True,
    ),
    "stablelm": Family(
        attention=gqa(class_kv_heads=32, qkv_bias="use_qkv_bias", norm="projection", norm_if="qk_layernorm"),
        feed_forward=dense(),
        norms=_parallel_norms,
        norm_bias=True,
    ),
    "starcoder2": Family(
        attention=gqa(
            qkv_bias=("use_bias", True),
            output_bias=("use_bias", True),
            class_kv_heads=2,
            windows=windows.all_layers(),
        ),
        feed_forward=dense(gated=False, bias=("use_bias", True)),
        norm_bias=True,
        tied=True,
    ),
    "glm": Family(attention=gqa(qkv_bias=(_BIAS, True), class_kv_heads=2, class_head_dim=128), feed_forward=dense()),
    "glm4": Family(
        attention=gqa(qkv_bias=(_BIAS, True), class_kv_heads=2, class_head_dim=128), feed_forward=dense(), norms=4
    ),
    "nemotron": Family(
        attention=gqa(qkv_bias=_BIAS, output_bias=_BIAS),
        feed_forward=dense(gated=False, bias="mlp_bias"),
        norm_bias=True,
    ),
    "smollm3": Family(
        attention=gqa(qkv_bias=_BIAS, output_bias=_BIAS, class_kv_heads=4, windows=windows.if_enabled),
        feed_forward=dense(bias="mlp_bias"),
        tied=True,
    ),
    "seed_oss": Family(
        attention=gqa(qkv_bias=(_BIAS, True), output_bias="attention_out_bias", class_kv_heads=8, class_head_dim=128),
        feed_forward=dense(bias="mlp_bias"),
    ),
    "exaone4": Family(attention=gqa(class_kv_heads=32, norm="head", windows=windows.every(4)), feed_forward=dense()),
    "helium": Family(  # its output projection is hidden x hidden whatever the heads
        attention=gqa(
            class_kv_heads=20,
            class_head_dim=128,
            qkv_bias=_BIAS,
            extra=lambda hidden, heads, kv_heads, head_dim: hidden * (hidden - heads * head_dim),
        ),
        feed_forward=dense(bias="mlp_bias"),
    ),
    "ernie4_5": Family(
        attention=gqa(qkv_bias="use_bias", output_bias="use_bias", class_kv_heads=2, class_head_dim=128),
        feed_forward=dense(bias="use_bias"),
        tied=True,
    ),
    "hunyuan_v1_dense": Family(attention=gqa(qkv_bias=_BIAS, output_bias=_BIAS, norm="head"), feed_forward=dense()),
    "arcee": Family(attention=gqa(qkv_bias=_BIAS, output_bias=_BIAS), feed_forward=dense(gated=False, bias="mlp_bias")),
    "apertus": Family(
        attention=gqa(qkv_bias=_BIAS, output_bias=_BIAS, norm="head"),
        feed_forward=dense(gated=False, extra=lambda width: 2),
    ),
    "minicpm3": Family(attention=mla(query_rank_required=True), feed_forward=dense(bias="mlp_bias"), tied=True),
    "youtu": Family(attention=mla(class_query_rank=1536), feed_forward=dense(), tied=True),
    "persimmon": Family(
        attention=gqa(
            multi_head=True, qkv_bias=True, output_bias=True, norm="head-biased", norm_if=("qk_layernorm", True)
        ),
        feed_forward=dense(gated=False, bias=True),
        norm_bias=True,
    ),
    "phi": Family(
        attention=gqa(qkv_bias=True, output_bias=True, norm="head-biased", norm_if="qk_layernorm"),
        feed_forward=dense(gated=False, bias=True),
        norms=1,
        norm_bias=True,
        head_bias=True,
    ),
    "phi-msft": Family(
        attention=gqa(qkv_bias=True, output_bias=True),
        feed_forward=four_times(),
        norms=1,
        norm_bias=True,
        head_bias=True,
    ),
    "bitnet": Family(
        attention=gqa(
            qkv_bias=_BIAS,
            output_bias=_BIAS,
            class_kv_heads=5,
            extra=lambda hidden, heads, kv_heads, head_dim: hidden,
        ),
        feed_forward=dense(extra=lambda width: width),
    ),
    "cwm": Family(
        attention=gqa(class_kv_heads=8, class_head_dim=128, windows=windows.where(lambda index: index % 4 != 0)),
        feed_forward=dense(bias="mlp_bias"),
    ),
    "diffllama": Family(
        attention=gqa(qkv_bias=_BIAS, output_bias=_BIAS, extra=lambda hidden, heads, kv_heads, head_dim: 4 * head_dim),
        feed_forward=dense(),
    ),
    "hyperclovax": Family(
        attention=gqa(qkv_bias=_BIAS, output_bias=_BIAS), feed_forward=dense(bias="mlp_bias"), norms=_post_norms
    ),
    "jais2": Family(
        attention=gqa(qkv_bias=(_BIAS, True), output_bias=(_BIAS, True)),
        feed_forward=dense(gated=False, bias=("mlp_bias", True)),
        norm_bias=True,
    ),
    "gptj": _GPT_J,
    "codegen": _GPT_J,
    "gpt_neox": Family(
        attention=gqa(multi_head=True, qkv_bias=(_BIAS, True), output_bias=(_BIAS, True)),
        feed_forward=dense(gated=False, bias=True),
        norm_bias=True,
    ),
    "gpt2": Family(
        attention=gqa(multi_head=True, qkv_bias=True, output_bias=True),
        feed_forward=four_times(),
        norm_bias=True,
        tied=True,
        positions=True,
    ),
    "openai-gpt": Family(
        attention=gqa(multi_head=True, qkv_bias=True, output_bias=True),
        feed_forward=four_times(),
        norm_bias=True,
        final_norm=0,
        tied=True,
        positions=True,
    ),
    "nanochat": Family(
        attention=gqa(qkv_bias=_BIAS, output_bias=_BIAS), feed_forward=dense(gated=False), norms=0, final_norm=0
    ),
    "xglm": Family(
        attention=gqa(multi_head=True, qkv_bias=True, output_bias=True),
        feed_forward=dense(gated=False, bias=True),
        norm_bias=True,
        tied=True,
    ),
}
