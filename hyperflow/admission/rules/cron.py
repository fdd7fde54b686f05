"""Cron schedules as github.com/robfig/cron/v3 reads them (ParseStandard)."""

import re

_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
_FIELDS: tuple[tuple[int, int, list[str], int], ...] = (
    (0, 59, [], 0), (0, 23, [], 0), (1, 31, [], 0), (1, 12, _MONTHS, 1), (0, 6, _DAYS, 0),
)  # fmt: skip
_DESCRIPTORS = {"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"}
_EVERY = re.compile(r"@every ([-+]?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|ms|s|m|h))+))")


def is_cron(schedule: str) -> bool:
    """Say whether the text is a standard cron schedule of five fields, or a descriptor such as @daily.

    >>> is_cron("*/5 3 * * mon-fri"), is_cron("60 * * * *")
    (True, False)
    """
    line = schedule.strip()
    if line.startswith("@"):
        return line in _DESCRIPTORS or _EVERY.fullmatch(line) is not None
    fields = line.split()
    return len(fields) == len(_FIELDS) and all(
        _is_list(field, *limits) for field, limits in zip(fields, _FIELDS, strict=True)
    )


def _is_list(field: str, low: int, high: int, names: list[str], first: int) -> bool:
    return all(_is_range(part, low, high, names, first) for part in field.split(","))


def _is_range(part: str, low: int, high: int, names: list[str], first: int) -> bool:
    span, slash, step = part.partition("/")
    if slash and not (step.isdigit() and int(step) > 0):
        return False
    if span in ("*", "?"):
        return True
    start, dash, end = span.partition("-")
    numbers = [_number(text, names, first) for text in ([start, end] if dash else [start])]
    values = [number for number in numbers if number is not None]
    return len(values) == len(numbers) and values == sorted(values) and all(low <= value <= high for value in values)


def _number(text: str, names: list[str], first: int) -> int | None:
    if text.lower() in names:
        return names.index(text.lower()) + first
    return int(text) if text.isdigit() else None
