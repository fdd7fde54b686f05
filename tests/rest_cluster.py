"""A server seen through its REST interface alone, in the shape that the test controllers drive: a real one or ours."""

import json
import threading
from typing import Any

from hyperflow.submit.transport import KubernetesTransport
from tests.api_server.answers import Refusal, not_found
from tests.api_server.kinds import BUILT_IN, Kind, kinds_of_crd
from tests.api_server.server import NAMESPACES

Json = dict[str, Any]
_CRDS = next(kind for kind in BUILT_IN if kind.plural == "customresourcedefinitions")


class RestStore:
    """Reads and deletes objects; lists of namespaced kinds are those of one namespace."""

    def __init__(self, transport: KubernetesTransport, namespace: str) -> None:
        self.transport, self.namespace = transport, namespace
        self.lock = threading.RLock()
        self.objects = self  # `objects.get(key)` is all that is asked of it

    @staticmethod
    def key(kind: Kind, namespace: str, name: str) -> tuple[Kind, str, str]:
        """What `get` of `objects` takes."""
        return kind, namespace, name

    def path(self, kind: Kind, name: str = "", namespace: str = "") -> str:
        """Where an object, or all of a kind, are served."""
        where = f"/namespaces/{namespace or self.namespace}" if kind.namespaced else ""
        return f"{kind.prefix}{where}/{kind.plural}" + (f"/{name}" if name else "")

    def find(self, kind: Kind, namespace: str = "") -> list[Json]:
        """All objects of a kind; none where it is not served."""
        answer = self.transport.send("GET", self.path(kind, namespace=namespace), {})
        items = json.loads(answer.text)["items"] if answer.status == 200 else []
        return [{"apiVersion": kind.api_version, "kind": kind.kind, **item} for item in items]

    def get(self, kind: Any, namespace: str = "", name: str = "") -> Any:
        """One object: 404 when it is not there; of a key None."""
        if isinstance(kind, tuple):
            answer = self.transport.send("GET", self.path(kind[0], kind[2], kind[1]), {})
            return json.loads(answer.text) if answer.status == 200 else None
        found = self.get(self.key(kind, namespace, name))
        if found is None:
            raise not_found(kind, name)
        return found

    def delete(self, kind: Kind, namespace: str, name: str, options: Json) -> None:
        """Delete an object if it is there; what it owns goes with it where a garbage collector runs."""
        self.transport.send("DELETE", self.path(kind, name, namespace), {}, options)


class RestCluster:
    """The parts of `tests.api_server.server.Cluster` that controllers and tests use, by REST."""

    def __init__(self, transport: KubernetesTransport, namespace: str, crds: list[Json]) -> None:
        self.transport, self.crds = transport, crds
        self.kinds = [*BUILT_IN, *(kind for crd in crds for kind in kinds_of_crd(crd))]
        self.store = RestStore(transport, namespace)

    def kind_named(self, name: str) -> Kind:
        """The kind of that name, ours before a built-in one."""
        return next(kind for kind in reversed(self.kinds) if kind.kind == name)

    def kind_of(self, obj: Json) -> Kind:
        """The kind of an object."""
        return next(k for k in self.kinds if (k.api_version, k.kind) == (obj["apiVersion"], obj["kind"]))

    def admit(self, _verb: str, _kind: Kind, _new: Json, _old: Json | None) -> Refusal | None:
        """The server's own admission judges when the object is put."""

    def put(self, obj: Json) -> Json:
        """Make or replace an object, then its status, as a controller does."""
        kind = self.kind_of(obj)
        meta = {**obj["metadata"]}
        namespace = meta.get("namespace") or self.store.namespace
        if kind.namespaced:
            meta["namespace"] = namespace
        path = self.store.path(kind, meta["name"], namespace)
        body = {**obj, "metadata": {k: v for k, v in meta.items() if k != "managedFields"}}
        there = self.store.get(self.store.key(kind, namespace, meta["name"]))
        if there is None:
            body["metadata"].pop("resourceVersion", None)
            made = self._sent("POST", path.rpartition("/")[0], body)
        else:
            body["metadata"]["resourceVersion"] = there["metadata"]["resourceVersion"]
            made = self._sent("PUT", path, body)
        if "status" in obj and kind.status:
            made = self._sent("PUT", f"{path}/status", {**made, "status": obj["status"]})
        return made

    def _sent(self, method: str, path: str, body: Json) -> Json:
        answer = self.transport.send(method, path, {}, body)
        assert 200 <= answer.status < 300, f"{method} {path}: {answer.status} {answer.text[:500]}"
        return json.loads(answer.text)

    def install_absent_crds(self) -> list[str]:
        """Install the CRDs that are not there; gives their names."""
        installed: list[str] = []
        for crd in self.crds:
            name = crd["metadata"]["name"]
            if self.store.get(self.store.key(_CRDS, "", name)) is None:
                body = {k: v for k, v in crd.items() if k != "status"}
                self._sent("POST", self.store.path(_CRDS), {**body, "metadata": {"name": name} | _annotations(crd)})
                installed.append(name)
        return installed

    def is_served(self, crd: Json) -> bool:
        """Whether the kind of an installed CRD answers already."""
        kind = kinds_of_crd(crd)[-1]
        return self.transport.send("GET", self.store.path(kind), {"limit": "1"}).status == 200

    def remove_crd(self, name: str) -> None:
        """Take a CRD away."""
        self.store.delete(_CRDS, "", name, {})

    def make_namespace(self) -> None:
        """Make the namespace of the tests."""
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.store.namespace}}
        self._sent("POST", "/api/v1/namespaces", body)

    def remove_namespace(self) -> None:
        """Take the namespace away."""
        self.store.delete(NAMESPACES, "", self.store.namespace, {})


def _annotations(crd: Json) -> Json:
    """Groups of k8s.io need the annotation of their approval."""
    given = crd["metadata"].get("annotations")
    return {"annotations": given} if given else {}
