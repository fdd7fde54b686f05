"""Measured beside predicted: what a plan foresaw, what a training log shows, and what the job's objects tell."""

from collections.abc import Mapping
from typing import Any

from hyperflow.report.job_history import DEFINITIONS as OF_HISTORY
from hyperflow.report.job_history import JobHistory
from hyperflow.report.training_log import DEFINITIONS as OF_LOG
from hyperflow.report.training_log import LogMeasures

Rows = list[tuple[str, str, str]]


def report_document(
    plan: Mapping[str, Any], measures: LogMeasures | None, history: JobHistory | None
) -> dict[str, Any]:
    """Give the report as JSON: `predicted`, `measured` by the log, `history` by objects and events, `definitions`."""
    predicted, mfu = positive(plan.get("step_seconds")), positive(plan.get("mfu"))
    seconds = measures.step_seconds if measures else None
    definitions = (OF_LOG if measures else {}) | (OF_HISTORY if history else {})
    return {
        "predicted": {"step_seconds": predicted, "mfu": mfu},
        "measured": _measured(measures, mfu * predicted / seconds if mfu and predicted and seconds else None),
        "step_seconds_ratio": seconds / predicted if predicted and seconds else None,
        "history": _history(history, measures) if history else None,
        "definitions": definitions,
    }


def positive(value: object) -> float | None:
    """The number where it is one above zero."""
    return float(value) if isinstance(value, int | float) and value > 0 else None


def _measured(measures: LogMeasures | None, mfu: float | None) -> dict[str, Any] | None:
    if measures is None:
        return None
    return {
        "step_seconds": measures.step_seconds,
        "mfu": mfu,
        "goodput": measures.goodput,
        "ettr": measures.ettr,
        "kept_steps": measures.kept_steps,
        "lost_steps": measures.lost_steps,
        "restarts": len(measures.rollbacks),
        "wall_seconds": measures.wall_seconds,
    }


def _history(history: JobHistory, measures: LogMeasures | None) -> dict[str, Any]:
    rollbacks = measures.rollbacks if measures else ()
    evicted = [r for r in rollbacks if any(r.holds(at) for at in history.evictions)]
    lost = {
        "by_eviction": sum(r.lost_steps for r in evicted),
        "by_restart": sum(r.lost_steps for r in rollbacks if r not in evicted),
    }
    return {
        "wall_seconds": history.wall_seconds,
        "waiting_seconds": history.waiting_seconds,
        "running_seconds": history.running_seconds,
        "available": history.available,
        "restarts": history.restarts,
        "evicted_pods": len(history.evictions),
        "failures": [{"child": c, "phase": phase, "after_seconds": at} for c, phase, at in history.failures],
        "lost_steps": lost if measures else None,
    }


def report_rows(document: Mapping[str, Any]) -> Rows:
    """Give the table's rows: what, predicted, measured."""
    predicted, measured, history = document["predicted"], document["measured"], document["history"]
    rows: Rows = []
    if measured:
        rows += [
            ("step seconds", _number(predicted["step_seconds"]), _number(measured["step_seconds"])),
            ("MFU", _percent(predicted["mfu"]), _percent(measured["mfu"])),
            ("goodput", "-", _percent(measured["goodput"])),
            ("ETTR", "-", _percent(measured["ettr"])),
            ("steps kept, lost", "-", f"{measured['kept_steps']}, {measured['lost_steps']}"),
            ("restarts", "-", str(measured["restarts"])),
        ]
    if history:
        seconds = [(name, _number(history[f"{name}_seconds"])) for name in ("wall", "waiting", "running")]
        rows += [(f"{name} seconds", "-", shown) for name, shown in seconds]
        rows.append(("available", "-", _percent(history["available"])))
        if not measured and history["available"] is not None:
            rows.append(("goodput, ETTR", "-", f"at most {_percent(history['available'])}"))
        if not measured and predicted["step_seconds"]:
            rows += [
                ("step seconds", _number(predicted["step_seconds"]), "?"),
                ("MFU", _percent(predicted["mfu"]), "?"),
            ]
        rows.append(("restarts of children", "-", str(history["restarts"])))
        rows.append(("evicted pods", "-", str(history["evicted_pods"])))
        lost = history["lost_steps"]
        if lost:
            rows.append(("lost by eviction, restart", "-", f"{lost['by_eviction']}, {lost['by_restart']}"))
        rows += [
            (f"{f['phase']} {f['child']}", "-", f"after {_number(f['after_seconds'])} s") for f in history["failures"]
        ]
    return rows


def _number(value: float | None) -> str:
    return "?" if value is None else f"{value:.4g}"


def _percent(value: float | None) -> str:
    return "?" if value is None else f"{100 * value:.1f}%"
