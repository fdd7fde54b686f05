"""What the decorators of one function have collected so far, before any of it is checked."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from hyperflow.dsl.positions import keyword_spans, user_frame
from hyperflow.errors import Finding, SourceSpan, nearest

ATTRIBUTE = "__hyperflow_draft__"
F = TypeVar("F", bound=Callable[..., Any])


@dataclass(slots=True)
class Draft:
    """Values and places by decorator name (`parallel`, `on` ...); `findings` are mistakes seen while collecting."""

    parts: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    spans: dict[str, SourceSpan] = field(default_factory=dict[str, SourceSpan])
    patches: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    findings: list[Finding] = field(default_factory=list[Finding])


def draft_of(function: Callable[..., Any]) -> Draft:
    """Give the function's draft, made on first use."""
    draft: Draft | None = getattr(function, ATTRIBUTE, None)
    if draft is None:
        draft = Draft()
        setattr(function, ATTRIBUTE, draft)
    return draft


def collect(part: str, values: dict[str, Any], unknown: dict[str, Any]) -> Callable[[F], F]:
    """Make the decorator that stores `values` as `part`; called by the public decorators only.

    A repeated decorator and unknown keywords become findings.
    """
    spans = keyword_spans(user_frame())

    def decorate(function: F) -> F:
        draft = draft_of(function)
        if part in draft.parts:
            draft.findings.append(_repeated(part, spans.get("")))
        draft.findings += [_unknown_keyword(part, name, values, spans) for name in unknown]
        draft.parts[part] = {name: value for name, value in values.items() if value is not UNSET}
        draft.spans |= {f"{part}.{name}" if name else part: span for name, span in spans.items()}
        return function

    return decorate


def _repeated(part: str, span: SourceSpan | None) -> Finding:
    return Finding(
        code="HF111",
        message=f"@hf.{part} is given twice",
        where=f"@hf.{part}",
        span=span,
        hint=f"keep one @hf.{part} with all its keywords",
    )


def _unknown_keyword(part: str, name: str, values: dict[str, Any], spans: dict[str, SourceSpan]) -> Finding:
    known = ", ".join(sorted(values))
    return Finding(
        code="HF110",
        message=f"@hf.{part} has no keyword {name!r}",
        where=f"@hf.{part}({name}=)",
        got=name,
        expected=f"one of {known}",
        span=spans.get(name),
        hint=nearest(name, values) or f"keywords are {known}",
    )


class _Unset:
    def __repr__(self) -> str:
        return "..."


UNSET: Any = _Unset()
"""Marks a keyword that the user left out, so that the record's own default holds."""
