"""load_model: exactly one source, layers by hand, and configs from files."""

import json

import pytest

from hyperflow.errors import InputError
from hyperflow.inventory.models import load_model, longest_sequence
from hyperflow.spec.model import Attention, Experts, FeedForward, Layer, Recurrence
from hyperflow.spec.training_job import ModelRequest

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


def test_layers_by_shape_count_as_the_formulas_say(tmp_path):
    request = ModelRequest(layers=3, hidden=64, ffn=128, heads=4, kv_heads=2, vocab=100, seq=32)
    model, findings = load_model(request, tmp_path)
    attention = 64 * 64 * 2 + 2 * 64 * 32
    assert model.num_layers == 3 and findings == ()
    assert model.total_parameters == 3 * (attention + 3 * 64 * 128 + 2 * 64) + 2 * 64 * 100 + 64


def test_layer_records_without_counts_are_filled_from_their_shapes(tmp_path):
    dense = Layer(attention=Attention(heads=4, kv_heads=4, head_dim=16), feed_forward=FeedForward(width=10))
    moe = Layer(attention=dense.attention, experts=Experts(count=8, active=2, width=5))
    model, _ = load_model(ModelRequest(layers=(dense, moe, moe), hidden=64, vocab=10, seq=8), tmp_path)
    attention = 4 * 64 * 64
    assert [run.count for run in model.runs] == [1, 2]
    assert model.runs[0].layer.parameters == attention + 3 * 64 * 10 + 128
    assert model.runs[1].layer.parameters == attention + 8 * 3 * 64 * 5 + 8 * 64 + 128
    assert model.runs[1].layer.active_parameters == attention + 2 * 3 * 64 * 5 + 8 * 64 + 128


def test_latent_attention_by_hand_counts_as_the_reader_does(tmp_path):
    latent = Attention(
        kind="mla", heads=4, kv_heads=4, head_dim=12, value_head_dim=10, query_lora_rank=9, kv_lora_rank=7,
        rope_head_dim=5,
    )  # fmt: skip
    layer = Layer(attention=latent, experts=Experts(count=8, active=2, width=5, shared_width=10))
    by_hand, _ = load_model(ModelRequest(layers=(layer,), hidden=64, vocab=10, seq=8), tmp_path)
    config = {
        "model_type": "deepseek_v3", "hidden_size": 64, "num_hidden_layers": 1, "num_attention_heads": 4,
        "q_lora_rank": 9, "kv_lora_rank": 7, "qk_nope_head_dim": 7, "qk_rope_head_dim": 5, "v_head_dim": 10,
        "n_routed_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 5, "n_shared_experts": 2,
        "first_k_dense_replace": 0, "vocab_size": 10,
    }  # fmt: skip
    (tmp_path / "c.json").write_text(json.dumps(config))
    read, _ = load_model(ModelRequest(config="c.json"), tmp_path)
    assert by_hand.layers[0].attention == read.layers[0].attention
    assert by_hand.total_parameters == read.total_parameters
    assert by_hand.active_parameters == read.active_parameters


@pytest.mark.parametrize(
    ("layer", "reason"),
    [
        (Layer(), "the layer has neither shapes nor counts"),
        (
            Layer(recurrence=Recurrence(kind="mamba", inner_width=8, state_size=2, heads=2)),
            "a recurrence has no standard shape: give mixer_parameters and the other counts",
        ),
        (
            Layer(attention=Attention(kind="mla", heads=4, kv_heads=4, head_dim=12)),
            "latent attention needs kv_lora_rank, and rope_head_dim below head_dim",
        ),
        (Layer(experts=Experts(count=2, active=3, width=5)), "a token cannot use 3 of 2 experts"),
    ],
)
def test_a_layer_that_cannot_be_counted_is_refused_by_its_index(layer, reason, tmp_path):
    fine = Layer(feed_forward=FeedForward(width=3))
    with pytest.raises(InputError) as caught:
        load_model(ModelRequest(layers=(fine, layer), hidden=4, vocab=10, seq=8), tmp_path)
    assert str(caught.value) == (
        f"error[HF156] {reason}\n  --> model: layers[1]\n  hint: see docs/how-to/add-a-model.md"
    )


def test_layer_records_with_counts_stay_as_given(tmp_path):
    layer = Layer(mixer_parameters=7, replicated_parameters=2)
    model, _ = load_model(ModelRequest(layers=(layer,), hidden=4, vocab=10, seq=8, tied=True), tmp_path)
    assert model.layers == (layer,)
    assert model.total_parameters == 9 + 40 + 4


def test_a_config_is_found_from_the_base_and_seq_replaces_its_length(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(LLAMA))
    assert load_model(ModelRequest(config="config.json"), tmp_path)[0].sequence_length == 512
    assert load_model(ModelRequest(config=".", seq=77), tmp_path)[0].sequence_length == 77


