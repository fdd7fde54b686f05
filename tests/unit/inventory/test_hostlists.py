import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hyperflow.inventory.hostlists import compress_hosts, expand_hosts


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("srv[1101-1103]", ["srv1101", "srv1102", "srv1103"]),
        ("switch.1.[9-11]", ["switch.1.9", "switch.1.10", "switch.1.11"]),
        ("n[001,3-4]-ib,login", ["n001-ib", "n3-ib", "n4-ib", "login"]),
        ("[1101-1102]", ["1101", "1102"]),
        ("r[1-2]n[1-2]", ["r1n1", "r1n2", "r2n1", "r2n2"]),
        ("", []),
    ],
)
def test_ranges_expand_with_their_width(text, names):
    assert expand_hosts(text) == names


@pytest.mark.parametrize(
    "text", ["n[3-1]", "n[", "n]1[", "n[[1]]", "n[a-b]", "n[1-9999999]", "n[1-2000]m[1-2000]", "n[]"]
)
def test_a_bad_range_is_refused(text):
    with pytest.raises(ValueError, match=r"\S"):
        expand_hosts(text)


@settings(max_examples=200, derandomize=True)
@given(st.sets(st.from_regex(r"(n|rack-)[0-9]{0,4}(|-ib)", fullmatch=True), max_size=30))
def test_compressed_names_expand_to_the_same_names(names):
    texts = compress_hosts(names)
    assert sorted(name for text in texts for name in expand_hosts(text)) == sorted(names)


def test_names_of_different_width_are_kept_apart():
    names = ["n08", "n09", "n10", "n8", "n9", "x", "a1b2"]
    texts = compress_hosts(names)
    assert texts == ["a1b2", "n[08-10]", "n[8-9]", "x"]
