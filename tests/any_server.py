"""The server under test: our own by default, a real one by KUBECONFIG; the same test functions run on both.

A test with the fixture `any_server` goes through REST alone, so it does not know whose server it is. CRDs that are
absent are installed, all is done in a namespace of its own, and what was made is taken away in the end. Its controllers
move jobs by REST as well, after each look and each write of the client. Not to be had this way, and therefore on
`live_plane`: faults and denials on demand, stale CRDs, members behind Karmada's proxy, and logs, which need a kubelet.
"""

import contextlib
import json
import os
import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hyperflow.submit.plane import Patience, Plane
from hyperflow.submit.transport import KubernetesTransport
from tests.api_server.controllers import Controllers
from tests.api_server.server import ApiServer, Cluster
from tests.live_plane import MEMBER_CRDS, PLANE_CRDS, FlyingClock, crd, priority_class, queue
from tests.rest_cluster import RestCluster

Json = dict[str, Any]
REAL = os.environ.get("KUBECONFIG")  # as the tests were started; single tests set it for themselves
SERVED_SECONDS = 30.0


@dataclass
class Request:
    """One request of the client under test."""

    method: str
    path: str
    query: dict[str, str]


@dataclass
class AnyServer:
    """One server, its namespace, and hands on it that leave no trace in `requests`."""

    kubeconfig: Path
    cluster: RestCluster
    controllers: Controllers
    name: str
    requests: list[Request] = field(default_factory=list)
    made: dict[str, None] = field(default_factory=dict)
    clock: FlyingClock = field(default_factory=FlyingClock)
    busy: bool = False

    @property
    def namespace(self) -> str:
        """The namespace of the tests."""
        return self.cluster.store.namespace

    @property
    def names_of_bundle(self) -> dict[str, str]:
        """What a bundle for this server must name: its namespace, its queue, its PriorityClass."""
        return {"namespace": self.namespace, "queue": self.name, "priority": f"{self.name}-high"}

    @property
    def plane(self) -> Plane:
        """A client that reads this kubeconfig."""
        patience = Patience(total_seconds=30, first_seconds=0.1)
        return Plane(transport=KubernetesTransport(), clock=self.clock, patience=patience)

    @property
    def context(self) -> str:
        """The kubeconfig's context, as messages name it."""
        return self.cluster.transport.context

    @contextlib.contextmanager
    def by_hand(self) -> Iterator[None]:
        """Do something that is not the client's."""
        before, self.busy = self.busy, True
        try:
            yield
        finally:
            self.busy = before

    def put(self, *objects: Json) -> None:
        """Make or replace objects with their status."""
        with self.by_hand():
            for obj in objects:
                self.cluster.put(obj)

    def get(self, kind: str, name: str) -> Json:
        """One object."""
        with self.by_hand():
            return self.cluster.store.get(self.cluster.kind_named(kind), self.namespace, name)

    def remove(self, kind: str, name: str) -> None:
        """Delete one object."""
        with self.by_hand():
            self.cluster.store.delete(self.cluster.kind_named(kind), self.namespace, name, {})

    def names(self, kind: str) -> list[str]:
        """Names of all objects of a kind: of the namespace, or of the cluster those of these tests."""
        with self.by_hand():
            found = [obj["metadata"]["name"] for obj in self.cluster.store.find(self.cluster.kind_named(kind))]
        return found if self.cluster.kind_named(kind).namespaced else [name for name in found if self.name in name]

    def queue(self, state: str = "Open", **spec: Any) -> Json:
        """The tests' own Queue."""
        return queue(self.name, state, **spec)

    def priority_class(self) -> Json:
        """The tests' own PriorityClass."""
        return priority_class(f"{self.name}-high")

    def step(self) -> None:
        """Let the controllers do their next deeds."""
        with self.by_hand():
            self.controllers.step()

    def sent(self, method: str, path: str, query: dict[str, str], *, ok: bool) -> None:
        """Note a request, and let the controllers go on after a look and after a write."""
        writes = method in ("PATCH", "POST", "PUT") and "dryRun" not in query and "/selfsubject" not in path
        if writes and ok and not path.endswith("/status"):
            self.made[path] = None
        if self.busy:
            return
        self.requests.append(Request(method, path, dict(query)))
        if writes or method == "DELETE" or path.endswith("/hyperjobs"):
            self.step()

    def watch_client(self, patch: pytest.MonkeyPatch) -> None:
        """Point KUBECONFIG here, and hear of each request that a client makes on it."""
        send, lines, server = KubernetesTransport.send, KubernetesTransport.lines, self

        def told(
            self: KubernetesTransport, method: str, path: str, query: Any, body: object = None, content_type: str = ""
        ) -> Any:
            answer = send(self, method, path, query, body, content_type)
            if os.environ.get("KUBECONFIG") == str(server.kubeconfig):
                server.sent(method, path, dict(query), ok=200 <= answer.status < 300)
            return answer

        def watched(self: KubernetesTransport, path: str, query: Any, read_seconds: float) -> Any:
            if os.environ.get("KUBECONFIG") == str(server.kubeconfig):
                server.step()  # so that a watch has something to see
            return lines(self, path, query, read_seconds)

        patch.setenv("KUBECONFIG", str(self.kubeconfig))
        patch.setattr(KubernetesTransport, "send", told)
        patch.setattr(KubernetesTransport, "lines", watched)

    def clean(self) -> None:
        """Take away what was made, jobs first; what a garbage collector took already is passed over."""
        with self.by_hand():
            for _ in range(2):  # controllers of a real plane may make a child once more
                for path in sorted(self.made, key=lambda path: ("jobs" not in path, path)):
                    for item in self._objects(path):
                        self.cluster.transport.send("DELETE", item, {})
        self.made.clear()
        self.requests.clear()
        self.controllers.script.clear()
        self.controllers.hold_queue.clear()
        self.controllers.hold_member.clear()
        self.controllers.orphan_children = False

    def _objects(self, path: str) -> list[str]:
        """A path that was written to: an object's own, or a kind's, below which all objects of the tests count."""
        answer = self.cluster.transport.send("GET", path, {})
        if answer.status != 200:
            return []
        found = json.loads(answer.text)
        if "items" not in found:
            return [path]
        names = [item["metadata"]["name"] for item in found["items"]]
        return [f"{path}/{name}" for name in names if "/namespaces/" in path or self.name in name]


