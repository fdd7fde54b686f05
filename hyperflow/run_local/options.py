"""What the user of run-local chose, and what a run ended in."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path

from hyperflow.errors import Finding, UsageError

_DELAY = re.compile(r"(?P<milliseconds>\d+(?:\.\d+)?)ms")
_KILL = re.compile(r"(?P<cluster>[^/]+)/(?P<index>\d+)@(?P<seconds>\d+(?:\.\d+)?)s?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Kill:
    """Kill the pod `index` of a cluster once, so many seconds after the start, or when it is up if that is later."""

    cluster: str
    index: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Delay:
    """The one-way delay between two clusters, in seconds."""

    clusters: frozenset[str]
    one_way_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """Faults to rehearse, limits, and where relative paths start.

    Pods start in an order and with pauses up to `start_spread_seconds` drawn from `seed`. `timeout_seconds` ends the
    whole run.
    """

    work_dir: Path
    kills: tuple[Kill, ...] = ()
    delays: tuple[Delay, ...] = ()
    start_spread_seconds: float = 0.0
    seed: int = 0
    timeout_seconds: float = 3600.0
    max_processes: int = 16
    run_init_containers: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class PodResult:
    """How a pod ended: its exit code (None: stopped by the run) and its log file."""

    name: str
    exit_code: int | None
    log: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildResult:
    """How a child ended."""

    name: str
    cluster: str
    phase: str
    retries: int
    reason: str
    pods: tuple[PodResult, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """How the job ended: COMPLETED or FAILED."""

    job: str
    state: str
    children: tuple[ChildResult, ...]


def parse_kills(texts: Sequence[str], pods: Sequence[tuple[str, int]]) -> tuple[Kill, ...]:
    """Read `cluster/index@seconds` for pods (cluster, index) of the bundle; raises UsageError (HF453) for the rest."""
    kills: list[Kill] = []
    wrong: list[str] = []
    for text in texts:
        match = _KILL.fullmatch(text)
        if match is None or (match["cluster"], int(match["index"])) not in pods:
            wrong.append(text)
            continue
        kills.append(Kill(cluster=match["cluster"], index=int(match["index"]), seconds=float(match["seconds"])))
    names = [f"{cluster}/{index}" for cluster, index in pods]
    shown = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
    _refuse("--kill", wrong, f"CLUSTER/INDEX@SECONDS with a pod of the bundle ({shown})", f"{names[0]}@5")
    return tuple(kills)


def parse_delays(texts: Sequence[str], clusters: Sequence[str]) -> tuple[Delay, ...]:
    """Read `A-B=25ms` (a one-way delay) for clusters of the bundle; raises UsageError (HF453) for the rest."""
    delays: dict[frozenset[str], Delay] = {}
    wrong: list[str] = []
    for text in texts:
        pair, _, amount = text.rpartition("=")
        names = next((frozenset((a, b)) for a, b in permutations(clusters, 2) if f"{a}-{b}" == pair), None)
        match = _DELAY.fullmatch(amount)
        if names is None or match is None or names in delays:
            wrong.append(text)
            continue
        delays[names] = Delay(clusters=names, one_way_seconds=float(match["milliseconds"]) / 1000)
    example = "-".join(clusters[:2]) if len(clusters) > 1 else "A-B"
    expected = f"A-B=25ms, each pair once, with clusters of the bundle ({', '.join(clusters)})"
    _refuse("--delay", wrong, expected, f"{example}=25ms")
    return tuple(delays.values())


def _refuse(option: str, wrong: Sequence[str], expected: str, example: str) -> None:
    if wrong:
        raise UsageError(
            Finding(
                code="HF453",
                message=f"cannot use {option} {wrong[0]}",
                where=option,
                got=", ".join(wrong),
                expected=expected,
                hint=f"write {option} {example}",
            )
        )
