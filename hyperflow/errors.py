"""Findings and the exceptions that carry them.

    HyperFlowError            what a user can mend; never a traceback       exit
    |- InputError             the declaration or an input is wrong          1
    |- UsageError             the command line is wrong                     2
    |- InfeasibleError        no plan fits, or a target lacks a field       3
    `- DegradedError          the job is degraded or failed                 5

A pass collects findings and raises once, so that one run reports all of them. The meaning of each code stands in
`catalog/error_texts/*.yaml`, from which docs/errors.md is made.
"""

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Literal

Severity = Literal["error", "warning", "note"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSpan:
    """A stretch of the user's text: 1-based line and column, and the line itself for display.

    `file` is a path, or `Cell [3]` in a notebook.
    """

    file: str
    line: int
    column: int
    width: int = 1
    text: str = ""

    def __str__(self) -> str:
        if self.file.startswith("Cell ["):
            return f"{self.file}, line {self.line}:{self.column}"
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing to tell the user: what was got, what is needed, and what to do.

    `where` is a place in words or `file:line:column`; `span` adds the source line where there is one.
    """

    code: str
    severity: Severity = "error"
    message: str
    where: str = ""
    got: str | None = None
    expected: str | None = None
    hint: str = ""
    span: SourceSpan | None = field(default=None, compare=False)

    def as_json(self) -> dict[str, object]:
        """Give the finding as every JSON document of HyperFlow shows it."""
        document = asdict(self)
        del document["span"]
        document["where"] = self.place
        return document

    @property
    def place(self) -> str:
        """Where the finding is, the exact source position first."""
        return str(self.span) if self.span else self.where

    def as_text(self) -> str:
        """Give the finding as the terminal shows it, source line and caret included."""
        lines = [f"{self.severity}[{self.code}] {self.message}"]
        if self.place:
            lines.append(f"  --> {self.place}")
        if self.span and self.span.text:
            number = str(self.span.line)
            caret = " " * (self.span.column - 1) + "^" * max(1, self.span.width)
            need = f" {self.expected}" if self.expected else ""
            lines += [f"  {number} | {self.span.text}", f"  {' ' * len(number)} | {caret}{need}"]
        elif self.got is not None or self.expected is not None:
            facts = [f"got {self.got}"] * (self.got is not None)
            facts += [f"expected {self.expected}"] * (self.expected is not None)
            lines.append(f"  {', '.join(facts)}")
        if self.hint:
            lines.append(f"  hint: {self.hint}")
        return "\n".join(lines)


class HyperFlowError(Exception):
    """Base of all errors that a user can mend; carries at least one finding."""

    exit_code = 1

    def __init__(self, findings: Finding | Iterable[Finding]) -> None:
        self.findings: tuple[Finding, ...] = (findings,) if isinstance(findings, Finding) else tuple(findings)
        super().__init__("\n".join(finding.as_text() for finding in self.findings))

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows in place of a traceback: the findings."""
        return str(self).splitlines()


class InputError(HyperFlowError):
    """The declaration or an input file is wrong."""


class UsageError(HyperFlowError):
    """The command line is wrong."""

    exit_code = 2


class InfeasibleError(HyperFlowError):
    """No plan satisfies the constraints, or the target lacks a needed field."""

    exit_code = 3


class DegradedError(HyperFlowError):
    """The submitted job is degraded or has failed."""

    exit_code = 5


def raise_errors(findings: Sequence[Finding], error: type[HyperFlowError] = InputError) -> None:
    """Raise `error` with all findings when at least one of them is of severity error."""
    if any(finding.severity == "error" for finding in findings):
        raise error(findings)


def nearest(name: str, known: Iterable[str]) -> str:
    """Give ` did you mean "x"?` for the closest known name, or an empty text.

    >>> nearest("rak", ["rack", "row"])
    'did you mean "rack"?'
    """
    close = difflib.get_close_matches(name, sorted(known), n=1, cutoff=0.6)
    return f'did you mean "{close[0]}"?' if close else ""
