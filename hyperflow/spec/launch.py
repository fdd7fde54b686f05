"""How training starts in each pod: the framework and its arguments."""

from typing import Annotated, Literal

from pydantic import Field

from hyperflow.spec.record import Record

ArgumentValue = str | int | float | bool | None


class MegatronLaunch(Record):
    """A Megatron-LM script; `args` are extra flags without their leading dashes, True for a bare flag."""

    kind: Literal["megatron"] = "megatron"
    script: str = "pretrain_gpt.py"
    args: dict[str, ArgumentValue] = {}


class TorchtitanLaunch(Record):
    """torchtitan with a module and a named configuration; `version` is the one in the image (flags differ)."""

    kind: Literal["torchtitan"] = "torchtitan"
    module: str = "llama3"
    config: str
    version: str = "0.3.0"
    args: dict[str, ArgumentValue] = {}


class TorchrunLaunch(Record):
    """Any script under torchrun; it reads the plan from HF_* variables."""

    kind: Literal["torchrun"] = "torchrun"
    script: str
    args: tuple[str, ...] = ()


class FunctionLaunch(Record):
    """A Python function packed with the job: its source, name and typed arguments."""

    kind: Literal["function"] = "function"
    name: str
    source: str
    arguments: dict[str, ArgumentValue] = {}


Launch = Annotated[
    MegatronLaunch | TorchtitanLaunch | TorchrunLaunch | FunctionLaunch,
    Field(discriminator="kind"),
]
