"""The start barrier as pods run it: real processes, the loopback, one port."""

import errno
import os
import runpy
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

import hyperflow.lower

BARRIER = Path(hyperflow.lower.__file__).with_name("pod_files") / "start_barrier.py"


@pytest.fixture
def port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def start(port, rank, nodes, *, timeout=20, bundle="toy8-abcdef0"):
    """Start one node's barrier."""
    environ = {
        "PATH": os.environ["PATH"],
        "HF_NODE_RANK": str(rank),
        "HF_NNODES": str(nodes),
        "HF_BUNDLE": bundle,
        "HF_RENDEZVOUS_TIMEOUT_SECONDS": str(timeout),
        "HF_NODE_GROUPS": "beijing=0-1,shanghai=2-3",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
    }
    return subprocess.Popen([sys.executable, str(BARRIER)], env=environ, stderr=subprocess.PIPE, text=True)


def finish(process):
    """Exit code and log of a node."""
    log = process.communicate(timeout=30)[1]
    return process.returncode, log


def test_all_nodes_go_together_whatever_the_order_and_the_port_is_free_again(port):
    others = [start(port, rank, 4) for rank in (3, 1, 2)]
    time.sleep(0.5)
    assert [process.poll() for process in others] == [None, None, None]
    first = start(port, 0, 4)
    assert [finish(process)[0] for process in (first, *others)] == [0, 0, 0, 0]
    with socket.create_server(("", port)):
        pass


def test_missing_nodes_are_named_with_their_cluster_and_all_give_up(port):
    present = start(port, 1, 4, timeout=6)
    code, log = finish(start(port, 0, 4, timeout=5))
    assert (code, log) == (75, "hyperflow: gave up after 5 s: node ranks 2-3 of cluster shanghai did not come\n")
    code, log = finish(present)
    assert code == 75
    assert log.startswith(f"hyperflow: gave up after 6 s: node rank 0 at 127.0.0.1:{port}: ")


def test_node_that_dies_while_it_waits_is_not_counted(port):
    first = start(port, 0, 3)
    dead = start(port, 1, 3)
    time.sleep(1.0)
    dead.kill()
    dead.communicate()
    last = start(port, 2, 3)
    time.sleep(1.0)
    assert first.poll() is None
    reborn = start(port, 1, 3)
    assert [finish(process)[0] for process in (first, last, reborn)] == [0, 0, 0]


def test_restart_of_rank_zero_is_survived(port):
    other = start(port, 1, 2)
    first = start(port, 0, 3)
    time.sleep(1.0)
    first.kill()
    first.communicate()
    assert [finish(process)[0] for process in (start(port, 0, 2), other)] == [0, 0]


def test_strangers_and_other_bundles_are_not_counted(port):
    first = start(port, 0, 2, timeout=2)
    time.sleep(0.5)
    with socket.create_connection(("127.0.0.1", port)) as stranger:
        stranger.sendall(b"GET / HTTP/1.1\r\n\r\n")
    other = start(port, 1, 2, timeout=1, bundle="toy8-1234567")
    assert [finish(process)[0] for process in (first, other)] == [75, 75]


def test_one_node_waits_for_nobody(port):
    assert finish(start(port, 0, 1))[0] == 0


def test_unresolvable_name_is_the_reason_given():
    environ = {
        "HF_NODE_RANK": "1",
        "HF_NNODES": "2",
        "HF_BUNDLE": "b",
        "HF_RENDEZVOUS_TIMEOUT_SECONDS": "1",
        "MASTER_ADDR": "rank0.invalid",
        "MASTER_PORT": "1",
    }
    shown = subprocess.run([sys.executable, str(BARRIER)], env=environ, capture_output=True, text=True, timeout=30)
    assert shown.returncode == 75
    assert shown.stderr.startswith("hyperflow: gave up after 1 s: node rank 0 at rank0.invalid:1: [Errno ")


def test_port_that_is_taken_is_told(port):
    with socket.create_server(("", port)):
        code, log = finish(start(port, 0, 2))
    assert code == 75
    assert log.startswith(f"hyperflow: cannot listen on port {port}: [Errno ")


def test_barrier_listens_without_ipv6(port, monkeypatch):
    names = runpy.run_path(str(BARRIER))
    real = socket.create_server

    def without_ipv6(address, **options):
        if options.get("family") == socket.AF_INET6:
            raise OSError(errno.EADDRNOTAVAIL, "no IPv6")
        return real(address, **options)

    monkeypatch.setattr(socket, "create_server", without_ipv6)
    with names["listen"](port) as server:
        assert server.family == socket.AF_INET
