"""Judging of files for `hyperflow lint`: documents in order, each by the servers that serve it."""

import copy
import dataclasses
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from hyperflow.admission.judge import Judgement, judge, servers_of
from hyperflow.admission.problem import Mend, Problem
from hyperflow.admission.state import ServerState, key_of
from hyperflow.admission.tables import KindTable, Server
from hyperflow.errors import Finding, InputError
from hyperflow.inventory.documents import Document, UnreadDocument, scan_documents
from hyperflow.json_tree import dig, is_mapping, is_sequence, text

_Verdict = Literal["accepted", "risky", "denied", "unjudged"]
_HAPPENS_ANYWAY = ("Namespace", "PriorityClass")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerBench:
    """One server to ask: what it holds, and the kinds it serves."""

    server: Server
    state: ServerState
    table: KindTable

    @classmethod
    def holding(cls, server: Server, objects: Iterable[Any], table: KindTable) -> "ServerBench":
        """Make a bench from the objects that the server holds."""
        return cls(server=server, state=ServerState(objects), table=table)


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedDocument:
    """What all servers said to one document; `findings` are placed in the file."""

    file: str
    index: int
    kind: str
    name: str
    verdict: _Verdict
    findings: tuple[Finding, ...]
    denied_by: tuple[Server, ...] = ()
    added: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    problems: tuple[Problem, ...] = ()
    value: dict[str, Any] | None = None
    is_unreadable: bool = False

    def as_json(self) -> dict[str, object]:
        """Give the document's part of the JSON output; each finding also names its rule and the field's path."""
        shown: list[dict[str, object]] = []
        for number, finding in enumerate(self.findings):
            row = finding.as_json()
            if number < len(self.problems):
                row["rule"] = self.problems[number].rule
            shown.append(row)
        return {
            "file": self.file,
            "index": self.index,
            "kind": self.kind or None,
            "name": self.name or None,
            "verdict": self.verdict,
            "denied_by": list(self.denied_by),
            "added": self.added,
            "findings": shown,
        }


def judge_files(
    files: Iterable[str], benches: Iterable[ServerBench], old_objects: Iterable[Any] = ()
) -> Iterator[JudgedDocument]:
    """Judge the documents of the files in order; those that a server accepts count as applied for the next ones."""
    asked = list(benches)
    old = {_identity(value): value for value in old_objects if is_mapping(value)}
    for file in files:
        try:
            for found in scan_documents(file):
                yield judge_found(found, asked, old)
        except InputError as error:
            yield JudgedDocument(
                file=file, index=0, kind="", name="", verdict="denied", findings=error.findings, is_unreadable=True
            )


def judge_found(
    found: Document | UnreadDocument, benches: list[ServerBench], old: dict[tuple[str, ...], dict[str, Any]]
) -> JudgedDocument:
    """Judge one document, or say why it was not."""
    if isinstance(found, UnreadDocument):
        verdict: _Verdict = "unjudged" if found.is_template else "denied"
        return JudgedDocument(
            file=found.file, index=found.index, kind="", name="", verdict=verdict, findings=(found.finding,),
            is_unreadable=not found.is_template,
        )  # fmt: skip
    value = found.value
    if not is_mapping(value) or not text(value.get("kind")) or not text(value.get("apiVersion")):
        return _no_object(found)
    previous = old.get(_identity(value))
    served = [bench for bench in benches if bench.server in servers_of(value)]
    if not served:
        return _unknown_kind(found, value, benches)
    judgements: list[Judgement] = []
    for bench in served:
        judgement = judge(value, bench.server, bench.state, bench.table, previous)
        judgements.append(judgement)
        if judgement.verdict != "denied":
            _apply(bench.state, judgement.stored, previous)
    return _combined(found, value, judgements)


def _apply(state: ServerState, stored: dict[str, Any], previous: dict[str, Any] | None) -> None:
    status = dig(previous, "status")
    state.apply({**stored, "status": status} if is_mapping(status) else stored)


def _identity(value: dict[str, Any]) -> tuple[str, ...]:
    metadata = value.get("metadata")
    namespace = text(dig(metadata, "namespace"), "default")
    return (*key_of(value), namespace, text(dig(metadata, "name")))


