"""`step(train, ...)`: a declared job as a task of a Kubeflow pipeline."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hyperflow.dsl.declared_job import DeclaredJob
from hyperflow.dsl.options import MODES
from hyperflow.errors import Finding, UsageError
from hyperflow.kfp_steps.component_source import PLAN, TAKEN, TRAIN, Shape, component_function
from hyperflow.kfp_steps.components import settings
from hyperflow.kfp_steps.container_form import container_form
from hyperflow.kfp_steps.inputs import LateInput, check_inputs
from hyperflow.kfp_steps.pack_job import pack_job
from hyperflow.kfp_steps.prepare import COMPILE_TIME, RUN_TIME
from hyperflow.kfp_steps.require_kfp import load_kfp

COMPILED = ("mode", "calibration", "profile", "templates")
"""Options of the compiler, which travel with the job."""
PASSED_ON = {
    "resources": "RESOURCES",
    "env": "ENV",
    "affinity": "KUBERNETES_AFFINITY",
    "tolerations": "KUBERNETES_TOLERATIONS",
    "node_selector": "KUBERNETES_NODE_SELECTOR",
    "volumes": "KUBERNETES_VOLUMES",
}


class Step:
    """A declared job that can be called inside a pipeline; each call gives a task. `component` is the kfp component."""

    def __init__(self, packed: Mapping[str, Any], component: Any, display_name: str, *, named_by_run: bool) -> None:
        self.packed = packed
        self.component = component
        self._display_name = display_name
        self._named_by_run = named_by_run

    def __call__(self, **inputs: Any) -> Any:
        """Add the task to the pipeline under construction; kfp checks names and types here.

        The task is never cached: a job that is not run again leaves no new checkpoint.
        """
        run_id = {"run_id": load_kfp().dsl.PIPELINE_JOB_ID_PLACEHOLDER} if self._named_by_run else {}
        task: Any = self.component(job=dict(self.packed), **run_id, **inputs)
        task.set_caching_options(False)
        return task.set_display_name(self._display_name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Packaging:
    """How a step's pod comes to HyperFlow."""

    image: str | None
    packages: Sequence[str] | None
    container: bool


def step(
    train: DeclaredJob,
    *,
    inputs: Mapping[str, LateInput] | None = None,
    plan: str = COMPILE_TIME,
    pass_on: Sequence[str] = (),
    image: str | None = None,
    packages: Sequence[str] | None = None,
    container: bool = False,
    **options: object,
) -> Step:
    """Make a step of the job.

    `inputs` names what comes late, with `value(...)` and `artifact(...)`. `plan` is `compile` (plan here and now, so
    that mistakes show when the pipeline is compiled, and again in the step with the late values) or `runtime` (the
    step reads the live fleet). `pass_on` lists settings of the task that go to the training pods instead of the
    step's own: env, volumes, tolerations, node_selector, affinity, resources. `image` is an image that has HyperFlow,
    so that nothing is installed in the pod; otherwise `packages` are. With `container` the image needs no kfp either.

    `options` replace the defaults of the component's other inputs, such as backend, on_cancel and
    queue_timeout_seconds; a call may replace them again. Among them are also mode, calibration, profile and templates
    as for the compile verb; what their files hold travels with the job. Raises HyperFlowError for everything that is
    wrong already.
    """
    packaging = Packaging(image=image, packages=packages, container=container)
    return _made(TRAIN, train, dict(inputs or {}), plan, pass_on, packaging, options)


def plan_step(
    train: DeclaredJob,
    *,
    inputs: Mapping[str, LateInput] | None = None,
    plan: str = COMPILE_TIME,
    image: str | None = None,
    packages: Sequence[str] | None = None,
    container: bool = False,
    **options: object,
) -> Step:
    """Make a step that plans the job and runs nothing; arguments as for `step`.

    Its tasks output `feasible`, `predicted_step_seconds`, `reason`, and the page `plan`. A job without a plan does
    not fail the task, so that a pipeline can branch on it.
    """
    packaging = Packaging(image=image, packages=packages, container=container)
    return _made(PLAN, train, dict(inputs or {}), plan, (), packaging, options)


def _made(
    shape: Shape,
    train: DeclaredJob,
    late: dict[str, LateInput],
    plan: str,
    pass_on: Sequence[str],
    packaging: Packaging,
    options: Mapping[str, Any],
) -> Step:
    dsl = load_kfp().dsl
    _check_options(shape, plan, pass_on, options)
    if packaging.container and pass_on:
        raise UsageError(
            Finding(
                code="HF564",
                message="kfp passes the settings of a task on to lightweight components only",
                where="step(pass_on)",
                got=", ".join(pass_on),
                expected="no pass_on with container=True",
                hint="leave container out, or set these in the job's decorators",
            )
        )
    check_inputs(train, late, TAKEN)
    chosen = {name: value for name, value in options.items() if name in COMPILED}
    packed = pack_job(train, plan=plan, **chosen)
    name = re.sub(r"\W", "_", f"{shape.body}_{train.name}")
    defaults = {"plan_at": plan, **{name: value for name, value in options.items() if name not in COMPILED}}
    function = component_function(shape, name, late, defaults, with_task_config=bool(pass_on))
    fields = [getattr(dsl.TaskConfigField, PASSED_ON[setting]) for setting in pass_on]
    image_settings = settings(packaging.image, packaging.packages)
    component = dsl.component(function, **image_settings, task_config_passthroughs=fields or None)
    if packaging.container:
        bound = {name: item.target for name, item in late.items()}
        component = container_form(component, shape.body, bound, packaging.image)
    return Step(packed, component, f"{shape.body} {train.name}", named_by_run="run_id" in shape.options)


def _check_options(shape: Shape, plan: str, pass_on: Sequence[str], options: Mapping[str, object]) -> None:
    allowed = {*shape.options, *COMPILED} - {"run_id", "plan_at"}
    wrong = [("plan", plan, (COMPILE_TIME, RUN_TIME))] if plan not in (COMPILE_TIME, RUN_TIME) else []
    wrong += [("pass_on", setting, tuple(PASSED_ON)) for setting in pass_on if setting not in PASSED_ON]
    mode = options.get("mode", MODES[0])
    wrong += [("mode", mode, MODES)] if mode not in MODES else []
    wrong += [("options", name, tuple(sorted(allowed))) for name in options if name not in allowed]
    if wrong:
        raise UsageError(
            [
                Finding(
                    code="HF562",
                    message=f"a step has no {where} {got!r}",
                    where=f"step({where})",
                    got=repr(got),
                    expected=f"one of {', '.join(known)}",
                    hint="see docs/kfp.md",
                )
                for where, got, known in wrong
            ]
        )
