"""The rules of docs/conventions.md that a machine can check."""

import ast
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

from hyperflow.catalog.error_codes import error_codes

ROOT = Path(__file__).parents[1]
PACKAGE_FILES = sorted((ROOT / "hyperflow").rglob("*.py"))
MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 50
FORBIDDEN_NAMES = {"utils", "util", "helpers", "helper", "common", "manager", "misc"}
CODE = re.compile(r"\bHF\d{3}\b")


def test_no_file_is_longer_than_the_limit():
    too_long = {
        str(p.relative_to(ROOT)): n for p in PACKAGE_FILES if (n := len(p.read_text().splitlines())) > MAX_FILE_LINES
    }
    assert too_long == {}


def test_no_function_is_longer_than_the_limit():
    too_long = {}
    for path in PACKAGE_FILES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = (node.end_lineno or node.lineno) - node.lineno + 1
                if length > MAX_FUNCTION_LINES:
                    too_long[f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"] = length
    assert too_long == {}


def test_no_module_has_a_name_that_says_nothing():
    assert [str(p) for p in PACKAGE_FILES if p.stem in FORBIDDEN_NAMES] == []


def test_every_public_function_and_class_has_a_docstring():
    bare = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
        for path in PACKAGE_FILES
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
        and not node.name.startswith("_")
        and not ast.get_docstring(node)
    ]
    assert bare == []


CATCHES_ALL = {"hyperflow/user_code.py": "it runs the user's code, which may raise anything"}


def test_nothing_catches_every_exception():
    broad = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in PACKAGE_FILES
        if str(path.relative_to(ROOT)) not in CATCHES_ALL
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ExceptHandler)
        and (
            node.type is None
            or {"Exception", "BaseException"} & {n.id for n in ast.walk(node.type) if isinstance(n, ast.Name)}
        )
    ]
    assert broad == []


def _codes_in_source() -> set[str]:
    codes: set[str] = set()
    for path in PACKAGE_FILES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and CODE.fullmatch(node.value):
                codes.add(node.value)
    return codes


def test_every_error_code_is_documented_and_every_documented_code_exists():
    assert _codes_in_source() == set(error_codes())


def test_every_error_code_has_a_test():
    tested = {code for path in (ROOT / "tests").rglob("*.py") for code in CODE.findall(path.read_text())}
    assert set(error_codes()) - tested == set()


def test_the_generated_pages_are_current():
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec and spec.loader
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    assert (ROOT / "docs" / "errors.md").read_text() == generate.errors_page(), "run make docs"
    assert (ROOT / "docs" / "capabilities.md").read_text() == generate.capabilities_page(), "run make docs"


def test_import_hyperflow_loads_no_heavy_library():
    heavy = ("kfp", "kubernetes", "pulp", "networkx", "numpy", "jinja2", "highspy")
    program = f"import sys, hyperflow, hyperflow.cli; print([m for m in {heavy!r} if m in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


@pytest.mark.parametrize("word", ["TODO", "FIXME", "XXX"])
def test_no_unfinished_marks(word):
    assert [str(p) for p in PACKAGE_FILES if word in p.read_text()] == []
