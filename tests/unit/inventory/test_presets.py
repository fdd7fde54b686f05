"""The presets: each is read without a word, equals the config it stands for, and has a source."""

import json
from pathlib import Path

import pytest

from hyperflow.errors import InputError
from hyperflow.inventory.config_file import read_config
from hyperflow.inventory.models import load_model
from hyperflow.inventory.presets import model_of_preset, preset_names, preset_source
from hyperflow.spec.training_job import ModelRequest

SHARED = Path(__file__).parents[3] / ".." / "shared" / "third_party" / "models"


@pytest.mark.parametrize("name", preset_names())
def test_preset_is_read_and_has_a_source(name):
    model, findings = model_of_preset(name)
    assert model.name == name
    assert [finding for finding in findings if finding.severity != "note"] == []
    assert ":" in preset_source(name) or "arXiv" in preset_source(name)


@pytest.mark.skipif(not SHARED.exists(), reason="shared/third_party/models is not beside this checkout")
@pytest.mark.parametrize("name", preset_names())
def test_preset_equals_the_config_it_stands_for(name):
    path = SHARED / f"{name}.json"
    if not path.exists():
        pytest.skip("taken from a paper, no config to compare with")
    assert model_of_preset(name)[0] == read_config(path)[0]


def test_names_forgive_case_and_underscores_and_aliases():
    assert model_of_preset("Llama_3.1_70B") == model_of_preset("llama-3.1-70b")
    assert model_of_preset("deepseek-r1")[0].name == "deepseek-v3"


def test_seq_replaces_the_sequence_length_of_a_preset(tmp_path):
    model, _ = load_model(ModelRequest(preset="llama-3-70b", seq=4096), tmp_path)
    assert (model.sequence_length, model.num_layers) == (4096, 80)


def test_gpt3_has_the_size_its_paper_states():
    assert round(model_of_preset("gpt3-175b")[0].total_parameters / 1e9) == 175


def test_an_unknown_preset_is_refused_with_near_names():
    with pytest.raises(InputError) as caught:
        model_of_preset("llama-3-71b")
    assert str(caught.value) == (
        "error[HF162] no preset has that name\n  --> model: preset\n"
        "  got llama-3-71b, expected one of those that hyperflow model --list shows\n"
        "  hint: did you mean llama-3-70b, llama-3-8b, llama-2-7b?"
    )


def test_the_list_names_every_preset(capsys):
    from hyperflow.cli import main

    assert main(["model", "--list", "--format", "json"]) == 0
    assert [row["name"] for row in json.loads(capsys.readouterr().out)["presets"]] == list(preset_names())
    assert main(["model", "--list"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(preset_names()) + 1
