"""The component's interface, as its compiled form shows it."""

from pathlib import Path

import yaml

SPEC = yaml.safe_load((Path(__file__).parents[1] / "component.yaml").read_text(encoding="utf-8"))


def test_the_outputs_are_those_of_the_readme():
    outputs = SPEC["root"]["outputDefinitions"]
    readme = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8").partition("## Outputs")[2]
    for name in (*outputs.get("artifacts", {}), *outputs["parameters"]):
        assert f"| `{name}` |" in readme
