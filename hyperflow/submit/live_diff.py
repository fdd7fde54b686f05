"""What differs between a manifest and the live object, by meaning: defaults that a server adds are no difference.

Round trips change text without meaning: quantities become strings, empty maps appear, zeros vanish.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hyperflow.json_tree import dig, is_mapping, is_sequence, mapping
from hyperflow.units import parse_quantity

_MUTABLE = re.compile(
    r"(spec\.(replicatedJobs\[[^\]]*\]\.templateSpec\.)?"
    r"(minAvailable|priorityClassName|tasks\[[^\]]*\]\.(replicas|minAvailable)))$|metadata\."
)
_NOTHING: tuple[object, ...] = (None, {}, [], "", 0, False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One field of one object; `is_immutable` means that the server would deny the change of a living job."""

    kind: str
    name: str
    path: str
    live: str
    wanted: str
    is_immutable: bool


def changes(wanted: Mapping[str, Any], live: Mapping[str, Any]) -> list[Change]:
    """List the fields that the manifest sets and the live object has otherwise."""
    kind, name = str(wanted.get("kind")), str(dig(wanted, "metadata", "name"))
    found: list[Change] = []
    for path, mine, theirs in _walk(_compared(wanted), _compared(live), ""):
        immutable = kind in ("HyperJob", "Job") and not _MUTABLE.match(path)
        found.append(
            Change(kind=kind, name=name, path=path, live=_shown(theirs), wanted=_shown(mine), is_immutable=immutable)
        )
    return found


def _compared(document: Mapping[str, Any]) -> dict[str, Any]:
    kept = {k: v for k, v in document.items() if k not in ("apiVersion", "kind", "metadata", "status")}
    meta = mapping(document.get("metadata"))
    return {**kept, "metadata": {k: meta[k] for k in ("labels", "annotations") if k in meta}}


def _walk(wanted: Any, live: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    if is_mapping(wanted) and is_mapping(live):
        for name, value in wanted.items():
            yield from _walk(value, live.get(name), f"{path}.{name}" if path else name)
    elif is_sequence(wanted) and is_sequence(live):
        if len(wanted) != len(live):
            yield path, wanted, live
            return
        for i, value in enumerate(wanted):
            key = dig(value, "name")
            yield from _walk(value, live[i], f"{path}[{key if isinstance(key, str) else i}]")
    elif not _same(wanted, live, path):
        yield path, wanted, live


def _same(wanted: Any, live: Any, path: str) -> bool:
    if wanted == live or (wanted in _NOTHING and live in _NOTHING):
        return True
    amounts = (wanted, live)
    if ".resources." not in path and "capability" not in path:
        return str(wanted) == str(live) and not isinstance(wanted, bool)
    try:
        return parse_quantity(amounts[0]) == parse_quantity(amounts[1])
    except (ValueError, TypeError, AttributeError):
        return False


def _shown(value: Any) -> str:
    return "nothing" if value is None else str(value)
