"""The typed view of a config: what absent, null and wrong values become, with the full text of each finding."""

import pytest

from hyperflow.errors import InputError
from hyperflow.inventory.hf_config import ConfigView


def view_of(**values):
    return ConfigView(values, file="c.json")


def texts(view):
    return [finding.as_text() for finding in view.findings]


def test_the_first_spelling_that_is_present_counts():
    assert view_of(n_layer=3).count("num_hidden_layers", "n_layer") == 3


def test_a_null_under_one_spelling_does_not_hide_a_value_under_another():
    assert view_of(head_dim=None, attention_head_dim=128).optional("head_dim", "attention_head_dim") == 128


def test_absent_and_null_are_told_apart():
    assert view_of().count("q_lora_rank", absent=1536, null=0) == 1536
    assert view_of(q_lora_rank=None).count("q_lora_rank", absent=1536, null=0) == 0


def test_a_missing_key_is_named_with_its_spellings_and_a_near_miss():
    view = view_of(hiden_size=3, hidden_act="silu")
    view.count("hidden_size", "n_embd")
    assert texts(view) == [
        "error[HF150] hidden_size (also spelled n_embd) is missing\n  --> c.json: hidden_size\n"
        '  expected a value\n  hint: did you mean "hiden_size"?'
    ]


@pytest.mark.parametrize(
    ("value", "shown"), [("4096", "'4096'"), (True, "True"), (4096.0, "4096.0"), (None, "None"), ([1], "[1]")]
)
def test_a_shape_that_is_no_whole_number_is_refused(value, shown):
    view = view_of(hidden_size=value)
    assert view.count("hidden_size") == 1
    assert texts(view) == [
        "error[HF151] hidden_size must be a whole number\n  --> c.json: hidden_size\n"
        f"  got {shown}, expected a whole number"
    ]


@pytest.mark.parametrize(
    ("value", "expected"), [(0, "at least 1"), (-8, "at least 1"), (10**30, "at most 1099511627776")]
)
def test_a_shape_out_of_range_is_refused(value, expected):
    view = view_of(hidden_size=value)
    view.count("hidden_size")
    assert texts(view) == [
        f"error[HF152] hidden_size is out of range\n  --> c.json: hidden_size\n  got {value}, expected {expected}"
    ]


def test_a_list_of_another_length_than_the_layers_ends_the_reading():
    view = ConfigView({"layer_types": ["a"] * 3}, file="c.json", inside="text_config")
    with pytest.raises(InputError) as caught:
        view.items("layer_types", 4)
    assert str(caught.value) == (
        "error[HF153] layer_types has 3 entries for 4 layers\n  --> c.json: text_config.layer_types\n"
        "  got 3 entries, expected 4 entries"
    )


def test_a_class_default_is_reported():
    view = view_of()
    assert view.count("vocab_size", class_default=262208) == 262208
    assert texts(view) == [
        "note[HF154] vocab_size is absent, the default of its class is used: 262208\n  --> c.json: vocab_size\n"
        "  expected 262208"
    ]
    assert view.finish() == tuple(view.findings)


def test_an_unknown_kind_of_layer_is_refused_with_the_known_ones():
    view = view_of(layer_types=["full_attention", "fool_attention"])
    known = ("full_attention", "sliding_attention")
    assert view.texts("layer_types", 2, known) == ["full_attention", "full_attention"]
    assert texts(view) == [
        "error[HF155] layer_types[1] has a value that is not known\n  --> c.json: layer_types\n"
        "  got 'fool_attention', expected full_attention or sliding_attention"
    ]


def test_a_type_that_is_no_text_is_refused():
    view = view_of(model_type=7)
    assert view.text("model_type", absent="") == ""
    assert [finding.code for finding in view.findings] == ["HF151"]


def test_values_that_do_not_fit_together_are_refused():
    view = view_of(num_key_value_heads=7)
    view.require(False, "num_key_value_heads", "32 heads are not a multiple of 7 key/value heads", hint="check both")
    assert texts(view) == [
        "error[HF156] 32 heads are not a multiple of 7 key/value heads\n  --> c.json: num_key_value_heads\n"
        "  got 7\n  hint: check both"
    ]


def test_a_refusal_names_the_key_the_reason_and_the_way_out():
    view = view_of(hc_mult=4)
    view.family = "deepseek_v9"
    view.refuse("hc_mult", "hyper-connections")
    view.refuse("o_groups", "grouped output")
    assert texts(view) == [
        "error[HF158] deepseek_v9 with hc_mult is not supported: hyper-connections\n  --> c.json: hc_mult\n  got 4\n"
        "  hint: give the layers by hand: hf.model(layers=[...], hidden=..., vocab=..., seq=...) with layer records of "
        "hyperflow.spec.model; see docs/how-to/add-a-model.md",
        "error[HF158] deepseek_v9 with o_groups is not supported: grouped output\n  --> c.json: o_groups\n  got None",
    ]


def test_all_faults_are_raised_together():
    view = view_of(hidden_size="4096", vocab_size=0)
    view.count("hidden_size"), view.count("vocab_size"), view.count("num_attention_heads")
    with pytest.raises(InputError) as caught:
        view.finish()
    assert [finding.code for finding in caught.value.findings] == ["HF151", "HF152", "HF150"]
