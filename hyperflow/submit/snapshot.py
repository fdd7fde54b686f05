"""Everything that one look at a job shows, read at one time; the state machine judges it without asking again."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hyperflow.errors import Finding, InputError
from hyperflow.json_tree import dig, mapping, sequence, text
from hyperflow.submit.plane import Lister, Plane
from hyperflow.submit.queue_line import QueueView
from hyperflow.submit.queue_views import read_global_view, read_member_view
from hyperflow.submit.refusals import RefusedError
from hyperflow.submit.server_kinds import (
    BINDING,
    CONFIG_MAP,
    EVENT,
    HYPERJOB,
    JOB,
    POD,
    POD_GROUP,
    POLICY,
    PRIORITY_CLASS,
    QUEUE,
    ServerKind,
)  # fmt: skip

Json = dict[str, Any]
JOB_LABEL = "hyperflow.io/job"
BUNDLE_LABEL = "hyperflow.io/bundle"
HYPERJOB_LABEL = "volcano.sh/hyperjob-name"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberView:
    """What a member shows of the job's children; `line` where one of them waits for the cluster's scheduler."""

    jobs: tuple[Json, ...] = ()
    pod_groups: tuple[Json, ...] = ()
    pods: tuple[Json, ...] = ()
    line: QueueView | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """One look. What could not be read is None (`queues`, `priority_classes`, `bindings`) or absent (`members`).

    `bindings` are all of the namespace; `line` is the dispatcher's, read where it holds a child back. A single-cluster
    job has no bindings and its own server is the member with the empty name.
    """

    name: str
    namespace: str
    job: str = ""
    hyperjob: Json | None = None
    jobs: tuple[Json, ...] = ()
    bindings: tuple[Json, ...] | None = ()
    queues: Mapping[str, Json] | None = None
    priority_classes: Mapping[str, int] | None = None
    events: tuple[Json, ...] = ()
    members: Mapping[str, MemberView] = field(default_factory=dict[str, MemberView])
    unreadable: tuple[str, ...] = ()
    expected: tuple[str, ...] = ()
    line: QueueView | None = None

    @property
    def children_selector(self) -> str:
        """The label selector of the job's children on the plane."""
        return f"{HYPERJOB_LABEL if self.hyperjob else BUNDLE_LABEL}={self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobName:
    """A submitted job: the declared name, the name with its content hash, and how it is carried."""

    job: str
    name: str
    namespace: str


def find_job(plane: Plane, wanted: str, namespace: str, *, remains: bool = False) -> JobName:
    """Find a job by its declared name or its full name; `remains` also finds one of which only its files are left.

    Raises InputError: HF514 where there is none, HF519 where the declared name has several bundles.
    """
    found: dict[str, JobName] = {}
    for kind in (HYPERJOB, JOB, *([CONFIG_MAP] if remains else [])):
        for item in _readable(plane, kind, namespace, BUNDLE_LABEL):
            labels = mapping(dig(item, "metadata", "labels"))
            job, name = text(labels.get(JOB_LABEL)), text(labels.get(BUNDLE_LABEL))
            if wanted in (job, name):
                found[name] = JobName(job=job, name=name, namespace=namespace)
    if len(found) == 1:
        return next(iter(found.values()))
    if not found:
        raise InputError(
            Finding(
                code="HF514",
                message=f"no job {wanted!r} in namespace {namespace}",
                where=f"context {plane.context}",
                hint="hyperflow submit BUNDLE submits one; --namespace and --context choose where to look",
            )
        )
    raise InputError(
        Finding(
            code="HF519",
            message=f"{wanted!r} names {len(found)} submitted jobs",
            got=", ".join(sorted(found)),
            expected="one of them",
            hint="give the full name",
        )
    )


def _readable(plane: Lister, kind: ServerKind, namespace: str, labels: str = "") -> list[Json]:
    """List what the server serves; a member serves no HyperJob and a plane may serve no PodGroup."""
    try:
        return plane.find(kind, namespace, labels)[0]
    except RefusedError as error:
        if error.refusal.meaning == "no-kind":
            return []
        raise


