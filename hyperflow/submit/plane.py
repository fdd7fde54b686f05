"""An API server as HyperFlow uses it: read, apply, delete, watch; failures retried where that is safe.

Every write is repeatable: server-side apply under one field manager, and deletes bound to a uid.
"""

import json
import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from hyperflow.json_tree import dig, is_mapping, mapping, sequence, text
from hyperflow.submit.refusals import RETRIED, Refusal, RefusedError, read_refusal, refused, short_reason
from hyperflow.submit.server_kinds import CLUSTER, ServerKind, kind_of
from hyperflow.submit.transport import Answer, KubernetesTransport, Transport

FIELD_MANAGER = "hyperflow"
PAGE_SIZE = 500
GRACE_SECONDS = 15.0
RENEWALS = 3  # of credentials for one request: a plugin may give a new token each time that no server takes
Json = dict[str, Any]


class Clock(Protocol):
    """Time that passes; tests let it pass faster."""

    def now(self) -> float: ...

    def sleep(self, seconds: float) -> None: ...


class WallClock:
    """The machine's monotonic clock."""

    def now(self) -> float:
        """Give seconds since some moment."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long a failing request is repeated, and the pauses between: doubled from first to longest.

    `unreached_seconds` counts in place of the total while the server was not reached once.
    """

    total_seconds: float = 60.0
    unreached_seconds: float = 60.0
    first_seconds: float = 0.2
    longest_seconds: float = 8.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """What a watch brought: changes in order as (type, object), and the version to go on from.

    `torn` means that the connection broke, `refused` that the list must be asked for again (410 among the reasons).
    """

    changes: tuple[tuple[str, Json], ...]
    version: str
    ended: Literal["quiet", "torn", "refused"] = "quiet"


class Lister(Protocol):
    """What a job is looked at through: a Plane, or lists of one that are remembered."""

    def find(self, kind: ServerKind, namespace: str = "", labels: str = "") -> tuple[list[Json], str]: ...

    def member(self, cluster: str) -> "Lister": ...


