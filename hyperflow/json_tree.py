"""Typed, forgiving access to parsed JSON and YAML, whose shape is not known until looked at."""

from typing import Any, TypeGuard


def is_mapping(value: object) -> TypeGuard[dict[str, Any]]:
    """Say whether the value is a mapping; keys are taken to be text."""
    return isinstance(value, dict)


def is_sequence(value: object) -> TypeGuard[list[Any]]:
    """Say whether the value is a list."""
    return isinstance(value, list)


def mapping(value: object) -> dict[str, Any]:
    """Give the value if it is a mapping, else an empty one."""
    return value if is_mapping(value) else {}


def sequence(value: object) -> list[Any]:
    """Give the value if it is a list, else an empty one."""
    return value if is_sequence(value) else []


def text(value: object, default: str = "") -> str:
    """Give the value if it is text, else the default."""
    return value if isinstance(value, str) else default


def dig(value: object, *path: str | int) -> Any:
    """Follow keys and indices down the tree; None where the path ends early.

    >>> dig({"spec": {"tasks": [{"replicas": 2}]}}, "spec", "tasks", 0, "replicas")
    2
    """
    for step in path:
        if isinstance(step, str):
            value = mapping(value).get(step)
        else:
            items = sequence(value)
            value = items[step] if -len(items) <= step < len(items) else None
    return value
