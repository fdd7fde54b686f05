"""The table of all families: model_type to reader."""

from collections.abc import Callable

from hyperflow.inventory.hf_config import ConfigView
from hyperflow.inventory.hf_families import gemma, gpt, hybrid, linear_attention, nemotron, remote_code
from hyperflow.inventory.hf_families.deepseek_v4 import read_deepseek_v4
from hyperflow.inventory.hf_families.dense_rows import DENSE_FAMILIES
from hyperflow.inventory.hf_families.experts import dense
from hyperflow.inventory.hf_families.moe_rows import MOE_FAMILIES
from hyperflow.spec.model import Model

Reader = Callable[[ConfigView], Model]

_QWEN_NEXT = linear_attention.qwen_next(class_kv_heads=2)

FAMILIES: dict[str, Reader] = {
    **DENSE_FAMILIES,
    **MOE_FAMILIES,
    **remote_code.REMOTE_ROWS,
    "falcon": gpt.read_falcon,
    "bloom": gpt.read_bloom,
    "opt": gpt.read_opt,
    "biogpt": gpt.read_biogpt,
    "gpt_bigcode": gpt.read_gpt_bigcode,
    "gpt_neo": gpt.read_gpt_neo,
    "mpt": gpt.read_mpt,
    "gemma4_text": gemma.read_gemma4,
    "gemma3n_text": gemma.read_gemma3n,
    "bamba": hybrid.read_bamba,
    "granitemoehybrid": hybrid.read_granite_hybrid,
    "falcon_h1": hybrid.read_falcon_h1,
    "jamba": hybrid.read_jamba,
    "mamba": hybrid.read_mamba,
    "falcon_mamba": hybrid.read_mamba,
    "mamba2": hybrid.read_mamba2,
    "recurrent_gemma": hybrid.read_recurrent_gemma,
    "lfm2": hybrid.read_lfm2,
    "lfm2_moe": hybrid.read_lfm2,
    "nemotron_h": nemotron.read_nemotron_h,
    "nemotron-nas": nemotron.read_nemotron_nas,
    "qwen3_next": _QWEN_NEXT,
    "qwen3_5_moe_text": _QWEN_NEXT,
    "qwen3_5_text": linear_attention.qwen_next(class_kv_heads=4, feed_forward=dense()),
    "olmo_hybrid": linear_attention.read_olmo_hybrid,
    "kimi_linear": linear_attention.read_kimi_linear,
    "minimax": linear_attention.read_minimax,
    "minimax_text_01": linear_attention.read_minimax,
    "deepseek_v4": read_deepseek_v4,
    "chatglm": remote_code.read_chatglm,
    "qwen": remote_code.read_qwen_first,
    "dbrx": remote_code.read_dbrx,
    "mimo_v2_flash": remote_code.read_mimo_v2,
}
