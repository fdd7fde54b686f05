"""Split policies of the user's own: a name among the given ones, an entry point, or `module:function`."""

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import cast

from hyperflow.errors import Finding, InputError, nearest
from hyperflow.ir.resolved import ResolvedJob
from hyperflow.plan.checks import span_of

GROUP = "hyperflow.split_policies"


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyStage:
    """What a policy sees of a stage: where it is, the seconds of each layer there, and bytes to be had."""

    cluster: str
    device: str
    layer_seconds: tuple[float, ...]
    memory_bytes: float


Policy = Callable[[int, Sequence[PolicyStage]], Sequence[int]]
"""From the number of layers and the stages to the layers of each stage."""


def even_policy(num_layers: int, stages: Sequence[PolicyStage]) -> tuple[int, ...]:
    """Deal the layers out evenly; the earlier stages get one more.

    >>> even_policy(7, [None, None])
    (4, 3)
    """
    each, rest = divmod(num_layers, len(stages))
    return tuple(each + (i < rest) for i in range(len(stages)))


def find_policy(job: ResolvedJob, asked: str | Policy, given: Mapping[str, Policy]) -> tuple[str, Policy]:
    """Give the name and the policy that was asked for; raises InputError (HF219) when there is none of that name."""
    if not isinstance(asked, str):
        return getattr(asked, "__name__", "given"), asked
    return asked, _named_policy(job, asked, given)


def _named_policy(job: ResolvedJob, name: str, given: Mapping[str, Policy]) -> Policy:
    if name in given:
        return given[name]
    if name == "even":
        return even_policy
    installed = {entry.name: entry for entry in entry_points(group=GROUP)}
    if name in installed:
        return cast(Policy, installed[name].load())
    module, colon, function = name.partition(":")
    if colon:
        try:
            return cast(Policy, getattr(importlib.import_module(module), function))
        except (ImportError, AttributeError) as error:
            raise InputError(_unknown(job, name, str(error), "")) from error
    known = ["even", *given, *installed]
    raise InputError(_unknown(job, name, f"known policies: {', '.join(sorted(known))}", nearest(name, known)))


def ask_policy(job: ResolvedJob, name: str, policy: Policy, stages: Sequence[PolicyStage]) -> tuple[int, ...]:
    """Ask a policy for the layers of each stage; raises InputError (HF219) when the answer is no split."""
    answer: object = policy(job.model.num_layers, stages)
    layers = tuple(cast(Sequence[object], answer)) if isinstance(answer, list | tuple) else ()
    whole = all(isinstance(count, int) and count >= 1 for count in layers)
    total = sum(count for count in layers if isinstance(count, int))
    if len(layers) != len(stages) or not whole or total != job.model.num_layers:
        expected = f"{len(stages)} numbers of at least 1 that add up to {job.model.num_layers}"
        raise InputError(
            Finding(
                code="HF219",
                message=f'the policy "{name}" gave no split',
                where="@hf.parallel(policy=)",
                span=span_of(job, "parallel.policy", "parallel"),
                got=repr(answer)[:80],
                expected=expected,
            )
        )
    return tuple(count for count in layers if isinstance(count, int))


def _unknown(job: ResolvedJob, name: str, known: str, hint: str) -> Finding:
    return Finding(
        code="HF219",
        message=f'there is no split policy "{name}"',
        where="@hf.parallel(policy=)",
        span=span_of(job, "parallel.policy", "parallel"),
        got=known,
        hint=hint or f"give a callable, module:function, or an entry point of {GROUP}",
    )
