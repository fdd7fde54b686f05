"""Submitting a bundle: look, ask the server dryly, then apply in order. A repeat adopts what is there."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from hyperflow.errors import Finding, InfeasibleError, InputError, raise_errors
from hyperflow.inventory.bundle_reader import BundleDocument, StoredBundle, read_bundle
from hyperflow.json_tree import dig, text
from hyperflow.submit.delete_job import delete_job
from hyperflow.submit.live_diff import Change, changes
from hyperflow.submit.live_schemas import check_live_schemas
from hyperflow.submit.plane import Plane, connect
from hyperflow.submit.refusals import RefusedError
from hyperflow.submit.server_kinds import HYPERJOB, JOB, PRIORITY_CLASS, QUEUE, kind_of
from hyperflow.submit.snapshot import BUNDLE_LABEL, JOB_LABEL, JobName
from hyperflow.submit.states import JobStatus
from hyperflow.submit.watch import Limits, wait_for

Deed = Literal["created", "adopted"]
QUEUE_SECONDS = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """What a submit did: each object and whether it was made now or found; `status` when it was waited for."""

    job: JobName
    objects: tuple[tuple[str, Deed], ...]
    findings: tuple[Finding, ...] = ()
    status: JobStatus | None = None


def submit_bundle(
    folder: Path,
    *,
    context: str | None = None,
    wait: bool = False,
    replace: bool = False,
    limits: Limits | None = None,
    on_status: Callable[[JobStatus], None] = lambda _status: None,
    on_step: Callable[[str], None] = lambda _step: None,
) -> Submission:
    """Submit the bundle in a folder; prints nothing, `on_status` and `on_step` hear what happens.

    Raises InputError for what the user can mend, InfeasibleError where the target lacks something, and DegradedError
    (HF515, HF516) when waited for and the job ended badly.
    """
    bundle, plane = read_bundle(folder), connect(context)
    submission = apply_bundle(plane, bundle, replace=replace, on_step=on_step)
    if not wait:
        return submission
    status = wait_for(plane, submission.job, limits=limits, on_status=on_status, on_step=on_step)
    return Submission(
        job=submission.job, objects=submission.objects, findings=submission.findings, status=status
    )  # fmt: skip


def apply_bundle(
    plane: Plane,
    bundle: StoredBundle,
    *,
    replace: bool = False,
    queue_seconds: float = QUEUE_SECONDS,
    on_step: Callable[[str], None] = lambda _step: None,
) -> Submission:
    """Check the bundle against the live server, then apply it; nothing is created or replaced when a check fails."""
    job = JobName(job=bundle.job, name=bundle.name, namespace=bundle.namespace)
    findings = check_bundle(plane, bundle, replace=replace, on_step=on_step)
    if replace:
        _check_other_bundles(plane, bundle, replace=True, on_step=on_step)
        _check_immutable(plane, bundle, replace=True, on_step=on_step)
    companions = [document for document in bundle.documents if not document.starts_pods]
    deeds = [_apply(plane, document, on_step) for document in companions]
    for queue in _queues(bundle):
        _await_open_queue(plane, queue, queue_seconds, on_step)
    deeds += [_apply(plane, document, on_step) for document in bundle.jobs]
    return Submission(job=job, objects=tuple(deeds), findings=tuple(findings))


def check_bundle(
    plane: Plane,
    bundle: StoredBundle,
    *,
    replace: bool = False,
    on_step: Callable[[str], None] = lambda _step: None,
) -> list[Finding]:
    """Ask the live server whether it would take the bundle, without effect; raises as `apply_bundle` does.

    With `replace`, jobs that exist are not asked for: the server would judge a change that is never made.
    """
    findings = [*plane.transport.notes, *check_live_schemas(plane, bundle)]
    raise_errors(findings, InfeasibleError)
    if not replace:
        _check_other_bundles(plane, bundle, replace=False, on_step=on_step)
        _check_immutable(plane, bundle, replace=False, on_step=on_step)
    on_step("asking the server, without effect (strict dry run)")
    for document in bundle.documents:
        if replace and document.starts_pods and plane.get(kind_of(document.value), document.name, bundle.namespace):
            continue
        plane.apply(document.value, dry_run=True, force=document.is_shared)
    _check_priority_classes(plane, bundle)
    return findings


def _apply(plane: Plane, document: BundleDocument, on_step: Callable[[str], None]) -> tuple[str, Deed]:
    name = f"{document.kind} {document.name}"
    kind = kind_of(document.value)
    there = plane.get(kind, document.name, text(dig(document.value, "metadata", "namespace")))
    plane.apply(document.value, force=document.is_shared)
    deed: Deed = "created" if there is None else "adopted"
    on_step(f"{deed} {name}")
    return name, deed


def _queues(bundle: StoredBundle) -> list[str]:
    return sorted({text(spec.get("queue"), "default") for _, _, spec in bundle.job_specs})


def _check_other_bundles(plane: Plane, bundle: StoredBundle, *, replace: bool, on_step: Callable[[str], None]) -> None:
    """Refuse (HF511) while another bundle of the same job lives, so that never two copies run."""
    others: set[str] = set()
    for kind in (HYPERJOB, JOB):
        try:
            found = plane.find(kind, bundle.namespace, f"{JOB_LABEL}={bundle.job}")[0]
        except RefusedError as error:
            if error.refusal.meaning in ("no-kind", "absent"):
                continue
            raise
        others |= {text(dig(item, "metadata", "labels", BUNDLE_LABEL)) for item in found}
    for name in sorted(others - {bundle.name, ""}):
        if not replace:
            raise InputError(
                Finding(
                    code="HF511",
                    message=f"job {bundle.job} is already submitted as {name}; a submitted job cannot be changed",
                    where=f"namespace {bundle.namespace}",
                    got=f"the bundle {bundle.name}",
                    expected="no other bundle of this job",
                    hint=f"hyperflow submit {bundle.folder} --replace deletes {name} first",
                )
            )
        on_step(f"deleting {name}")
        delete_job(plane, JobName(job=bundle.job, name=name, namespace=bundle.namespace))


def _check_immutable(plane: Plane, bundle: StoredBundle, *, replace: bool, on_step: Callable[[str], None]) -> None:
    """Refuse (HF511) to change a job of this very name that differs from the bundle."""
    differing: list[Change] = []
    is_there = False
    for document in bundle.jobs:
        live = plane.get(kind_of(document.value), document.name, bundle.namespace)
        if live is not None:
            if dig(live, "metadata", "deletionTimestamp"):
                on_step(f"waiting until the old {document.name} is gone")
                delete_job(plane, JobName(job=bundle.job, name=bundle.name, namespace=bundle.namespace))
                return
            is_there = True
            differing += [change for change in changes(document.value, live) if change.is_immutable]
    if replace and is_there:
        on_step(f"deleting {bundle.name}")
        delete_job(plane, JobName(job=bundle.job, name=bundle.name, namespace=bundle.namespace))
        return
    if not differing:
        return
    raise InputError(
        [
            Finding(
                code="HF511",
                message=f"{bundle.name} exists and differs in {change.path}, which cannot be changed",
                where=f"namespace {bundle.namespace}",
                got=change.live,
                expected=change.wanted,
                hint=f"hyperflow submit {bundle.folder} --replace deletes the job and makes it anew",
            )
            for change in differing[:10]
        ]
    )


def _check_priority_classes(plane: Plane, bundle: StoredBundle) -> None:
    """Refuse (HF526) a PriorityClass that the plane does not know: the dispatcher would skip the job for ever."""
    names = {text(spec.get("priorityClassName")) for _, _, spec in bundle.job_specs} - {""}
    in_bundle = {document.name for document in bundle.documents if document.kind == "PriorityClass"}
    for name in sorted(names - in_bundle):
        try:
            known = plane.get(PRIORITY_CLASS, name)
        except RefusedError as error:
            if error.refusal.meaning == "forbidden":
                continue
            raise
        if known is None:
            raise InfeasibleError(
                Finding(
                    code="HF526",
                    message=f"PriorityClass {name} does not exist here, so the job would wait for ever without a word",
                    where=f"context {plane.context}",
                    hint=f"kubectl create priorityclass {name} --value=N, or leave priority= out",
                )
            )


def _await_open_queue(plane: Plane, name: str, seconds: float, on_step: Callable[[str], None]) -> None:
    """Wait until a queue is Open; raises InfeasibleError (HF512) when it is missing, closed, or too slow."""
    started, told = plane.clock.now(), False
    while True:
        queue = plane.get(QUEUE, name)
        state = text(dig(queue, "status", "state"))
        if state == "Open":
            return
        late = plane.clock.now() - started > seconds
        if queue is None or state in ("Closed", "Closing") or late:
            raise InfeasibleError(_queue_finding(plane, name, queue is None, state, seconds))
        if not told:
            on_step(f"waiting until queue {name} is Open")
            told = True
        plane.clock.sleep(1.0)


def _queue_finding(plane: Plane, name: str, is_missing: bool, state: str, seconds: float) -> Finding:
    got = "no such queue" if is_missing else state or f"no state after {seconds:g} s"
    return Finding(
        code="HF512",
        message=f"queue {name} does not take jobs here",
        where=f"context {plane.context}",
        got=got,
        expected="Open",
        hint=(
            "create the Queue; on a Karmada plane its state comes from the members, which needs volcano-global's "
            "ResourceInterpreterCustomization and its ClusterPropagationPolicy of all queues"
        ),
    )


def deed_counts(objects: Iterable[tuple[str, Deed]]) -> str:
    """Say how many objects were made and found.

    >>> deed_counts([("Job a", "created"), ("Service b", "adopted")])
    '1 created, 1 adopted'
    """
    deeds: list[Any] = [deed for _, deed in objects]
    return f"{deeds.count('created')} created, {deeds.count('adopted')} adopted"
