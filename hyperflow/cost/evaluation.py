"""Errors of predictions against measured runs, per source: mean, bias, and how often the interval held."""

from collections.abc import Sequence
from dataclasses import dataclass

from hyperflow.cost.fitting import source_group
from hyperflow.cost.predict import predict_run
from hyperflow.ir.calibration import Calibration
from hyperflow.ir.profile import Profile
from hyperflow.ir.runs import Prediction, Run, SkippedRun


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluatedRun:
    """A run beside its prediction; errors are relative and signed, None where nothing was measured."""

    run: Run
    prediction: Prediction
    time_error: float | None
    memory_error: float | None
    inside_interval: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSummary:
    """Errors of one source, device and kind of run; shares of 1, None where nothing was measured."""

    source: str
    device: str
    kind: str
    rows: int
    skipped: int
    skipped_why: tuple[tuple[str, int], ...]
    time_mape: float | None
    time_bias: float | None
    memory_mape: float | None
    memory_bias: float | None
    memory_worst_under: float | None
    interval_coverage: float | None
    calibrated: bool | None


def evaluate_run(run: Run, calibration: Calibration | None = None, profile: Profile | None = None) -> EvaluatedRun:
    """Predict one run and compare."""
    prediction = predict_run(run, calibration, profile)
    seconds, memory = run.measured_seconds, run.measured_bytes
    return EvaluatedRun(
        run=run,
        prediction=prediction,
        time_error=prediction.seconds / seconds - 1 if seconds else None,
        memory_error=prediction.memory_bytes / memory - 1 if memory else None,
        inside_interval=prediction.seconds_low <= seconds <= prediction.seconds_high if seconds else None,
    )


def summarise(evaluated: Sequence[EvaluatedRun], skipped: Sequence[SkippedRun]) -> tuple[SourceSummary, ...]:
    """One summary per source, device and kind, in the order of the table; skipped rows by their source alone."""
    groups: dict[tuple[str, str, str], list[EvaluatedRun]] = {}
    for item in evaluated:
        key = (source_group(item.run.source), _device_name(item.run), item.run.kind)
        groups.setdefault(key, []).append(item)
    reasons: dict[str, dict[str, int]] = {}
    for row in skipped:
        counts = reasons.setdefault(source_group(row.source), {})
        counts[row.reason] = counts.get(row.reason, 0) + 1
    summaries = [_summary(*key, members) for key, members in groups.items()]
    summaries += [_skipped_summary(source, counts) for source, counts in reasons.items()]
    return tuple(summaries)


def mean_absolute(values: Sequence[float | None]) -> float | None:
    """Mean of the absolute values that are there."""
    known = [abs(value) for value in values if value is not None]
    return sum(known) / len(known) if known else None


def mean(values: Sequence[float | None]) -> float | None:
    """Mean of the values that are there."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _device_name(run: Run) -> str:
    return " + ".join(dict.fromkeys(device.name for device in run.stage_devices))


def _summary(source: str, device: str, kind: str, members: Sequence[EvaluatedRun]) -> SourceSummary:
    memory = [item.memory_error for item in members if item.memory_error is not None]
    held = [item.inside_interval for item in members if item.inside_interval is not None]
    return SourceSummary(
        source=source,
        device=device,
        kind=kind,
        rows=len(members),
        skipped=0,
        skipped_why=(),
        time_mape=mean_absolute([item.time_error for item in members]),
        time_bias=mean([item.time_error for item in members]),
        memory_mape=mean_absolute(memory),
        memory_bias=mean(memory),
        memory_worst_under=min(memory) if memory else None,
        interval_coverage=sum(held) / len(held) if held else None,
        calibrated=all(item.prediction.calibrated for item in members),
    )


def _skipped_summary(source: str, counts: dict[str, int]) -> SourceSummary:
    return SourceSummary(
        source=source,
        device="",
        kind="skipped",
        rows=0,
        skipped=sum(counts.values()),
        skipped_why=tuple(sorted(counts.items())),
        time_mape=None,
        time_bias=None,
        memory_mape=None,
        memory_bias=None,
        memory_worst_under=None,
        interval_coverage=None,
        calibrated=None,
    )
