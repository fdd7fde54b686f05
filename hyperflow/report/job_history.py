"""What a job went through, told from its live objects and events: waiting, running, restarts, evictions, failures.

Sources: a vcjob's `status.conditions` (one entry a phase, with its time), creation times, and events. Definitions stand
in DEFINITIONS, which every output shows.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any

from hyperflow.json_tree import dig, is_mapping, mapping, sequence, text

Json = dict[str, Any]
Interval = tuple[float, float]
ENDED = ("Completed", "Failed", "Aborted", "Terminated")
EVICTIONS = ("Evict", "Evicted", "Preempted", "TaintManagerEviction")
DEFINITIONS = {
    "wall time": "from the submission to the end of the job, or to the last thing known of it",
    "waiting": "from the submission until all children ran together for the first time",
    "running": "seconds in which all children ran at the same time",
    "available": "running over wall time: neither goodput nor ETTR can be more; only a log tells the steps that count",
    "evicted": "pods that a scheduler, a kubelet or a taint took away",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class JobHistory:
    """Times are epoch seconds, durations seconds; None where the objects do not tell.

    `failures` are (child, phase, seconds since the submission). `evictions` are the times of evicted pods.
    """

    submitted_at: float | None
    ended_at: float | None
    waiting_seconds: float | None
    running_seconds: float | None
    restarts: int
    failures: tuple[tuple[str, str, float], ...]
    evictions: tuple[float, ...]
    children: tuple[str, ...]

    @property
    def wall_seconds(self) -> float | None:
        """From the submission to the end, or to the last thing known."""
        if self.submitted_at is None or self.ended_at is None or self.ended_at <= self.submitted_at:
            return None
        return self.ended_at - self.submitted_at

    @property
    def available(self) -> float | None:
        """The share of the wall time in which all children ran."""
        wall = self.wall_seconds
        return None if wall is None or self.running_seconds is None else self.running_seconds / wall


def read_history(objects: Sequence[object], name: str, until: float | None = None) -> JobHistory | None:
    """Tell the history of the job with this full or declared name; None where no object is its own.

    `until` is the time of the look for a job that still runs; without it, the latest time that stands anywhere.
    """
    found = [item for item in objects if is_mapping(item)]
    jobs = {_name(job): job for job in found if _is_vcjob(job) and _belongs(job, name)}
    whole = [job for job in found if job.get("kind") == "HyperJob" and _belongs(job, name)]
    if not jobs and not whole:
        return None
    events = [e for e in found if e.get("kind") == "Event" and _is_about(e, [*jobs, *map(_name, whole)])]
    phases = {child: _phases(job) for child, job in jobs.items()}
    created = [at for job in (*whole, *jobs.values()) if (at := moment(dig(job, "metadata", "creationTimestamp")))]
    submitted = min(created, default=None)
    has_ended = bool(jobs) and all(told and told[-1][0] in ENDED for told in phases.values())
    times = [at for told in phases.values() for _, at in told]
    latest = max([*times, *(() if has_ended else (_time(e) for e in events))], default=None)
    ended = latest if has_ended or until is None else until
    # a plane may show a child's phase without the time at which it began: then nothing is known of its running
    untimed = any(dig(job, "status", "state", "phase") and not phases[child] for child, job in jobs.items())
    known = bool(phases) and ended is not None and not untimed
    running = _together([_running(told, ended or 0.0) for told in phases.values()]) if known else None
    return JobHistory(
        submitted_at=submitted,
        ended_at=ended,
        waiting_seconds=running[0][0] - submitted if running and submitted is not None else None,
        running_seconds=None if running is None else sum(end - begin for begin, end in running),
        restarts=sum(_restarts(job, phases[child]) for child, job in jobs.items()),
        failures=tuple(
            sorted(
                (child, phase, at - (submitted or 0.0))
                for child, told in phases.items()
                for phase, at in told
                if phase in ENDED[1:]
            )
        ),
        evictions=tuple(sorted(_evictions(events, found, list(jobs)))),
        children=tuple(sorted(jobs)),
    )


def moment(value: object) -> float | None:
    """Read a time of Kubernetes as epoch seconds."""
    try:
        return datetime.fromisoformat(text(value)).timestamp()
    except ValueError:
        return None


def _is_vcjob(item: Json) -> bool:
    return item.get("kind") == "Job" and text(item.get("apiVersion")).startswith("batch.volcano.sh")


def _belongs(item: Json, name: str) -> bool:
    labels = mapping(dig(item, "metadata", "labels"))
    keys = ("hyperflow.io/job", "hyperflow.io/bundle", "volcano.sh/hyperjob-name")
    # a pod template's labels tell of a child that carries none itself
    of_pods = mapping(dig(item, "spec", "tasks", 0, "template", "metadata", "labels"))
    return name in (_name(item), *(labels.get(k) for k in keys), *(of_pods.get(k) for k in keys))


def _is_about(event: Json, names: Iterable[str]) -> bool:
    """Whether an event is about one of the objects, or a pod or PodGroup of one, whose names begin alike."""
    about = text(dig(event, "involvedObject", "name"))
    return any(about == name or about.startswith(f"{name}-") for name in names)


def _phases(job: Json) -> list[tuple[str, float]]:
    """The phases of a vcjob with the times at which they began, in order; the present one last."""
    told = [
        (text(dig(c, "status")), at)
        for c in sequence(dig(job, "status", "conditions"))
        if (at := moment(dig(c, "lastTransitionTime"))) is not None
    ]
    state = mapping(dig(job, "status", "state"))
    now, at = text(state.get("phase")), moment(state.get("lastTransitionTime"))
    if now and at is not None and (not told or told[-1][0] != now):
        told.append((now, at))
    return sorted((item for item in told if item[0]), key=lambda item: item[1])


def _running(phases: Sequence[tuple[str, float]], until: float) -> list[Interval]:
    following = [*phases, ("", until)]
    return [(at, max(then, at)) for (phase, at), (_, then) in pairwise(following) if phase in ("Running", "Completing")]


def _together(each: Sequence[list[Interval]]) -> list[Interval]:
    """The times at which all have an interval."""
    common = each[0]
    for other in each[1:]:
        common = [
            (max(a, c), min(b, d)) for a, b in common for c, d in other if max(a, c) < min(b, d)
        ]  # fmt: skip
    return common


def _restarts(job: Json, phases: Sequence[tuple[str, float]]) -> int:
    retries = dig(job, "status", "retryCount")
    seen = sum(phase == "Restarting" for phase, _ in phases)
    return max(seen, retries if isinstance(retries, int) else 0)


def _evictions(events: Iterable[Json], objects: Iterable[Json], children: Sequence[str]) -> list[float]:
    """One time for each pod that was taken away; a pod that says so itself and has no event counts too."""
    found: dict[tuple[str, float], int] = {}
    for event in events:
        if text(event.get("reason")) in EVICTIONS and dig(event, "involvedObject", "kind") == "Pod":
            count = event.get("count")
            found[text(dig(event, "involvedObject", "name")), _time(event)] = count if isinstance(count, int) else 1
    told = {pod for pod, _ in found}
    for pod in objects:
        if pod.get("kind") != "Pod" or dig(pod, "status", "reason") not in EVICTIONS or _name(pod) in told:
            continue
        if dig(pod, "metadata", "labels", "volcano.sh/job-name") in children:
            found[_name(pod), moment(dig(pod, "metadata", "deletionTimestamp")) or 0.0] = 1
    return [at for (_, at), count in found.items() for _ in range(count)]


def _time(event: Json) -> float:
    given = (event.get("lastTimestamp"), event.get("eventTime"), event.get("firstTimestamp"))
    return next((at for value in given if (at := moment(value)) is not None), 0.0)


def _name(item: Json) -> str:
    return text(dig(item, "metadata", "name"))
