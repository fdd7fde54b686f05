import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hyperflow.k8s.go_regex import compile_go_regex
from hyperflow.k8s.go_regex_parser import GoRegexError
from hyperflow.k8s.hypernode_selectors import NodeIndex


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        (r"^node-(0[0-9]|1[0-5])$", "node-15", True),
        (r"^node-(0[0-9]|1[0-5])$", "node-16", False),
        (r"rack", "a-rack-b", True),
        (r"a{2,3}$", "ba", False),
        (r"^a{2,3}$", "aaa", True),
        (r"^a{,3}$", "a{,3}", True),
        (r"^\d+$", "٣", False),
        (r"^a$", "a\n", False),
        (r"(?m)^b$", "a\nb\nc", True),
        (r"(?i)^NODE[A-C]$", "nodeb", True),
        (r"(?i:N)ode", "NODE", False),
        (r"^[[:alpha:]]+-[^[:digit:]]$", "ab-c", True),
        (r"^[]a-]+$", "]-a", True),
        (r"^[^\d\s]\x41\x{42}\103$", "xABC", True),
        (r"^\Qa.b\E.$", "a.bc", True),
        (r"^\pL\p{Nd}\P{L}$", "a11", True),
        (r"^(?P<row>r\d)(?<rack>k\d)$", "r1k2", True),
        (r"\bnode\b", "a node b", True),
        (r"\Bode", "node", True),
        (r"\bode", "node", False),
        (r"^(|a)b\z", "b", True),
        (r"^.$", "\n", False),
        (r"(?s)^.$", "\n", True),
        (r"", "anything", True),
        (r"^*a", "ba", True),
        (r"(?-i)a", "A", False),
        (r"^a.*?b$", "axxb", True),
    ],
)
def test_go_semantics(pattern, text, matches):
    assert compile_go_regex(pattern).search(text) == matches


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("a(?=b)", "Go has no lookaround"),
        ("(?<!x)a", "Go has no lookaround"),
        ("(?#note)", "Go has no lookaround"),
        (r"(a)\1", "Go has no backreferences"),
        ("a**", "invalid nested repetition operator"),
        ("a{2}{3}", "invalid nested repetition operator"),
        ("*a", "missing argument to repetition operator"),
        ("(*a)", "missing argument to repetition operator"),
        ("a{1001}", "invalid repeat count"),
        ("a{3,2}", "invalid repeat count"),
        ("(a", "missing closing )"),
        ("a)", "unexpected )"),
        ("[a", "missing closing ]"),
        ("[z-a]", "invalid character class range"),
        ("[[:letters:]]", "invalid character class range"),
        ("a\\", "trailing backslash"),
        (r"\Z", "invalid escape sequence"),
        (r"\x{110000}", "invalid escape sequence"),
        ("((a{100}){100}){100}", "expression too large"),
        ("(" * 300 + ")" * 300, "nests too deeply"),
    ],
)
def test_what_go_refuses_is_refused_with_the_reason(pattern, reason):
    with pytest.raises(GoRegexError, match=re.escape(reason)):
        compile_go_regex(pattern)


def test_a_pattern_that_makes_a_backtracking_matcher_explode_is_answered():
    assert not compile_go_regex(r"^(a+)+$").search("a" * 250 + "b")
    assert compile_go_regex(r"(.*)(.*)(.*)(.*)(.*)(.*)(.*)x$").search("a" * 250 + "x")


_ATOMS = st.sampled_from(["a", "b", "-", ".", "[ab]", "[^a]", r"\d", r"\w", "^", "$", "(a|b)", "(?:ab)", r"\b"])
_PATTERNS = st.lists(st.tuples(_ATOMS, st.sampled_from(["", "", "*", "+", "?", "{1,2}"])), max_size=5).map(
    lambda parts: "".join(atom + (sign if atom not in ("^", "$", r"\b") else "") for atom, sign in parts)
)


@settings(max_examples=300, derandomize=True, deadline=None)
@given(_PATTERNS, st.text(alphabet="ab-1", max_size=8))
def test_where_python_and_go_agree_the_answers_agree(pattern, text):
    expected = re.search(pattern, text, re.ASCII) is not None
    assert compile_go_regex(pattern).search(text) == expected


@settings(max_examples=300, derandomize=True, deadline=None)
@given(_PATTERNS, st.sets(st.text(alphabet="ab-1", max_size=8), max_size=12))
def test_many_names_at_once_are_matched_as_one_by_one(pattern, names):
    expected = [name for name in sorted(names) if re.search(pattern, name, re.ASCII)]
    assert NodeIndex({name: {} for name in names}).select_pattern(pattern) == expected


@settings(max_examples=300, derandomize=True, deadline=None)
@given(st.text(alphabet=r"ab(){}[]|*+?\^$.,-:<>Pi0129xQEp", max_size=14), st.text(alphabet="ab1\n", max_size=5))
def test_any_text_is_matched_or_refused(pattern, text):
    try:
        found = compile_go_regex(pattern).search(text)
    except GoRegexError:
        return
    assert found in (True, False)
