"""Deleting a job with everything that was made for it: its children, their policies, and its companions.

A HyperJob's children and their policies may outlive it (volcano-global#65), so they are named and awaited, not trusted
to the garbage collector. Objects that other bundles share stay.
"""

from collections.abc import Callable
from typing import Any

from hyperflow.errors import Finding, HyperFlowError
from hyperflow.json_tree import dig, text
from hyperflow.submit.plane import Plane
from hyperflow.submit.refusals import RefusedError
from hyperflow.submit.server_kinds import BINDING, COMPANIONS, HYPERJOB, JOB, POLICY, ServerKind
from hyperflow.submit.snapshot import BUNDLE_LABEL, HYPERJOB_LABEL, JobName

DELETE_SECONDS = 120.0
_Found = tuple[ServerKind, str, str]


def delete_job(
    plane: Plane,
    job: JobName,
    *,
    seconds: float = DELETE_SECONDS,
    on_step: Callable[[str], None] = lambda _step: None,
) -> tuple[str, ...]:
    """Delete a job and wait until nothing of it is left; gives what was deleted, in order.

    Jobs go first, so that no controller makes a child again. Raises HyperFlowError (HF518) naming what is left when
    the time is over. A repeat continues where the last one stopped.
    """
    deleted: list[str] = []
    started, children = plane.clock.now(), set[str]()
    while True:
        left = _left(plane, job, children)
        if not left:
            return tuple(dict.fromkeys(deleted))
        for kind, name, uid in left:
            if kind is not BINDING and plane.delete(kind, name, job.namespace, uid):
                deleted.append(f"{kind.kind} {name}")
                on_step(f"deleted {kind.kind} {name}")
        left = _left(plane, job, children)
        if not left:
            return tuple(dict.fromkeys(deleted))
        if plane.clock.now() - started > seconds:
            raise _not_gone(job, left, seconds)
        plane.clock.sleep(0.5)


def _left(plane: Plane, job: JobName, children: set[str]) -> list[_Found]:
    """What of the job exists, in the order of deletion; learns the children's names on the way."""
    ours = f"{BUNDLE_LABEL}={job.name}"
    found = _find(plane, HYPERJOB, job, ours)
    jobs = [*_find(plane, JOB, job, ours), *_find(plane, JOB, job, f"{HYPERJOB_LABEL}={job.name}")]
    children |= {name for _, name, _ in jobs}
    found += list(dict.fromkeys(jobs))
    of_children = [item for item in _find(plane, POLICY, job, "") if item[1] in children]
    found += list(dict.fromkeys([*of_children, *_find(plane, POLICY, job, ours)]))
    for kind in COMPANIONS:
        found += _find(plane, kind, job, ours)
    bindings = {f"{child}-job" for child in children}
    found += [item for item in _find(plane, BINDING, job, "") if item[1] in bindings] if children else []
    return found


def _find(plane: Plane, kind: ServerKind, job: JobName, labels: str) -> list[_Found]:
    try:
        items: list[dict[str, Any]] = plane.find(kind, job.namespace, labels)[0]
    except RefusedError as error:
        if error.refusal.meaning in ("no-kind", "no-namespace", "absent"):
            return []
        if error.refusal.meaning == "forbidden" and kind is BINDING:
            return []
        raise
    return [(kind, text(dig(item, "metadata", "name")), text(dig(item, "metadata", "uid"))) for item in items]


def _not_gone(job: JobName, left: list[_Found], seconds: float) -> HyperFlowError:
    names = ", ".join(f"{kind.kind} {name}" for kind, name, _ in left[:8])
    return HyperFlowError(
        Finding(
            code="HF518",
            message=f"{len(left)} objects of {job.name} are still there after {seconds:g} s",
            where=f"namespace {job.namespace}",
            got=names,
            expected="nothing",
            hint=f"a finalizer holds them, or a member is down; run hyperflow delete {job.name} again later",
        )
    )
