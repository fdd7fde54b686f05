"""SARIF 2.1.0 of findings, for code review tools (docs.oasis-open.org/sarif/sarif/v2.1.0)."""

import re
from collections.abc import Sequence
from importlib.metadata import version

from hyperflow.catalog.error_codes import error_codes
from hyperflow.errors import Finding

_PLACE = re.compile(r"(.*):(\d+):(\d+)")
_LEVELS = {"error": "error", "warning": "warning", "note": "note"}


def sarif_log(findings: Sequence[Finding]) -> dict[str, object]:
    """Give one SARIF run with all findings; rules are the error codes."""
    meanings = error_codes()
    used = sorted({finding.code for finding in findings})
    rules = [{"id": code, "shortDescription": {"text": meanings.get(code, code)}} for code in used]
    driver = {"name": "hyperflow", "version": version("hyperflow"), "rules": rules}
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": driver},
                "columnKind": "unicodeCodePoints",
                "results": [_result(finding, used.index(finding.code)) for finding in findings],
            }
        ],
    }


def _result(finding: Finding, rule: int) -> dict[str, object]:
    words = [finding.message, finding.hint and f"hint: {finding.hint}"]
    return {
        "ruleId": finding.code,
        "ruleIndex": rule,
        "level": _LEVELS[finding.severity],
        "message": {"text": "; ".join(word for word in words if word)},
        "locations": [{"physicalLocation": _location(finding)}],
    }


def _location(finding: Finding) -> dict[str, object]:
    match = _PLACE.fullmatch(finding.place)
    if match is None:
        return {"artifactLocation": {"uri": finding.place}}
    file, line, column = match.groups()
    region: dict[str, object] = {"startLine": int(line), "startColumn": int(column)}
    if finding.span:
        region["endColumn"] = int(column) + finding.span.width
    return {"artifactLocation": {"uri": file}, "region": region}