@contextlib.contextmanager
def serve(folder: Path) -> Iterator[AnyServer]:
    """Give the server with its CRDs and namespace; what was installed is taken away in the end."""
    with contextlib.ExitStack() as stack:
        kubeconfig = Path(REAL) if REAL else folder / "kubeconfig"
        if not REAL:
            kubeconfig.write_text(stack.enter_context(ApiServer(Cluster())).kubeconfig())
        transport = KubernetesTransport()
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("KUBECONFIG", str(kubeconfig))
            transport.open()
        crds = [crd(name) for name in dict.fromkeys((*PLANE_CRDS, *MEMBER_CRDS))]
        name = f"hf-{secrets.token_hex(3)}"
        cluster = RestCluster(transport, f"{name}-jobs", crds)
        members = {city: Cluster(crds=[crd(c) for c in MEMBER_CRDS]) for city in ("beijing", "shanghai")}
        controllers = Controllers(SimpleNamespace(plane=cluster, members=members))
        installed = cluster.install_absent_crds()
        try:
            deadline = time.monotonic() + SERVED_SECONDS
            while not all(map(cluster.is_served, crds)):
                assert time.monotonic() < deadline, "the CRDs are not served"
                time.sleep(0.2)
            cluster.make_namespace()
            yield AnyServer(kubeconfig=kubeconfig, cluster=cluster, controllers=controllers, name=name)
        finally:
            cluster.remove_namespace()
            for crd_name in installed:
                cluster.remove_crd(crd_name)
