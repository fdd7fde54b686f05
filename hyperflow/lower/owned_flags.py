"""Flags that the plan decides: a user may repeat them, not contradict them."""

from collections.abc import Mapping

from hyperflow.errors import Finding
from hyperflow.ir.resolved import ResolvedJob
from hyperflow.lower.launch import as_flag
from hyperflow.spec.launch import ArgumentValue

Flags = Mapping[str, ArgumentValue]


def merge_flags(
    job: ResolvedJob, planned: Flags, defaults: Flags, refused: Mapping[str, str]
) -> tuple[list[str], list[Finding]]:
    """Put the plan's flags, the user's and the defaults together; findings (HF404) where the user contradicts.

    `planned` wins always, `defaults` only where the user says nothing, `refused` maps flags to the reason.
    """
    given: dict[str, ArgumentValue] = {}
    findings: list[Finding] = []
    for written, value in getattr(job.job.launch, "args", {}).items():
        name = normal_flag(written)
        if name in refused:
            findings.append(_refusal(job, written, value, refused[name]))
        elif name in planned:
            if _text(planned[name]) != _text(value):
                findings.append(_refusal(job, written, value, f"the plan says {_text(planned[name])}"))
        else:
            given[name] = value
    flags = {**planned, **{k: v for k, v in defaults.items() if k not in given}, **given}
    return [text for name, value in flags.items() for text in as_flag(name, value)], findings


def normal_flag(name: str) -> str:
    """Bring a flag to its form without leading dashes; underscores become dashes except after a dot.

    >>> normal_flag("--num_layers"), normal_flag("parallelism.pipeline_parallel_degree")
    ('num-layers', 'parallelism.pipeline_parallel_degree')
    """
    bare = name.lstrip("-")
    return bare if "." in bare else bare.replace("_", "-")


def _text(value: ArgumentValue) -> str:
    if value is None or isinstance(value, bool):
        return "on" if value else "off"
    return str(value)


def _refusal(job: ResolvedJob, written: str, value: ArgumentValue, reason: str) -> Finding:
    return Finding(
        code="HF404",
        message=f"the flag --{normal_flag(written)} contradicts the plan: {reason}",
        where="launch.args",
        got=f"{written}={value}" if value is not None else written,
        hint="leave it out; change the decorators instead",
        span=job.job.sources.get(f"launch.args.{written}") or job.job.sources.get("launch"),
    )
