"""What a server's refusal means, by what real servers do (recordings of kube-apiserver 1.36), and what to tell.

A 500 of server-side apply that speaks of a typed patch object is a schema finding and never retried; denials of
webhooks come as 400 (Volcano) or 403 (Karmada); 410 tells that a watch or a list must begin again.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from hyperflow.errors import Finding, HyperFlowError
from hyperflow.json_tree import dig, mapping, sequence, text
from hyperflow.submit.server_kinds import ServerKind

Meaning = Literal[
    "schema", "invalid", "denied", "exists", "changed", "owned", "forbidden", "unauthorized", "absent", "no-namespace",
    "no-kind", "expired", "busy", "broken", "unreachable",
]  # fmt: skip
RETRIED: frozenset[Meaning] = frozenset({"busy", "unreachable", "changed"})
_WEBHOOK = re.compile(r'admission webhook "([^"]+)" denied the request: ?(.*)', re.DOTALL)
_FIELD = re.compile(r"(?:unknown field \"([^\"]+)\"|: \.?(\S+): field not declared in schema)")
_SYSTEM = re.compile(r"\[Errno -?\d+\] ([^'\")]+)")
_SECRET = re.compile(r"(?i)(bearer\s+|token=|password=)\S+|(://[^\s/:@]+:)[^\s/@]+(?=@)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """One answer that is no success. `fields` are the fields at fault; `webhook` is who denied."""

    meaning: Meaning
    status: int
    message: str
    webhook: str = ""
    fields: tuple[str, ...] = ()
    retry_after_seconds: float | None = None


class RefusedError(HyperFlowError):
    """The server refused a request for a reason that a retry does not mend."""

    def __init__(self, finding: Finding, refusal: Refusal) -> None:
        super().__init__(finding)
        self.refusal = refusal
        if refusal.meaning in ("schema", "no-kind"):
            self.exit_code = 3


def read_refusal(status: int, body: str, headers: Mapping[str, str] | None = None) -> Refusal:
    """Classify an answer by status and body, as the recorded server words them."""
    given = {name.lower(): value for name, value in (headers or {}).items()}
    try:
        answer = mapping(json.loads(body))
    except ValueError:
        answer = {}
    message = hide_secrets(text(answer.get("message")) or body.strip()[:300] or f"status {status}")
    causes = [mapping(cause) for cause in sequence(dig(answer, "details", "causes"))]
    denied = _WEBHOOK.search(message)
    return Refusal(
        meaning=_meaning(status, answer, message, causes),
        status=status,
        message=denied[2].strip() if denied else message,
        webhook=denied[1] if denied else "",
        fields=tuple(a or b for a, b in _FIELD.findall(message)) or tuple(text(cause.get("field")) for cause in causes),
        retry_after_seconds=_seconds(given.get("retry-after")),
    )


def _meaning(status: int, answer: dict[str, object], message: str, causes: list[dict[str, object]]) -> Meaning:
    if _WEBHOOK.search(message) and status < 500:
        return "denied"
    if status == 404:
        if not answer:
            return "no-kind"
        return "no-namespace" if dig(answer, "details", "kind") == "namespaces" else "absent"
    if status == 409:
        if answer.get("reason") == "AlreadyExists":
            return "exists"
        return "owned" if any(cause.get("reason") == "FieldManagerConflict" for cause in causes) else "changed"
    if status == 400 and "strict decoding error" in message:
        return "schema"
    if status == 500 and ("typed patch object" in message or "field not declared in schema" in message):
        return "schema"
    if status == 500 and message.startswith("resourceVersion: Invalid value"):
        return "broken"
    fixed: dict[int, Meaning] = {401: "unauthorized", 403: "forbidden", 410: "expired", 422: "invalid", 429: "busy"}
    return fixed.get(status, "busy" if status >= 500 or status == 408 else "broken")


def hide_secrets(message: str) -> str:
    """Take tokens and passwords out of a text.

    >>> hide_secrets("refused: Bearer abc.def")
    'refused: Bearer ***'
    """
    return _SECRET.sub(lambda found: (found[1] or found[2]) + "***", message)


def short_reason(message: str) -> str:
    """Give what the system says of a connection that failed, without what the client's classes add.

    >>> short_reason("HTTPSConnectionPool(...): Max retries (Caused by X('[Errno 111] Connection refused'))")
    'connection refused'
    """
    found = _SYSTEM.search(message)
    return found[1].lower() if found else message


def _seconds(value: str | None) -> float | None:
    return float(value) if value and value.strip().isdigit() else None


def refused(refusal: Refusal, verb: str, kind: ServerKind | None, place: str, context: str) -> RefusedError:
    """Make the error that tells what was refused; `place` is namespace/name."""
    resource = kind.resource if kind else "the server"
    where = f"{kind.kind} {place}" if kind else place
    if refusal.meaning in ("schema", "no-kind", "denied", "owned", "invalid"):
        finding = _about_object(refusal, verb, kind, resource, where, context)
    else:
        finding = _about_access(refusal, verb, resource, where, context)
    return RefusedError(finding, refusal)


def _about_object(r: Refusal, verb: str, kind: ServerKind | None, resource: str, where: str, context: str) -> Finding:
    match r.meaning:
        case "schema":
            field = ", ".join(dict.fromkeys(r.fields)) or r.message
            return Finding(
                code="HF506",
                message=f"the server's {kind.kind if kind else ''} CRD does not know {field}",
                where=where,
                expected=f"a CRD {resource} that keeps the field",
                hint="hyperflow crd --context CONTEXT prints the CRD that keeps every field; see hyperflow doctor",
            )
        case "no-kind":
            return Finding(
                code="HF507",
                message=f"the server does not serve {resource} ({kind.api_version if kind else '?'})",
                where=where,
                hint=f"install the CRD {resource}, or choose another --context (now {context})",
            )
        case "denied":
            return Finding(
                code="HF508",
                message=f"{r.webhook} denied to {verb} {resource}: {r.message}",
                where=where,
                hint="hyperflow lint judges the file as this webhook does, without a server",
            )
        case "owned":
            return Finding(
                code="HF510",
                message="another manager owns fields that the bundle sets",
                where=where,
                got=r.message,
                expected="objects that only HyperFlow writes",
                hint="hyperflow diff BUNDLE shows the fields; submit --replace makes the job anew",
            )
        case _:
            return Finding(code="HF509", message=f"the server refused to {verb} {resource}: {r.message}", where=where)


def _about_access(r: Refusal, verb: str, resource: str, where: str, context: str) -> Finding:
    match r.meaning:
        case "unauthorized":
            return Finding(
                code="HF504",
                message="the server does not accept these credentials (401 Unauthorized)",
                where=f"context {context}",
                hint="log in again, or choose another --context",
            )
        case "forbidden":
            return Finding(
                code="HF505",
                message=f"you may not {verb} {resource}: {r.message}",
                where=where,
                expected=f"the right to {verb} {resource}",
                hint=f"ask for a Role with verbs [{verb}] on {resource}; see hyperflow doctor",
            )
        case "no-namespace":
            return Finding(
                code="HF525",
                message=f"the namespace does not exist: {r.message}",
                where=where,
                hint="kubectl create namespace NAME, on the plane and on each member",
            )
        case "busy" | "unreachable" | "changed":
            return Finding(
                code="HF503",
                message=f"the server kept failing to {verb} {resource}: {r.message}",
                where=where,
                hint="nothing is lost: run the same command again, it continues where it stopped",
            )
        case _:
            return Finding(code="HF509", message=f"the server refused to {verb} {resource}: {r.message}", where=where)
