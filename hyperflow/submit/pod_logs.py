"""The log of one pod of a job, wherever its child runs."""

from collections.abc import Iterator
from dataclasses import dataclass

from hyperflow.errors import Finding, InputError, nearest
from hyperflow.json_tree import dig, sequence, text
from hyperflow.submit.plane import Plane
from hyperflow.submit.snapshot import JobName, read_snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class PodOfJob:
    """One pod: `part` is what people type (stage group or cluster, slash, index), `rank` its node rank."""

    part: str
    cluster: str
    namespace: str
    name: str
    index: int
    phase: str
    rank: int | None


def list_pods(plane: Plane, job: JobName) -> tuple[tuple[PodOfJob, ...], tuple[str, ...]]:
    """Give all pods of a job in rank order, and what could not be read."""
    snapshot = read_snapshot(plane, job)
    found: list[PodOfJob] = []
    for cluster, view in snapshot.members.items():
        for pod in view.pods:
            labels = dig(pod, "metadata", "labels")
            child = text(dig(labels, "volcano.sh/job-name"))
            index = int(text(dig(labels, "volcano.sh/task-index"), "0") or 0)
            group = child.removeprefix(f"{job.name}-").rpartition("-")[0] or child
            found.append(
                PodOfJob(
                    part=f"{group}/{index}",
                    cluster=cluster,
                    namespace=job.namespace,
                    name=text(dig(pod, "metadata", "name")),
                    index=index,
                    phase=text(dig(pod, "status", "phase"), "Pending"),
                    rank=_rank(pod, index),
                )
            )
    found.sort(key=lambda pod: (pod.rank is None, pod.rank or 0, pod.part))
    return tuple(found), snapshot.unreadable


def _rank(pod: object, index: int) -> int | None:
    """The node rank, from the offset that is baked into the pod's environment."""
    for container in sequence(dig(pod, "spec", "containers")):
        for variable in sequence(dig(container, "env")):
            if dig(variable, "name") == "HF_NODE_RANK_OFFSET" and text(dig(variable, "value")).isdigit():
                return int(dig(variable, "value")) + index
    return None


def find_pod(plane: Plane, job: JobName, part: str | None) -> PodOfJob:
    """Find a pod by `group/index`, `cluster/index` or pod name; None gives rank 0.

    Raises InputError (HF520) with the list of parts.
    """
    pods, unreadable = list_pods(plane, job)
    for pod in pods:
        wanted = (pod.part, f"{pod.cluster}/{pod.index}", pod.name)
        if part in wanted or (part is None and pod.rank == 0):
            return pod
    if part is None and len(pods) == 1:
        return pods[0]
    parts = [pod.part for pod in pods]
    raise InputError(
        Finding(
            code="HF520",
            message=f"job {job.name} has no pod {part!r}" if part else f"job {job.name} shows no pod of rank 0",
            got=", ".join(parts[:20]) or f"no pods; not readable: {', '.join(unreadable) or 'nothing'}",
            expected="one of them",
            hint=nearest(part or "", parts) or f"hyperflow status {job.name} says whether it runs",
        )
    )


def read_log(plane: Plane, pod: PodOfJob, *, follow: bool = False, tail: int | None = None) -> Iterator[str]:
    """Yield the lines of a pod's log."""
    server = plane.member(pod.cluster) if pod.cluster else plane
    yield from server.log_lines(pod.namespace, pod.name, follow=follow, tail=tail)
