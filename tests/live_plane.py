"""A plane with two members for tests: real CRDs, an open queue, controllers that move jobs, and a clock that flies."""

import contextlib
import functools
import hashlib
import json
from pathlib import Path

import pytest
import yaml

from hyperflow.lower.lower_job import lower
from hyperflow.render.render_bundle import render
from hyperflow.submit.plane import Patience, Plane
from hyperflow.submit.transport import KubernetesTransport
from tests.api_server.clocks import FlyingClock
from tests.api_server.controllers import Controllers
from tests.api_server.server import ApiServer, Cluster
from tests.crd_schemas import CRDS
from tests.manifest_cases import two_cities

PLANE_CRDS = (
    "training.volcano.sh_hyperjobs", "batch.volcano.sh_jobs", "scheduling.volcano.sh_queues",
    "policy.karmada.io_propagationpolicies", "policy.karmada.io_clusterpropagationpolicies",
    "policy.karmada.io_overridepolicies", "work.karmada.io_resourcebindings",
    "networking.karmada.io_multiclusterservices",
)  # fmt: skip
MEMBER_CRDS = (
    "batch.volcano.sh_jobs", "scheduling.volcano.sh_queues", "scheduling.volcano.sh_podgroups",
    "topology.volcano.sh_hypernodes",
)  # fmt: skip


@functools.cache
def crd(name):
    """One CRD file as a document."""
    if not CRDS.is_dir():
        pytest.skip("the CRD files are not beside the checkout: no live server was imitated")
    return yaml.load((CRDS / f"{name}.yaml").read_text(), Loader=yaml.CSafeLoader)


def write_bundle(folder, *, job=None, mode="auto", name=None):
    """Compile a job by hand (lower and render) into a folder, with its index and plan."""
    resolved, plan = job or two_cities()
    bundle = render(lower(resolved, plan, mode=mode))
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    stages = [
        {"index": s.index, "cluster": s.cluster, "device": s.device, "layers": s.layers, "nodes": s.nodes}
        for s in plan.stages
    ]
    texts = {file.path: file.text for file in bundle.files}
    texts["plan.json"] = json.dumps({"step_seconds": plan.step_seconds, "mfu": plan.mfu, "stages": stages})
    for path, text in texts.items():
        (folder / path).write_text(text)
    files = [{"path": p, "sha256": hashlib.sha256(t.encode()).hexdigest()} for p, t in texts.items()]
    index = {"job": bundle.job, "name": bundle.name, "namespace": bundle.namespace, "mode": bundle.mode, "files": files}
    (folder / "bundle.json").write_text(json.dumps(index))
    return folder


def queue(name="llm", state="Open", **spec):
    """A Queue with its state."""
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": {"weight": 1, **spec},
        "status": {"state": state} if state else {},
    }


def priority_class(name="high"):
    """A PriorityClass."""
    return {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": 1000}


class CountingTransport(KubernetesTransport):
    """Tells the server how much of a watch was read, so that its time does not fly away from us."""

    def __init__(self, server, read_seconds=60.0):
        super().__init__(read_seconds=read_seconds)
        self.server = server

    def lines(self, path, query, read_seconds):
        for line in super().lines(path, query, read_seconds):
            yield line
            self.server.lines_read += 1


class LivePlane:
    """The server, its controllers, and the client on it."""

    def __init__(self, server, kubeconfig):
        self.server = server
        self.kubeconfig = kubeconfig
        self.controllers = Controllers(server)
        server.after_request = self.controllers.step
        self.clock = server.plane.store.clock

    @property
    def plane(self):
        """A client that reads this kubeconfig."""
        return Plane(
            transport=CountingTransport(self.server),
            clock=self.clock,
            patience=Patience(total_seconds=30, first_seconds=0.1),
        )

    def names(self, kind):
        """Names of all objects of a kind on the plane."""
        store = self.server.plane.store
        return [o["metadata"]["name"] for o in store.find(self.server.plane.kind_named(kind))]

    def put(self, *objects):
        """Store objects on the plane."""
        for obj in objects:
            self.server.plane.put(obj)


@contextlib.contextmanager
def live_plane(folder, monkeypatch, members=("beijing", "shanghai"), plane_crds=PLANE_CRDS, with_queue=True):
    """Run the server; KUBECONFIG points to it."""
    plane = Cluster(crds=[crd(name) if isinstance(name, str) else name for name in plane_crds])
    views = {name: Cluster(crds=[crd(c) for c in MEMBER_CRDS]) for name in members}
    clock = FlyingClock()
    for cluster in (plane, *views.values()):
        cluster.store.clock = clock
    with ApiServer(plane, views) as server:
        path = Path(folder) / "kubeconfig"
        path.write_text(server.kubeconfig())
        monkeypatch.setenv("KUBECONFIG", str(path))
        live = LivePlane(server, path)
        if with_queue:
            live.put(queue(), priority_class())
        yield live