def read_snapshot(plane: Lister, job: JobName) -> Snapshot:
    """Read everything about a job. Only its own objects must be readable; the rest is noted as unreadable."""
    hyperjob = next(
        (o for o in _readable(plane, HYPERJOB, job.namespace, f"{BUNDLE_LABEL}={job.name}") if _name(o) == job.name),
        None,
    )
    labels = f"{HYPERJOB_LABEL}={job.name}" if hyperjob else f"{BUNDLE_LABEL}={job.name}"
    jobs = _readable(plane, JOB, job.namespace, labels)
    unreadable: list[str] = []
    bindings = _optional(plane, BINDING, job.namespace, unreadable)
    queues = _optional(plane, QUEUE, "", unreadable)
    classes = _optional(plane, PRIORITY_CLASS, "", unreadable)
    events = _optional(plane, EVENT, job.namespace, unreadable) or []
    names = {_name(item) for item in jobs} | {f"{_name(item)}-job" for item in jobs} | {job.name}
    return Snapshot(
        name=job.name,
        namespace=job.namespace,
        job=job.job,
        hyperjob=hyperjob,
        jobs=tuple(jobs),
        bindings=None if bindings is None else tuple(bindings),
        queues=None if queues is None else {_name(item): item for item in queues},
        priority_classes=None if classes is None else {_name(item): int(item.get("value") or 0) for item in classes},
        events=tuple(event for event in events if text(dig(event, "involvedObject", "name")) in names),
        members=_members(plane, job, hyperjob, jobs, bindings or [], unreadable),
        unreadable=tuple(dict.fromkeys(unreadable)),
        expected=() if hyperjob else tuple(_promised(plane, job)),
        line=read_global_view(plane, job.namespace) if _is_held_back(jobs, bindings or []) else None,
    )


def _is_held_back(jobs: list[Json], bindings: list[Json]) -> bool:
    ours = {f"{_name(item)}-job" for item in jobs}
    return any(_name(b) in ours and dig(b, "spec", "suspension", "scheduling") is True for b in bindings)


def read_stages(plane: Lister, job: JobName) -> list[Json]:
    """Give the stages of the plan that the job was launched with, from its launch files; none where unreadable."""
    for item in _optional(plane, CONFIG_MAP, job.namespace, [], labels=f"{BUNDLE_LABEL}={job.name}") or []:
        try:
            plan = json.loads(text(dig(item, "data", "plan.json")) or "{}")
        except ValueError:
            continue
        if stages := [mapping(stage) for stage in sequence(dig(plan, "stages"))]:
            return stages
    return []


def _promised(plane: Lister, job: JobName) -> list[str]:
    """Names of the Jobs that the bundle's own policies select: only they tell that one was never applied."""
    return [
        text(dig(selector, "name"))
        for policy in _readable(plane, POLICY, job.namespace, f"{BUNDLE_LABEL}={job.name}")
        for selector in sequence(dig(policy, "spec", "resourceSelectors"))
        if dig(selector, "kind") == "Job" and text(dig(selector, "name"))
    ]


def _members(
    plane: Lister, job: JobName, hyperjob: Json | None, jobs: list[Json], bindings: list[Json], unreadable: list[str]
) -> dict[str, MemberView]:
    names = {_name(item) for item in jobs}
    if hyperjob is None and not any(_name(b).removesuffix("-job") in names for b in bindings):
        return {"": _member_view(plane, job, names, unreadable, "")}
    views: dict[str, MemberView] = {}
    for binding in bindings:
        child = _name(binding).removesuffix("-job")
        for cluster in (text(dig(item, "name")) for item in sequence(dig(binding, "spec", "clusters"))):
            if child in names and cluster and cluster not in views:
                missing: list[str] = []
                view = _member_view(plane.member(cluster), job, names, missing, cluster)
                unreadable += missing
                if not missing:
                    views[cluster] = view
    return views


def _member_view(plane: Lister, job: JobName, names: set[str], unreadable: list[str], cluster: str) -> MemberView:
    where = f" of {cluster}" if cluster else ""
    jobs = _optional(plane, JOB, job.namespace, unreadable, where)
    groups = _optional(plane, POD_GROUP, job.namespace, unreadable, where) if jobs is not None else None
    ours_only = f"{BUNDLE_LABEL}={job.name}"
    pods = _optional(plane, POD, job.namespace, unreadable, where, ours_only) if jobs is not None else None
    ours = [item for item in jobs or [] if _name(item) in names]
    groups = [g for g in groups or [] if _begins_with_one(_name(g), names)]
    waits = any(text(dig(g, "status", "phase")) in ("", "Pending", "Inqueue") for g in groups)
    return MemberView(
        jobs=tuple(ours),
        pod_groups=tuple(groups),
        pods=tuple(pods or []),
        line=read_member_view(plane, cluster, job.namespace) if waits else None,
    )


def _begins_with_one(name: str, names: set[str]) -> bool:
    """Whether a PodGroup's name is that of a job, with its uid behind."""
    parts = name.split("-")
    return any("-".join(parts[:count]) in names for count in range(1, len(parts)))


def _optional(
    plane: Lister, kind: ServerKind, namespace: str, unreadable: list[str], where: str = "", labels: str = ""
) -> list[Json] | None:
    try:
        return plane.find(kind, namespace, labels)[0]
    except RefusedError as error:
        if error.refusal.meaning == "no-kind" and not where:
            return []
        unreadable.append(f"{kind.resource}{where} ({error.refusal.meaning})")
        return None


def _name(item: Json) -> str:
    return text(dig(item, "metadata", "name"))
