"""The page on declaring a job names every keyword that the decorators take, and no other."""

import inspect
import re
from pathlib import Path

import hyperflow as hf

PAGE = (Path(__file__).parents[3] / "docs" / "declaration.md").read_text(encoding="utf-8")
DECORATORS = ("job", "model", "data", "parallel", "topology", "on", "fallback", "checkpoint", "guard", "env", "patch")


def documented() -> dict[str, set[str]]:
    """Keywords by decorator, from the second column of the table."""
    found: dict[str, set[str]] = {}
    name = ""
    for first, second in re.findall(r"^\| *(`@hf\.\w+`)? *\| ([^|]+) \|", PAGE, flags=re.MULTILINE):
        name = first.strip("`@").removeprefix("hf.") or name
        if name:
            found.setdefault(name, set()).update(re.findall(r"`(\w+)`", second))
    return found


def taken(name: str) -> set[str]:
    kinds = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(getattr(hf, name)).parameters.values()
    return {p.name for p in parameters if p.kind in kinds} - ({"clusters"} if name == "fallback" else set())


def test_the_page_names_the_keywords_of_every_decorator_and_no_other():
    assert documented() == {name: taken(name) for name in DECORATORS}
