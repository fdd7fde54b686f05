"""Training logs: the steps that Megatron-LM, torchtitan or a script of one's own (`step N ... step_seconds S`) write,
and what they say about the time that counted.

The definitions stand in DEFINITIONS, which every output shows.
"""

import re
import statistics
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise

DEFINITIONS = {
    "step seconds": "median of the logged seconds a step, the first record after each start left out (warm-up)",
    "MFU": "the plan's MFU times predicted over measured step time: the plan's model FLOPs and peaks are kept",
    "goodput": "kept steps times the step time, over the wall time from the submission (else the first step) to "
    "the last logged step; a step that a restart rolled back is lost and counts once",
    "ETTR": "effective training time ratio: the logged seconds of the kept steps, over the same wall time",
}
_MEGATRON = re.compile(r"iteration\s+(\d+)\s*/\s*\d+\s*\|.*?elapsed time per iteration \(ms\):\s*([\d.]+)")
_TITAN = re.compile(r"step:\s*(\d+)\s+loss:.*?\btps:\s*([\d,.]+)")
_PLAIN = re.compile(r"\bstep[ =:]+(\d+)\b.*?\bstep_seconds[ =:]+([\d.]+(?:e[+-]?\d+)?)")
_TIME = re.compile(r"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:[.,](\d+))?")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_SECONDS = ((_MEGATRON, 1e-3), (_PLAIN, 1.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRecord:
    """One logged step; `seconds` is per step (None where the log gives tokens per second only), `at` epoch seconds."""

    step: int
    seconds: float | None
    tokens_per_second_per_device: float | None
    at: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollback:
    """A restart: how many kept steps it threw away, and between which two logged moments it fell (None: no times)."""

    lost_steps: int
    after: float | None
    before: float | None

    def holds(self, at: float) -> bool:
        """Whether something at this moment may be its cause."""
        return self.after is not None and self.before is not None and self.after <= at <= self.before


@dataclass(frozen=True, slots=True, kw_only=True)
class LogMeasures:
    """What a log says; ratios are None where the log carries no times."""

    step_seconds: float
    kept_steps: int
    lost_steps: int
    rollbacks: tuple[Rollback, ...]
    wall_seconds: float | None
    goodput: float | None
    ettr: float | None


def read_steps(lines: Iterable[str]) -> Iterator[StepRecord]:
    """Find the step lines of a log, in order; other lines, colours and torchrun prefixes are passed over."""
    for raw in lines:
        line = _COLOUR.sub("", raw)
        stamp = _TIME.search(line)
        at = _epoch(stamp) if stamp else None
        for pattern, seconds_of_one in _SECONDS:
            found = pattern.search(line)
            if found:
                seconds = float(found[2]) * seconds_of_one
                yield StepRecord(step=int(found[1]), seconds=seconds, tokens_per_second_per_device=None, at=at)
                break
        else:
            found = _TITAN.search(line)
            if found:
                rate = float(found[2].replace(",", ""))
                yield StepRecord(step=int(found[1]), seconds=None, tokens_per_second_per_device=rate or None, at=at)


def _epoch(stamp: re.Match[str]) -> float:
    moment = datetime.fromisoformat(f"{stamp[1]}T{stamp[2]}").replace(tzinfo=UTC)
    return moment.timestamp() + (float(f"0.{stamp[3]}") if stamp[3] else 0.0)


def with_seconds(records: Iterable[StepRecord], tokens_per_step_per_device: float | None) -> list[StepRecord]:
    """Turn tokens per second into seconds a step where the batch is known; records without either are dropped."""
    found: list[StepRecord] = []
    for record in records:
        seconds, rate = record.seconds, record.tokens_per_second_per_device
        if seconds is None and rate and tokens_per_step_per_device:
            seconds = tokens_per_step_per_device / rate
        if seconds is not None:
            found.append(StepRecord(step=record.step, seconds=seconds, tokens_per_second_per_device=rate, at=record.at))
    return found


def measure_log(records: list[StepRecord], started_at: float | None = None) -> LogMeasures:
    """Measure a log that has at least one record with seconds; a step number that does not grow is a restart."""
    runs = _runs(records)
    steady = [r.seconds or 0.0 for run in runs for r in (run[1:] or run)]
    step_seconds = statistics.median(steady)
    kept: dict[int, float] = {}
    rollbacks: list[Rollback] = []
    for number, run in enumerate(runs):
        interval = _interval(run, records)
        first = run[0].step - interval + 1
        lost = [step for step in kept if step >= first]
        for step in lost:
            del kept[step]
        if number:
            rollbacks.append(Rollback(lost_steps=len(lost), after=runs[number - 1][-1].at, before=run[0].at))
        before = first - 1
        for record in run:
            for step in range(before + 1, record.step + 1):
                kept[step] = record.seconds or 0.0
            before = record.step
    wall = _wall(records, runs, started_at)
    return LogMeasures(
        step_seconds=step_seconds,
        kept_steps=len(kept),
        lost_steps=sum(rollback.lost_steps for rollback in rollbacks),
        rollbacks=tuple(rollbacks),
        wall_seconds=wall,
        goodput=len(kept) * step_seconds / wall if wall else None,
        ettr=sum(kept.values()) / wall if wall else None,
    )


def _runs(records: list[StepRecord]) -> list[list[StepRecord]]:
    runs: list[list[StepRecord]] = []
    for record in records:
        if not runs or record.step <= runs[-1][-1].step:
            runs.append([])
        runs[-1].append(record)
    return runs


def _interval(run: list[StepRecord], records: list[StepRecord]) -> int:
    """Steps per record: the distance within the run, else within the log; 1 where nothing tells."""
    for found in (run, records):
        gaps = [b.step - a.step for a, b in pairwise(found) if b.step > a.step]
        if gaps:
            return min(min(gaps), run[0].step)
    return 1


def _wall(records: list[StepRecord], runs: list[list[StepRecord]], started_at: float | None) -> float | None:
    times = [record.at for record in records if record.at is not None]
    if not times:
        return None
    first = records[0]
    begin = times[0] - (first.seconds or 0.0) * _interval(runs[0], records)
    wall = times[-1] - (begin if started_at is None else min(started_at, begin))
    return wall if wall > 0 else None