def _combined(found: Document, value: dict[str, Any], judgements: list[Judgement]) -> JudgedDocument:
    order: tuple[_Verdict, ...] = ("denied", "risky", "accepted")
    verdicts: list[_Verdict] = [judgement.verdict for judgement in judgements]
    problems: list[Problem] = []
    said: set[tuple[object, ...]] = set()
    for judgement in judgements:
        for problem in judgement.problems:
            key = (problem.rule, problem.path, problem.message)
            if key not in said:
                problems.append(problem)
            said.add(key)
    problems.sort(key=lambda problem: ("error", "warning", "note").index(problem.severity))
    return JudgedDocument(
        file=found.file,
        index=found.index,
        kind=text(value.get("kind")),
        name=text(dig(value, "metadata", "name")),
        verdict=min(verdicts, key=order.index),
        denied_by=tuple(j.server for j in judgements if j.verdict == "denied"),
        added={j.server: j.added for j in judgements if j.verdict != "denied"},
        findings=tuple(_placed(found, problem) for problem in problems),
        problems=tuple(problems),
        value=value,
    )


def _placed(found: Document, problem: Problem) -> Finding:
    if found.source is None:
        return problem.finding(found.file)
    span = found.source.span(found.file, problem.path)
    return dataclasses.replace(problem.finding(str(span)), span=span)


def _no_object(found: Document) -> JudgedDocument:
    """Deny what lacks apiVersion or kind, and leave alone what was never meant to be an object."""
    where = str(found.source.span(found.file)) if found.source else found.file
    keys = set(found.value) if is_mapping(found.value) else set[str]()
    if is_mapping(found.value) and not keys & {"apiVersion", "kind"} and not keys >= {"metadata", "spec"}:
        other = Finding(code="HF807", severity="note", message="no Kubernetes object: not judged", where=where)
        return JudgedDocument(
            file=found.file, index=found.index, kind="", name="", verdict="unjudged", findings=(other,)
        )  # fmt: skip
    finding = Finding(
        code="HF807", message="no Kubernetes object: apiVersion and kind are needed", where=where,
        hint="write both, or leave the file out",
    )  # fmt: skip
    return JudgedDocument(
        file=found.file, index=found.index, kind="", name="", verdict="denied", findings=(finding,), is_unreadable=True
    )


def _unknown_kind(found: Document, value: dict[str, Any], benches: list[ServerBench]) -> JudgedDocument:
    kind = text(value.get("kind"))
    if kind in _HAPPENS_ANYWAY:
        for bench in benches:
            bench.state.apply(value)
    elsewhere = servers_of(value)
    reason = f"is served by the {elsewhere[0]} alone" if elsewhere else "is not a kind that is judged"
    where = str(found.source.span(found.file, ("kind",))) if found.source else found.file
    finding = Finding(
        code="HF804", severity="note", message=f"{value['apiVersion']} {kind} {reason}", where=where, got=kind,
        hint="ask the other server with --server" if elsewhere else "",
    )  # fmt: skip
    return JudgedDocument(
        file=found.file, index=found.index, kind=kind, name=text(dig(value, "metadata", "name")), verdict="unjudged",
        findings=(finding,), value=value,
    )  # fmt: skip


def mended(result: JudgedDocument) -> tuple[dict[str, Any], list[Finding]]:
    """Give the document with all certain mends made, and the findings that are left; a mend is made once."""
    document = copy.deepcopy(result.value or {})
    left: list[Finding] = []
    for number, finding in enumerate(result.findings):
        mend = result.problems[number].mend if number < len(result.problems) else None
        if mend is None or not _make(document, mend):
            left.append(finding)
    return document, [finding for finding in left if finding.severity != "note"]


def _make(document: dict[str, Any], mend: Mend) -> bool:
    *parents, last = mend.path
    place: Any = document
    for step in parents:
        if is_mapping(place) and isinstance(step, str):
            place = place.setdefault(step, {})
        elif is_sequence(place) and isinstance(step, int) and step < len(place):
            place = place[step]
        else:
            return False
    if is_mapping(place) and isinstance(last, str):
        if mend.remove:
            place.pop(last, None)
        else:
            place[last] = mend.value
        return True
    if is_sequence(place) and isinstance(last, int) and last < len(place) and not mend.remove:
        place[last] = mend.value
        return True
    return False
