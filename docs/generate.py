"""Write the generated pages: docs/errors.md. Run by `make docs`; a house rule checks that they are current."""

from pathlib import Path

from hyperflow.catalog.error_codes import error_codes


def errors_page() -> str:
    """Give the text of docs/errors.md."""
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


if __name__ == "__main__":
    Path(__file__).with_name("errors.md").write_text(errors_page(), encoding="utf-8")
