"""The HTTP side: routes, validation, watches, faults. One `ApiServer` is one plane, with its members behind it."""

import base64
import json
import re
import select
import socket
import ssl
import sys
import threading
import time
import urllib.parse
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import yaml

from tests.api_server.answers import Refusal, invalid, not_found, refuse
from tests.api_server.faults import Faults
from tests.api_server.kinds import BUILT_IN, Kind, group_list, kinds_of_crd, resource_list
from tests.api_server.schema import check_and_default, unknown_paths
from tests.api_server.selectors import matches_fields, matches_labels
from tests.api_server.store import Event, Store, now

Json = dict[str, Any]
Admission = Callable[[str, Kind, Json, Json | None], Refusal | None]
TOKEN = "test-token"
REACTION_SECONDS = 0.01
PROXY = re.compile(r"/apis/cluster\.karmada\.io/v1alpha1/clusters/(?P<name>[^/]+)/proxy(?P<rest>/.*)")
OBJECT = re.compile(
    r"(?P<prefix>/api/v1|/apis/[^/]+/[^/]+)(?:/namespaces/(?P<ns>[^/]+))?/(?P<plural>[a-z]+)(?:/(?P<name>[^/]+))?(?:/(?P<sub>[a-z]+))?"
)
NAMESPACES = Kind(group="", version="v1", kind="Namespace", plural="namespaces", namespaced=False, status=False)


@dataclass
class Cluster:
    """What one API server holds: kinds, objects, denials by script, pod logs, rights."""

    crds: list[Json] = field(default_factory=list)
    store: Store = field(default_factory=Store)
    admit: Admission = lambda _verb, _kind, _new, _old: None
    logs: dict[tuple[str, str], str] = field(default_factory=dict)
    allowed: Callable[[Json], bool] = lambda _attributes: True

    def __post_init__(self) -> None:
        self.kinds: list[Kind] = list(BUILT_IN)
        crd_kind = next(kind for kind in BUILT_IN if kind.plural == "customresourcedefinitions")
        for crd in self.crds:
            self.kinds += kinds_of_crd(crd)
            self.store.create(crd_kind, crd, "setup")
        self.store.create(NAMESPACES, _namespace({"metadata": {"name": "default"}}), "setup")

    def kind(self, prefix: str, plural: str) -> Kind | None:
        """The served kind at a path."""
        return next((kind for kind in self.kinds if (kind.prefix, kind.plural) == (prefix, plural)), None)

    def kind_named(self, name: str) -> Kind:
        """The served kind of that name (the newest built in or given)."""
        return next(kind for kind in reversed(self.kinds) if kind.kind == name)

    def put(self, obj: Json) -> Json:
        """Store an object with its status, as a controller would; replaces what is there."""
        kind = next(k for k in self.kinds if (k.api_version, k.kind) == (obj["apiVersion"], obj["kind"]))
        meta = obj["metadata"]
        if kind.namespaced:
            meta.setdefault("namespace", "default")
        with self.store.lock:
            if self.store.key(kind, meta.get("namespace", ""), meta["name"]) in self.store.objects:
                self.store.replace(kind, {**obj, "metadata": {**meta, "resourceVersion": ""}}, "setup", checked=False)
            else:
                self.store.create(kind, obj, "setup")
            if "status" in obj and kind.status:
                self.store.replace(kind, obj, "setup", status=True, checked=False)
            return self.store.get(kind, meta.get("namespace", ""), meta["name"])


