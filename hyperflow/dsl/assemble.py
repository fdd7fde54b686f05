"""From what the decorators collected to one checked TrainingJob; every mistake becomes a finding at its keyword."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from hyperflow.dsl.draft import Draft
from hyperflow.errors import Finding, InputError, SourceSpan, raise_errors
from hyperflow.spec.fleet import Cluster, Fleet, Link
from hyperflow.spec.launch import Launch
from hyperflow.spec.training_job import TrainingJob
from hyperflow.units import parse_duration

_REQUIRED = {
    "model": 'add @hf.model(preset="llama-3.1-8b"), config= or layers=',
    "on": "add @hf.on(fleet) or pass --fleet FILE",
}


def assemble(draft: Draft, launch: Launch | None, fleet: Fleet | None = None) -> TrainingJob:
    """Check everything and give the TrainingJob; `fleet` replaces the declared one.

    Raises InputError with all findings: HF110 unknown keyword, HF111 repeated decorator, HF112 wrong value,
    HF113 missing part, HF114 fleets and clusters that do not combine.
    """
    findings = list(draft.findings)
    parts = {name: dict(values) for name, values in draft.parts.items()}
    if fleet is not None:
        parts["on"] = {**parts.get("on", {}), "where": (fleet,), "links": ()}
    findings += [
        Finding(
            code="HF113",
            message=f"the job declares no @hf.{name}",
            where="@hf.job",
            span=draft.spans.get("job"),
            expected=f"@hf.{name}(...)",
            hint=hint,
        )
        for name, hint in _REQUIRED.items()
        if name not in parts
    ]
    placement = _placement(parts.pop("on", {}), draft, findings)
    tree: dict[str, Any] = {
        **parts.pop("job", {}),
        **_durations(parts, draft, findings),
        "on": placement,
        "patches": draft.patches,
        "launch": launch.model_dump() if launch else None,
    }
    tree.setdefault("model", {})
    try:
        job = TrainingJob.model_validate(tree)
    except ValidationError as error:
        raise InputError([*findings, *_wrong_values(error, draft)]) from None
    raise_errors(findings)
    return job.model_copy(update={"sources": dict(draft.spans)})


def _durations(parts: dict[str, dict[str, Any]], draft: Draft, findings: list[Finding]) -> dict[str, dict[str, Any]]:
    """Turn the user's durations (`20m`) into the seconds of the records."""
    renamed = {
        "checkpoint": {"every": "every_seconds", "mtbf": "mtbf_seconds"},
        "guard": {"rendezvous_timeout": "rendezvous_timeout_seconds"},
    }
    for part, names in renamed.items():
        for old, new in names.items():
            if old not in parts.get(part, {}):
                continue
            value = parts[part].pop(old)
            try:
                parts[part][new] = parse_duration(str(value))
            except ValueError as error:
                findings.append(
                    Finding(
                        code="HF112",
                        message=f"@hf.{part}({old}=): {error}",
                        where=f"@hf.{part}({old}=)",
                        span=draft.spans.get(f"{part}.{old}"),
                        got=repr(value),
                        expected="a duration such as 20m",
                        hint='write "20m", "1h30m" or "45s"',
                    )
                )
    return parts


def _placement(values: Mapping[str, Any], draft: Draft, findings: list[Finding]) -> dict[str, Any]:
    where: Sequence[object] = values.get("where", ())
    links: Sequence[Link] = values.get("links", ())
    wrong = [item for item in where if not isinstance(item, Fleet | Cluster)]
    clusters = [c for item in where if isinstance(item, Fleet | Cluster) for c in _clusters_of(item)]
    twice = sorted({c.name for c in clusters if sum(other.name == c.name for other in clusters) > 1})
    if wrong or twice:
        problem = f"{wrong[0]!r} is no fleet or cluster" if wrong else f"cluster {twice[0]!r} is given twice"
        findings.append(
            Finding(
                code="HF114",
                message=f"@hf.on: {problem}",
                where="@hf.on",
                span=draft.spans.get("on"),
                expected="fleets and clusters with distinct names",
                hint='give hf.Cluster("name", ...) or hf.Fleet.load("fleet.yaml")',
            )
        )
    fleets = [item for item in where if isinstance(item, Fleet)]
    fleet = Fleet(
        clusters=tuple(clusters),
        links=(*links, *(link for item in fleets for link in item.links)),
        versions=fleets[0].versions if fleets else Fleet().versions,
    )
    rest = {name: value for name, value in values.items() if name not in ("where", "links")}
    return {**rest, "fleet": fleet}


def _clusters_of(item: Fleet | Cluster) -> tuple[Cluster, ...]:
    return item.clusters if isinstance(item, Fleet) else (item,)


def _wrong_values(error: ValidationError, draft: Draft) -> list[Finding]:
    """One finding per keyword: a value that fits none of several types gives several errors of one place."""
    absent = {"model", "on"} - set(draft.parts)
    by_keyword: dict[tuple[str, ...], list[ErrorDetails]] = {}
    for item in error.errors():
        path = tuple(str(step) for step in item["loc"])
        if path[0] not in absent:
            by_keyword.setdefault(path[:2], []).append(item)
    return [_wrong_value(path, items, draft.spans) for path, items in by_keyword.items()]


def _wrong_value(path: tuple[str, ...], items: Sequence[ErrorDetails], spans: Mapping[str, SourceSpan]) -> Finding:
    *parts, keyword = path
    part = parts[0] if parts else "job"
    messages = list(dict.fromkeys(item["msg"] for item in items))
    expected = " or ".join(message.removeprefix("Input should be ") for message in messages)
    deepest = max(items, key=lambda item: len(item["loc"]))
    steps = [str(step) for step in deepest["loc"]]
    names = [".".join(steps[:length]) for length in range(len(steps), 0, -1)]
    span = next((spans[name] for name in [*names, f"{part}.{keyword}", part, "job"] if name in spans), None)
    got = repr(items[0]["input"]) if items[0]["type"] != "missing" else "nothing"
    return Finding(
        code="HF112",
        message=f"@hf.{part}({keyword}=): {got if len(got) <= 60 else got[:57] + '...'} does not fit",
        where=f"@hf.{part}({keyword}=)",
        span=span,
        got=got if len(got) <= 80 else f"{got[:77]}...",
        expected=f"needs {expected}" if span else expected,
        hint=f"give {keyword}= {expected}",
    )
