import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlparse

import pytest

from hyperflow.errors import InputError
from hyperflow.inventory.fleet import read_fleet
from hyperflow.submit.live_inventory import KubernetesServer, fetch_objects

NODES = "/api/v1/nodes"
CLUSTERS = "/apis/cluster.karmada.io/v1alpha1/clusters"


def _node(name):
    labels = {"nvidia.com/gpu.product": "NVIDIA-H200"}
    status = {"allocatable": {"nvidia.com/gpu": "8", "memory": "2000Gi"}, "conditions": []}
    return {"metadata": {"name": name, "labels": labels}, "status": status}


class FakeServer:
    """Serves lists from a mapping of paths, two items a page, as the API server pages."""

    def __init__(self, lists):
        self.lists = lists
        self.asked = []

    def get(self, path, query):
        self.asked.append(path)
        if path not in self.lists:
            return None
        items, start = self.lists[path], int(query.get("continue", "0"))
        more = {"continue": str(start + 2)} if start + 2 < len(items) else {}
        return {"kind": "List", "metadata": more, "items": items[start : start + 2]}


def test_a_live_cluster_is_one_cluster_with_all_its_pages():
    server = FakeServer({NODES: [_node(f"n{i}") for i in range(5)]})
    fleet, _ = read_fleet([], live=fetch_objects(server, "member1"))
    assert [(cluster.name, cluster.nodes_usable) for cluster in fleet.clusters] == [("member1", 5)]


def test_a_live_plane_gives_its_clusters_and_what_its_proxy_shows():
    proxy = f"{CLUSTERS}/beijing/proxy"
    clusters = [
        {"apiVersion": "cluster.karmada.io/v1alpha1", "metadata": {"name": name}, "spec": {"region": name[:2]}}
        for name in ("beijing", "shanghai")
    ]
    pod = {
        "metadata": {"name": "p"},
        "spec": {"nodeName": "n1", "containers": [{"resources": {"requests": {"nvidia.com/gpu": "3"}}}]},
    }
    server = FakeServer({CLUSTERS: clusters, proxy + NODES: [_node("n1")], proxy + "/api/v1/pods": [pod]})
    fleet, _ = read_fleet([], live=fetch_objects(server, "plane"))
    beijing, shanghai = fleet.clusters
    assert (beijing.name, beijing.region, beijing.groups[0].free_devices) == ("beijing", "be", 5)
    assert (shanghai.name, shanghai.groups) == ("shanghai", ())


def test_a_server_that_shows_nothing_is_refused():
    with pytest.raises(InputError) as caught:
        fetch_objects(FakeServer({}), "empty")
    assert str(caught.value) == (
        "error[HF338] cannot read the cluster of context 'empty': it shows neither nodes nor Karmada Clusters\n"
        "  --> context empty\n"
        "  hint: kubectl config get-contexts lists the contexts"
    )


@pytest.fixture
def server(tmp_path, monkeypatch):
    """A loopback API server with a kubeconfig; `answers` maps a path to (status, body)."""
    answers = {}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            url = urlparse(self.path)
            assert "limit" in parse_qs(url.query)
            status, body = answers.get(url.path, (404, {"kind": "Status", "code": 404}))
            self.send_response(status)
            self.end_headers()
            self.wfile.write(json.dumps(body).encode() if not isinstance(body, str) else body.encode())

        def log_message(self, *_):
            pass

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=httpd.serve_forever, daemon=True).start()
    config = {
        "contexts": [{"name": "member1", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{httpd.server_port}"}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "current-context": "member1",
    }
    path = tmp_path / "config"
    path.write_text(json.dumps(config))
    monkeypatch.setenv("KUBECONFIG", str(path))
    yield answers
    httpd.shutdown()
    httpd.server_close()


def test_a_real_client_reads_over_the_wire(server):
    server[NODES] = (200, {"items": [_node("n1")]})
    server["/api/v1/pods"] = (403, {"kind": "Status", "code": 403})
    ((name, objects),) = fetch_objects(KubernetesServer("member1"), "member1")
    assert (name, [item["kind"] for item in objects]) == ("member1", ["Node"])


@pytest.mark.parametrize(
    ("status", "body", "reason"),
    [(401, {}, "401 Unauthorized"), (500, {}, "500 Internal Server Error"), (200, "<html>", "Expecting value")],
)
def test_a_server_that_answers_wrongly_is_refused(server, status, body, reason):
    server[CLUSTERS] = (status, body)
    with pytest.raises(InputError) as caught:
        fetch_objects(KubernetesServer("member1"), "member1")
    assert reason in caught.value.findings[0].message


def test_an_unknown_context_is_refused(server):
    with pytest.raises(InputError) as caught:
        KubernetesServer("nowhere")
    assert caught.value.findings[0].code == "HF338"
