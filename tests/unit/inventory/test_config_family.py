"""Which family reads a config, and what is refused or doubted by name, with the full text of each finding."""

import pytest

from hyperflow.errors import InputError
from hyperflow.inventory.config_file import model_of_config

LLAMA = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 128,
    "vocab_size": 100,
    "max_position_embeddings": 512,
}
WAY_OUT = (
    "give the layers by hand: hf.model(layers=[...], hidden=..., vocab=..., seq=...) with layer records of "
    "hyperflow.spec.model; see docs/how-to/add-a-model.md"
)


def refusal(values):
    with pytest.raises(InputError) as caught:
        model_of_config(values, "c.json")
    return str(caught.value)


def told(values):
    return [finding.as_text() for finding in model_of_config(values, "c.json")[1]]


def test_an_unknown_model_type_is_refused_by_name_with_the_way_out():
    assert refusal({**LLAMA, "model_type": "lama", "architectures": ["LamaForCausalLM"]}) == (
        "error[HF157] the model type 'lama' is not known\n  --> c.json: model_type\n  got lama\n"
        f'  hint: did you mean "llama"?; {WAY_OUT}'
    )


def test_a_config_without_any_type_is_refused():
    assert refusal({"hidden_size": 4}) == (
        f"error[HF157] the config names no model type\n  --> c.json: model_type\n  got none\n  hint: {WAY_OUT}"
    )


@pytest.mark.parametrize("model_type", ["bert", "vit", "t5", "clip", "whisper"])
def test_encoders_and_vision_models_are_refused(model_type):
    assert refusal({**LLAMA, "model_type": model_type}) == (
        f"error[HF164] this is not a decoder of text: {model_type} is a vision, audio or encoder model\n"
        f"  --> c.json: model_type\n  got {model_type}, expected a causal language model"
    )


def test_an_encoder_beside_the_decoder_is_refused_by_its_key():
    assert "c.json: is_encoder_decoder" in refusal({**LLAMA, "is_encoder_decoder": True})


def test_a_vision_model_of_unknown_type_is_refused_by_its_key():
    shown = refusal({"model_type": "newvit", "image_size": 224, "hidden_size": 64})
    assert "HF164" in shown and "c.json: image_size" in shown


def test_a_known_model_that_is_not_counted_is_refused_with_the_reason():
    assert refusal({"model_type": "zamba2"}) == (
        "error[HF158] zamba2 is not supported: its layers share blocks of parameters, so no layer has a count of its "
        f"own\n  --> c.json: model_type\n  got zamba2\n  hint: {WAY_OUT}"
    )


def test_kimi_k3_is_refused_by_the_fields_that_change_its_shape():
    values = {**LLAMA, "model_type": "kimi_linear", "attn_res_block_size": 12, "mla_use_output_gate": True}
    shown = refusal(values)
    assert "kimi_linear with attn_res_block_size is not supported: attention residual blocks" in shown
    assert "kimi_linear with mla_use_output_gate is not supported: an output gate on latent attention" in shown


def test_an_unknown_type_with_a_known_architecture_is_read_with_a_warning():
    values = {**LLAMA, "model_type": "frobnicator"}
    assert told(values) == [
        "warning[HF166] the model type 'frobnicator' is not known; read as llama, as its architectures say\n"
        "  --> c.json: architectures\n  got frobnicator\n  hint: check the total against what the authors publish"
    ]
    assert model_of_config(values, "c.json")[0] == model_of_config(LLAMA, "c.json")[0]


def test_a_known_type_with_an_unknown_architecture_is_read_with_a_warning():
    assert told({**LLAMA, "architectures": ["FrobnicatorForCausalLM"]}) == [
        "warning[HF166] the architecture FrobnicatorForCausalLM is not known; read as llama, as its model_type says\n"
        "  --> c.json: architectures\n  got FrobnicatorForCausalLM\n"
        "  hint: check the total against what the authors publish"
    ]


def test_a_key_that_changes_shapes_elsewhere_is_never_ignored_in_silence():
    assert told({**LLAMA, "num_experts": 8}) == [
        "warning[HF167] num_experts changes the shape of other families, but llama does not use it\n"
        "  --> c.json: num_experts\n  got 8\n  hint: if this is a variant of its own, give its layers by hand"
    ]
    assert told({**LLAMA, "num_experts": 0, "q_lora_rank": None, "block_configs": []}) == []


def test_prediction_layers_of_unknown_shape_are_told():
    assert told({**LLAMA, "num_nextn_predict_layers": 2}) == [
        "note[HF165] num_nextn_predict_layers: the layers for multi-token prediction are not counted, for their shape "
        "is not known\n  --> c.json: num_nextn_predict_layers\n  got 2"
    ]


def test_the_text_part_of_a_config_of_several_towers_is_read():
    text = {key: value for key, value in LLAMA.items() if key != "architectures"}
    nested = {"model_type": "llava", "vision_config": {"hidden_size": 9}, "text_config": text}
    assert model_of_config(nested, "c.json")[0] == model_of_config(LLAMA, "c.json")[0]


@pytest.mark.parametrize(
    ("outer", "inner", "tied"), [(True, False, True), (False, True, False), (None, True, True), (None, None, False)]
)
def test_the_outer_config_decides_whether_the_head_is_tied(outer, inner, tied):
    text = dict(LLAMA) if inner is None else {**LLAMA, "tie_word_embeddings": inner}
    nested = {"model_type": "llava", "text_config": text}
    if outer is not None:
        nested["tie_word_embeddings"] = outer
    assert model_of_config(nested, "c.json")[0].tied_embeddings is tied


def test_a_type_that_only_the_outer_config_states_is_placed_there():
    assert "--> c.json: model_type" in refusal({"model_type": "clip", "text_config": {"hidden_size": 4}})


def test_a_fault_in_a_nested_config_is_placed_there():
    nested = {"model_type": "llava", "text_config": {**LLAMA, "hidden_size": -1}}
    assert "--> c.json: text_config.hidden_size" in refusal(nested)
