"""The README's program runs, and prints what the README says."""

import re
import subprocess
import sys
from pathlib import Path

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    found = re.search(rf"^```{language}\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)
    assert found, f"the README has no {language} block"
    return found[1]


def test_the_readme_program_prints_the_readme_output(tmp_path):
    (tmp_path / "job.py").write_text(block("python"), encoding="utf-8")
    command, _, expected = block("console").partition("\n")
    assert command == "$ python -m hyperflow.compile job.py -o out"
    shown = subprocess.run(
        [sys.executable, "-m", "hyperflow.compile", "job.py", "-o", "out"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert shown.stdout == expected
