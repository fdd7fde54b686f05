"""What the user of run-local chose, and what a run ended in."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hyperflow.errors import Finding, UsageError

_KILL = re.compile(r"(?P<cluster>[^/]+)/(?P<index>\d+)@(?P<seconds>\d+(?:\.\d+)?)")


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


def parse_kills(texts: Sequence[str]) -> tuple[Kill, ...]:
    """Read `cluster/index@seconds`; raises UsageError (HF453) for anything else."""
    found = [(text, _KILL.fullmatch(text)) for text in texts]
    _refuse("--kill", [text for text, match in found if match is None], "CLUSTER/INDEX@SECONDS, such as shanghai/0@5")
    return tuple(
        Kill(cluster=match["cluster"], index=int(match["index"]), seconds=float(match["seconds"]))
        for _, match in found
        if match is not None
    )


def parse_delays(texts: Sequence[str], clusters: Sequence[str]) -> tuple[Delay, ...]:
    """Read `A-B=25ms` (a one-way delay) for clusters of the bundle; raises UsageError (HF453) for anything else."""
    delays: list[Delay] = []
    wrong: list[str] = []
    for text in texts:
        pair, _, amount = text.rpartition("=")
        names = next(
            ((a, b) for a in clusters for b in clusters if a != b and f"{a}-{b}" == pair),
            None,
        )
        milliseconds = amount.removesuffix("ms")
        if names is None or not amount.endswith("ms") or not re.fullmatch(r"\d+(\.\d+)?", milliseconds):
            wrong.append(text)
            continue
        delays.append(Delay(clusters=frozenset(names), one_way_seconds=float(milliseconds) / 1000))
    _refuse("--delay", wrong, f"A-B=25ms with clusters of the bundle ({', '.join(clusters)})")
    return tuple(delays)


def _refuse(option: str, wrong: Sequence[str], expected: str) -> None:
    if wrong:
        raise UsageError(
            Finding(
                code="HF453",
                message=f"cannot read {option} {wrong[0]}",
                where=option,
                got=", ".join(wrong),
                expected=expected,
                hint=f"write {option} {expected.split(',')[0]}",
            )
        )
