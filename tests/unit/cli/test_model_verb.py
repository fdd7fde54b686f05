"""hyperflow model: JSON, table, and several configs of which some are refused."""

import json

import pytest

from hyperflow.cli import main

MIXTRAL = {
    "model_type": "mixtral",
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 100,
    "num_local_experts": 4,
    "num_experts_per_tok": 2,
    "vocab_size": 50,
    "max_position_embeddings": 32,
    "tie_word_embeddings": True,
}
ATTENTION = 64 * 64 * 2 + 2 * 64 * 32
EXPERT = 3 * 64 * 100
LAYER = ATTENTION + 4 * EXPERT + 64 * 4 + 128
ACTIVE = LAYER - 2 * EXPERT


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(MIXTRAL))
    return path


def test_json_has_the_keys_of_the_public_surface(config, capsys):
    assert main(["model", str(config), "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    (model,) = document["models"]
    assert model["file"] == str(config)
    assert model["total_parameters"] == 2 * LAYER + 50 * 64 + 64
    assert model["active_parameters"] == 2 * ACTIVE + 50 * 64 + 64
    assert model["layers"] == [{"count": 2, "kind": "moe", "parameters": LAYER, "active_parameters": ACTIVE}]
    assert (model["outside_layers_parameters"], model["tied_embeddings"], model["mtp_parameters"]) == (3264, True, 0)
    assert document["findings"] == []


def test_the_table_names_each_kind_of_layer(config, capsys):
    assert main(["model", str(config)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert " ".join(lines[0].split()) == "model parameters active per token layers head outside layers MTP apart"
    assert lines[1].split()[1:4] == [f"{2 * LAYER + 3264:,}", f"{2 * ACTIVE + 3264:,}", "2"]
    assert lines[2].split() == ["2", "x", "moe", f"{LAYER:,}", f"{ACTIVE:,}"]


def test_a_refused_config_does_not_hide_the_others(config, tmp_path, capsys):
    bad = tmp_path / "bad.json"
    bad.write_text(json.dumps({**MIXTRAL, "hidden_size": "64"}))
    assert main(["model", str(bad), str(config), "--format", "json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert [model["file"] for model in document["models"]] == [str(config)]
    assert [finding["where"] for finding in document["findings"]] == [f"{bad}: hidden_size"]


def test_nothing_to_count_is_a_usage_error(capsys):
    assert main(["model"]) == 2
    assert capsys.readouterr().err == ("error[HF163] nothing to count\n  expected a config.json or --preset NAME\n")
