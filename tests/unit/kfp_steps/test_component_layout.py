"""The components lie as kubeflow/pipelines-components wants them: files, metadata, imports, images, examples.

The rules are those of its docs/CONTRIBUTING.md, scripts/validate_metadata and scripts/validate_base_images, 2026.
"""

import ast
import datetime
import re
import sys

import pytest
import yaml

pytest.importorskip("kfp", reason="not tested: the layout of components, since kfp is absent")

from kfp.dsl import graph_component

from tests.kfp_golden import COMPONENTS, ir_text, load

NAMES = sorted(path.parent.name for path in COMPONENTS.glob("*/component.py"))
VERSION = re.compile(r"(==|>=|<=|~=)?(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)")
pytestmark = pytest.mark.parametrize("name", NAMES)


def test_every_required_file_is_there(name):
    files = ("__init__.py", "component.py", "metadata.yaml", "README.md", "OWNERS", "example_pipelines.py")
    assert [file for file in files if not (COMPONENTS / name / file).is_file()] == []
    assert re.fullmatch(r"[a-z0-9_]+", name)


def test_the_metadata_has_the_fields_in_order_and_versions_of_three_parts(name):
    metadata = yaml.safe_load((COMPONENTS / name / "metadata.yaml").read_text())
    required = ["name", "stability", "dependencies", "lastVerified"]
    assert [field for field in metadata if field in required] == required
    assert set(metadata) <= {*required, "tags", "ci", "links"}
    assert metadata["name"] == name
    assert metadata["stability"] in ("experimental", "alpha", "beta", "stable")
    dependencies = metadata["dependencies"]
    assert set(dependencies) <= {"kubeflow", "external_services"}
    assert "Pipelines" in [item["name"] for item in dependencies["kubeflow"]]
    for item in (*dependencies["kubeflow"], *dependencies.get("external_services", ())):
        assert set(item) == {"name", "version"}
        assert VERSION.fullmatch(item["version"])
    assert all(isinstance(tag, str) for tag in metadata["tags"])
    assert isinstance(metadata["lastVerified"], datetime.datetime)
    assert metadata["lastVerified"].tzinfo is not None


def test_the_owners_name_an_approver(name):
    lines = (COMPONENTS / name / "OWNERS").read_text().splitlines()
    assert re.fullmatch(r" *- \S+", lines[lines.index("approvers:") + 1])


def test_top_level_imports_are_the_standard_library_and_kfp(name):
    for path in (COMPONENTS / name).rglob("*.py"):
        allowed = {"kfp", *sys.stdlib_module_names, *({"yaml", "pytest"} if path.parent.name == "tests" else ())}
        for node in ast.parse(path.read_text()).body:
            found = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            found += [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
            assert {module.partition(".")[0] for module in found} <= allowed, path


def test_the_package_exposes_the_component(name):
    text = (COMPONENTS / name / "__init__.py").read_text()
    assert text.startswith(f"from .component import {name} ")
    assert f'__all__ = ["{name}"]' in text


def test_the_base_image_is_one_that_they_allow(name):
    spec = yaml.safe_load((COMPONENTS / name / "component.yaml").read_text())
    (executor,) = spec["deploymentSpec"]["executors"].values()
    assert re.fullmatch(r"python:\d+\.\d+.*", executor["container"]["image"])


def test_every_example_pipeline_compiles(name):
    module = load(COMPONENTS / name / "example_pipelines.py")
    made = [item for item in vars(module).values() if isinstance(item, graph_component.GraphComponent)]
    assert made
    for pipeline in made:
        tasks = [
            task
            for component in (yaml.safe_load(ir_text(pipeline)), *_parts(pipeline))
            for task in component.get("root", component).get("dag", {}).get("tasks", {}).values()
        ]
        ours = [task for task in tasks if task["componentRef"]["name"].startswith("comp-hyperflow")]
        assert ours
        assert [task for task in ours if task["cachingOptions"].get("enableCache")] == []


def _parts(pipeline):
    return yaml.safe_load(ir_text(pipeline))["components"].values()
