"""Whatever a pipeline hands on reaches the declaration unchanged."""

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from hyperflow.kfp_steps.late_values import from_struct, yaml_text

texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=40)
values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**53), 2**53), st.floats(allow_nan=False), texts),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=8,
)


@given(values)
@settings(max_examples=150, derandomize=True, deadline=None)
def test_yaml_gives_back_the_value(value):
    assert yaml.safe_load(yaml_text(value)) == value


@given(values)
@settings(max_examples=100, derandomize=True, deadline=None)
def test_numbers_keep_their_value_through_a_struct(value):
    assert from_struct(value) == value