@pytest.mark.parametrize(("given", "shown"), [({}, "none of them"), ({"config": "a", "layers": 2}, "config, layers")])
def test_exactly_one_source_is_demanded(given, shown, tmp_path):
    with pytest.raises(InputError) as caught:
        load_model(ModelRequest(**given), tmp_path)
    assert str(caught.value) == (
        "error[HF160] give exactly one of config=, preset= and layers=\n  --> model\n"
        f"  got {shown}, expected one of them\n"
        '  hint: hf.model(config="config.json"), hf.model(preset="llama-3.1-8b") or hf.model(layers=8, ...)'
    )


def test_all_missing_shapes_are_named(tmp_path):
    with pytest.raises(InputError) as caught:
        load_model(ModelRequest(layers=2, hidden=8, heads=2, seq=4), tmp_path)
    assert [finding.where for finding in caught.value.findings] == ["model: ffn", "model: vocab"]
    assert caught.value.findings[0].as_text() == (
        "error[HF161] ffn= is missing beside layers=\n  --> model: ffn\n  expected a whole number\n"
        "  hint: give hidden, ffn, heads, vocab and seq; with layer records: hidden, vocab and seq"
    )


@pytest.mark.parametrize(
    ("heads", "kv_heads", "where"), [(3, 3, "model: heads"), (4, 3, "model: kv_heads"), (3, 2, "model: heads")]
)
def test_heads_that_do_not_divide_are_refused(heads, kv_heads, where, tmp_path):
    request = ModelRequest(layers=2, hidden=8, ffn=8, heads=heads, kv_heads=kv_heads, vocab=9, seq=4)
    with pytest.raises(InputError) as caught:
        load_model(request, tmp_path)
    assert (caught.value.findings[0].code, caught.value.findings[0].where) == ("HF156", where)


@pytest.mark.parametrize("layers", [0, -1, 10_001])
def test_a_number_of_layers_that_no_model_has_is_refused(layers, tmp_path):
    with pytest.raises(InputError) as caught:
        load_model(ModelRequest(layers=layers, hidden=8, ffn=8, heads=2, vocab=9, seq=4), tmp_path)
    assert [(f.code, f.got) for f in caught.value.findings] == [("HF152", str(layers))]


@pytest.mark.parametrize(
    ("content", "place", "reason"),
    [
        ('{"a": 1', ":1:8", "Expecting ',' delimiter"),
        ("hello", ":1:1", "Expecting value"),
        ("[1]", "", "the document is a list, not an object"),
        ("", ":1:1", "Expecting value"),
    ],
)
def test_a_file_that_is_no_config_is_refused_with_the_place(content, place, reason, tmp_path):
    path = tmp_path / "c.json"
    path.write_text(content)
    with pytest.raises(InputError) as caught:
        load_model(ModelRequest(config="c.json"), tmp_path)
    assert str(caught.value) == (
        f"error[HF159] this is not a config.json: {reason}\n  --> {path}{place}\n  expected one JSON object\n"
        "  hint: is the file whole? a config.json starts with { and ends with }"
    )


def test_an_absent_sequence_length_is_told_unless_the_user_gives_one(tmp_path):
    (tmp_path / "c.json").write_text(json.dumps({k: v for k, v in LLAMA.items() if "position" not in k}))
    model, findings = load_model(ModelRequest(config="c.json"), tmp_path)
    assert model.sequence_length == 2048
    assert [finding.as_text() for finding in findings] == [
        "note[HF168] the config states no sequence length, 2048 tokens are assumed\n"
        f"  --> {tmp_path / 'c.json'}: max_position_embeddings\n  hint: say what you train with: hf.model(..., seq=)"
    ]
    assert load_model(ModelRequest(config="c.json", seq=64), tmp_path)[1] == ()


def test_a_model_is_named_for_its_file_or_its_folder(tmp_path):
    folder = tmp_path / "my-model-1.5b"
    folder.mkdir()
    for path in (folder / "config.json", folder / "other-2.7b.json"):
        path.write_text(json.dumps(LLAMA))
    named = [load_model(ModelRequest(config=config), folder)[0].name for config in ("config.json", "other-2.7b.json")]
    assert named == ["my-model-1.5b", "other-2.7b"]


def test_a_config_without_seq_says_which_length_is_planned(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(LLAMA))
    request = ModelRequest(config="config.json")
    (note,) = longest_sequence(request, *load_model(request, tmp_path))
    assert note.as_text() == (
        "note[HF169] no seq= is given: the plan is for the model's longest sequence, 512 tokens\n"
        "  --> @hf.model(config='config.json')\n"
        "  got no seq=, expected seq= of at most 512\n"
        "  hint: give the length you train with, such as seq=8192; memory and step time depend on it"
    )
    short = ModelRequest(config="config.json", seq=64)
    assert longest_sequence(short, *load_model(short, tmp_path)) == ()
