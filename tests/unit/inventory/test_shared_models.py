"""Real configs against recorded counts, one test a model: exact totals, active counts and layer vectors."""

import json
import math
from pathlib import Path

import pytest

from hyperflow.errors import InputError
from hyperflow.inventory.config_file import parse_config, read_config

SHARED = Path(__file__).parents[3] / ".." / "shared"
DATA = SHARED / "data" / "model_parameters.json"
MODELS = json.loads(DATA.read_text())["models"] if DATA.exists() else {}
COUNTED = sorted(name for name, row in MODELS.items() if row.get("expected_total") is not None)
REFUSED = sorted(name for name, row in MODELS.items() if row.get("method", "").startswith("NOT counted"))
REST = sorted(set(MODELS) - set(COUNTED) - set(REFUSED))
absent = pytest.mark.skipif(not MODELS, reason="shared/data/model_parameters.json is not beside this checkout")


def read(name):
    return read_config(SHARED / "third_party" / MODELS[name]["file"])


def flat(runs):
    return [size for count, size in runs for _ in range(count)]


@absent
@pytest.mark.parametrize("name", COUNTED)
def test_real_config_is_counted_exactly(name):
    expected = MODELS[name]
    model, _ = read(name)
    assert model.total_parameters == expected["expected_total"]
    assert model.active_parameters == expected["expected_active"]
    assert [layer.parameters for layer in model.layers] == flat(expected["per_layer_rle"])
    if expected["per_layer_active_rle"]:
        assert [layer.active_parameters for layer in model.layers] == flat(expected["per_layer_active_rle"])
    assert model.outside_parameters == sum(expected["outside_layers"].values())
    assert model.tied_embeddings == expected["tied"]


@absent
@pytest.mark.parametrize("name", REFUSED)
def test_uncountable_config_is_refused_by_name_field_and_way_out(name):
    with pytest.raises(InputError) as caught:
        read(name)
    assert "hf.model(layers=[" in caught.value.findings[0].hint
    for finding in caught.value.findings:
        assert finding.code == "HF158"
        assert f"{name}.json: " in finding.where


@absent
@pytest.mark.parametrize("name", REST)
def test_real_config_without_a_recorded_count_is_read_without_doubts(name):
    model, findings = read(name)
    assert {finding.code for finding in findings} <= {"HF168"}
    assert model.total_parameters > model.outside_parameters > 0


@absent
@pytest.mark.parametrize("name", [name for name in COUNTED if "mtp" in MODELS[name]])
def test_prediction_layers_are_counted_apart(name):
    model, _ = read(name)
    assert model.mtp_layers == MODELS[name]["mtp"]["layers"]
    assert model.mtp_parameters == MODELS[name]["mtp"]["params_excl_shared_embed_and_head"]


@absent
def test_the_bare_token_infinity_is_read():
    text = (SHARED / "third_party" / "models" / "nemotron-h-56b.json").read_text()
    assert "Infinity" in text
    assert parse_config(text, "c.json")["time_step_limit"][1] == math.inf
