"""Every family against the classes of transformers (5.24.0), on small configs that set each key of its shapes."""

import json
from pathlib import Path

import pytest

from hyperflow.inventory.config_file import model_of_config
from hyperflow.inventory.hf_families.registry import FAMILIES

ROWS = json.loads(Path(__file__).with_name("family_counts.json").read_text())


def _names(rows):
    seen: dict[str, int] = {}
    for row in rows:
        family = row["config"]["model_type"]
        seen[family] = seen.get(family, 0) + 1
        yield f"{family}-{seen[family]}"


@pytest.mark.parametrize("row", ROWS, ids=list(_names(ROWS)))
def test_counts_equal_those_of_the_class(row):
    model, findings = model_of_config(row["config"], "c.json")
    counted = [[layer.parameters, layer.active_parameters] for layer in model.layers]
    assert counted == [size for count, *size in row["layers"] for _ in range(count)]
    assert (model.total_parameters, model.active_parameters) == (row["total"], row["active"])
    assert model.tied_embeddings == row["tied"]
    assert {finding.code for finding in findings} <= {"HF168"}  # some families state no sequence length


WITHOUT_A_CLASS = {
    # counted by hand or against published totals in test_families_without_class.py
    "Yi", "aquila", "bailing_moe",
    "mimo", "phi3small", "baichuan", "chatglm", "deepseek", "grok-1", "internlm", "internlm2", "kimi_k2", "minicpm",
    "minimax_text_01", "ministral", "nemotron-nas", "orion", "phi-msft", "qwen", "qwen3_vl_moe_text", "xverse",
}  # fmt: skip


def test_every_family_is_counted_here_or_says_why_not():
    assert {row["config"]["model_type"] for row in ROWS} | WITHOUT_A_CLASS == set(FAMILIES)