class ApiServer:
    """A plane on the loopback; use as a context manager. `url` and `kubeconfig()` are for the client."""

    def __init__(self, plane: Cluster | None = None, members: dict[str, Cluster] | None = None) -> None:
        self.plane = plane or Cluster()
        self.members = members or {}
        self.faults = Faults()
        self.tokens = {TOKEN}
        self.epoch = 0
        self.lines_read = 0  # of the last watch; a client in this process may count them, so that time waits for it
        self.after_request: Callable[[], None] = lambda: None
        handler = type("Handler", (_Handler,), {"api": self})
        self.http = _Quiet(("127.0.0.1", 0), handler)
        self.thread = threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    @property
    def url(self) -> str:
        """Where the server listens."""
        return f"http://127.0.0.1:{self.http.server_address[1]}"

    def use_tls(self, certificate: Path, key: Path) -> None:
        """Speak TLS from the next connection on."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self.http.socket = context.wrap_socket(self.http.socket, server_side=True, do_handshake_on_connect=False)

    def __enter__(self) -> "ApiServer":
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.tear_watches()
        self.http.shutdown()
        self.http.server_close()
        self.thread.join(5)

    def tear_watches(self) -> None:
        """End every watch without its last chunk, as a server that goes down does."""
        self.epoch += 1
        for cluster in (self.plane, *self.members.values()):
            with cluster.store.changed:
                cluster.store.changed.notify_all()

    def kubeconfig(self, token: str = TOKEN) -> str:
        """A kubeconfig with the context `plane`."""
        return yaml.safe_dump(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "plane",
                "clusters": [{"name": "plane", "cluster": {"server": self.url}}],
                "users": [{"name": "user", "user": {"token": token}}],
                "contexts": [{"name": "plane", "context": {"cluster": "plane", "user": "user"}}],
            }
        )


class _Quiet(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is no error; all else is printed."""
        if not isinstance(sys.exc_info()[1], ConnectionError | ssl.SSLError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    api: ApiServer
    tear = False
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: object) -> None:
        """Keep the test output clean."""

    def do_GET(self) -> None:
        self._serve()

    do_POST = do_PUT = do_PATCH = do_DELETE = do_GET

    def _serve(self) -> None:
        parsed = urllib.parse.urlsplit(self.path)
        query = {k: v[-1] for k, v in urllib.parse.parse_qs(parsed.query, keep_blank_values=True).items()}
        length = int(self.headers.get("Content-Length") or 0)
        raw = self.rfile.read(length) if length else b""
        fault = self.api.faults.meet(self.command, parsed.path, query)
        if fault and fault.slow:
            time.sleep(fault.slow)
            if self._has_hung_up():
                self.close_connection = True
                return  # a real server cancels what nobody waits for
        self.tear = bool(fault and fault.drop)
        if fault and fault.drop and fault.before:
            self._drop()
            return
        try:
            if fault and fault.code:
                raise fault.refusal()
            code, body, headers = self._answer(parsed.path, query, raw)
        except Refusal as refusal:
            code, body, headers = refusal.code, refusal.body, refusal.headers
        if not code and self.close_connection:
            return  # a watch that was torn, or whose client has gone
        with self.api.plane.store.lock:
            self.api.after_request()
        if fault and fault.drop:
            self._drop(body)
            return
        if code:
            self._send(code, body, headers)

    def _has_hung_up(self) -> bool:
        readable, _, _ = select.select([self.connection], [], [], 0)
        return bool(readable) and not self.connection.recv(1, socket.MSG_PEEK)

    def _drop(self, body: Any = None) -> None:
        """Close the connection: with nothing sent, or in the middle of the body."""
        if body is not None:
            payload = _payload(body)
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload[: len(payload) // 2])
        self.close_connection = True

    def _send(self, code: int, body: Any, headers: dict[str, str]) -> None:
        text = isinstance(body, str) and not isinstance(body, _Listed)
        payload = _payload(body)
        self.send_response(code)
        self.send_header("Content-Type", "text/plain; charset=utf-8" if text else "application/json")
        self.send_header("Content-Length", str(len(payload)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(payload)

    def _answer(self, path: str, query: dict[str, str], raw: bytes) -> tuple[int, Any, dict[str, str]]:
        token = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
        if token not in self.api.tokens:
            raise refuse(401, "Unauthorized", "Unauthorized")
        cluster = self.api.plane
        proxied = PROXY.fullmatch(path)
        if proxied:
            cluster, path = self.api.members.get(proxied["name"]), proxied["rest"]
            if cluster is None:
                raise refuse(404, f'clusters.cluster.karmada.io "{proxied["name"]}" not found', "NotFound")
        fixed = _fixed_paths(cluster, path)
        if fixed is not None:
            return 200, fixed, {}
        if path == "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews":
            return 201, _review(cluster, _body(raw)), {}
        found = OBJECT.fullmatch(path)
        kind = cluster.kind(found["prefix"], found["plural"]) if found else None
        if kind is None and found and found["ns"] and found["plural"] == "namespaces":
            kind = None
        if found is None or kind is None:
            namespace = re.fullmatch(r"/api/v1/namespaces/([^/]+)", path)
            if namespace is None:
                raise Refusal(404, "404 page not found\n")
            return _Operation(self, cluster, NAMESPACES, "", namespace[1], "", query, raw).run()
        return _Operation(
            self, cluster, kind, found["ns"] or "", found["name"] or "", found["sub"] or "", query, raw
        ).run()

    def stream(self, operation: "_Operation") -> None:
        """Answer a watch: one JSON event a line, until its time is over."""
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        epoch, sent, moment = self.api.epoch, 0, 0.0
        self.api.lines_read = 0

        def is_settled() -> bool:
            """Whether the client has had time to read; raises where it, or the server, is gone."""
            if epoch != self.api.epoch or self._has_hung_up():
                raise ConnectionResetError
            return self.api.lines_read >= sent or time.monotonic() - moment > REACTION_SECONDS

        try:
            for line in operation.lines(is_settled):
                if self.tear:
                    self.wfile.write(f"{len(line) + 1:x}\r\n{line[: len(line) // 2]}".encode("ascii"))
                    raise ConnectionResetError
                self.wfile.write(f"{len(line) + 1:x}\r\n{line}\n\r\n".encode("ascii"))
                self.wfile.flush()
                sent, moment = sent + 1, time.monotonic()
            self.wfile.write(b"0\r\n\r\n")
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True


class _Listed(str):
    """JSON that is written already."""


def _line(type_: str, shown: str) -> str:
    return f'{{"type": "{type_}", "object": {shown}}}'


def _payload(body: Any) -> bytes:
    return body.encode() if isinstance(body, str) else json.dumps(body).encode()


class _Operation:
    """One request on a kind."""

    def __init__(
        self,
        http: _Handler,
        cluster: Cluster,
        kind: Kind,
        namespace: str,
        name: str,
        sub: str,
        query: dict[str, str],
        raw: bytes,
    ) -> None:
        self.http, self.cluster, self.kind = http, cluster, kind
        self.namespace, self.name, self.sub, self.query, self.raw = namespace, name, sub, query, raw
        self.dry = query.get("dryRun") == "All"
        agent = (http.headers.get("User-Agent") or "unknown").split("/")[0]
        self.manager = query.get("fieldManager") or agent

    def run(self) -> tuple[int, Any, dict[str, str]]:
        """Do what the method asks for."""
        method = self.http.command
        if self.sub == "log":
            self.cluster.store.get(self.kind, self.namespace, self.name)
            return 200, self.cluster.logs.get((self.namespace, self.name), ""), {}
        if method == "GET":
            return self._read()
        if method == "POST":
            return self._create()
        if method == "PUT":
            return self._replace(_body(self.raw))
        if method == "PATCH":
            return self._patch()
        options = _body(self.raw) if self.raw else {}
        if "propagationPolicy" in self.query:
            options["propagationPolicy"] = self.query["propagationPolicy"]
        dry = self.dry or "All" in (options.get("dryRun") or [])
        answer = self.cluster.store.delete(self.kind, self.namespace, self.name, options, dry=dry)
        if options.get("propagationPolicy") == "Foreground":
            threading.Timer(0.2, self.cluster.store.finish_foreground).start()
        return 200, answer, {}

    def _read(self) -> tuple[int, Any, dict[str, str]]:
        if self.name:
            return 200, self.cluster.store.get(self.kind, self.namespace, self.name), {}
        if self.query.get("watch") in ("1", "true", "True"):
            version = self.query.get("resourceVersion", "")
            if version and not version.isdigit():
                parse = f'strconv.ParseUint: parsing "{version}": invalid syntax'
                message = f'resourceVersion: Invalid value: "{version}": {parse}'
                raise refuse(500, message)
            self.http.stream(self)
            return 0, None, {}
        with self.cluster.store.lock:
            events = [
                e for e in self.cluster.store.objects.of_kind(self.kind, self.namespace) if self._wanted(e.object)
            ]
            version = str(self.cluster.store.version)
        events, token, left = self._page(events, version)
        listed = {"continue": token, "resourceVersion": version}
        if left:
            listed["remainingItemCount"] = left
        head = {"apiVersion": self.kind.api_version, "kind": f"{self.kind.kind}List", "metadata": listed}
        items = ", ".join(event.text for event in events)
        return 200, _Listed(f'{json.dumps(head)[:-1]}, "items": [{items}]}}'), {}

    def _wanted(self, item: Json) -> bool:
        return matches_labels(
            item["metadata"].get("labels", {}), self.query.get("labelSelector", "")
        ) and matches_fields(item, self.query.get("fieldSelector", ""))

    def _page(self, events: list[Event], version: str) -> tuple[list[Event], str, int]:
        limit, given = int(self.query.get("limit") or 0), self.query.get("continue")
        if given:
            start = _continue_token(given)
            events = [event for event in events if f"/{event.key[3]}" >= start.rstrip("\0") + "\0"]
        if not limit or len(events) <= limit:
            return events, "", 0
        token = {"v": "meta.k8s.io/v1", "rv": int(version), "start": f"/{events[limit - 1].key[3]}\0"}
        packed = json.dumps(token, separators=(",", ":")).encode()
        return events[:limit], base64.urlsafe_b64encode(packed).decode().rstrip("="), len(events) - limit

    def lines(self, is_settled: Callable[[], bool]) -> Iterator[str]:
        """The lines of a watch."""
        store, given = self.cluster.store, self.query.get("resourceVersion", "")
        seconds = float(self.query.get("timeoutSeconds") or 30)
        with store.lock:
            since = store.version
            first = [e for e in store.objects.of_kind(self.kind, self.namespace) if self._wanted(e.object)]
        initial = self.query.get("sendInitialEvents") == "true"
        if given in ("", "0") or initial:
            yield from (_line("ADDED", event.text) for event in first)
        else:
            since = int(given)
        if initial:
            yield self._bookmark(since, {"k8s.io/initial-events-end": "true"})
        marks = self.query.get("allowWatchBookmarks") == "true" and not initial
        try:
            for event in store.watch(self.kind, self.namespace, since, seconds, is_settled):
                if event is None:
                    if marks:
                        yield self._bookmark(store.version, {})
                elif self._wanted(event.object):
                    yield _line(event.type, event.text)
        except Refusal as refusal:
            yield _line("ERROR", json.dumps(refusal.body))
            return
        if marks:
            yield self._bookmark(store.version, {})

    def _bookmark(self, version: int, annotations: dict[str, str]) -> str:
        meta: Json = {"resourceVersion": str(version), "creationTimestamp": None}
        if annotations:
            meta["annotations"] = annotations
        shown = {"kind": self.kind.kind, "apiVersion": self.kind.api_version, "metadata": meta}
        return _line("BOOKMARK", json.dumps(shown))

    def _create(self) -> tuple[int, Any, dict[str, str]]:
        obj = _body(self.raw, self.kind)
        self._check_place(obj)
        obj, headers = self._decoded(obj)
        if self.kind.plural == "namespaces":
            obj = _namespace(obj)
        self._admit("create", obj, None)
        made = self.cluster.store.create(self.kind, obj, self.manager, dry=self.dry)
        if self.kind.plural == "customresourcedefinitions" and not self.dry:
            self.cluster.kinds += kinds_of_crd(made)
        return 201, made, headers

    def _replace(self, obj: Json) -> tuple[int, Any, dict[str, str]]:
        self._check_place(obj, self.name)
        old = self.cluster.store.get(self.kind, self.namespace, self.name)
        obj, headers = self._decoded(obj)
        self._admit("update", obj, old)
        status = self.sub == "status"
        return 200, self.cluster.store.replace(self.kind, obj, self.manager, status=status, dry=self.dry), headers

    def _patch(self) -> tuple[int, Any, dict[str, str]]:
        content = (self.http.headers.get("Content-Type") or "").split(";")[0]
        if content != "application/apply-patch+yaml":
            old = self.cluster.store.get(self.kind, self.namespace, self.name)
            return self._replace(_merge_patch(old, _body(self.raw)))
        if not self.query.get("fieldManager"):
            cause = {
                "reason": "FieldValueRequired",
                "message": "Required value: is required for apply patch",
                "field": "fieldManager",
            }
            raise invalid("PatchOptions", "meta.k8s.io", "", [cause])
        obj = _body(self.raw)
        self._check_place(obj, self.name)
        unknown = unknown_paths(obj, self.kind, keyed=True)
        if unknown:
            where = f"{self.namespace}/{self.name}" if self.namespace else self.name
            kind = f"{self.kind.api_version}, Kind={self.kind.kind}"
            raise refuse(
                500,
                f"failed to create typed patch object ({where}; {kind}): .{unknown[0]}: field not declared in schema",
            )
        force = self.query.get("force") in ("true", "True")
        with self.cluster.store.lock:
            status = self.sub == "status"
            code, planned = self.cluster.store.apply(self.kind, obj, self.manager, force=force, dry=True, status=status)
            checked = check_and_default(planned, self.kind)
            old = None if code == 201 else self.cluster.store.get(self.kind, self.namespace, self.name)
            self._admit("create" if code == 201 else "update", checked, old)
            code, made = self.cluster.store.apply(
                self.kind, obj, self.manager, force=force, dry=self.dry, status=status
            )
        return code, made, {}

    def _check_place(self, obj: Json, name: str = "") -> None:
        meta = obj.setdefault("metadata", {})
        if name and meta.setdefault("name", name) != name:
            raise refuse(
                400,
                f"the name of the object ({meta['name']}) does not match the name on the URL ({name})",
                "BadRequest",
            )
        if self.kind.namespaced:
            if meta.setdefault("namespace", self.namespace) != self.namespace:
                message = "the namespace of the provided object does not match the namespace sent on the request"
                raise refuse(400, message, "BadRequest")
            try:
                self.cluster.store.get(NAMESPACES, "", self.namespace)
            except Refusal:
                raise not_found(NAMESPACES, self.namespace) from None
        if obj.get("kind") != self.kind.kind:
            wrong = str(obj.get("kind"))
            cause = {
                "reason": "FieldValueInvalid",
                "message": f'Invalid value: "{wrong}": must be {self.kind.kind}',
                "field": "kind",
            }
            raise invalid(wrong, self.kind.group, meta.get("name", ""), [cause])

    def _decoded(self, obj: Json) -> tuple[Json, dict[str, str]]:
        """Unknown fields by the level asked for, then pruning, defaults and the schema."""
        unknown = unknown_paths(obj, self.kind)
        level = self.query.get("fieldValidation") or "Warn"
        headers: dict[str, str] = {}
        if unknown and level == "Strict":
            listed = ", ".join(f'unknown field "{path}"' for path in unknown)
            kind = f'{self.kind.kind} in version "{self.kind.version}" cannot be handled as a {self.kind.kind}'
            raise refuse(400, f"{kind}: strict decoding error: {listed}", "BadRequest")
        if unknown and level == "Warn":
            headers["Warning"] = ", ".join(f'299 - "unknown field \\"{path}\\""' for path in unknown)
        return check_and_default(obj, self.kind), headers

    def _admit(self, verb: str, new: Json, old: Json | None) -> None:
        denial = self.cluster.admit(verb, self.kind, new, old)
        if denial is not None:
            raise denial


def _fixed_paths(cluster: Cluster, path: str) -> Json | None:
    if path == "/version":
        return {"major": "1", "minor": "36", "gitVersion": "v1.36.1", "platform": "linux/amd64"}
    if path == "/api":
        return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}
    if path == "/apis":
        return group_list(cluster.kinds)
    for kind in cluster.kinds:
        if kind.prefix == path:
            return resource_list([k for k in cluster.kinds if k.prefix == path], kind.api_version)
    return None


def _body(raw: bytes, kind: Kind | None = None) -> Json:
    text = raw.decode("utf-8", errors="replace")
    try:
        value = json.loads(text)
    except ValueError:
        value = None
        if not text.lstrip().startswith("{"):
            value = yaml.safe_load(text)
    if not isinstance(value, dict):
        wanted = kind.kind if kind else "object"
        shown = text[1:2] or "?"
        raise refuse(
            400,
            f"the object provided is unrecognized (must be of type {wanted}): couldn't get version/kind; json "
            f"parse error: "
            f"invalid character '{shown}' looking for beginning of object key string ({text[:40]})",
            "BadRequest",
        )
    return value


def _merge_patch(target: Any, patch: Any) -> Any:
    """RFC 7386."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = _merge_patch(merged.get(name), value)
    return merged


def _continue_token(text: str) -> str:
    decoded = b""
    try:
        decoded = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        return str(json.loads(decoded)["start"])
    except (ValueError, KeyError):
        first = decoded[:1].decode(errors="replace") or "?"
        reason = f"continue key is not valid: invalid character '{first}' looking for beginning of value"
        raise refuse(400, f"invalid continue token: {reason}", "BadRequest") from None


def _namespace(obj: Json) -> Json:
    meta = obj["metadata"]
    labels = {**meta.get("labels", {}), "kubernetes.io/metadata.name": meta["name"]}
    return {
        "kind": "Namespace",
        "apiVersion": "v1",
        "metadata": {**meta, "labels": labels},
        "spec": {"finalizers": ["kubernetes"]},
        "status": {"phase": "Active"},
    }


def _review(cluster: Cluster, obj: Json) -> Json:
    allowed = cluster.allowed(obj["spec"].get("resourceAttributes", {}))
    return {**obj, "metadata": {"creationTimestamp": now()}, "status": {"allowed": allowed}}
