"""The judge: what one server would answer to one document, and what would happen at run time. Pure."""

import copy
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

from hyperflow.admission.kind_rules import kind_problems
from hyperflow.admission.mutations import MUTATIONS, differences
from hyperflow.admission.problem import Problem
from hyperflow.admission.rules import metadata
from hyperflow.admission.rules.case import Case
from hyperflow.admission.state import ServerState, group_of
from hyperflow.admission.structure import unknown_fields, violations, with_defaults, without_nulls
from hyperflow.admission.tables import SERVERS, Kind, KindTable, Server
from hyperflow.json_tree import is_mapping, text

Verdict = Literal["accepted", "risky", "denied"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The answer of one server: its problems, what it adds (by path), and the object as it would be stored."""

    server: Server
    verdict: Verdict
    problems: tuple[Problem, ...]
    added: dict[str, Any] = field(default_factory=dict[str, Any])
    stored: dict[str, Any] = field(default_factory=dict[str, Any])


def full_name(document: dict[str, Any]) -> str:
    """Give `group/version/kind` of a document."""
    version = text(document.get("apiVersion")).rpartition("/")[2]
    return f"{group_of(document)}/{version}/{text(document.get('kind'))}"


def servers_of(document: dict[str, Any]) -> tuple[Server, ...]:
    """Give the servers that serve the document's kind; none for a kind that is not judged."""
    return SERVERS.get(f"{group_of(document)}/{text(document.get('kind'))}", ())


def judge(
    document: dict[str, Any], server: Server, state: ServerState, table: KindTable, old: dict[str, Any] | None = None
) -> Judgement:
    """Judge a document as a strict create, or as an update of `old`.

    The kind must be one of `servers_of`; a version that is not served is denied. Nothing is changed in place.
    """
    kind = table.find(full_name(document))
    if kind is None:
        return Judgement(server=server, verdict="denied", problems=(_no_version(document, table),))
    problems = unknown_fields(document, kind.shape)
    stored = _received(document, kind)
    before = _received(old, kind) if old is not None else None
    if before is not None:
        _mutate(before, kind, server, created=True)
    _mutate(stored, kind, server, created=old is None)
    case = Case(group_kind=kind.group_kind, document=stored, posted=document, old=before, server=server, state=state)
    problems += violations(stored, kind.shape)
    problems += [problem for rule in metadata.RULES for problem in rule(case)]
    problems += metadata.existence(case, kind.namespaced)
    problems += kind_problems(case, kind, table)
    unique = _unique(problems)
    return Judgement(
        server=server,
        verdict=verdict_of(unique),
        problems=unique,
        added=differences(_comparable(document), _comparable(stored)),
        stored=stored,
    )


def verdict_of(problems: Iterable[Problem]) -> Verdict:
    """Give the verdict that follows from the worst problem."""
    severities = {problem.severity for problem in problems}
    return "denied" if "error" in severities else "risky" if "warning" in severities else "accepted"


def _received(document: dict[str, Any], kind: Kind) -> dict[str, Any]:
    """Give the document as the API server reads it: without stray nulls and status, with defaults."""
    stored = without_nulls(copy.deepcopy(document), kind.shape)
    if kind.has_status:
        stored.pop("status", None)
    with_defaults({name: stored[name] for name in kind.shape.fields if name in stored}, kind.shape)
    if kind.namespaced and is_mapping(stored.get("metadata")):
        stored["metadata"].setdefault("namespace", "default")
    return stored


def _mutate(document: dict[str, Any], kind: Kind, server: Server, *, created: bool) -> None:
    mutation: Callable[[dict[str, Any], Any, Server], None] | None = MUTATIONS.get(kind.group_kind)
    if mutation is not None and (created or kind.group.endswith("karmada.io")):
        mutation(document, kind.shape, server)
        with_defaults({name: document[name] for name in kind.shape.fields if name in document}, kind.shape)


def _comparable(document: dict[str, Any]) -> dict[str, Any]:
    """Leave out what the server always rewrites: the status and the namespace."""
    tree = {name: value for name, value in document.items() if name != "status"}
    if is_mapping(tree.get("metadata")):
        tree["metadata"] = {name: value for name, value in tree["metadata"].items() if name != "namespace"}
    return tree


def _no_version(document: dict[str, Any], table: KindTable) -> Problem:
    served = table.versions(f"{group_of(document)}/{text(document.get('kind'))}")
    group = group_of(document)
    return Problem(
        code="HF806",
        rule="version",
        path=("apiVersion",),
        message=f"this version of {text(document.get('kind'))} is not served",
        got=text(document.get("apiVersion")),
        expected=", ".join(f"{group}/{version}" for version in served),
        hint=f"write apiVersion: {group}/{served[-1]}" if served else "",
        by="the API server",
    )


def _unique(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Drop a second word on the same field by a later stage, and sort by severity and path."""
    kept: dict[tuple[str, str, str], Problem] = {}
    said: set[tuple[tuple[str | int, ...], str]] = set()
    for problem in problems:
        same_field = (problem.path, problem.severity)
        late = problem.by.startswith("the webhook") and same_field in said
        if not late:
            kept.setdefault((problem.rule, str(problem.path), problem.severity), problem)
        said.add(same_field)
    order = {"error": 0, "warning": 1, "note": 2}
    return tuple(sorted(kept.values(), key=lambda p: (order[p.severity], str(p.path), p.rule)))
