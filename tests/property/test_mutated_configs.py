"""Mutated configs: a count or findings that name a key, never another exception, and never a count of nonsense."""

import copy
import json
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from hyperflow.errors import InputError
from hyperflow.inventory.config_file import model_of_config

COUNTS = Path(__file__).parents[1] / "unit" / "inventory" / "family_counts.json"
CONFIGS = [row["config"] for row in json.loads(COUNTS.read_text())]
CONFIGS_PER_EXAMPLE = 50

NONSENSE = st.sampled_from(
    [None, True, False, 0, -1, 1, 2, 3, 10**4, 10**30, 1.5, float("nan"), float("inf"), "", "4096", "auto", [], [1],
     [[1]], ["full_attention"] * 4, [0, 1, 0, 1], [None], {}, {"a": 1}, {"head_dim": "x"}, "M*E-", -0.0]
)  # fmt: skip


@st.composite
def mutation(draw):
    """A function that spoils a config: drop, replace, rename, stretch or cut one key, or take one from another."""
    kind = draw(st.sampled_from(["drop", "replace", "replace", "rename", "stretch", "cut", "borrow", "nest"]))
    pick, value = draw(st.integers(0, 10**6)), draw(NONSENSE)

    def apply(config):
        key = sorted(config)[pick % len(config)]
        old = config[key]
        if kind == "drop":
            del config[key]
        elif kind == "replace":
            config[key] = value
        elif kind == "rename":
            config[key + "_"] = config.pop(key)
        elif kind == "stretch":
            config[key] = old * 2 if isinstance(old, list | str | int) else value
        elif kind == "cut":
            config[key] = old[:-1] if isinstance(old, list | str) else value
        elif kind == "borrow":
            other = CONFIGS[pick % len(CONFIGS)]
            config.update({key: other[key] for key in sorted(other)[: 1 + pick % 5]})
        else:
            config["text_config"] = dict(config)
        return config

    return apply


@settings(max_examples=200, derandomize=True, deadline=None)
@given(st.lists(mutation(), min_size=1, max_size=3), st.integers(0, len(CONFIGS) - 1))
def test_a_spoiled_config_gives_a_count_or_findings_that_name_a_key(mutations, first):
    for step in range(CONFIGS_PER_EXAMPLE):
        config = copy.deepcopy(CONFIGS[(first + step) % len(CONFIGS)])
        for mutate in mutations:
            if config:
                config = mutate(config)
        try:
            model, findings = model_of_config(config, "c.json")
        except InputError as error:
            errors = [finding for finding in error.findings if finding.severity == "error"]
            assert errors
            assert all(finding.where.startswith("c.json: ") and finding.message for finding in errors)
        else:
            assert all(finding.severity != "error" for finding in findings)
            assert model.total_parameters >= model.active_parameters > 0
            assert model.total_parameters == model.outside_parameters + sum(x.parameters for x in model.layers)


@settings(max_examples=300, derandomize=True, deadline=None)
@given(
    st.recursive(NONSENSE, lambda part: st.lists(part, max_size=3) | st.dictionaries(st.text(), part, max_size=3)),
    st.sampled_from(sorted({config["model_type"] for config in CONFIGS})),
)
def test_any_object_of_any_type_is_refused_in_words(value, model_type):
    values = value if isinstance(value, dict) else {"hidden_size": value}
    try:
        model_of_config({**values, "model_type": model_type}, "c.json")
    except InputError as error:
        assert error.findings
