import json

from hyperflow.errors import Finding, SourceSpan
from hyperflow.report.sarif import sarif_log


def test_a_finding_becomes_a_result_with_rule_level_and_region():
    span = SourceSpan(file="jobs/a.yaml", line=3, column=5, width=4, text="    mode: hard")
    finding = Finding(code="HF860", severity="warning", message="binds nothing", hint="write a tier", span=span)
    log = json.loads(json.dumps(sarif_log([finding])))
    assert set(log) == {"$schema", "version", "runs"}
    run = log["runs"][0]
    assert run["tool"]["driver"]["rules"][0]["id"] == "HF860"
    assert run["results"] == [
        {
            "ruleId": "HF860",
            "ruleIndex": 0,
            "level": "warning",
            "message": {"text": "binds nothing; hint: write a tier"},
            "locations": [
                {
                    "physicalLocation": {
                        "artifactLocation": {"uri": "jobs/a.yaml"},
                        "region": {"startLine": 3, "startColumn": 5, "endColumn": 9},
                    }
                }
            ],
        }
    ]


def test_a_finding_without_a_position_names_its_file_alone():
    run = sarif_log([Finding(code="HF101", message="cannot read", where="gone.yaml")])["runs"][0]
    assert run["results"][0]["locations"] == [{"physicalLocation": {"artifactLocation": {"uri": "gone.yaml"}}}]
