"""Every example compiles to what its expected/ folder holds, byte by byte."""

import importlib.util
from pathlib import Path

import pytest

spec = importlib.util.spec_from_file_location("golden", Path(__file__).with_name("golden.py"))
assert spec and spec.loader
golden = importlib.util.module_from_spec(spec)
spec.loader.exec_module(golden)


@pytest.mark.parametrize("example", golden.examples(), ids=lambda path: path.name)
def test_an_example_compiles_to_its_expected_files(example):
    expected = {
        str(path.relative_to(example / "expected")): path.read_text(encoding="utf-8")
        for path in sorted((example / "expected").rglob("*"))
        if path.is_file()
    }
    actual = golden.bundle_of(example)
    assert sorted(expected) == sorted(actual), "run make golden and read the diff"
    for name, text in expected.items():
        assert text == actual[name], f"{name} differs: run make golden and read the diff"


@pytest.mark.parametrize("example", golden.examples(), ids=lambda path: path.name)
def test_a_second_compile_gives_the_same_bytes(example):
    assert golden.bundle_of(example) == golden.bundle_of(example)
