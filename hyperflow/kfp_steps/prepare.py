"""From the inputs of a step to a planned or compiled job: unpack, bind what came late, check and plan again."""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hyperflow.compiler import Compilation
from hyperflow.dsl.declared_job import DeclaredJob
from hyperflow.errors import Finding, InputError, UsageError
from hyperflow.inventory.fleet import load_fleet, read_fleet
from hyperflow.json_tree import is_mapping, mapping, sequence, text
from hyperflow.kfp_steps.late_values import NODES, bind, limit_nodes
from hyperflow.kfp_steps.packed_job import choices_of, open_packed, options_of, unpack
from hyperflow.kfp_steps.run_names import RUN_LABEL, name_in_run, run_key
from hyperflow.kfp_steps.task_settings import patches_of
from hyperflow.spec.fleet import Fleet

RUN_TIME, COMPILE_TIME = "runtime", "compile"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobInputs:
    """What a step gets: the packed job, late values by target, the run, and where the fleet comes from.

    `plan` is `compile` (the fleet that was declared) or `runtime` (the live one, read through `context`, or the file
    `fleet_file`). `task` holds the fields of dsl.TaskConfig.
    """

    packed: Mapping[str, Any]
    values: Mapping[str, object] = field(default_factory=dict[str, object])
    run_id: str = ""
    plan: str = COMPILE_TIME
    context: str = ""
    fleet_file: str = ""
    task: Mapping[str, Any] = field(default_factory=dict[str, Any])


def compiled(inputs: JobInputs, stop_after: str | None = None, mode: str = "") -> Compilation:
    """Compile the job with everything bound; `mode` replaces the one that travels with the job.

    Raises HyperFlowError with all findings; HF555 when the plan has changed under an entry point made from the old
    one, HF559 for an unknown `plan`.
    """
    with tempfile.TemporaryDirectory() as folder:
        return _compiled(inputs, Path(folder), stop_after, mode)


def _compiled(inputs: JobInputs, folder: Path, stop_after: str | None, mode: str) -> Compilation:
    fleet = _fleet(inputs)
    content = open_packed(inputs.packed)
    options = options_of(content, folder)
    options = replace(options, mode=mode or options.mode)
    job = _bound(inputs, content, folder, fleet)
    patches = patches_of(inputs.task, job, options)
    if patches:
        declared = mapping(content.get("job"))
        patched = {**declared, "patches": [*sequence(declared.get("patches")), *patches]}
        job = _bound(inputs, {**content, "job": patched}, folder, fleet)
    done = job.compilation(replace(options, stop_after=stop_after))
    _check_follows(content, done)
    return done


def _bound(inputs: JobInputs, content: Mapping[str, Any], folder: Path, fleet: Fleet | None) -> DeclaredJob:
    job = unpack(content, folder, fleet)
    limits = {name.removeprefix(NODES): value for name, value in inputs.values.items() if name.startswith(NODES)}
    if limits:
        job = unpack(content, folder, limit_nodes(job.training_job().on.fleet, limits))
    values = {name: value for name, value in inputs.values.items() if not name.startswith(NODES)}
    return _named(bind(job, values), inputs)


def _fleet(inputs: JobInputs) -> Fleet | None:
    if inputs.plan not in (COMPILE_TIME, RUN_TIME):
        raise UsageError(
            Finding(
                code="HF559",
                message=f"plan cannot be {inputs.plan!r}",
                where="plan",
                got=repr(inputs.plan),
                expected=f"{COMPILE_TIME} or {RUN_TIME}",
                hint="runtime reads the fleet when the step runs",
            )
        )
    if inputs.plan == COMPILE_TIME:
        return None
    if inputs.fleet_file:
        return load_fleet([inputs.fleet_file])[0]
    return live_fleet(inputs.context)


def live_fleet(context: str) -> Fleet:
    """Read the fleet from the plane of a kubeconfig context; raises InputError (HF338) where it cannot be read."""
    from hyperflow.submit.live_inventory import KubernetesServer, fetch_objects

    server = KubernetesServer(context)
    fleet, findings = read_fleet([], [], fetch_objects(server, server.context))
    errors = [finding for finding in findings if finding.severity == "error"]
    if errors:
        raise InputError(errors)
    return fleet


def _named(job: DeclaredJob, inputs: JobInputs) -> DeclaredJob:
    if not inputs.run_id:
        return job
    labels = {**job.training_job().labels, RUN_LABEL: run_key(inputs.run_id)}
    return bind(job, {"job.name": name_in_run(job.name, inputs.run_id, inputs.values), "job.labels": labels})


def _check_follows(content: Mapping[str, Any], done: Compilation) -> None:
    """Refuse a plan other than the one that the entry point was made from."""
    before = content.get("follows")
    if not is_mapping(before) or done.plan is None:
        return
    now = choices_of(done.plan)
    differing = sorted(name for name in now if before.get(name) != now[name])
    if differing:
        raise InputError(
            Finding(
                code="HF555",
                message="the late values change the plan, but the entry point was made from the plan of compile time",
                where=f"{text(done.job.name)}(plan)",
                got=", ".join(f"{name}: {now[name]}" for name in differing)[:200],
                expected=", ".join(f"{name}: {before.get(name)}" for name in differing)[:200],
                hint="let the decorated function take no plan; the pods read it from HF_* and HF_PLAN_FILE",
            )
        )
