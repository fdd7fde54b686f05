"""Status objects, worded as a real API server words them (recordings of kube-apiserver 1.36)."""

from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]


@dataclass
class Refusal(Exception):
    """An answer that is no success; `body` is what the client reads."""

    code: int
    body: Json | str
    headers: dict[str, str] = field(default_factory=dict)


def refuse(code: int, message: str, reason: str | None = None, details: Json | None = None) -> Refusal:
    """Make a Failure status; fields without a value are left out, as the server does."""
    status: Json = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message}
    if reason:
        status["reason"] = reason
    if details:
        status["details"] = details
    return Refusal(code, {**status, "code": code})


def success(kind: "Any", name: str, uid: str) -> Json:
    """The answer to a delete that is done."""
    details = {"name": name, "group": kind.group, "kind": kind.plural, "uid": uid}
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {key: value for key, value in details.items() if value},
    }


def not_found(kind: "Any", name: str) -> Refusal:
    """404 for an object."""
    details = {"name": name, "group": kind.group, "kind": kind.plural}
    return refuse(404, f'{kind.resource} "{name}" not found', "NotFound", {k: v for k, v in details.items() if v})


def already_exists(kind: "Any", name: str) -> Refusal:
    """409 for a create of a name that is taken."""
    details = {"name": name, "group": kind.group, "kind": kind.plural}
    return refuse(
        409, f'{kind.resource} "{name}" already exists', "AlreadyExists", {k: v for k, v in details.items() if v}
    )


def modified(kind: "Any", name: str) -> Refusal:
    """409 for a write with an old resourceVersion."""
    return refuse(
        409,
        f'Operation cannot be fulfilled on {kind.resource} "{name}": the object has been modified; '
        "please apply your changes to the latest version and try again",
        "Conflict",
        {"name": name, "group": kind.group, "kind": kind.plural},
    )


def wrong_uid(kind: "Any", name: str, wanted: str, actual: str) -> Refusal:
    """409 for a delete whose uid precondition does not hold."""
    return refuse(
        409,
        f'Operation cannot be fulfilled on {kind.kind}.{kind.group} "{name}": the UID in the precondition ({wanted}) '
        f"does not match the UID in record ({actual}). The object might have been deleted and then recreated",
        "Conflict",
        {"name": name, "group": kind.group, "kind": kind.kind},
    )


def invalid(kind_name: str, group: str, name: str, causes: list[Json]) -> Refusal:
    """422 with a cause per field."""
    texts = [f"{cause['field']}: {cause['message']}" for cause in causes]
    joined = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    details = {"name": name, "group": group, "kind": kind_name, "causes": causes}
    return refuse(
        422,
        f'{kind_name}.{group} "{name}" is invalid: {joined}',
        "Invalid",
        {key: value for key, value in details.items() if value},
    )
