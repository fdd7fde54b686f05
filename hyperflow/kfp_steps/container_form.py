"""The container form of a component: the same inputs and outputs, in an image that holds HyperFlow and needs no kfp."""

import inspect
from collections.abc import Mapping
from typing import Any

from hyperflow.errors import Finding, UsageError
from hyperflow.kfp_steps.require_kfp import load_kfp

COMMAND = ("python3", "-m", "hyperflow.kfp_steps.container_main")


def container_form(lightweight: Any, body: str, bound: Mapping[str, str], image: str | None) -> Any:
    """Make a container component with the inputs and outputs of a lightweight one.

    `body` is the function of component_body that it runs; `bound` maps names of late inputs to their targets. Raises
    UsageError (HF564) without an image.
    """
    if not image:
        raise UsageError(
            Finding(
                code="HF564",
                message="the container form of a component installs nothing, so it needs an image that has HyperFlow",
                where="image",
                got=repr(image),
                expected="the name of an image",
                hint="components/deploy/Dockerfile builds one",
            )
        )
    dsl = load_kfp().dsl
    parameters = _parameters(lightweight.python_func, dsl)
    outputs = lightweight.component_spec.outputs
    artifacts = [
        item.name for item in parameters if item.name in outputs and outputs[item.name].type.startswith("system.")
    ]

    def container(*placeholders: Any) -> Any:
        given = dict(zip([item.name for item in parameters], placeholders, strict=True))
        args = [body, "--executor_input", "{{$}}"]
        for name, target in bound.items():
            args += ["--bind", name, target]
        for name in artifacts:
            args += ["--path", name, given[name].path]
        return dsl.ContainerSpec(image=image, command=list(COMMAND), args=args)

    made: Any = container
    made.__name__ = lightweight.python_func.__name__
    made.__doc__ = lightweight.python_func.__doc__
    made.__signature__ = inspect.Signature(parameters)  # what kfp reads
    return dsl.container_component(made)


def _parameters(function: Any, dsl: Any) -> list[inspect.Parameter]:
    """Those of the lightweight function, and a file for each output parameter, which it returns instead."""
    signature = inspect.signature(function)
    fields: Mapping[str, Any] = signature.return_annotation.__annotations__
    files = [
        inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=dsl.OutputPath(kind))
        for name, kind in fields.items()
    ]
    parameters = list(signature.parameters.values())
    must = [item for item in parameters if item.default is inspect.Parameter.empty]
    return [*must, *files, *parameters[len(must) :]]
