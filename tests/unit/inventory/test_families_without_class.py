"""Families whose code is not in transformers: counted from the shapes that their own code states."""

import pytest

from hyperflow.inventory.config_file import model_of_config

H, LAYERS, HEADS, FFN, VOCAB = 64, 3, 4, 96, 101
KEYS = {
    "hidden_size": H,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "intermediate_size": FFN,
    "vocab_size": VOCAB,
}
ATTENTION = 4 * H * H
GATED = 3 * H * FFN
TABLE = VOCAB * H
LLAMA = LAYERS * (ATTENTION + GATED + 2 * H) + H
EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2}
DEEPSEEK = {"n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16, "n_shared_experts": 2,
            "first_k_dense_replace": 1}  # fmt: skip
CHATGLM = {"hidden_size": H, "num_layers": LAYERS, "num_attention_heads": HEADS, "ffn_hidden_size": FFN,
           "kv_channels": 16, "multi_query_attention": True, "multi_query_group_num": 2, "padded_vocab_size": VOCAB,
           "add_qkv_bias": True, "seq_length": 32}  # fmt: skip
NAS_FULL = {"attention": {"n_heads_in_group": 2, "no_op": False}, "ffn": {"ffn_mult": 4.5, "no_op": False}}
NAS_NO_ATTENTION = {"attention": {"no_op": True}, "ffn": {"ffn_mult": 6.1}}
NAS_LINEAR = {"attention": {"replace_with_linear": True}, "ffn": {"no_op": True}}


@pytest.mark.parametrize(
    ("model_type", "keys", "total"),
    [
        ("Yi", {}, LLAMA + 2 * TABLE),
        ("aquila", {}, LLAMA + 2 * TABLE),
        ("xverse", {}, LLAMA + 2 * TABLE),
        ("baichuan", {}, LLAMA + 2 * TABLE),
        ("minicpm", {}, LLAMA + TABLE),
        ("internlm", {}, LLAMA + LAYERS * 4 * H + 2 * TABLE),
        ("internlm2", {"bias": False}, LLAMA + 2 * TABLE),
        ("orion", {}, LLAMA + LAYERS * 2 * H + H + 2 * TABLE),
        ("ministral", {"num_key_value_heads": HEADS}, LLAMA + 2 * TABLE),
        ("qwen", {"intermediate_size": 2 * FFN, "kv_channels": 16, "no_bias": True},
         LLAMA + LAYERS * 3 * H + 2 * TABLE),
        ("qwen", {"intermediate_size": 2 * FFN, "no_bias": False}, LLAMA + LAYERS * (5 * H + 2 * FFN) + 2 * TABLE),
        ("phi-msft", {}, LAYERS * (ATTENTION + 4 * H + 2 * H * FFN + FFN + H + 2 * H) + 2 * H + 2 * TABLE + VOCAB),
        ("grok-1", EXPERTS, LAYERS * (ATTENTION + 4 * GATED + 4 * H + 4 * H) + H + TABLE),
        ("qwen3_vl_moe_text", {**EXPERTS, "moe_intermediate_size": FFN, "num_key_value_heads": HEADS},
         LAYERS * (ATTENTION + 2 * 16 + 4 * GATED + 4 * H + 2 * H) + H + 2 * TABLE),
        ("phi3small", {"ff_intermediate_size": FFN},
         LAYERS * (ATTENTION + 4 * H + GATED + 2 * FFN + H + 4 * H) + 2 * H + TABLE),
        ("mimo", {}, LLAMA + LAYERS * 3 * H + 2 * TABLE),
        ("bailing_moe", {**EXPERTS, "moe_intermediate_size": 16, "num_shared_experts": 2, "use_qk_norm": True},
         LAYERS * (ATTENTION + 2 * 16 + 6 * 3 * H * 16 + 4 * H + 2 * H) + H + 2 * TABLE),
        ("deepseek", DEEPSEEK,
         (ATTENTION + GATED + 2 * H) + 2 * (ATTENTION + 6 * 3 * H * 16 + 4 * H + 2 * H) + H + 2 * TABLE),
    ],
)  # fmt: skip
def test_total_follows_from_the_shapes(model_type, keys, total):
    model, findings = model_of_config({"model_type": model_type, **KEYS, **keys}, "c.json")
    assert model.total_parameters == total
    assert {finding.code for finding in findings} <= {"HF168"}


def test_chatglm_counts_its_query_groups_and_biases():
    model, _ = model_of_config({"model_type": "chatglm", **CHATGLM}, "c.json")
    attention = H * H + 2 * H * 32 + (H + 2 * 32) + H * H
    assert model.total_parameters == LAYERS * (attention + GATED + 2 * H) + H + 2 * TABLE


def test_minimax_01_names_its_full_attention_by_a_list_of_numbers():
    keys = {"num_local_experts": 4, "num_experts_per_tok": 2, "head_dim": 16, "attn_type_list": [0, 0, 1],
            "num_key_value_heads": 2}  # fmt: skip
    model, _ = model_of_config({"model_type": "minimax_text_01", **KEYS, **keys}, "c.json")
    assert [layer.kind for layer in model.layers] == ["linear-attention+moe"] * 2 + ["moe"]


def test_kimi_k2_is_deepseek_v3_by_another_name():
    keys = {"kv_lora_rank": 8, "q_lora_rank": 9, "qk_nope_head_dim": 8, "qk_rope_head_dim": 4, "v_head_dim": 6}
    one, _ = model_of_config({"model_type": "kimi_k2", **KEYS, **keys, **DEEPSEEK}, "c.json")
    other, _ = model_of_config({"model_type": "deepseek_v3", **KEYS, **keys, **DEEPSEEK}, "c.json")
    assert one == other


def test_nemotron_nas_prunes_each_layer_in_its_own_way():
    keys = {**KEYS, "intermediate_size": None, "num_key_value_heads": None}
    blocks = [NAS_FULL, NAS_NO_ATTENTION, NAS_LINEAR]
    model, _ = model_of_config({"model_type": "nemotron-nas", **keys, "block_configs": blocks}, "c.json")
    grouped = 2 * H * H + 2 * H * 32
    narrow, wide = 3 * H * 256, 3 * H * 512  # 2/3 * 4.5 * 64 = 192 and 2/3 * 6.1 * 64 = 260, in steps of 256
    assert [layer.parameters for layer in model.layers] == [grouped + narrow + 2 * H, wide + H, H * H + H]
    assert [layer.kind for layer in model.layers] == ["dense", "mlp", "empty"]


def test_mimo_has_one_prediction_layer_of_the_usual_shape():
    model, _ = model_of_config({"model_type": "mimo", **KEYS, "num_nextn_predict_layers": 1}, "c.json")
    layer = ATTENTION + 3 * H + GATED + 2 * H
    assert (model.mtp_layers, model.mtp_parameters) == (1, layer + 2 * H * H + 3 * H)