@dataclass(slots=True, kw_only=True)
class Plane:
    """One server. `prefix` leads through Karmada's proxy to a member; `was_accepted` once an answer was no refusal.

    `on_wait` hears once, while the server was never reached, why and for how long it is tried again.
    """

    transport: Transport
    clock: Clock = field(default_factory=WallClock)
    patience: Patience = field(default_factory=Patience)
    prefix: str = ""
    was_accepted: bool = False
    was_reached: bool = False
    on_wait: Callable[[str], None] | None = None

    @property
    def context(self) -> str:
        """The kubeconfig context, for messages."""
        return self.transport.context

    def member(self, cluster: str) -> "Plane":
        """Give a member of this Karmada plane, reached through its proxy; it is asked once, without patience."""
        brief = Patience(total_seconds=0)
        prefix = f"{CLUSTER.path(name=cluster)}/proxy"
        return Plane(transport=self.transport, clock=self.clock, patience=brief, prefix=prefix)

    def get(self, kind: ServerKind, name: str, namespace: str = "") -> Json | None:
        """Give one object, None where it does not exist."""
        try:
            return self._ask("get", kind, "GET", kind.path(namespace, name), {}, place=_place(namespace, name))
        except RefusedError as error:
            if error.refusal.meaning in ("absent", "no-namespace"):
                return None
            raise

    def find(self, kind: ServerKind, namespace: str = "", labels: str = "") -> tuple[list[Json], str]:
        """Give all objects that carry the labels, page by page, and the version of the list."""
        found: list[Json] = []
        query = {"limit": str(PAGE_SIZE)} | ({"labelSelector": labels} if labels else {})
        token = ""
        while True:
            asked = query | ({"continue": token} if token else {})
            try:
                page = self._ask("list", kind, "GET", kind.path(namespace), asked, place=namespace)
            except RefusedError as error:
                if error.refusal.meaning != "expired" or not token:
                    raise
                found, token = [], ""  # the pages grew too old: begin again
                continue
            found += [
                {"apiVersion": kind.api_version, "kind": kind.kind, **item}
                for item in sequence(page.get("items"))
                if is_mapping(item)
            ]
            token = text(dig(page, "metadata", "continue"))
            if not token:
                return found, text(dig(page, "metadata", "resourceVersion"))

    def apply(self, document: Mapping[str, Any], *, dry_run: bool = False, force: bool = False) -> Json:
        """Apply under HyperFlow's name, strictly; gives the object as the server stores it."""
        kind = kind_of(document)
        name, namespace = text(dig(document, "metadata", "name")), text(dig(document, "metadata", "namespace"))
        query = {"fieldManager": FIELD_MANAGER, "fieldValidation": "Strict"}
        query |= {"dryRun": "All"} if dry_run else {}
        query |= {"force": "true"} if force else {}
        path = kind.path(namespace, name)
        patch = "application/apply-patch+yaml"
        return self._ask("patch", kind, "PATCH", path, query, document, patch, place=_place(namespace, name))

    def delete(self, kind: ServerKind, name: str, namespace: str = "", uid: str = "") -> bool:
        """Delete one object and what it owns; False where it (this very one, when the uid is given) is gone."""
        body: Json = {"propagationPolicy": "Background"} | ({"preconditions": {"uid": uid}} if uid else {})
        path = kind.path(namespace, name)
        try:
            self._ask("delete", kind, "DELETE", path, {}, body, place=_place(namespace, name))
        except RefusedError as error:
            if error.refusal.meaning in ("absent", "no-namespace"):
                return False
            if uid and "UID in the precondition" in error.refusal.message:
                return False
            raise
        return True

    def create_review(self, attributes: Mapping[str, str]) -> bool:
        """Ask whether we may do something: `verb`, `group`, `resource`, `namespace` and perhaps `subresource`."""
        version = "authorization.k8s.io/v1"
        body = {"apiVersion": version, "kind": "SelfSubjectAccessReview", "spec": {"resourceAttributes": attributes}}
        path = f"/apis/{version}/selfsubjectaccessreviews"
        answer = self._ask("create", None, "POST", path, {}, body, place="SelfSubjectAccessReview")
        return dig(answer, "status", "allowed") is True

    def log_lines(self, namespace: str, pod: str, *, follow: bool = False, tail: int | None = None) -> Iterator[str]:
        """Yield the lines of a pod's log; raises RefusedError where the server refuses."""
        query = {"follow": "true"} if follow else {}
        query |= {"tailLines": str(tail)} if tail is not None else {}
        path = f"{self.prefix}/api/v1/namespaces/{namespace}/pods/{pod}/log"
        seconds = 86400.0 if follow else 60.0
        for line in self.transport.lines(path, query, seconds):
            if isinstance(line, Answer):
                raise refused(_refusal(line), "read the log of", None, f"pod {namespace}/{pod}", self.context)
            yield line

    def watch(
        self,
        kind: ServerKind,
        namespace: str,
        labels: str,
        version: str,
        seconds: float,
        is_enough: Callable[[str, Json], bool] = lambda _type, _item: False,
    ) -> Watched:
        """Watch from a version until the time is over, or until a change is enough; never raises."""
        asked = {
            "labelSelector": labels,
            "resourceVersion": version,
            "watch": "true",
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(max(1, math.ceil(seconds))),
        }
        changes: list[tuple[str, Json]] = []
        started = self.clock.now()
        for line in self.transport.lines(self.prefix + kind.path(namespace), asked, seconds + GRACE_SECONDS):
            event = _event(line)
            if isinstance(event, str):
                if isinstance(line, Answer) and line.status == 401:
                    self.transport.forget_credentials()
                return Watched(changes=tuple(changes), version=version, ended=event)
            version = text(dig(event, "object", "metadata", "resourceVersion")) or version
            if event.get("type") in ("ADDED", "MODIFIED", "DELETED"):
                change = (text(event.get("type")), mapping(event.get("object")))
                changes.append(change)
                if is_enough(*change):
                    break
            if self.clock.now() - started > seconds + GRACE_SECONDS:
                break  # a server that does not end what it was asked to end
        return Watched(changes=tuple(changes), version=version)

    def _ask(
        self,
        verb: str,
        kind: ServerKind | None,
        method: str,
        path: str,
        query: Mapping[str, str],
        body: object = None,
        content_type: str = "",
        *,
        place: str,
    ) -> Json:
        started, pause, renewals = self.clock.now(), self.patience.first_seconds, 0
        while True:
            answer = self.transport.send(method, self.prefix + path, query, body, content_type)
            self.was_reached |= answer.status > 0
            if 200 <= answer.status < 300:
                whole = _parse(answer)
                if whole is not None:
                    self.was_accepted = True
                    return whole
                answer = Answer(status=0, text="the answer ended in its middle", headers={})
            refusal = _refusal(answer)
            if refusal.meaning == "unauthorized" and renewals < RENEWALS and self.transport.renew_credentials():
                renewals += 1
                continue
            wait = max(pause, refusal.retry_after_seconds or 0)
            limit = self.patience.total_seconds
            limit = limit if self.was_reached else min(limit, self.patience.unreached_seconds)
            late = self.clock.now() + wait - started > limit
            if refusal.meaning not in RETRIED or late or "UID in the precondition" in refusal.message:
                raise refused(refusal, verb, kind, place, self.context)
            self._tell_wait(refusal, limit)
            self.clock.sleep(wait)
            pause = min(2 * pause, self.patience.longest_seconds)

    def _tell_wait(self, refusal: Refusal, seconds: float) -> None:
        if self.on_wait and not self.was_reached:
            self.on_wait(f"{short_reason(refusal.message)}; trying again for {seconds:g} s")
            self.on_wait = None


def _event(line: str | Answer) -> Json | Literal["torn", "refused"]:
    """Read a line of a watch, or say why it is none."""
    if isinstance(line, Answer):
        return "refused" if line.status else "torn"
    try:
        event = mapping(json.loads(line)) if line.strip() else {}
    except ValueError:
        return "torn"  # in the middle of a line
    return "refused" if event.get("type") == "ERROR" else event


def _place(namespace: str, name: str) -> str:
    return f"{namespace}/{name}" if namespace else name


def _parse(answer: Answer) -> Json | None:
    try:
        return mapping(json.loads(answer.text))
    except ValueError:
        return None


def _refusal(answer: Answer) -> Refusal:
    if answer.status == 0:
        return Refusal(meaning="unreachable", status=0, message=answer.text)
    return read_refusal(answer.status, answer.text, answer.headers)


def connect(context: str | None = None) -> Plane:
    """Give the plane of a kubeconfig context (None: the current one)."""
    return Plane(transport=KubernetesTransport(context))
