"""What a server holds already, as far as it was told: the objects that rules look up."""

from collections.abc import Iterable, Mapping
from typing import Any

from hyperflow.json_tree import dig, is_mapping, mapping, text

_CLUSTER_SCOPED = frozenset(
    [
        "Queue",
        "HyperNode",
        "PriorityClass",
        "Namespace",
        "Cluster",
        "ClusterPropagationPolicy",
        "ClusterOverridePolicy",
        "WorkloadRebalancer",
        "DataSource",
        "CustomResourceDefinition",
        "Node",
    ]
)
_BUILT_IN = {
    ("", "Namespace"): ("default", "kube-node-lease", "kube-public", "kube-system"),
    ("scheduling.k8s.io", "PriorityClass"): ("system-cluster-critical", "system-node-critical"),
    ("scheduling.volcano.sh", "Queue"): ("default", "root"),
}

Key = tuple[str, str]


def group_of(document: Mapping[str, Any]) -> str:
    """Give the API group of a document, empty for the core group."""
    group, slash, _ = text(document.get("apiVersion")).rpartition("/")
    return group if slash else ""


def key_of(document: Mapping[str, Any]) -> Key:
    """Give group and kind of a document."""
    return group_of(document), text(document.get("kind"))


class ServerState:
    """Objects of one server. A kind is known when it was given whole, so that absence means absence."""

    def __init__(self, objects: Iterable[object] = ()) -> None:
        self._objects: dict[Key, dict[tuple[str, str], dict[str, Any]]] = {}
        self._known: set[Key] = set()
        self._applied: set[tuple[Key, str, str]] = set()
        for value in objects:
            if is_mapping(value):
                self._put(value)
                self._known.add(key_of(value))

    def apply(self, document: dict[str, Any]) -> None:
        """Take a document of the call as applied."""
        self._applied.add(self._put(document))

    def _put(self, document: dict[str, Any]) -> tuple[Key, str, str]:
        key = key_of(document)
        name = text(dig(document, "metadata", "name"))
        namespace = "" if key[1] in _CLUSTER_SCOPED else text(dig(document, "metadata", "namespace"), "default")
        self._objects.setdefault(key, {})[namespace, name] = document
        return key, namespace, name

    def was_applied(self, group: str, kind: str, name: str, namespace: str = "") -> bool:
        """Say whether the object is an earlier document of the call."""
        return ((group, kind), namespace, name) in self._applied

    def knows(self, group: str, kind: str) -> bool:
        """Say whether all objects of the kind were given."""
        return (group, kind) in self._known

    def find(self, group: str, kind: str, name: str, namespace: str = "") -> dict[str, Any] | None:
        """Give one object, an empty one for those that every server has."""
        found = self._objects.get((group, kind), {}).get((namespace, name))
        if found is None and not namespace and name in _BUILT_IN.get((group, kind), ()):
            return {"metadata": {"name": name}}
        return found

    def all(self, group: str, kind: str) -> list[dict[str, Any]]:
        """Give all objects of a kind, by namespace and name."""
        return [document for _, document in sorted(self._objects.get((group, kind), {}).items())]

    def queue(self, name: str) -> dict[str, Any] | None:
        """Give a Volcano queue."""
        return self.find("scheduling.volcano.sh", "Queue", name)

    def child_queues(self, name: str) -> list[str]:
        """Give the names of the queues whose parent is the named one; no parent means `root`."""
        queues = self.all("scheduling.volcano.sh", "Queue")
        names = [text(dig(q, "metadata", "name")) for q in queues if _parent(q) == name]
        return [child for child in names if child not in ("root", name)]

    def tier_numbers(self) -> dict[str, int]:
        """Give tier name -> tier of the HyperNodes."""
        return {
            text(dig(node, "spec", "tierName")): dig(node, "spec", "tier")
            for node in self.all("topology.volcano.sh", "HyperNode")
            if text(dig(node, "spec", "tierName")) and isinstance(dig(node, "spec", "tier"), int)
        }

    def highest_tier(self) -> int | None:
        """Give the highest tier of the HyperNodes, or None without any."""
        tiers = [dig(node, "spec", "tier") for node in self.all("topology.volcano.sh", "HyperNode")]
        return max((tier for tier in tiers if isinstance(tier, int)), default=None)


def _parent(queue: Mapping[str, Any]) -> str:
    return text(mapping(queue.get("spec")).get("parent")) or "root"


def is_open(queue: Mapping[str, Any]) -> bool:
    """Say whether a queue takes jobs; one that was written by hand has no status and is taken to be open."""
    return text(dig(queue, "status", "state"), "Open") == "Open"
