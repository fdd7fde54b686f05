"""Write errors.md and capabilities.md. Run by `make docs`; a house rule checks that they are current."""

import re
from pathlib import Path

import yaml

from hyperflow.catalog.error_codes import error_codes

DOCS = Path(__file__).parent
TESTS = DOCS.parent / "tests"
NAMED = re.compile(r"^ *def (test_([a-z]\d{1,2}(?:_and_[a-z]\d{1,2})*)_\w+)", flags=re.MULTILINE)


def errors_page() -> str:
    """Give the text of errors.md."""
    rows = [f"| {code} | {meaning} |" for code, meaning in error_codes().items()]
    head = [
        "# Error codes",
        "",
        "Made from hyperflow/catalog/error_texts/ by `make docs`.",
        "",
        "| code | meaning |",
        "|---|---|",
    ]
    return "\n".join([*head, *rows]) + "\n"


def tests_by_row() -> dict[str, list[str]]:
    """Give row id -> `file: test name` of the tests that carry it in their name."""
    found: dict[str, list[str]] = {}
    for path in sorted(TESTS.rglob("test_*.py")):
        for name, rows in NAMED.findall(path.read_text(encoding="utf-8")):
            for row in rows.split("_and_"):
                found.setdefault(row.upper(), []).append(f"{path.relative_to(TESTS)}: {name}")
    return found


def capabilities_page() -> str:
    """Give the text of capabilities.md: row, what can be observed, the tests that show it."""
    rows = yaml.safe_load((DOCS / "capability_rows.yaml").read_text(encoding="utf-8"))
    tests = tests_by_row()
    lines = [
        "# Capabilities",
        "",
        "Made from docs/capability_rows.yaml and the names of the tests by `make docs`.",
        "Class: M first release, S second, L later, X not a client's job. A row without a test is not there yet.",
        "",
        "| row | class | what a user observes | tests |",
        "|---|---|---|---|",
    ]
    for row, (kind, claim) in rows.items():
        shown = "<br>".join(tests.get(row, [])) or "none yet"
        lines.append(f"| {row} | {kind} | {claim} | {shown} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    (DOCS / "errors.md").write_text(errors_page(), encoding="utf-8")
    (DOCS / "capabilities.md").write_text(capabilities_page(), encoding="utf-8")
