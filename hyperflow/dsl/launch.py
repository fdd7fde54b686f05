"""Entry points that the decorated function returns."""

import ast
import inspect
import textwrap
from collections.abc import Callable, Mapping, Sequence

from hyperflow.dsl.positions import definition_place
from hyperflow.dsl.public_call import public
from hyperflow.errors import Finding, InputError
from hyperflow.spec.launch import (
    ArgumentValue,
    FunctionLaunch,
    MegatronLaunch,
    TorchrunLaunch,
    TorchtitanLaunch,
)


@public("hf.megatron")
def megatron(*, script: str = "pretrain_gpt.py", args: Mapping[str, ArgumentValue] | None = None) -> MegatronLaunch:
    """Train with a Megatron-LM script; `args` are extra flags without dashes, True for a bare flag."""
    return MegatronLaunch.model_validate({"script": script, "args": {} if args is None else args})


@public("hf.torchtitan")
def torchtitan(
    *, config: str, module: str = "llama3", args: Mapping[str, ArgumentValue] | None = None
) -> TorchtitanLaunch:
    """Train with torchtitan: a model module and the name of its configuration."""
    return TorchtitanLaunch.model_validate({"module": module, "config": config, "args": {} if args is None else args})


@public("hf.torchrun")
def torchrun(script: str, args: Sequence[str] = ()) -> TorchrunLaunch:
    """Run any script under torchrun; it reads the plan from HF_* variables."""
    return TorchrunLaunch.model_validate({"script": script, "args": args})


@public("hf.function")
def function(fn: Callable[..., object], **arguments: ArgumentValue) -> FunctionLaunch:
    """Pack a function of this file or notebook with the job; `arguments` are numbers, text, booleans or None.

    The function must stand alone: it imports what it needs in its body. Raises InputError: HF116 when its source
    cannot be captured, HF117 when it leans on names outside itself.
    """
    try:
        source = textwrap.dedent(inspect.getsource(fn))
        tree = ast.parse(source)
    except (OSError, TypeError, SyntaxError) as error:
        raise _cannot_pack(fn, str(error)) from None
    definition = tree.body[0]
    if not isinstance(definition, ast.FunctionDef):
        raise _cannot_pack(fn, "it is not a plain def")
    outside = _names_from_outside(fn)
    if outside:
        raise InputError(
            Finding(
                code="HF117",
                message=f"function {fn.__name__!r} uses names that are not packed with it: {', '.join(outside)}",
                where=definition_place(fn),
                got=", ".join(outside),
                expected="only its arguments, its own names and builtins",
                hint="import inside the function, and pass values as arguments of hf.function",
            )
        )
    definition.decorator_list = []
    return FunctionLaunch(name=fn.__name__, source=ast.unparse(tree) + "\n", arguments=dict(arguments))


def _names_from_outside(fn: Callable[..., object]) -> list[str]:
    scope = inspect.getclosurevars(fn)
    own = {fn.__name__}
    return sorted({*scope.nonlocals, *(name for name in scope.globals if name not in own)})


def _cannot_pack(fn: Callable[..., object], reason: str) -> InputError:
    name = getattr(fn, "__name__", repr(fn))
    return InputError(
        Finding(
            code="HF116",
            message=f"cannot pack {name!r}: {reason}",
            where=f"hf.function({name})",
            got=name,
            expected="a function defined with def in a file or a notebook cell",
            hint="define it with def, or use hf.torchrun with a script in the image",
        )
    )
