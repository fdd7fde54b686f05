"""Requests go through the proxy that kubectl would take, and only there."""

import http.client
import http.server
import threading
from urllib.parse import urlsplit

import pytest
import yaml

from hyperflow.errors import HyperFlowError
from hyperflow.submit.plane import Patience, Plane
from hyperflow.submit.proxies import proxy_for
from hyperflow.submit.server_kinds import QUEUE
from hyperflow.submit.transport import KubernetesTransport
from tests.live_plane import live_plane


class Proxy(http.server.ThreadingHTTPServer):
    """A proxy that leads every host to one port of this machine and remembers what it was asked for."""

    daemon_threads = True

    def __init__(self, port):
        self.port, self.asked, self.passwords = port, [], []
        super().__init__(("127.0.0.1", 0), _Leading)
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    @property
    def place(self):
        return f"127.0.0.1:{self.server_address[1]}"


class _Leading(http.server.BaseHTTPRequestHandler):
    def log_message(self, format, *args):
        pass

    def do_GET(self):
        parts = urlsplit(self.path)
        self.server.asked.append(f"{parts.scheme}://{parts.netloc}")
        self.server.passwords.append(self.headers.get("Proxy-Authorization"))
        inner = http.client.HTTPConnection("127.0.0.1", self.server.port)
        path = parts.path + (f"?{parts.query}" if parts.query else "")
        inner.request("GET", path, headers={"Authorization": self.headers["Authorization"]})
        answer = inner.getresponse()
        body = answer.read()
        self.send_response(answer.status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_CONNECT(self):
        self.server.asked.append(f"CONNECT {self.path}")
        self.send_error(403)


@pytest.fixture
def live(tmp_path, monkeypatch):
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    with live_plane(tmp_path, monkeypatch) as plane:
        plane.proxy = Proxy(int(plane.server.url.rpartition(":")[2]))
        yield plane
        plane.proxy.shutdown()
        plane.proxy.server_close()


def asked_through(live, server, **cluster):
    """Ask for a queue of a server; a name that only the proxy can lead to."""
    config = yaml.safe_load(live.server.kubeconfig())
    config["clusters"][0]["cluster"] = {"server": server, **cluster}
    live.kubeconfig.write_text(yaml.safe_dump(config))
    plane = Plane(transport=KubernetesTransport(), clock=live.clock, patience=Patience(total_seconds=0))
    found = plane.get(QUEUE, "llm")
    assert found is not None
    return live.proxy.asked


def test_a_cluster_s_proxy_url_is_taken_even_where_no_proxy_names_the_host(live, monkeypatch):
    monkeypatch.setenv("NO_PROXY", "*")
    through = {"proxy-url": f"http://{live.proxy.place}"}
    assert asked_through(live, "http://plane.invalid", **through) == ["http://plane.invalid"]


def test_the_proxy_of_the_environment_is_taken_with_its_password(live, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", f"ann:pass%20word@{live.proxy.place}")
    assert asked_through(live, "http://plane.invalid") == ["http://plane.invalid"]
    assert live.proxy.passwords == ["Basic YW5uOnBhc3Mgd29yZA=="]


def test_https_goes_through_a_tunnel_and_a_proxy_that_refuses_is_a_finding_without_its_password(live, monkeypatch):
    monkeypatch.setenv("https_proxy", f"http://ann:hidden-word@{live.proxy.place}")
    with pytest.raises(HyperFlowError) as caught:
        asked_through(live, "https://plane.invalid")
    assert live.proxy.asked == ["CONNECT plane.invalid:443"]
    assert caught.value.findings[0].code == "HF503"
    assert "403" in str(caught.value)
    assert "hidden-word" not in str(caught.value)


def test_this_machine_is_never_asked_through_a_proxy_of_the_environment(live, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", f"http://{live.proxy.place}")
    assert asked_through(live, live.server.url) == []


@pytest.mark.parametrize(
    ("excluded", "is_direct"),
    [
        ("plane.example", True),
        (".example", True),
        ("example", True),
        ("*.example", True),
        ("other.example, plane.example:6443", True),
        ("plane.example:443", False),
        ("lane.example", False),
        ("10.0.0.0/8", False),
        ("*", True),
        ("", False),
    ],
)
def test_no_proxy_is_read_as_kubectl_reads_it(excluded, is_direct):
    environment = {"HTTPS_PROXY": "http://proxy", "HTTP_PROXY": "http://wrong", "NO_PROXY": excluded}
    found, _ = proxy_for("https://plane.example:6443", "", environment)
    assert found == (None if is_direct else "http://proxy")


@pytest.mark.parametrize(("host", "is_direct"), [("10.1.2.3", True), ("11.1.2.3", False), ("[::1]", True)])
def test_addresses_are_held_against_ranges(host, is_direct):
    found, _ = proxy_for(f"https://{host}:6443", "", {"HTTPS_PROXY": "http://proxy", "NO_PROXY": "10.0.0.0/8"})
    assert found == (None if is_direct else "http://proxy")
