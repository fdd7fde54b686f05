"""The source of a step's component: a thin function with typed inputs whose body calls the installed package."""

import linecache
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from hyperflow.kfp_steps.inputs import NO_DEFAULT, LateInput


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What a step's component has besides its late inputs; `body` is a function of component_body.

    Its options have the types of their defaults.
    """

    body: str
    summary: str
    options: Mapping[str, str | float | bool]
    outputs: Mapping[str, str]
    results: str


PLAN_OPTIONS = {"context": "", "plan_at": "compile", "fleet_file": ""}
TRAIN = Shape(
    body="train",
    summary="Train with HyperFlow over one or more clusters and follow the job to its end.",
    options={
        "run_id": "",
        "backend": "plane",
        **PLAN_OPTIONS,
        "work_dir": "",
        "poll_seconds": 15.0,
        "queue_timeout_seconds": 0.0,
        "run_timeout_seconds": 0.0,
        "on_cancel": "delete",
        "on_failure": "delete",
        "must_complete": True,
    },
    outputs={
        "checkpoint": "Model",
        "plan": "HTML",
        "timeline": "Markdown",
        "metrics": "Metrics",
        "status": "Artifact",
    },
    results='[("state", str), ("predicted_step_seconds", float), ("checkpoint_uri", str)]',
)
PLAN = Shape(
    body="plan",
    summary="Plan with HyperFlow and say how long a step would take, or why there is no plan.",
    options=PLAN_OPTIONS,
    outputs={"plan": "HTML", "metrics": "Metrics"},
    results='[("feasible", bool), ("predicted_step_seconds", float), ("reason", str)]',
)
TAKEN = frozenset({"job", "values", "task_config", "dsl", "NamedTuple", "body", *TRAIN.options, *TRAIN.outputs})


def component_function(
    shape: Shape, name: str, inputs: Mapping[str, LateInput], defaults: Mapping[str, object], *, with_task_config: bool
) -> Callable[..., Any]:
    """Make the component's function; kfp reads its source, which is kept where `inspect` finds it."""
    source = component_text(shape, name, inputs, defaults, with_task_config=with_task_config)
    file = f"<hyperflow step {name}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    scope: dict[str, Any] = {"__name__": file}
    exec("from typing import *\nfrom kfp import dsl\n", scope)
    exec(compile(source, file, "exec"), scope)
    function: Callable[..., Any] = scope[name]
    return function


def component_text(
    shape: Shape, name: str, inputs: Mapping[str, LateInput], defaults: Mapping[str, object], *, with_task_config: bool
) -> str:
    """Write the function: what must be given, artifacts, then what has a default."""
    must = {key: late for key, late in inputs.items() if late.default is NO_DEFAULT}
    may = {key: late for key, late in inputs.items() if late.default is not NO_DEFAULT}
    options = shape.options
    lines = [
        f"def {name}(",
        "    job: dict,",
        *[f"    {key}: {_annotation(late)}," for key, late in must.items()],
        *[f"    {key}: dsl.Output[dsl.{kind}]," for key, kind in shape.outputs.items()],
        *[f"    {key}: {_annotation(late)} = {late.default!r}," for key, late in may.items()],
        *[f"    {key}: {type(usual).__name__} = {_default(key, usual, defaults)!r}," for key, usual in options.items()],
        *["    task_config: dsl.TaskConfig = None,"] * with_task_config,
        f') -> NamedTuple("Outputs", {shape.results}):',
        f'    """{shape.summary}"""',
        f"    from hyperflow.kfp_steps.component_body import {shape.body} as body",
        "",
        "    return body(",
        "        job=job,",
        "        values={",
        *[f"            {late.target!r}: {key}{'.uri' * late.is_artifact}," for key, late in inputs.items()],
        "        },",
        *[f"        {key}={key}," for key in (*options, *shape.outputs)],
        *["        task_config=task_config,"] * with_task_config,
        "    )",
        "",
    ]
    return "\n".join(lines)


def _default(name: str, usual: str | float | bool, defaults: Mapping[str, object]) -> object:
    given = defaults.get(name, usual)
    return float(given) if isinstance(usual, float) and isinstance(given, int) else given


def _annotation(late: LateInput) -> str:
    return f"dsl.Input[dsl.{late.kind}]" if isinstance(late.kind, str) else late.kind.__name__
