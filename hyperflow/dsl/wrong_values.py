"""What pydantic found wrong with a keyword's value, told in the user's words and units."""

import re
from collections.abc import Iterable, Mapping, Sequence

from pydantic_core import ErrorDetails

from hyperflow.errors import Finding, SourceSpan

_EXAMPLES = {
    "TierConstraint": 'hf.hard("rack") or hf.soft()',
    "Layer": "hf.Layer(...)",
    "Link": 'hf.link("a", "b", gbps=100)',
}


def by_keyword(errors: Iterable[ErrorDetails], depth: int) -> dict[tuple[str, ...], list[ErrorDetails]]:
    """Group errors by the first `depth` steps of their path: a value that fits none of several types gives several."""
    groups: dict[tuple[str, ...], list[ErrorDetails]] = {}
    for item in errors:
        groups.setdefault(tuple(str(step) for step in item["loc"])[:depth], []).append(item)
    return groups


def wrong_value(call: str, keyword: str, items: Sequence[ErrorDetails], span: SourceSpan | None) -> Finding:
    """Give HF112 for the value of `keyword` in `call` (such as `@hf.parallel`)."""
    place = f"{call}({keyword}=)"
    if items[0]["type"] == "missing":
        return Finding(
            code="HF112",
            message=f"{call} lacks {keyword}=",
            where=place,
            span=span,
            got="nothing",
            expected=f"{keyword}=",
            hint=f"give {call}({keyword}=...)",
        )
    expected = " or ".join(dict.fromkeys(_expected(item) for item in items))
    deepest = max(items, key=lambda item: len(item["loc"]))
    got = _shown(items[0]["input"] if len(items) > 1 else deepest["input"], 80)
    return Finding(
        code="HF112",
        message=f"{place}: {_cut(got, 60)} does not fit",
        where=place,
        span=span,
        got=got,
        expected=f"needs {expected}" if span else expected,
        hint=f"give {keyword}= {expected}",
    )


def nearest_span(spans: Mapping[str, SourceSpan], names: Iterable[str]) -> SourceSpan | None:
    """Give the place of the first of the names whose place is known."""
    return next((spans[name] for name in names if name in spans), None)


def _expected(item: ErrorDetails) -> str:
    """Say what is needed; the record's name gives way to what the user writes."""
    text = item["msg"].removeprefix("Input should be ").removeprefix("a valid ")
    text = re.sub(r", (unable to parse|got a number).*", "", text)
    record = re.search(r"instance of (\w+)", text)
    if record and record[1] in _EXAMPLES:
        return _EXAMPLES[record[1]]
    text = text.replace("greater than or equal to", "at least").replace("less than or equal to", "at most")
    text = text.replace("String should have at least 1 character", "a text that is not empty")
    plain = {"string": "a text", "tuple": "a list", "dictionary": "a dict", "integer": "a whole number"}
    return plain.get(text, "a number" if text == "number" else text)


def _shown(value: object, limit: int) -> str:
    """Show a value; a whole number beyond what Python prints is told by its size."""
    if isinstance(value, int) and value.bit_length() > 1000:
        return f"a whole number of {value.bit_length()} bits"
    return _cut(repr(value), limit)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 3]}..."
