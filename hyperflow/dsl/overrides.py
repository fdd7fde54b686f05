"""`--set parallel.tp=4`: typed changes to a declaration from the command line."""

from collections.abc import Sequence
from typing import Any

import yaml

from hyperflow.dsl.draft import Draft
from hyperflow.errors import Finding, InputError, SourceSpan, nearest
from hyperflow.spec.training_job import (
    Checkpoint,
    Data,
    Environment,
    Guard,
    ModelRequest,
    Parallelism,
    Placement,
    Topology,
    TrainingJob,
)

_PARTS = {
    "model": ModelRequest,
    "data": Data,
    "parallel": Parallelism,
    "topology": Topology,
    "on": Placement,
    "checkpoint": Checkpoint,
    "guard": Guard,
    "env": Environment,
}
_JOB_FIELDS = {"name", "image", "queue", "priority", "namespace", "retries", "labels", "annotations"}


def apply_overrides(draft: Draft, settings: Sequence[str]) -> Draft:
    """Give a draft with each `path=value` set; values are read as YAML scalars or flow collections.

    Raises InputError (HF118) for text without `=` or an unknown path, with the nearest known one.
    """
    parts = {name: dict(values) for name, values in draft.parts.items()}
    spans = dict(draft.spans)
    findings: list[Finding] = []
    known = set(_known_settings())
    for setting in settings:
        path, equals, text = setting.partition("=")
        if not equals or path not in known:
            findings.append(_unknown_setting(setting, path, known))
            continue
        part, field = path.split(".", 1)
        parts.setdefault(part, {})[field] = _value(text)
        spans[path] = SourceSpan(file="--set", line=1, column=len(path) + 2, width=len(text), text=setting)
    if findings:
        raise InputError(findings)
    return Draft(parts=parts, spans=spans, patches=draft.patches, findings=draft.findings)


def type_of_setting(path: str) -> Any:
    """Give the type of what a path such as `parallel.tp` takes; raises InputError (HF118) for an unknown one."""
    known = _known_settings()
    if path not in known:
        raise InputError(_unknown_setting(path, path, set(known)))
    return known[path]


def _known_settings() -> dict[str, Any]:
    known: dict[str, Any] = {}
    for part, record in _PARTS.items():
        for field, info in record.model_fields.items():
            # the user writes every="20m", the record holds seconds
            duration = field.endswith("_seconds")
            known[f"{part}.{field.removesuffix('_seconds')}"] = str if duration else info.annotation
    del known["on.fleet"]  # that is --fleet
    return known | {f"job.{field}": TrainingJob.model_fields[field].annotation for field in _JOB_FIELDS}


def _value(text: str) -> Any:
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        return text


def _unknown_setting(setting: str, path: str, known: set[str]) -> Finding:
    fault = f"unknown path {path!r}" if "=" in setting else "there is no =VALUE"
    return Finding(
        code="HF118",
        message=f"cannot set {setting!r}: {fault}",
        where=f"--set {setting}",
        got=path,
        expected="PATH=VALUE with a path such as parallel.tp",
        hint=(f"write {path}=VALUE" if path in known else nearest(path, known))
        or "paths look like parallel.tp, job.queue, model.seq",
    )
