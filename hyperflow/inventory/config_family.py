"""Which family a config belongs to, what is refused by name, and what is told about a doubtful match."""

import re
from collections.abc import Mapping
from typing import Any

from hyperflow.catalog.data import load
from hyperflow.errors import InputError, nearest
from hyperflow.inventory.hf_config import WAY_OUT, ConfigView
from hyperflow.inventory.hf_families.registry import FAMILIES
from hyperflow.json_tree import is_mapping, sequence, text
from hyperflow.spec.model import Model

NESTED = ("text_config", "llm_config", "language_config", "thinker_config")
"""Where configs of several towers keep the language model."""

_FACTS = "model_families.yaml"

ARCHITECTURE_OF = {
    "kimi_k2": "deepseekv3",
    "phi-msft": "phi",
    "nemotron-nas": "decilm",
    "grok-1": "grok1model",
}
"""Families whose architectures are not named like their model_type."""

SHAPE_KEYS = (
    "num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts", "moe_intermediate_size",
    "shared_expert_intermediate_size", "shared_intermediate_size", "n_shared_experts", "num_shared_experts",
    "q_lora_rank", "kv_lora_rank", "o_lora_rank", "block_configs", "hc_mult", "index_n_heads", "moe_latent_size",
    "layers_block_type", "hybrid_override_pattern", "linear_attn_config", "linear_num_value_heads", "mamba_num_heads",
    "mamba_n_heads", "num_kv_shared_layers", "altup_num_inputs", "cross_attention_layers", "attn_res_block_size",
)  # fmt: skip
"""Keys that change shapes in the families that have them; elsewhere their presence is suspicious."""

MTP_KEYS = ("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules", "mtp_num_layers")


def text_view(values: Mapping[str, Any], file: str) -> ConfigView:
    """The view of the language model: the config itself, or the nested part of a config of several towers."""
    inside: list[str] = []
    outer, current = values, values
    while key := next((key for key in NESTED if is_mapping(current.get(key))), None):
        inside.append(key)
        outer, current = current, current[key]
    return ConfigView(current, file=file, inside=".".join(inside), outer=outer if inside else None)


def read_family(view: ConfigView) -> Model:
    """Find the family, read the config and add what is doubtful; raises InputError when nothing can be read."""
    family = view.family = _family_of(view)
    model = FAMILIES[family](view)
    _tell_doubts(view, family)
    return model


def _family_of(view: ConfigView) -> str:
    declared = view.text("model_type", absent=text(view.outer.get("model_type")))
    family = load(_FACTS)["read_as"].get(declared, declared)
    _refuse_other_models(view, declared, family)
    if family in FAMILIES:
        return family
    by_architecture = _by_architecture(view)
    if by_architecture is None:
        _where_typed(view).add(
            "HF157",
            f"the model type {declared!r} is not known" if declared else "the config names no model type",
            key="model_type",
            got=declared or "none",
            hint="; ".join(filter(None, (nearest(declared, FAMILIES), WAY_OUT))),
        )
        raise InputError(view.findings)
    view.add(
        "HF166",
        f"the model type {declared!r} is not known; read as {by_architecture}, as its architectures say",
        key="architectures",
        severity="warning",
        got=declared or "none",
        hint="check the total against what the authors publish",
    )
    return by_architecture


def _refuse_other_models(view: ConfigView, declared: str, family: str) -> None:
    if view.values.get("is_encoder_decoder") is True or view.outer.get("is_encoder_decoder") is True:
        _refuse_no_decoder(view, "is_encoder_decoder", "it has an encoder beside the decoder", "true")
    if declared in load(_FACTS)["no_decoders"]:
        _refuse_no_decoder(
            _where_typed(view), "model_type", f"{declared} is a vision, audio or encoder model", declared
        )
    not_counted: dict[str, str] = load(_FACTS)["not_counted"]
    if family in not_counted:
        message = f"{family} is not supported: {not_counted[family]}"
        _where_typed(view).add("HF158", message, key="model_type", got=declared, hint=WAY_OUT)
        raise InputError(view.findings)
    if family not in FAMILIES:
        for key in ("vision_config", "image_size", "patch_size", "num_mel_bins"):
            if view.given(key):
                _refuse_no_decoder(view, key, "it describes a vision or audio model without a text_config", declared)


def _where_typed(view: ConfigView) -> ConfigView:
    """The view that states the model type: a nested config may leave it to the outer one."""
    if view.values.get("model_type") is not None or not view.outer.get("model_type"):
        return view
    outer = ConfigView(view.outer, file=view.file)
    outer.findings = view.findings
    return outer


def _refuse_no_decoder(view: ConfigView, key: str, reason: str, got: str) -> None:
    view.add("HF164", f"this is not a decoder of text: {reason}", key=key, got=got,
             expected="a causal language model")  # fmt: skip
    raise InputError(view.findings)


def _by_architecture(view: ConfigView) -> str | None:
    names = {_plain(family): family for family in FAMILIES} | {
        "decilm": "nemotron-nas",
        "gemma3": "gemma3_text",
    }
    return next((names[name] for name in map(_stem, _architectures(view)) if name in names), None)


def _tell_doubts(view: ConfigView, family: str) -> None:
    expected = {ARCHITECTURE_OF.get(family, _plain(family)), _plain(family).removesuffix("text")}
    declared = _architectures(view)
    told = any(finding.code == "HF166" for finding in view.findings)
    if declared and not told and not expected & {_stem(name) for name in declared}:
        view.add(
            "HF166",
            f"the architecture {declared[0]} is not known; read as {family}, as its model_type says",
            key="architectures",
            severity="warning",
            got=declared[0],
            hint="check the total against what the authors publish",
        )
    heads = view.values.get("num_attention_heads")
    if "num_key_value_heads" not in view.used and view.values.get("num_key_value_heads") not in (None, heads):
        _tell_unused(view, family, "num_key_value_heads")
    for key in SHAPE_KEYS:
        if key not in view.used and view.values.get(key):
            _tell_unused(view, family, key)
    for key in MTP_KEYS:
        if key not in view.used and view.values.get(key):
            view.note_mtp(key)


def _tell_unused(view: ConfigView, family: str, key: str) -> None:
    view.add(
        "HF167",
        f"{key} changes the shape of other families, but {family} does not use it",
        key=key,
        severity="warning",
        got=repr(view.values[key])[:60],
        hint="if this is a variant of its own, give its layers by hand",
    )


def _architectures(view: ConfigView) -> list[str]:
    return [name for name in sequence(view.values.get("architectures")) if isinstance(name, str)]


def _stem(architecture: str) -> str:
    return _plain(re.sub(r"(ForCausalLM|LMHeadModel|ForConditionalGeneration|Model)$", "", architecture))


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())
