"""From what the decorators collected to one checked TrainingJob; every mistake becomes a finding at its keyword."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from hyperflow.dsl.draft import Draft
from hyperflow.dsl.fleet import LoadedFleet
from hyperflow.dsl.wrong_values import by_keyword, nearest_span, wrong_value
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
    where: Sequence[object] = parts.get("on", {}).get("where", ())
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
    told = [finding for item in where if isinstance(item, LoadedFleet) for finding in item.findings]
    return job.model_copy(update={"sources": dict(draft.spans), "findings": (*findings, *told)})


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
    links = _links(values.get("links", ()), draft, findings)
    wrong = [item for item in where if not isinstance(item, Fleet | Cluster)]
    clusters = [c for item in where if isinstance(item, Fleet | Cluster) for c in _clusters_of(item)]
    twice = sorted({c.name for c in clusters if sum(other.name == c.name for other in clusters) > 1})
    if wrong or twice:
        problem = f"{wrong[0]!r} is no fleet or cluster" if wrong else f"cluster {twice[0]!r} is given twice"
        hint = 'give hf.Cluster("name", ...) or hf.Fleet.load("fleet.yaml")'
        findings.append(_not_combined(problem, "fleets and clusters with distinct names", hint, draft.spans.get("on")))
    fleets = [item for item in where if isinstance(item, Fleet)]
    fleet = Fleet(
        clusters=tuple(clusters),
        links=(*links, *(link for item in fleets for link in item.links)),
        versions=fleets[0].versions if fleets else Fleet().versions,
    )
    rest = {name: value for name, value in values.items() if name not in ("where", "links")}
    return {**rest, "fleet": fleet}


def _links(given: object, draft: Draft, findings: list[Finding]) -> tuple[Link, ...]:
    items: list[object] = list(given) if isinstance(given, list | tuple) else [given]  # pyright: ignore[reportUnknownArgumentType] - any list
    wrong = [item for item in items if not isinstance(item, Link)]
    if wrong:
        hint = 'give links=[hf.link("a", "b", gbps=100, rtt_ms=25)]'
        span = draft.spans.get("on.links") or draft.spans.get("on")
        findings.append(_not_combined(f"links= holds {wrong[0]!r}, which is no link", "a list of links", hint, span))
    return tuple(item for item in items if isinstance(item, Link))


def _not_combined(problem: str, expected: str, hint: str, span: SourceSpan | None) -> Finding:
    return Finding(code="HF114", message=f"@hf.on: {problem}", where="@hf.on", span=span, expected=expected, hint=hint)


def _clusters_of(item: Fleet | Cluster) -> tuple[Cluster, ...]:
    return item.clusters if isinstance(item, Fleet) else (item,)


def _wrong_values(error: ValidationError, draft: Draft) -> list[Finding]:
    absent = {"model", "on"} - set(draft.parts)
    groups = by_keyword(error.errors(), 2)
    return [_wrong(path, items, draft.spans) for path, items in groups.items() if path[0] not in absent]


def _wrong(path: tuple[str, ...], items: Sequence[ErrorDetails], spans: Mapping[str, SourceSpan]) -> Finding:
    """Tell a wrong value in the user's names: durations without `_seconds`, variables by their own name."""
    whole = len(path) == 1 or path[0] in ("labels", "annotations")
    part, keyword = ("job", path[0]) if whole else (path[0], path[-1])
    keyword = keyword.removesuffix("_seconds")
    deepest = max(items, key=lambda item: len(item["loc"]))
    steps = [str(step) for step in deepest["loc"]]
    if path == ("env", "variables"):
        keyword = steps[2] if len(steps) > 2 else keyword
    names = [".".join(steps[:length]) for length in range(len(steps), 1, -1)]
    place = nearest_span(spans, [*names, f"{part}.{keyword}", part, "job"])
    return wrong_value("hf.patch" if part == "patches" else f"@hf.{part}", keyword, items, place)
