"""Small invented configs, several of each family, that set every key which changes a shape.

Shapes are chosen so that no two widths are equal by chance. `python tests/unit/inventory/recount_families.py` counts
them with the classes of transformers and writes family_counts.json.
"""

BASE = {
    "hidden_size": 60,
    "num_hidden_layers": 4,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "intermediate_size": 91,
    "vocab_size": 101,
    "max_position_embeddings": 130,
    "pad_token_id": 0,
}
MULTI_HEAD = {key: value for key, value in BASE.items() if key != "num_key_value_heads"}
PLAIN = {key: BASE[key] for key in ("hidden_size", "num_hidden_layers", "vocab_size", "pad_token_id")}
GPT = {"n_embd": 60, "n_layer": 3, "n_head": 6, "n_positions": 130, "vocab_size": 101}
MLA = {
    "kv_lora_rank": 14,
    "q_lora_rank": 22,
    "qk_nope_head_dim": 10,
    "qk_rope_head_dim": 6,
    "v_head_dim": 12,
    "num_key_value_heads": 6,
}
MOE = {"num_experts_per_tok": 2, "moe_intermediate_size": 17}
ROUTED = {
    **MOE,
    "n_routed_experts": 8,
    "n_shared_experts": 2,
    "first_k_dense_replace": 1,
    "n_group": 1,
    "topk_group": 1,
}
LOCAL = {"num_local_experts": 8, "num_experts_per_tok": 2}
BIASED = {"attention_bias": True, "mlp_bias": True}
ROPE = {"rope_parameters": {"rope_type": "default", "rope_theta": 10000.0}}
INDEX = {"index_n_heads": 3, "index_head_dim": 8, "index_topk": 16}
LINEAR = {
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "linear_key_head_dim": 8,
    "linear_value_head_dim": 12,
    "linear_conv_kernel_dim": 3,
}
QWEN_MOE = {**MOE, "num_experts": 8, "shared_expert_intermediate_size": 19}
MAMBA = {"mamba_n_heads": 6, "mamba_d_head": 20, "mamba_d_state": 8, "mamba_n_groups": 2, "mamba_d_conv": 3}
NEMOTRON_H = {
    "mamba_num_heads": 5,
    "mamba_head_dim": 16,
    "n_groups": 1,
    "ssm_state_size": 8,
    "conv_kernel": 3,
    "head_dim": 10,
    "n_routed_experts": 8,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 17,
    "moe_shared_expert_intermediate_size": 23,
}
GEMMA4 = {"head_dim": 10, "global_head_dim": 16, "sliding_window": 8, "vocab_size_per_layer_input": 70}
V4 = {
    "num_hidden_layers": 4,
    "vocab_size": 101,
    "max_position_embeddings": 130,
    "sliding_window": 8,
    "hidden_size": 64,
    "num_attention_heads": 4,
    "num_key_value_heads": 1,
    "head_dim": 32,
    "q_lora_rank": 22,
    "o_groups": 2,
    "o_lora_rank": 12,
    "hc_mult": 3,
    "n_routed_experts": 8,
    "n_shared_experts": 1,
    "qk_rope_head_dim": 8,
    "num_hash_layers": 1,
    **MOE,
    **INDEX,
}


def _family(model_type, *variants, base=BASE):
    return [{"model_type": model_type, **base, **variant} for variant in variants]


