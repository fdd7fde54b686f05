"""What a step leaves in the pipeline: the plan as a page, the course of the job, metrics, and its status."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol

from hyperflow.ir.plan import Plan
from hyperflow.kfp_steps.follow import Outcome
from hyperflow.report.training_log import LogMeasures

STATUS_SCHEMA = "hyperflow.step-status/v1"
NEXT = {
    "COMPLETED": (),
    "FAILED": ("read the log above from the first failure on",),
    "DEGRADED": ('on_partial_failure="keep" lets the other parts run on',),
    "TIMED_OUT": ("raise the limit named in the reason, or free what the job waits for",),
}


class Artifact(Protocol):
    """The part of a kfp artifact that a step uses."""

    path: str
    uri: str
    metadata: dict[str, Any]


def write_text(artifact: Artifact, text: str) -> None:
    """Write an artifact's file."""
    path = Path(artifact.path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def point_to(artifact: Artifact, uri: str) -> None:
    """Let an artifact stand for what lies at `uri`, by its URI where kfp lets it and by its metadata everywhere.

    On a cluster kfp's launcher uploads each artifact to its URI and fails the task when that lies outside of the
    pipeline's root (backend/src/v2/component/launcher_v2.go of 2.15), so the artifact stays there and holds the URI.
    """
    artifact.metadata["checkpoint_uri"] = uri
    if "://" in artifact.uri:
        write_text(artifact, json.dumps({"checkpoint_uri": uri}) + "\n")
    else:
        artifact.uri = uri


def metrics_of(
    plan: Plan, measured: LogMeasures | None, outcome: Outcome | None, *, adopted: bool = False
) -> dict[str, float]:
    """Give predicted and measured figures; what nobody measured is left out.

    Measured MFU follows from the predicted one, since a step has the same FLOP. Goodput and ETTR are those of
    `hyperflow report`; where the log carries no times, goodput is over the time that the job ran, which a step that
    took the job over has not seen.
    """
    figures = {
        "predicted_step_seconds": plan.step_seconds,
        "predicted_mfu": plan.mfu,
        "predicted_tokens_per_second": plan.tokens_per_second,
    }
    if outcome is not None:
        figures |= {"ran_seconds": outcome.ran_seconds, "waited_seconds": outcome.waited_seconds}
        if outcome.last.restarts is not None:
            figures["restarts"] = float(outcome.last.restarts)
    if measured is not None:
        figures |= {
            "measured_step_seconds": measured.step_seconds,
            "measured_mfu": plan.mfu * plan.step_seconds / measured.step_seconds,
            "measured_over_predicted": measured.step_seconds / plan.step_seconds,
        }
        goodput = measured.goodput
        if goodput is None and outcome is not None and outcome.ran_seconds > 0 and not adopted:
            goodput = min(1.0, measured.kept_steps * measured.step_seconds / outcome.ran_seconds)
        ratios = {"goodput": goodput, "ettr": measured.ettr}
        figures |= {name: ratio for name, ratio in ratios.items() if ratio is not None}
        figures |= {"kept_steps": float(measured.kept_steps), "lost_steps": float(measured.lost_steps)}
    return {name: float(f"{value:.6g}") for name, value in figures.items()}


def timeline_markdown(name: str, outcome: Outcome, figures: Mapping[str, float]) -> str:
    """Give the course of the job, how its parts ended and its figures as Markdown."""
    rows = [f"| {event.after} | {event.state} | {_cell(event.reason)} |" for event in outcome.events]
    parts = [
        f"| {child.cluster} | {child.phase} | {child.total} | {_cell(child.reason)} |"
        for child in outcome.last.children
    ]
    numbers = [f"| {name} | {value:g} |" for name, value in figures.items()]
    return "\n".join(
        [
            f"# {name}: {outcome.state}",
            "",
            "| after | state | reason |",
            "|---|---|---|",
            *rows,
            "",
            "| cluster | phase | pods | reason |",
            "|---|---|---|---|",
            *parts,
            "",
            "| figure | value |",
            "|---|---|",
            *numbers,
            "",
        ]
    )


def status_text(name: str, adopted: bool, outcome: Outcome, figures: Mapping[str, float]) -> str:
    """Give the status document, with the keys of `hyperflow status` and what the step adds."""
    document = {
        "schema": STATUS_SCHEMA,
        "job": name,
        "state": outcome.state,
        "reason": outcome.reason,
        "adopted": adopted,
        "children": [asdict(child) for child in outcome.last.children],
        "events": [asdict(event) for event in outcome.events],
        "metrics": dict(figures),
        "next": list(NEXT[outcome.state]),
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _cell(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ") or "-"
