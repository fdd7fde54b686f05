"""Updates of a vcjob: little may change.

Source: volcano pkg/webhooks/admission/jobs/validate (validateJobUpdate) at ed72c7c81, as recorded on 2026-11-30.
"""

import copy
from collections.abc import Iterator
from typing import Any

from hyperflow.admission.amounts import amount
from hyperflow.admission.go_values import round_trip
from hyperflow.admission.mutations import differences
from hyperflow.admission.problem import Path, Problem, denial
from hyperflow.admission.rules.job_view import VALIDATE_JOB, JobView, entries
from hyperflow.admission.shapes import Shape
from hyperflow.json_tree import is_mapping, is_sequence, sequence

_FREE = ("minAvailable", "priorityClassName")
_FREE_IN_TASK = ("minAvailable", "replicas")


def job_update(job: JobView, old: dict[str, Any], shape: Shape) -> Iterator[Problem]:
    """Deny any change other than minAvailable, priorityClassName and the tasks' replicas and minAvailable."""
    total = sum(task.replicas for task in job.tasks)
    for task in job.tasks:
        if task.values.get("minAvailable") is not None and task.min_available > task.replicas:
            yield denial("HF820", "task-min-available", (*task.path, "minAvailable"),
                         f"task {task.name} needs {task.min_available} pods and has {task.replicas}", VALIDATE_JOB,
                         got=task.min_available, expected=f"at most {task.replicas}",
                         hint="lower minAvailable in the same change")  # fmt: skip
    least = job.spec.get("minAvailable")
    if isinstance(least, int) and least > total:
        yield denial("HF820", "job-min-available", (*job.path, "minAvailable"),
                     f"the job needs {least} pods and its tasks have {total}", VALIDATE_JOB, got=least,
                     expected=f"at most {total}", hint="lower minAvailable in the same change")  # fmt: skip
    if len(sequence(old.get("tasks"))) != len(job.tasks):
        yield denial("HF829", "update-tasks", (*job.path, "tasks"), "tasks cannot be added or removed", VALIDATE_JOB,
                     got=len(job.tasks), expected=f"{len(sequence(old.get('tasks')))} tasks",
                     hint="make a new job")  # fmt: skip
        return
    before, after = (_frozen(spec, shape) for spec in (old, job.spec))
    for change, value in differences(before, after).items():
        missing = value == "<removed>"
        yield denial("HF829", "update-field", (*job.path, *_steps(change)),
                     f"cannot be {'left out' if missing else 'changed'} in a running job", VALIDATE_JOB,
                     expected="the old value",
                     hint="write the value that the live object has" if missing else "make a new job")  # fmt: skip


def _frozen(spec: dict[str, Any], shape: Shape) -> dict[str, Any]:
    """Give the part that may not change, in a form in which equal meanings are equal."""
    tree = copy.deepcopy(spec)
    for name in _FREE:
        tree.pop(name, None)
    for _, task in entries(tree.get("tasks")):
        for name in _FREE_IN_TASK:
            task.pop(name, None)
    for _, volume in entries(tree.get("volumes")):
        if "volumeClaim" in volume:
            volume.pop("volumeClaimName", None)
    written = _meaning(round_trip(tree, shape), shape)
    return written if is_mapping(written) else {}


def _meaning(value: Any, shape: Shape) -> Any:
    if shape.is_quantity:
        number = amount(value)
        return value if number is None else str(number)
    if is_mapping(value):
        inner = {k: _meaning(v, shape.fields.get(k, shape.values or Shape())) for k, v in value.items()}
        if not shape.fields:
            return inner
        return {name: child for name, child in inner.items() if child is not None and child != [] and child != {}}
    if is_sequence(value):
        return [_meaning(child, shape.items or Shape()) for child in value]
    return value


def _steps(path: str) -> Path:
    steps: list[str | int] = []
    for part in path.split("."):
        name, *indices = part.replace("]", "").split("[")
        steps += [name] if name else []
        steps += [int(index) for index in indices]
    return tuple(steps)