DENSE = [
    *_family("llama", {}, BIASED, {"head_dim": 14}, {"tie_word_embeddings": True}, {"num_key_value_heads": None}),
    *_family("mistral", {"sliding_window": 8}, {"head_dim": 14}),
    *_family("ministral3", {**ROPE, "head_dim": 14}),
    *_family("qwen2", {}, {"use_sliding_window": True, "sliding_window": 8, "max_window_layers": 2}),
    *_family("qwen3", {"head_dim": 14}, {"head_dim": 14, "attention_bias": True}),
    *_family("phi3", {}, {"tie_word_embeddings": True}),
    *_family("gemma", {"head_dim": 14}),
    *_family("gemma2", {"head_dim": 14}),
    *_family("gemma3_text", {"head_dim": 14}),
    *_family("vaultgemma", {"head_dim": 14}),
    *_family("olmo", {}),
    *_family("olmo2", {}),
    *_family("olmo3", {}),
    *_family("granite", {}, BIASED),
    *_family("cohere", {}, {"use_qk_norm": True}),
    *_family("cohere2", {}),
    *_family("stablelm", {}, {"use_qkv_bias": True, "qk_layernorm": True}, {"use_parallel_residual": True}),
    *_family("starcoder2", {}, {"use_bias": False}),
    *_family("glm", {"head_dim": 14}),
    *_family("glm4", {"head_dim": 14}, {"head_dim": 14, "attention_bias": False}),
    *_family("nemotron", {}, BIASED),
    *_family("smollm3", {}),
    *_family("seed_oss", {"head_dim": 14}, {"head_dim": 14, "attention_out_bias": True}),
    *_family("exaone4", {}),
    *_family("exaone", {}),
    *_family("helium", {"head_dim": 10}),
    *_family("ernie4_5", {"head_dim": 14}, {"head_dim": 14, "use_bias": True}),
    *_family("hunyuan_v1_dense", {**ROPE, "head_dim": 14}),
    *_family("arcee", {}),
    *_family("apertus", {}),
    *_family("minicpm3", MLA),
    *_family("youtu", MLA, {**MLA, "q_lora_rank": None}),
    *_family("persimmon", {}, {"qk_layernorm": False}, base=MULTI_HEAD),
    *_family("phi", {}, {"qk_layernorm": True}),
    *_family("bitnet", {}),
    *_family("cwm", {"head_dim": 14, "sliding_window": 8}),
    *_family("diffllama", {}),
    *_family("hyperclovax", {"head_dim": 10}, {"head_dim": 10, "use_post_norm": False}),
    *_family("jais2", {}),
    *_family("nanochat", {}),
    *_family("internlm3", {"head_dim": 10}, {"qkv_bias": True, "bias": True, "head_dim": 14}),
]
GPTS = [
    *_family("gpt2", {}, {"n_inner": 77}, base=GPT),
    *_family("gptj", {"rotary_dim": 4}, base=GPT),
    *_family("codegen", {"rotary_dim": 4, "n_head": 4}, base=GPT),
    *_family("gpt_bigcode", {}, {"multi_query": False}, base=GPT),
    *_family("openai-gpt", {}, base=GPT),
    *_family("gpt_neox", {}, {"attention_bias": False}, base=MULTI_HEAD),
    *_family(
        "gpt_neo",
        {"num_layers": 4, "num_heads": 6, "attention_types": [[["global", "local"], 2]]},
        base={"hidden_size": 60, "vocab_size": 101, "max_position_embeddings": 130},
    ),
    *_family(
        "opt",
        {"ffn_dim": 91},
        {"ffn_dim": 91, "word_embed_proj_dim": 30},
        {"ffn_dim": 91, "enable_bias": False, "do_layer_norm_before": False},
        base=MULTI_HEAD,
    ),
    *_family("biogpt", {}, base=MULTI_HEAD),
    *_family("bloom", {"n_layer": 3, "n_head": 6}, base={"hidden_size": 60, "vocab_size": 101}),
    *_family(
        "falcon",
        {"num_kv_heads": 2, "new_decoder_architecture": True},
        {"num_kv_heads": 2, "new_decoder_architecture": True, "num_ln_in_parallel_attn": 1},
        {"multi_query": True},
        {"multi_query": False, "alibi": True, "bias": True, "parallel_attn": False},
        base={"hidden_size": 60, "num_hidden_layers": 3, "num_attention_heads": 6, "vocab_size": 101},
    ),
    *_family("mpt", {}, base={"d_model": 64, "n_heads": 4, "n_layers": 3, "max_seq_len": 130, "vocab_size": 101}),
    *_family(
        "xglm",
        {},
        base={"d_model": 60, "num_layers": 3, "attention_heads": 6, "ffn_dim": 91, "vocab_size": 101,
              "max_position_embeddings": 130},
    ),
]  # fmt: skip
EXPERTS = [
    *_family("mixtral", LOCAL, {**LOCAL, "head_dim": 14}),
    *_family("qwen2_moe", QWEN_MOE, {**QWEN_MOE, "decoder_sparse_step": 2, "mlp_only_layers": [3]}),
    *_family("qwen3_moe", {**MOE, "num_experts": 8, "head_dim": 14, "mlp_only_layers": [0]}),
    *_family("deepseek_v2", {**MLA, **ROUTED}, {**MLA, **ROUTED, "q_lora_rank": None}),
    *_family("deepseek_v3", {**MLA, **ROUTED}, {**MLA, **ROUTED, "attention_bias": True}),
    *_family("deepseek_v32", {**MLA, **ROUTED, **INDEX}),
    *_family("glm_moe_dsa", {**MLA, **ROUTED, **INDEX}, {**MLA, **ROUTED, **INDEX, "index_topk_freq": 2}),
    *_family("glm4_moe", {**ROUTED, "head_dim": 14}, {**ROUTED, "head_dim": 14, "use_qk_norm": True}),
    *_family("glm4_moe_lite", {**MLA, **ROUTED}),
    *_family("dots1", ROUTED),
    *_family("solar_open", {**ROUTED, "head_dim": 14}),
    *_family("gpt_oss", {**LOCAL, "head_dim": 14}),
    *_family(
        "llama4_text",
        {**LOCAL, "num_experts_per_tok": 1, "intermediate_size_mlp": 33, "interleave_moe_layer_step": 2,
         "head_dim": 14},
        {**LOCAL, "num_experts_per_tok": 1, "intermediate_size_mlp": 33, "head_dim": 14, "moe_layers": [1]},
    ),
    *_family("olmoe", {"num_experts": 8, "num_experts_per_tok": 2}),
    *_family("flex_olmo", {"num_experts": 8, "num_experts_per_tok": 2}),
    *_family("phimoe", LOCAL, {**LOCAL, "attention_bias": True, "lm_head_bias": True}),
    *_family("granitemoe", LOCAL),
    *_family("granitemoeshared", {**LOCAL, "shared_intermediate_size": 23}),
    *_family("minimax_m2", {**LOCAL, "head_dim": 14}),
    *_family("minimax", {**LOCAL, "head_dim": 14}),
    *_family(
        "ernie4_5_moe",
        {"moe_num_experts": 8, "moe_k": 2, "moe_intermediate_size": 17, "moe_num_shared_experts": 2},
        {"moe_num_experts": 8, "moe_k": 2, "moe_intermediate_size": 17, "moe_layer_interval": 2, "use_bias": True},
    ),
    *_family("afmoe", {**MOE, "num_experts": 8, "num_shared_experts": 2, "num_dense_layers": 2, "head_dim": 14}),
    *_family(
        "exaone_moe",
        {**MOE, "num_experts": 8, "num_shared_experts": 2, "first_k_dense_replace": 1, "sliding_window": 8},
    ),
    *_family(
        "dbrx",
        {"attn_config": {"kv_n_heads": 2, "rope_theta": 1e4},
         "ffn_config": {"ffn_hidden_size": 32, "moe_num_experts": 4, "moe_top_k": 2}},
        base={"d_model": 60, "n_heads": 6, "n_layers": 2, "max_seq_len": 64, "vocab_size": 101, "rope_theta": 1e4},
    ),
    *_family(
        "cohere2_moe",
        {"num_experts": 6, "num_experts_per_tok": 2, "num_shared_experts": 2,
         "first_k_dense_replace": 1, "prefix_dense_intermediate_size": 33,
         "head_dim": 14},
    ),
    *_family("hy_v3", {**ROPE, **MOE, "num_experts": 8, "num_shared_experts": 2, "first_k_dense_replace": 1,
                       "head_dim": 14}),
    *_family("mimo_v2_flash", {**ROUTED, "n_shared_experts": None,
         "num_attention_heads": 8, "head_dim": 14, "v_head_dim": 8, "sliding_window_size": 9}),
    *_family("deepseek_v4", {**V4, "compress_ratios": [128, 0, 4, 128]}, V4, base={}),
]  # fmt: skip
HYBRIDS = [
    *_family("qwen3_next", {**LINEAR, **QWEN_MOE, "head_dim": 14}),
    *_family("qwen3_5_text", {**LINEAR, "head_dim": 16}),
    *_family("qwen3_5_moe_text", {**LINEAR, **QWEN_MOE, "head_dim": 16, "full_attention_interval": 2}),
    *_family("olmo_hybrid", LINEAR),
    *_family("bamba", {**MAMBA, "attn_layer_indices": [2]}),
    *_family(
        "granitemoehybrid",
        {**MAMBA, **LOCAL, "shared_intermediate_size": 23, "layer_types": ["mamba", "attention", "mamba", "mamba"]},
        {**MAMBA, "num_local_experts": 0, "num_experts_per_tok": 0, "shared_intermediate_size": 23,
         "layer_types": ["mamba", "attention", "mamba", "mamba"]},
    ),
    *_family(
        "falcon_h1",
        {**MAMBA, "mamba_d_ssm": 120},
        {**MAMBA, "mamba_d_ssm": 120, "mamba_rms_norm": True, "mamba_proj_bias": True, "attention_bias": True},
        {**MAMBA, "mamba_d_ssm": 120, "projectors_bias": True, "mlp_bias": True},
    ),
    *_family(
        "jamba",
        {"num_experts": 4, "num_experts_per_tok": 2,
         "attn_layer_period": 3, "attn_layer_offset": 1, "mamba_d_state": 5},
        {"num_experts": 1, "num_experts_per_tok": 1, "mamba_dt_rank": 7, "mamba_proj_bias": True},
    ),
    *_family("mamba", {}, {"time_step_rank": 9, "use_bias": True}, base={**PLAIN, "state_size": 5}),
    *_family("falcon_mamba", {}, base={**PLAIN, "state_size": 5}),
    *_family("mamba2", {"num_heads": 6, "head_dim": 20, "state_size": 5, "n_groups": 2}, base=PLAIN),
    *_family(
        "lfm2",
        {"conv_L_cache": 5, "layer_types": ["conv", "full_attention", "conv", "conv"]},
        {"full_attn_idxs": [1], "conv_L_cache": 3, "conv_bias": True, "block_auto_adjust_ff_dim": False},
    ),
    *_family(
        "lfm2_moe",
        {**MOE, "num_experts": 8, "num_dense_layers": 1, "conv_L_cache": 3,
         "layer_types": ["conv", "full_attention", "conv", "conv"]},
    ),
    *_family(
        "nemotron_h",
        {**NEMOTRON_H, "hybrid_override_pattern": "M-*E"},
        {**NEMOTRON_H, "layers_block_type": ["mamba", "moe", "attention", "mlp"], "moe_latent_size": 25},
        {**NEMOTRON_H, "hybrid_override_pattern": "M-*M", "mlp_bias": True, "use_bias": True},
    ),
    *_family(
        "gemma4_text",
        {**GEMMA4, "num_hidden_layers": 12, "hidden_size_per_layer_input": 7, "num_kv_shared_layers": 6,
         "use_double_wide_mlp": True},
        {**GEMMA4, "hidden_size_per_layer_input": 0, "attention_k_eq_v": True, "num_global_key_value_heads": 1,
         "enable_moe_block": True, "num_experts": 8, "top_k_experts": 2, "moe_intermediate_size": 17},
    ),
    *_family(
        "gemma3n_text",
        {"head_dim": 10, "vocab_size_per_layer_input": 70, "hidden_size_per_layer_input": 7, "laurel_rank": 5,
         "num_hidden_layers": 10, "num_kv_shared_layers": 5, "altup_num_inputs": 3},
    ),
    *_family(
        "recurrent_gemma",
        {"lru_width": 66, "block_types": ["recurrent", "attention"], "head_dim": 10, "intermediate_size": 92},
        {"attention_bias": True, "head_dim": 10},
    ),
    *_family(
        "kimi_linear",
        {**MLA, "q_lora_rank": None, "num_experts": 8, "num_experts_per_token": 2, "num_shared_experts": 1,
         "moe_intermediate_size": 17, "first_k_dense_replace": 1, "pad_token_id": 0,
         "linear_attn_config": {"full_attn_layers": [2, 4], "kda_layers": [1, 3], "head_dim": 14, "num_heads": 5,
                                "short_conv_kernel_size": 3}},
    ),
]  # fmt: skip

