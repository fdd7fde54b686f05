import pytest

from hyperflow.k8s.hypernode_selectors import NodeIndex, selector_fault

NODES = NodeIndex(
    {
        "node-00": {"rack": "r0", "type": "gpu"},
        "node-01": {"rack": "r0"},
        "node-02": {"rack": "r1", "type": "gpu"},
        "login": {},
    }
)


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ({"exactMatch": {"name": "node-01"}}, ["node-01"]),
        ({"exactMatch": {"name": "absent"}}, ["absent"]),
        ({"regexMatch": {"pattern": "^node-0[01]$"}}, ["node-00", "node-01"]),
        ({"regexMatch": {"pattern": "0[12]"}}, ["node-01", "node-02"]),
        ({"regexMatch": {"pattern": "^rack"}}, []),
        ({"labelMatch": {"matchLabels": {"rack": "r0"}}}, ["node-00", "node-01"]),
        ({"labelMatch": {"matchLabels": {"rack": "r0", "type": "gpu"}}}, ["node-00"]),
        (
            {"labelMatch": {"matchExpressions": [{"key": "rack", "operator": "In", "values": ["r1", "r2"]}]}},
            ["node-02"],
        ),
        (
            {"labelMatch": {"matchExpressions": [{"key": "rack", "operator": "NotIn", "values": ["r0"]}]}},
            ["login", "node-02"],
        ),
        ({"labelMatch": {"matchExpressions": [{"key": "type", "operator": "Exists"}]}}, ["node-00", "node-02"]),
        (
            {
                "labelMatch": {
                    "matchLabels": {"rack": "r0"},
                    "matchExpressions": [{"key": "type", "operator": "DoesNotExist"}],
                }
            },
            ["node-01"],
        ),
    ],
)
def test_a_selector_picks_the_nodes_that_volcano_picks(selector, names):
    assert NODES.select(selector) == names


@pytest.mark.parametrize(
    ("selector", "fault"),
    [
        ({}, "exactly one of exactMatch, regexMatch, labelMatch is needed, got none"),
        (None, "exactly one of exactMatch, regexMatch, labelMatch is needed, got none"),
        (
            {"exactMatch": {"name": "a"}, "regexMatch": {"pattern": "a"}},
            "exactly one of exactMatch, regexMatch, labelMatch is needed, got exactMatch and regexMatch",
        ),
        ({"exactMatch": {}}, "exactMatch.name is empty"),
        ({"regexMatch": {"pattern": 3}}, "regexMatch.pattern is empty"),
        ({"regexMatch": {"pattern": "a("}}, "missing closing ) in 'a('"),
        ({"labelMatch": {}}, "labelMatch is empty and would select every node"),
        (
            {"labelMatch": {"matchExpressions": [{"key": "a", "operator": "Like"}]}},
            "label operator 'Like' is none of In, NotIn, Exists, DoesNotExist",
        ),
        ({"labelMatch": {"matchExpressions": [{"operator": "Exists"}]}}, "a label expression has no key"),
        ({"labelMatch": {"matchExpressions": [{"key": "a", "operator": "In"}]}}, "label operator In needs values"),
        (
            {"labelMatch": {"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["x"]}]}},
            "label operator Exists takes no values",
        ),
    ],
)
def test_a_selector_that_cannot_be_evaluated_says_why(selector, fault):
    assert selector_fault(selector) == fault
