"""Expected outputs of the examples: `make golden` rewrites them, tests compare with them."""

import os
import shutil
import sys
from pathlib import Path

from hyperflow.compiler import CompileOptions
from hyperflow.dsl.discover import load_job

EXAMPLES = Path(__file__).parents[1] / "examples"
NOT_GOLDEN = {"report.html", "bundle.json"}
"""Pictures and digests: they follow from the other files, and nobody reads their diff."""


def examples() -> list[Path]:
    """All examples that compile to a bundle."""
    return sorted(path.parent for path in EXAMPLES.glob("*/job.py"))


def bundle_of(example: Path) -> dict[str, str]:
    """Give path -> text of the example's compiled bundle, as a golden folder holds it."""
    done = load_job(str(example / "job.py")).compilation(CompileOptions())
    return {file.path: file.text for file in done.needed_bundle.files if file.path not in NOT_GOLDEN}


def main() -> None:
    """Rewrite every expected/ folder; refused in CI, which only compares."""
    if os.environ.get("CI"):
        sys.exit("golden files are rewritten by people, not by CI")
    for example in examples():
        folder = example / "expected"
        shutil.rmtree(folder, ignore_errors=True)
        for name, text in bundle_of(example).items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        print(f"wrote {folder.relative_to(EXAMPLES.parent)}")


if __name__ == "__main__":
    main()
