"""Declared late inputs of a step: a name in the pipeline, what it is bound to, and its type."""

import keyword
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from hyperflow.dsl.declared_job import DeclaredJob
from hyperflow.dsl.overrides import type_of_setting
from hyperflow.errors import Finding, InputError
from hyperflow.kfp_steps.late_values import NODES, is_variable

PLAIN = (bool, int, float, str)
NO_DEFAULT: Any = object()
"""Marks an input that every call must give."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LateInput:
    """One late input. `kind` is a Python type, or the name of a kfp artifact type, whose URI is bound."""

    target: str
    kind: type | str
    default: Any = NO_DEFAULT

    @property
    def is_artifact(self) -> bool:
        """Say whether the input is an artifact."""
        return isinstance(self.kind, str)


def value(target: str, kind: type | None = None, default: Any = NO_DEFAULT) -> LateInput:
    """Bind a parameter to `target`: a path as for --set, `env.NAME`, or `nodes.CLUSTER`.

    `kind` is bool, int, float, str, dict or list; where left out, the path says it (text for a variable).
    """
    return LateInput(target=target, kind=kind or _kind_of(target), default=default)


def artifact(target: str, kind: str | type = "Dataset") -> LateInput:
    """Bind the URI of an input artifact to `target`; `kind` is a class of kfp.dsl or its name."""
    return LateInput(target=target, kind=kind if isinstance(kind, str) else kind.__name__)


def check_inputs(job: DeclaredJob, inputs: Mapping[str, LateInput], taken: frozenset[str]) -> None:
    """Refuse names that are no parameter names or taken (HF561), and targets that do not exist (HF118, HF554)."""
    findings = [
        Finding(
            code="HF561",
            message=f"an input cannot be named {name!r}",
            where=f"inputs[{name!r}]",
            got=repr(name),
            expected="a Python name that the step does not use itself",
            hint="input names become parameters of the component",
        )
        for name in inputs
        if not name.isidentifier() or keyword.iskeyword(name) or name in taken
    ]
    if findings:
        raise InputError(findings)
    paths = [late.target for late in inputs.values() if not is_variable(late.target)]
    job.with_settings([f"{path}=null" for path in paths if not path.startswith(NODES)])


def _kind_of(target: str) -> type:
    if is_variable(target):
        return str
    if target.startswith(NODES):
        return int
    return plain_type(type_of_setting(target))


def plain_type(annotation: Any) -> type:
    """Give the parameter type for a field's annotation; a number wins over the word "auto" beside it.

    >>> plain_type(int | Literal["auto"]), plain_type(str | None), plain_type(tuple[int, ...])
    (<class 'int'>, <class 'str'>, <class 'list'>)
    """
    members = _members(annotation)
    for plain in PLAIN:
        if plain in members:
            return plain
    if dict in members:
        return dict
    if tuple in members:
        return list
    return str


def _members(annotation: Any) -> set[Any]:
    origin = typing.get_origin(annotation)
    if origin in (typing.Union, types.UnionType):
        return {member for part in typing.get_args(annotation) for member in _members(part)}
    if origin is typing.Annotated:
        return _members(typing.get_args(annotation)[0])
    if origin is Literal:
        # a word such as "auto" says nothing of the type beside it
        return {type(choice) for choice in typing.get_args(annotation) if not isinstance(choice, str)}
    return {origin or annotation}
