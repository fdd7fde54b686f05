"""Bundles as files: what changed shows as a diff."""

import pytest

from hyperflow.lower.lower_job import lower
from hyperflow.render.render_bundle import render
from hyperflow.validate.check_bundle import check
from tests.manifest_golden import CASES, FOLDER, golden_files


@pytest.mark.parametrize("name", CASES)
def test_bundle_is_the_golden_one(name):
    folder = FOLDER / name
    expected = {str(p.relative_to(folder)): p.read_text(encoding="utf-8") for p in folder.rglob("*") if p.is_file()}
    assert golden_files(name) == expected, "read the change, then run python -m tests.manifest_golden"


@pytest.mark.parametrize("name", CASES)
def test_golden_bundle_obeys_all_laws(name):
    build, mode = CASES[name]
    manifests = lower(*build(), mode)
    assert [finding.as_text() for finding in check(manifests, render(manifests))] == []
