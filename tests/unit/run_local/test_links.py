"""A delayed link holds back all that goes from one cluster to another, or Services alone with a warning."""

import re
import sys
import time
from pathlib import Path

import pytest

from hyperflow.inventory.documents import Document
from hyperflow.run_local import cluster_network
from hyperflow.run_local.cluster_network import Carrier, make_namespaces
from hyperflow.run_local.options import Delay, RunOptions
from hyperflow.run_local.pods import read_local_bundle
from hyperflow.run_local.run_bundle import run_bundle

ONE_WAY_SECONDS = 0.06
LINK = Delay(clusters=frozenset(("north", "south")), one_way_seconds=ONE_WAY_SECONDS)
PAYLOAD = 300_000

SERVER = f"""
import os, socket
server = socket.create_server((os.environ["POD_IP"], int(os.environ["PORT"])))
for _ in range(int(os.environ["CALLERS"])):
    peer, _ = server.accept()
    with peer:
        got = b""
        while len(got) < {PAYLOAD}:
            got += peer.recv(65536)
        peer.sendall(got)
"""
CALLER = f"""
import os, socket, time
deadline, payload = time.monotonic() + 30, os.urandom({PAYLOAD})
while time.monotonic() < deadline:
    try:
        began = time.monotonic()
        peer = socket.create_connection((os.environ["PEER"], int(os.environ["PORT"])))
        break
    except ConnectionRefusedError:
        time.sleep(0.05)
peer.sendall(payload)
got = b""
while len(got) < {PAYLOAD}:
    got += peer.recv(65536)
assert got == payload
print("seconds", time.monotonic() - began)
"""


def bundle(callers):
    """A server on north, found by its own address, and one caller on each given cluster."""

    def replicated(name, cluster, script):
        variables = [
            {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
            {"name": "PEER", "value": "toy-server-0-node-0.toy-server-0"},
            {"name": "PORT", "value": "7000"},
            {"name": "CALLERS", "value": str(len(callers))},
        ]
        container = {
            "name": "main",
            "command": [sys.executable, "-c", script],
            "env": variables,
            "ports": [{"containerPort": 7000}],
        }
        task = {"name": "node", "replicas": 1, "template": {"spec": {"containers": [container]}}}
        return {"name": name, "clusterNames": [cluster], "replicas": 1, "templateSpec": {"tasks": [task]}}

    jobs = [replicated("server", "north", SERVER)]
    jobs += [replicated(f"caller-{cluster}", cluster, CALLER) for cluster in callers]
    value = {"kind": "HyperJob", "metadata": {"name": "toy"}, "spec": {"replicatedJobs": jobs}}
    return read_local_bundle([Document(file="x.yaml", index=0, value=value)])


def run(tmp_path, callers, **options):
    lines = []
    settings = {"work_dir": tmp_path, "timeout_seconds": 60.0, **options}
    return run_bundle(bundle(callers), RunOptions(**settings), tmp_path / "run", lines.append), lines


@pytest.fixture
def networks():
    """Skip where this machine has no networks of their own for the clusters."""
    made = make_namespaces(["north"])
    if not isinstance(made, dict):
        pytest.skip(f"not tested: links that delay all packets, since this machine says {made.got}")
    made["north"].close()


def test_a_delayed_link_holds_back_what_processes_send_to_an_address_they_found_themselves(networks, tmp_path):
    result, lines = run(tmp_path, ["south"], delays=(LINK,))
    assert result.state == "COMPLETED", lines
    assert "link north - south: all packets 60 ms late, one way" in lines
    (seconds,) = [float(found[1]) for line in lines if (found := re.search(r"seconds ([0-9.]+)", line))]
    # the connection and the answer each need one trip there and back
    assert seconds >= 4 * ONE_WAY_SECONDS


def test_pods_of_one_cluster_reach_each_other_inside_its_network(networks, tmp_path):
    result, lines = run(tmp_path, ["north", "south"], delays=(LINK,))
    assert result.state == "COMPLETED", lines


def test_without_networks_the_services_alone_are_delayed_and_a_warning_says_why(monkeypatch, tmp_path):
    monkeypatch.setattr(cluster_network, "_make", lambda address: "[Errno 1] Operation not permitted")
    result, lines = run(tmp_path, ["south"], delays=(LINK,))
    assert result.state == "COMPLETED", lines
    assert lines[1:3] == [
        "warning[HF455] --delay holds back Services only: addresses that processes find out themselves stay quick\n"
        "  --> --delay\n"
        "  got [Errno 1] Operation not permitted, "
        "expected Linux with /dev/net/tun, as root or where user namespaces are allowed\n"
        "  hint: run it as root to delay all that goes from one cluster to another",
        "link north - south: bytes to a Service 60 ms late, one way",
    ]


def test_networks_leave_no_open_file_and_no_thread_behind(networks):
    def held():
        return set(Path("/proc/self/fd").iterdir()) | set(Path("/proc/self/task").iterdir())

    before = held()
    for _ in range(3):
        carrier = Carrier(make_namespaces(["north", "south"]), [LINK])
        carrier.start()
        carrier.stop()
    deadline = time.monotonic() + 5
    while left := {path for path in held() - before if path.exists()}:
        assert time.monotonic() < deadline, left
        time.sleep(0.05)


def test_a_command_that_does_not_exist_is_exit_code_127_in_a_network_too(networks, tmp_path):
    task = {"name": "n", "template": {"spec": {"containers": [{"name": "m", "command": ["/no/such"]}]}}}
    jobs = [{"name": name, "clusterNames": [name], "templateSpec": {"tasks": [task]}} for name in ("north", "south")]
    value = {"kind": "HyperJob", "metadata": {"name": "toy"}, "spec": {"replicatedJobs": jobs}}
    lines = []
    result = run_bundle(
        read_local_bundle([Document(file="x.yaml", index=0, value=value)]),
        RunOptions(work_dir=tmp_path, delays=(LINK,), timeout_seconds=30.0),
        tmp_path / "run",
        lines.append,
    )
    assert [pod.exit_code for child in result.children for pod in child.pods] == [127, 127]
    assert "[north/0] cannot start /no/such: No such file or directory" in lines
