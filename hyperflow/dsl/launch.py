"""Entry points that the decorated function returns."""

from collections.abc import Callable, Mapping, Sequence

from hyperflow.dsl.packed_function import check_arguments, packed_source
from hyperflow.dsl.public_call import public
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
    cannot be captured, HF117 when it leans on names outside itself, HF129 when the arguments do not fit it.
    """
    source = packed_source(fn)
    check_arguments(fn, arguments)
    return FunctionLaunch(name=fn.__name__, source=source, arguments=dict(arguments))
