"""Lists of a plane and its members, remembered between looks; a watch of one list keeps that one current.

A list is asked for once a round. When a child changes its phase, what must agree with it is asked for again: the
HyperJob before its children, the bindings after them, so that no look mixes a new HyperJob with old children.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from hyperflow.json_tree import dig, text
from hyperflow.submit.plane import Plane
from hyperflow.submit.refusals import Meaning, RefusedError
from hyperflow.submit.server_kinds import BINDING, HYPERJOB, JOB, ServerKind

Json = dict[str, Any]
_Key = tuple[str, str, str, str]
Seen = Literal["told", "quiet", "lost"]
_LASTING: frozenset[Meaning] = frozenset({"forbidden", "no-kind", "absent", "no-namespace"})
_AGREEING = frozenset(kind.resource for kind in (HYPERJOB, JOB, BINDING))


@dataclass(slots=True)
class _List:
    """One remembered answer: objects by namespace and name, or why there are none; a stale one is asked for again."""

    items: dict[tuple[str, str], Json]
    version: str = ""
    refusal: RefusedError | None = None
    is_stale: bool = False


class Remembered:
    """A plane that answers `find` from memory; `member` gives its members, which share that memory."""

    def __init__(self, plane: Plane, lists: dict[_Key, _List] | None = None) -> None:
        self.plane = plane
        self._lists: dict[_Key, _List] = {} if lists is None else lists

    @property
    def context(self) -> str:
        """The kubeconfig context, for messages."""
        return self.plane.context

    def member(self, cluster: str) -> "Remembered":
        """Give a member behind this plane."""
        return Remembered(self.plane.member(cluster), self._lists)

    def find(self, kind: ServerKind, namespace: str = "", labels: str = "") -> tuple[list[Json], str]:
        """Give all objects that carry the labels, and the version of the list; raises as `Plane.find` does."""
        key = (self.plane.prefix, kind.resource, namespace, labels)
        known = self._lists.get(key)
        if known is None or known.is_stale:
            old, known = known, self._ask(kind, namespace, labels)
            self._lists[key] = known
            for name in _changed(old.items, known.items) if old else ():
                self._correct_copies(key, name, known.items.get(name))
        if known.refusal is not None:
            raise known.refusal
        return list(known.items.values()), known.version

    def _ask(self, kind: ServerKind, namespace: str, labels: str) -> _List:
        try:
            items, version = self.plane.find(kind, namespace, labels)
        except RefusedError as error:
            if error.refusal.meaning not in _LASTING and not self.plane.prefix:
                raise
            return _List(items={}, refusal=error)  # a member that is down is asked again in the next round
        return _List(items={_name(item): item for item in items}, version=version)

    def forget(self) -> None:
        """Begin a round: every list is asked for again."""
        self._lists.clear()

    def watch(self, kind: ServerKind, namespace: str, labels: str, seconds: float, *, gather: bool) -> Seen:
        """Watch a list that was found, for a time; without `gather` a new phase or count of pods ends it at once.

        `told` means that such a change came, `quiet` that none did, `lost` that the server did not let us watch or tore
        the watch before its first line.
        """
        key = (self.plane.prefix, kind.resource, namespace, labels)
        known = self._lists.get(key)
        if known is None or known.is_stale or known.refusal is not None:
            return "lost"

        def is_enough(type_: str, item: Json) -> bool:
            return not gather and _is_news(known.items.get(_name(item)), type_, item)

        seen = self.plane.watch(kind, namespace, labels, known.version, seconds, is_enough)
        went_on = seen.version != known.version
        known.version = seen.version
        news = moved = False
        for type_, item in seen.changes:
            name = _name(item)
            old = known.items.pop(name, None)
            if type_ != "DELETED":
                known.items[name] = item
            news = news or _is_news(old, type_, item)
            moved = moved or type_ == "DELETED" or old is None or _phase(old) != _phase(item)
            self._correct_copies(key, name, None if type_ == "DELETED" else item)
        if moved:
            self._age(_AGREEING)
        if seen.ended == "refused" or (seen.ended == "torn" and not went_on):
            known.is_stale = True
            return "lost"
        return "told" if news else "quiet"

    def _correct_copies(self, watched: _Key, name: tuple[str, str], item: Json | None) -> None:
        """Put an object that changed into the server's other lists of its kind; the members' older ones lose it."""
        for key, known in self._lists.items():
            if key[1] == watched[1] and key != watched and name in known.items:
                if item is not None and key[0] == watched[0]:
                    known.items[name] = item
                else:
                    del known.items[name]

    def _age(self, resources: Iterable[str]) -> None:
        for key, known in self._lists.items():
            if key[0] == self.plane.prefix and key[1] in resources:
                known.is_stale = True


def _changed(old: dict[tuple[str, str], Json], new: dict[tuple[str, str], Json]) -> list[tuple[str, str]]:
    """Name what is not the same in two lists."""
    return [name for name in {**old, **new} if _version(old.get(name)) != _version(new.get(name))]


def _version(item: Json | None) -> object:
    return dig(item, "metadata", "resourceVersion")


def _name(item: Json) -> tuple[str, str]:
    return text(dig(item, "metadata", "namespace")), text(dig(item, "metadata", "name"))


def _is_news(old: Json | None, type_: str, item: Json) -> bool:
    """Whether people want to hear of a change at once."""
    return (
        type_ != "MODIFIED"
        or old is None
        or any(dig(old, "status", *path) != dig(item, "status", *path) for path in (("state", "phase"), ("running",)))
    )


def _phase(job: Json) -> str:
    return text(dig(job, "status", "state", "phase"))
