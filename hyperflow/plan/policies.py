"""Split policies of the user's own: a name among the given ones, an entry point, or `module:function`."""

import importlib
import importlib.util
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import cast

from hyperflow.errors import Finding, InputError, nearest
from hyperflow.ir.resolved import ResolvedJob
from hyperflow.plan.checks import span_of
from hyperflow.user_code import user_code

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
        with _running(name):
            return cast(Policy, installed[name].load())
    module, colon, function = name.partition(":")
    if colon:
        if not _is_module(module):
            raise InputError(_unknown(job, name, f"there is no module {module}", ""))
        with _running(name):
            found = importlib.import_module(module)
        if not hasattr(found, function):
            raise InputError(_unknown(job, name, f"module {module} has no {function}", ""))
        return cast(Policy, getattr(found, function))
    known = ["even", *given, *installed]
    raise InputError(_unknown(job, name, f"known policies: {', '.join(sorted(known))}", nearest(name, known)))


def _is_module(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):  # a parent that is absent, or no legal name
        return False


def _running(name: str) -> AbstractContextManager[None]:
    expected = "a function of the number of layers and the stages, that gives the layers of each"
    return user_code("HF119", f"the policy {name}", "@hf.parallel(policy=)", expected)


def ask_policy(job: ResolvedJob, name: str, policy: Policy, stages: Sequence[PolicyStage]) -> tuple[int, ...]:
    """Ask a policy for the layers of each stage; raises InputError: HF219 for no split, HF119 where it raises."""
    with _running(name):
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
        message=f'there is no split policy "{name}"' + (f": {known}" if ":" in name else ""),
        where="@hf.parallel(policy=)",
        span=span_of(job, "parallel.policy", "parallel"),
        got=known,
        hint=hint or f"give a callable, module:function, or an entry point of {GROUP}",
    )
