"""A declared job as one JSON value, and back: what a pipeline carries from where it is written to where it runs.

The job itself is base64 text inside. In a STRUCT of kfp every number is a double, null is refused, and text may be
taken for a placeholder; none of that may happen to a declaration.
"""

import base64
import binascii
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from hyperflow.compiler import CompileOptions
from hyperflow.dsl.declared_job import DeclaredJob
from hyperflow.dsl.draft import Draft
from hyperflow.errors import Finding, InputError
from hyperflow.inventory.documents import read_text
from hyperflow.ir.plan import Plan
from hyperflow.json_tree import mapping, sequence, text
from hyperflow.kfp_steps.packed_options import pack_options, unpack_options
from hyperflow.report.plan_json import plan_document
from hyperflow.spec.fleet import Fleet
from hyperflow.spec.launch import Launch
from hyperflow.spec.training_job import Placement, TrainingJob

SCHEMA = "hyperflow.packed-job/v1"
MAX_BYTES = 96 * 1024
"""One argument of a Linux process holds 128 KiB, and the launcher of a pod gets all inputs of a task as one."""

_JOB_FIELDS = ("name", "image", "queue", "priority", "namespace", "retries", "labels", "annotations")
_PARTS = ("model", "data", "parallel", "topology", "checkpoint", "guard", "env")


def pack(
    job: TrainingJob, launch: Launch, base: Path, plan: Plan | None, options: CompileOptions | None = None
) -> dict[str, Any]:
    """Give the job as a JSON object; the model's config file travels inside, `base` is where its path starts.

    `plan` is given for a function that took it: its entry point then holds for that plan only. Mode, calibration,
    profile and templates of the options travel inside too. Raises InputError: HF551 for a split policy that is a
    function, HF552 when the job is too large for a task's input.
    """
    if callable(job.parallel.policy):
        raise InputError(
            Finding(
                code="HF551",
                message="a split policy that is a function cannot travel with a pipeline",
                where="@hf.parallel(policy=)",
                span=job.sources.get("parallel.policy"),
                got=getattr(job.parallel.policy, "__name__", repr(job.parallel.policy)),
                expected="the name of a policy, or layers=",
                hint="plan once here and give the split as layers=",
            )
        )
    content: dict[str, Any] = {
        "job": job.model_dump(mode="json", exclude_defaults=True, exclude={"launch", "sources"}),
        "launch": launch.model_dump(mode="json"),
        "follows": choices_of(plan) if plan else None,
        "config": None,
        "options": pack_options(options or CompileOptions()),
    }
    if job.model.config is not None:
        content["config"] = read_text(base / job.model.config)
        content["job"]["model"]["config"] = Path(job.model.config).name
    data = base64.b64encode(json.dumps(content, ensure_ascii=False).encode()).decode()
    if len(data) > MAX_BYTES:
        raise InputError(
            Finding(
                code="HF552",
                message=f"job {job.name!r} is too large to travel as the input of a task",
                where="hyperflow.kfp_steps.step",
                got=f"{len(data)} bytes",
                expected=f"at most {MAX_BYTES}",
                hint='read the fleet in the step with plan="runtime", name fewer clusters, or give fewer templates',
            )
        )
    return {"schema": SCHEMA, "name": job.name, "data": data}


def open_packed(packed: Mapping[str, Any]) -> dict[str, Any]:
    """Give what is inside a packed job; raises InputError (HF553) for anything that `pack` has not made."""
    if packed.get("schema") != SCHEMA:
        raise InputError(_not_packed(f"schema is {packed.get('schema')!r}"))
    try:
        return mapping(json.loads(base64.b64decode(text(packed.get("data")), validate=True)))
    except (binascii.Error, ValueError) as error:
        raise InputError(_not_packed(str(error))) from None


def unpack(content: Mapping[str, Any], folder: Path, fleet: Fleet | None = None) -> DeclaredJob:
    """Give the job of an opened pack; its config file is written into `folder`, `fleet` replaces the packed one.

    Raises InputError (HF553) for anything that `pack` has not made.
    """
    try:
        launch: Launch = TypeAdapter[Launch](Launch).validate_python(content.get("launch"))
        draft = _draft(mapping(content.get("job")), fleet)
    except ValidationError as error:
        raise InputError(_not_packed(str(error).splitlines()[0])) from None
    config = content.get("config")
    if isinstance(config, str):
        path = folder / Path(text(draft.parts["model"].get("config"), "config.json")).name
        path.write_text(config, encoding="utf-8")
        draft.parts["model"]["config"] = str(path)

    def entry() -> Launch:
        return launch

    def entry_of(_plan: Plan | None) -> Launch:
        return launch

    # the pass that plans knows the framework only where the entry point did not wait for the plan
    return DeclaredJob(entry_of if content.get("follows") else entry, draft)


def options_of(content: Mapping[str, Any], folder: Path) -> CompileOptions:
    """Give the compile options of an opened pack; its templates are written into `folder`.

    Raises InputError (HF553) for anything that `pack` has not made.
    """
    try:
        return unpack_options(mapping(content.get("options")), folder)
    except ValidationError as error:
        raise InputError(_not_packed(str(error).splitlines()[0])) from None


def _draft(job: dict[str, Any], fleet: Fleet | None) -> Draft:
    """The parts as the decorators would have collected them."""
    placement = mapping(job.get("on"))
    declared = Fleet.model_validate(placement.get("fleet", {}))
    where = _with_links(fleet, declared) if fleet is not None else declared
    parts: dict[str, dict[str, Any]] = {
        "job": {name: job[name] for name in _JOB_FIELDS if name in job},
        "on": {
            "where": (where,),
            **{name: placement[name] for name in Placement.model_fields if name in placement and name != "fleet"},
        },
        **{name: dict(mapping(job[name])) for name in _PARTS if name in job},
    }
    if "fallback" in job:
        parts["fallback"] = dict(mapping(job["fallback"]))
    patches = [dict(mapping(patch)) for patch in sequence(job.get("patches"))]
    return Draft(parts=parts, patches=patches)


def _with_links(fleet: Fleet, declared: Fleet) -> Fleet:
    """Give the fleet with the declared links that it does not state itself: a live plane shows none."""
    names = {cluster.name for cluster in fleet.clusters}
    added = [link for link in declared.links if {link.a, link.b} <= names and fleet.link(link.a, link.b) is None]
    return fleet.model_copy(update={"links": (*fleet.links, *added)})


def _not_packed(reason: str) -> Finding:
    return Finding(
        code="HF553",
        message=f"the input `job` is no packed job: {reason}",
        where="job",
        expected=f"what hyperflow.kfp_steps.pack_job gives, schema {SCHEMA}",
        hint="compile the pipeline with the version of HyperFlow that the step runs",
    )


def choices_of(plan: Plan) -> dict[str, Any]:
    """Give what an entry point may depend on: all of the plan that is no prediction."""
    document = plan_document(plan)
    kept = ("degrees", "micro_batch_size", "microbatches", "schedule", "warmup", "recompute", "zero", "allreduce")
    stages = [{key: stage[key] for key in ("cluster", "layers", "nodes", "replica")} for stage in document["stages"]]
    return {**{key: document[key] for key in kept}, "stages": stages}
