"""Public calls: wrong arguments become findings at the call, never a TypeError or a ValidationError."""

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import ParamSpec, TypeVar

from pydantic import ValidationError

from hyperflow.dsl.positions import keyword_spans, user_frame
from hyperflow.dsl.wrong_values import by_keyword, nearest_span, wrong_value
from hyperflow.errors import Finding, InputError, SourceSpan, nearest

P = ParamSpec("P")
R = TypeVar("R")


def public(name: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Make the function answer wrong arguments with InputError; `name` is what the user calls, such as `hf.link`.

    HF110 unknown keyword, HF127 arguments that do not match the signature, HF112 wrong value.
    """

    def wrap(function: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(function)

        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                signature.bind(*args, **kwargs)
            except TypeError as error:
                raise InputError(_misfits(name, signature, args, kwargs, str(error))) from None
            try:
                return function(*args, **kwargs)
            except ValidationError as error:
                spans = keyword_spans(user_frame())
                groups = by_keyword(error.errors(), 1)
                raise InputError(
                    wrong_value(name, path[0], items, nearest_span(spans, (path[0], "")))
                    for path, items in groups.items()
                ) from None

        return call

    return wrap


def _misfits(
    name: str, signature: inspect.Signature, args: tuple[object, ...], kwargs: Mapping[str, object], problem: str
) -> list[Finding]:
    spans = keyword_spans(user_frame())
    parameters = signature.parameters.values()
    keywords = [p.name for p in parameters if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)]
    open_ended = any(p.kind is p.VAR_KEYWORD for p in parameters)
    findings = [
        Finding(
            code="HF110",
            message=f"{name} has no keyword {keyword!r}",
            where=f"{name}({keyword}=)",
            span=spans.get(keyword),
            got=keyword,
            expected=f"one of {', '.join(sorted(keywords))}",
            hint=nearest(keyword, keywords) or f"keywords are {', '.join(sorted(keywords))}",
        )
        for keyword in kwargs
        if keyword not in keywords and not open_ended
    ]
    return findings or [_wrong_call(name, keywords, args, problem, spans)]


def _wrong_call(
    name: str, keywords: list[str], args: tuple[object, ...], problem: str, spans: Mapping[str, SourceSpan]
) -> Finding:
    bare = len(args) == 1 and inspect.isfunction(args[0])
    reason = "it is used without parentheses" if bare else problem.replace(" keyword-only", "")
    return Finding(
        code="HF127",
        message=f"{name} is called wrongly: {reason}",
        where=name,
        span=spans.get(""),
        got=f"{len(args)} positional" if args else None,
        expected=f"{name}({', '.join(f'{keyword}=' for keyword in keywords)})",
        hint=f"write {'@' if bare else ''}{name}({'...' if bare else 'keyword=value, ...'})",
    )
