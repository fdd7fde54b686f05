"""What the judge has to say about one field, before it is given a place in a file."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from hyperflow.errors import Finding, Severity

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mend:
    """A change that surely mends a problem: set the field at `path`, or take it out when `remove` is true."""

    path: Path
    value: Any = None
    remove: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing that a server denies (error), that harms at run time (warning), or that is worth knowing (note).

    `rule` is the name of the rule, `by` the part of the server that denies: `schema`, or the name of a webhook.
    """

    code: str
    rule: str
    path: Path
    message: str
    severity: Severity = "error"
    got: str | None = None
    expected: str | None = None
    hint: str = ""
    by: str = ""
    mend: Mend | None = None

    def finding(self, where: str) -> Finding:
        """Give the problem as a finding at a place."""
        speaker = f" (denied by {self.by})" if self.by and self.severity == "error" else ""
        field = path_text(self.path)
        return Finding(
            code=self.code,
            severity=self.severity,
            message=f"{field}: {self.message}{speaker}" if field else f"{self.message}{speaker}",
            where=where,
            got=self.got,
            expected=self.expected,
            hint=self.hint,
        )


def path_text(path: Iterable[str | int]) -> str:
    """Write a field path as Kubernetes does.

    >>> path_text(("spec", "tasks", 0, "name"))
    'spec.tasks[0].name'
    """
    parts: list[str] = []
    for step in path:
        if isinstance(step, int):
            parts.append(f"[{step}]")
        else:
            parts.append(f".{step}" if parts else step)
    return "".join(parts)


def shown(value: object) -> str:
    """Show a value in a message, long ones cut."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "null"
    content = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    content = content if len(content) <= 80 else content[:77] + "..."
    return f'"{content}"' if isinstance(value, str) else content


def denial(
    code: str, rule: str, path: Path, message: str, by: str, *, got: object = ..., expected: str = "", hint: str = "",
    mend: Mend | None = None,
) -> Problem:  # fmt: skip
    """Make an error: the named part of the server denies the document."""
    seen = None if got is ... else shown(got)
    return Problem(
        code=code,
        rule=rule,
        path=path,
        message=message,
        by=by,
        got=seen,
        expected=expected or None,
        hint=hint,
        mend=mend,
    )


def risk(
    code: str, rule: str, path: Path, message: str, *, got: object = ..., expected: str = "", hint: str = "",
    mend: Mend | None = None,
) -> Problem:  # fmt: skip
    """Make a warning: the server accepts the document, and `message` says what happens at run time."""
    seen = None if got is ... else shown(got)
    return Problem(
        code=code, rule=rule, path=path, message=message, severity="warning", got=seen, expected=expected or None,
        hint=hint, mend=mend,
    )  # fmt: skip


def note(code: str, rule: str, path: Path, message: str, *, hint: str = "") -> Problem:
    """Make a note: the verdict stays as it is."""
    return Problem(code=code, rule=rule, path=path, message=message, severity="note", hint=hint)