SAVED_AGAIN = [
    *_family(
        "gemma4_text",
        {"head_dim": 10, "sliding_window": 8, "hidden_size_per_layer_input": 0, "attention_k_eq_v": True,
         "layer_types": ["sliding_attention", "full_attention"] * 2,
         "per_layer_config": {"01": {"head_dim": 16, "num_key_value_heads": 3},
                              "3": {"head_dim": 16, "num_key_value_heads": 3}}},
    ),
    *_family(
        "mimo_v2_flash",
        {**MOE, "n_routed_experts": 8, "num_attention_heads": 8, "head_dim": 14, "v_head_dim": 8, "sliding_window": 9,
         "layer_types": ["full_attention", "sliding_attention", "full_attention", "sliding_attention"],
         "mlp_layer_types": ["dense", "sparse", "dense", "sparse"]},
    ),
]  # fmt: skip
WITH_BIASES = [
    *_family("exaone", BIASED),
    *_family("deepseek_v2", {**MLA, **ROUTED, **BIASED}),
    *_family("solar_open", {**ROUTED, **BIASED, "head_dim": 14}),
    *_family("afmoe", {**MOE, **BIASED, "num_experts": 8, "head_dim": 14}),
    *_family("hy_v3", {**ROPE, **MOE, **BIASED, "num_experts": 8, "head_dim": 14}),
    *_family("deepseek_v4", {**V4, "mlp_bias": True}, base={}),
    *_family("qwen3_next", {**LINEAR, **QWEN_MOE, "head_dim": 14, "attention_bias": True}),
    *_family("gemma2", {"head_dim": 14, "attention_bias": True}),
    *_family("cohere", {"attention_bias": True, "tie_word_embeddings": False}),
    *_family("olmo2", {"attention_bias": True}),
    *_family("smollm3", BIASED),
    *_family("glm4_moe", {**ROUTED, **BIASED, "head_dim": 14}),
    *_family("qwen3_moe", {**MOE, **BIASED, "num_experts": 8, "head_dim": 14}),
]

CONFIGS = [*DENSE, *GPTS, *EXPERTS, *HYBRIDS, *SAVED_AGAIN, *WITH_BIASES]
