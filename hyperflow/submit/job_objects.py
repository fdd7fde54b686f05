"""All live objects and events that tell the history of a job, read once from the plane and its members."""

from collections.abc import Iterable
from typing import Any

from hyperflow.json_tree import dig, text
from hyperflow.submit.plane import Plane
from hyperflow.submit.refusals import RefusedError
from hyperflow.submit.server_kinds import EVENT
from hyperflow.submit.snapshot import JobName, read_snapshot

Json = dict[str, Any]


def read_job_objects(plane: Plane, job: JobName) -> tuple[list[Json], tuple[str, ...]]:
    """Give HyperJob, children, pods and events, and what could not be read.

    A child is taken from its member where that can be read: only there its status holds every phase with its time.
    """
    snapshot = read_snapshot(plane, job)
    unreadable = list(snapshot.unreadable)
    in_members = {_name(item): item for view in snapshot.members.values() for item in view.jobs}
    # the submission is when a child was made on the plane, not when it reached the member: its metadata stays
    objects = [{**in_members.get(_name(item), item), "metadata": item.get("metadata")} for item in snapshot.jobs]
    if snapshot.hyperjob is not None:
        objects.append(snapshot.hyperjob)
    objects += [pod for view in snapshot.members.values() for pod in view.pods]
    objects += snapshot.events
    for cluster in snapshot.members:
        server = plane.member(cluster) if cluster else plane
        try:
            objects += server.find(EVENT, job.namespace)[0]
        except RefusedError as error:
            unreadable.append(f"{EVENT.resource} of {cluster or 'the cluster'} ({error.refusal.meaning})")
    return _once(objects), tuple(dict.fromkeys(unreadable))


def _once(objects: Iterable[Json]) -> list[Json]:
    """Leave out events that two lists hold: a single cluster is plane and member."""
    kept: dict[str, Json] = {}
    for number, item in enumerate(objects):
        kept[text(dig(item, "metadata", "uid")) or str(number)] = item
    return list(kept.values())


def _name(item: Json) -> str:
    return text(dig(item, "metadata", "name"))
