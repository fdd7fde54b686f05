"""How each framework starts: its arguments, extra files for the pod, and variables."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files

from hyperflow.errors import Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchRecipe:
    """What follows torchrun's own options, plus files and variables the framework needs."""

    arguments: tuple[str, ...]
    pod_files: Mapping[str, str] = field(default_factory=dict[str, str])
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    findings: tuple[Finding, ...] = ()


def pod_file(name: str) -> str:
    """Give the text of a file that runs in the pod."""
    return files("hyperflow.lower").joinpath("pod_files", name).read_text(encoding="utf-8")


def as_flag(name: str, value: str | int | float | bool | None) -> list[str]:
    """Write one flag: True is a bare flag, False and None leave it out.

    >>> as_flag("lr", 0.0003), as_flag("bf16", True), as_flag("seed", None)
    (['--lr', '0.0003'], ['--bf16'], [])
    """
    if value is None or value is False:
        return []
    return [f"--{name}"] if value is True else [f"--{name}", str(value)]
