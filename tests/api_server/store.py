"""The objects, their versions, and the history that watches read."""

import bisect
import functools
import json
import marshal
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.api_server import ownership
from tests.api_server.answers import Refusal, already_exists, modified, not_found, refuse, success, wrong_uid
from tests.api_server.clocks import FlyingClock, RealClock
from tests.api_server.kinds import Kind

Json = dict[str, Any]
Key = tuple[str, str, str, str]
HISTORY = 1000
BOOKMARK_SECONDS = 60.0


def copied(tree: Json) -> Json:
    """A copy of a JSON tree, many times faster than `copy.deepcopy`."""
    return marshal.loads(marshal.dumps(tree))


def now() -> str:
    """The time as objects carry it."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


@dataclass(frozen=True)
class Event:
    """One change: what a watch of the kind shows. The object is never changed afterwards."""

    version: int
    type: str
    key: Key
    object: Json

    @functools.cached_property
    def text(self) -> str:
        """The object as JSON, written once for all who watch or list."""
        return json.dumps(self.object)


class Objects(Mapping[Key, Json]):
    """All objects by key, found by kind without a look at the others. What is stored is replaced, never changed."""

    def __init__(self) -> None:
        self._kinds: dict[tuple[str, str], dict[tuple[str, str], Event]] = {}

    def __getitem__(self, key: Key) -> Json:
        return self._kinds[key[:2]][key[2:]].object

    def __iter__(self) -> Iterator[Key]:
        return (kind + rest for kind, events in self._kinds.items() for rest in events)

    def __len__(self) -> int:
        return sum(map(len, self._kinds.values()))

    def set(self, event: Event) -> None:
        """Store what an event shows, or take it away."""
        events = self._kinds.setdefault(event.key[:2], {})
        if event.type == "DELETED":
            events.pop(event.key[2:], None)
            if not events:
                del self._kinds[event.key[:2]]
        else:
            events[event.key[2:]] = event

    def of_kind(self, kind: Kind, namespace: str = "") -> list[Event]:
        """The last event of all objects of a kind, by namespace and name."""
        events = self._kinds.get((kind.group, kind.plural), {})
        return [events[rest] for rest in sorted(events) if not namespace or rest[0] == namespace]


@dataclass
class Store:
    """All objects of one server. Every method is atomic; `changed` wakes the watches."""

    objects: Objects = field(default_factory=Objects)
    history: list[Event] = field(default_factory=list)
    version: int = 1000
    oldest: int = 1000
    lock: threading.RLock = field(default_factory=threading.RLock)
    clock: RealClock | FlyingClock = field(default_factory=RealClock)

    def __post_init__(self) -> None:
        self.changed = threading.Condition(self.lock)

    @staticmethod
    def key(kind: Kind, namespace: str, name: str) -> Key:
        """Where an object is kept: every version of a kind is the same object."""
        return (kind.group, kind.plural, namespace if kind.namespaced else "", name)

    def get(self, kind: Kind, namespace: str, name: str) -> Json:
        """A copy of the object; 404 when it is not there."""
        with self.lock:
            found = self.objects.get(self.key(kind, namespace, name))
            if found is None:
                raise not_found(kind, name)
            return copied(found)

    def find(self, kind: Kind, namespace: str = "") -> list[Json]:
        """Copies of all objects of a kind, by namespace and name."""
        with self.lock:
            return [copied(event.object) for event in self.objects.of_kind(kind, namespace)]

    def create(self, kind: Kind, obj: Json, manager: str, *, operation: str = "Update", dry: bool = False) -> Json:
        """Store a new object with uid, version, generation and ownership."""
        with self.lock:
            meta = obj["metadata"]
            key = self.key(kind, meta.get("namespace", ""), meta["name"])
            if key in self.objects:
                raise already_exists(kind, meta["name"])
            new = copied(obj)
            if kind.status:
                new.pop("status", None)
            fresh = {"creationTimestamp": now(), "uid": str(uuid.uuid4())}
            if kind.status or "spec" in new:
                fresh["generation"] = 1
            if kind.plural == "namespaces":
                del fresh["generation"]
            new["metadata"] = {**{k: v for k, v in meta.items() if k != "managedFields"}, **fresh}
            paths = ownership.field_set(new, kind.shape)
            self._own(new, manager, operation, paths, kind)
            return self._put(key, new, "ADDED", dry)

    def replace(
        self, kind: Kind, obj: Json, manager: str, *, status: bool = False, dry: bool = False, checked: bool = True
    ) -> Json:
        """Replace an object (or its status); 409 when its resourceVersion is not the current one."""
        with self.lock:
            meta = obj["metadata"]
            old = self.objects.get(self.key(kind, meta.get("namespace", ""), meta["name"]))
            if old is None:
                raise not_found(kind, meta["name"])
            given = meta.get("resourceVersion")
            if checked and given and given != old["metadata"]["resourceVersion"]:
                raise modified(kind, meta["name"])
            if status:
                new = {**old, "status": copied(obj.get("status", {}))}
            else:
                new = copied({name: value for name, value in obj.items() if name != "status" or not kind.status})
                if kind.status and "status" in old:
                    new["status"] = old["status"]
            return self._save(kind, old, new, manager, "Update", status=status, dry=dry)

    def apply(
        self, kind: Kind, obj: Json, manager: str, *, force: bool, dry: bool, status: bool = False
    ) -> tuple[int, Json]:
        """Server-side apply: (201, new) or (200, merged); 409 with a cause per field owned by others."""
        with self.lock:
            meta = obj["metadata"]
            key = self.key(kind, meta.get("namespace", ""), meta["name"])
            wanted = copied(obj)
            if kind.status and not status:
                wanted.pop("status", None)
            if key not in self.objects:
                return 201, self.create(kind, wanted, manager, operation="Apply", dry=dry)
            old = self.get(kind, meta.get("namespace", ""), meta["name"])
            mine = ownership.field_set(wanted, kind.shape, status=status)
            others = self._conflicts(old, wanted, mine, manager, kind)
            if others and not force:
                raise _conflict(others)
            new = ownership.merge(old, {k: v for k, v in wanted.items() if k != "metadata"}, kind.shape)
            new["metadata"] = copied(old["metadata"])
            for name in ("labels", "annotations"):
                if meta.get(name):
                    new["metadata"][name] = {**old["metadata"].get(name, {}), **meta[name]}
            before = _sets_of(old)
            kept = {path for entry, paths in before.items() if entry[0] != manager for path in paths}
            for path in sorted(before.get((manager, "Apply", ""), set()) - mine - kept, reverse=True):
                ownership.remove(new, path, kind.shape)
            return 200, self._save(kind, old, new, manager, "Apply", status=status, dry=dry, owned=mine)

    def _conflicts(
        self, old: Json, new: Json, mine: set[ownership.Path], manager: str, kind: Kind
    ) -> dict[ownership.Path, str]:
        found: dict[ownership.Path, str] = {}
        for (other, _, _), paths in _sets_of(old).items():
            for path in sorted(paths & mine) if other != manager else ():
                if path[-1].startswith("f:") and ownership.lookup(old, path, kind.shape) != ownership.lookup(
                    new, path, kind.shape
                ):
                    found[path] = other
        return found

    def _save(
        self,
        kind: Kind,
        old: Json,
        new: Json,
        manager: str,
        operation: str,
        *,
        status: bool,
        dry: bool,
        owned: set[ownership.Path] | None = None,
    ) -> Json:
        meta = old["metadata"]
        protected = (
            "uid",
            "creationTimestamp",
            "generation",
            "deletionTimestamp",
            "deletionGracePeriodSeconds",
            "managedFields",
        )
        new["metadata"] = {**new["metadata"], **{name: meta[name] for name in protected if name in meta}}
        before, after = _content(old), _content(new)
        if not status and kind.status and before != after:
            new["metadata"]["generation"] = meta.get("generation", 1) + 1
        paths = owned
        if paths is None and _same_but_version(old, new):
            return old
        if paths is None:
            was = ownership.field_set(old, kind.shape, status=status)
            is_now = ownership.field_set(new, kind.shape, status=status)
            paths = {
                path
                for path in is_now
                if path not in was or ownership.lookup(old, path, kind.shape) != ownership.lookup(new, path, kind.shape)
            }
        self._own(new, manager, operation, paths, kind, "status" if status else "")
        unchanged = before == after and old.get("status") == new.get("status")
        told = ("labels", "annotations", "finalizers")
        if unchanged and all(meta.get(k) == new["metadata"].get(k) for k in told) and _same_owners(old, new):
            return old
        if new["metadata"].get("deletionTimestamp") and not new["metadata"].get("finalizers"):
            return self._put(self.key(kind, meta.get("namespace", ""), meta["name"]), new, "DELETED", dry)
        return self._put(self.key(kind, meta.get("namespace", ""), meta["name"]), new, "MODIFIED", dry)

    def _own(
        self, obj: Json, manager: str, operation: str, paths: set[ownership.Path], kind: Kind, sub: str = ""
    ) -> None:
        entries = _sets_of(obj)
        times = {
            (e["manager"], e["operation"], e.get("subresource", "")): e["time"]
            for e in obj["metadata"].get("managedFields", [])
        }
        mine = (manager, operation, sub)
        if operation == "Apply":
            entries[mine] = set(paths)
        else:
            entries[mine] = entries.get(mine, set()) | paths
        changed = set(paths)
        for other, owned in entries.items():
            if other != mine and operation != "Apply":
                entries[other] = owned - changed
            elif other != mine:
                differing = {p for p in owned & changed if self._differs(obj, p, kind)}
                entries[other] = owned - differing
        obj["metadata"]["managedFields"] = [
            {
                "apiVersion": kind.api_version,
                "fieldsType": "FieldsV1",
                "fieldsV1": ownership.fields_v1(owned, dots=entry[1] == "Update"),
                "manager": entry[0],
                "operation": entry[1],
                **({"subresource": entry[2]} if entry[2] else {}),
                "time": times.get(entry, now()),
            }
            for entry, owned in entries.items()
            if owned
        ]

    def _differs(self, obj: Json, path: ownership.Path, kind: Kind) -> bool:
        """Whether the stored object has another value at the path than `obj` (so that a forced apply takes it)."""
        meta = obj["metadata"]
        stored = self.objects.get(self.key(kind, meta.get("namespace", ""), meta["name"]))
        return stored is not None and ownership.lookup(stored, path, kind.shape) != ownership.lookup(
            obj, path, kind.shape
        )

    def _put(self, key: Key, obj: Json, type_: str, dry: bool) -> Json:
        if dry:
            obj["metadata"].pop("resourceVersion", None) if type_ == "ADDED" else None
            return copied(obj)
        self.version += 1
        obj["metadata"]["resourceVersion"] = str(self.version)
        event = Event(self.version, type_, key, obj)
        self.objects.set(event)
        self.history.append(event)
        if len(self.history) > 2 * HISTORY:
            self.compact(self.history[-HISTORY].version)
        self.changed.notify_all()
        return copied(obj)

    def compact(self, oldest: int | None = None) -> None:
        """Forget the history before a version, so that older watches get 410."""
        with self.lock:
            self.oldest = oldest if oldest is not None else self.version
            self.history = [event for event in self.history if event.version > self.oldest]

    def delete(self, kind: Kind, namespace: str, name: str, options: Json, *, dry: bool = False) -> Json:
        """Delete by propagation policy; Foreground answers with the object, which waits for its dependents."""
        with self.lock:
            obj = self.get(kind, namespace, name)
            meta = obj["metadata"]
            wanted = options.get("preconditions", {}).get("uid")
            if wanted and wanted != meta["uid"]:
                raise wrong_uid(kind, name, wanted, meta["uid"])
            if dry:
                return success(kind, name, meta["uid"])
            key = self.key(kind, namespace, name)
            foreground = options.get("propagationPolicy") == "Foreground"
            if foreground or meta.get("finalizers"):
                if not meta.get("deletionTimestamp"):
                    meta |= {"deletionTimestamp": now(), "deletionGracePeriodSeconds": 0}
                    meta["generation"] = meta.get("generation", 1) + 1
                if foreground:
                    meta["finalizers"] = [*meta.get("finalizers", []), "foregroundDeletion"]
                return self._put(key, obj, "MODIFIED", False)
            self._put(key, obj, "DELETED", False)
            if options.get("propagationPolicy") != "Orphan":
                self._collect(meta["uid"])
            return success(kind, name, meta["uid"])

    def _collect(self, uid: str) -> None:
        """Delete what an owner leaves behind."""
        for key, obj in list(self.objects.items()):
            owners = obj["metadata"].get("ownerReferences", [])
            if any(owner["uid"] == uid for owner in owners) and key in self.objects:
                self._put(key, copied(obj), "DELETED", False)
                self._collect(obj["metadata"]["uid"])

    def finish_foreground(self) -> None:
        """What the garbage collector does: remove dependents, then the objects that waited for them."""
        with self.lock:
            for key, obj in list(self.objects.items()):
                if "foregroundDeletion" in obj["metadata"].get("finalizers", []):
                    self._collect(obj["metadata"]["uid"])
                    rest = [f for f in obj["metadata"]["finalizers"] if f != "foregroundDeletion"]
                    new = copied(obj)
                    new["metadata"]["finalizers"] = rest
                    self._put(key, new, "MODIFIED" if rest else "DELETED", False)

    def watch(
        self, kind: Kind, namespace: str, since: int, seconds: float, is_settled: Callable[[], bool]
    ) -> Iterator[Event | None]:
        """Yield changes after `since` until the time is over, and None every minute, when a bookmark is due.

        `is_settled` says that the client has read all so far, and raises where there is none any more.
        """
        deadline, minute = self.clock.now() + seconds, self.clock.now() + BOOKMARK_SECONDS
        while True:
            settled = is_settled()
            if self.clock.now() >= minute:
                minute += BOOKMARK_SECONDS
                yield None
            with self.changed:
                if since < self.oldest:
                    raise refuse(410, f"too old resource version: {since} ({self.oldest})", "Expired")
                fresh = self.history[bisect.bisect_right(self.history, since, key=lambda event: event.version) :]
                if not fresh:
                    left = deadline - self.clock.now()
                    if left <= 0:
                        return
                    self.clock.wait(self.changed, min(left, max(minute - self.clock.now(), 0)), settled)
            for event in fresh:
                since = event.version
                if event.key[:2] == (kind.group, kind.plural) and (not namespace or event.key[2] == namespace):
                    yield event


def _content(obj: Json) -> Json:
    return {name: value for name, value in obj.items() if name not in ("metadata", "status")}


def _same_owners(old: Json, new: Json) -> bool:
    return _sets_of(old) == _sets_of(new) and old["metadata"].get("annotations") == new["metadata"].get("annotations")


def _same_but_version(old: Json, new: Json) -> bool:
    versionless = [{**obj, "metadata": {**obj["metadata"], "resourceVersion": ""}} for obj in (old, new)]
    return versionless[0] == versionless[1]


def _sets_of(obj: Json) -> dict[tuple[str, str, str], set[ownership.Path]]:
    """Read managedFields back: (manager, operation, subresource) -> field set."""
    sets: dict[tuple[str, str, str], set[ownership.Path]] = {}
    for entry in obj["metadata"].get("managedFields", []):
        paths: set[ownership.Path] = set()
        _walk(entry["fieldsV1"], (), paths)
        sets[(entry["manager"], entry["operation"], entry.get("subresource", ""))] = paths
    return sets


def _walk(node: Json, path: ownership.Path, paths: set[ownership.Path]) -> None:
    children = {name: child for name, child in node.items() if name != "."}
    if path and (not children or path[-1].startswith("k:")):
        paths.add(path)
    for name, child in children.items():
        _walk(child, (*path, name), paths)


def _conflict(owners: dict[ownership.Path, str]) -> Refusal:
    causes = [
        {"reason": "FieldManagerConflict", "message": f'conflict with "{owner}"', "field": ownership.path_text(path)}
        for path, owner in sorted(owners.items())
    ]
    if len(causes) == 1:
        message = f"Apply failed with 1 conflict: {causes[0]['message']}: {causes[0]['field']}"
    else:
        lines = "".join(f"\n- {cause['field']}" for cause in causes)
        names = ", ".join(sorted({f'"{owner}"' for owner in owners.values()}))
        message = f"Apply failed with {len(causes)} conflicts: conflicts with {names}:{lines}"
    return refuse(409, message, "Conflict", {"causes": causes})
