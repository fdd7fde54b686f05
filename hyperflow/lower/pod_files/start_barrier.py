"""Runs in each pod before torchrun: waits until all nodes are there, or ends with exit code 75 and says who is not.

Node rank 0 listens on MASTER_PORT, the others report to it and wait for its word; then the port is free for torchrun.
Needs Python 3.8 or later and nothing else.
"""

from __future__ import annotations

import errno
import os
import socket
import sys
import time
from collections.abc import Mapping

GAVE_UP = 75
REPORT_EVERY_SECONDS = 30.0


def main(environ: Mapping[str, str]) -> int:
    """Run the barrier as the environment says; give the exit code."""
    rank, nodes = int(environ["HF_NODE_RANK"]), int(environ["HF_NNODES"])
    timeout = float(environ["HF_RENDEZVOUS_TIMEOUT_SECONDS"])
    greeting = "hyperflow-start {} ".format(environ["HF_BUNDLE"])
    address = (environ["MASTER_ADDR"], int(environ["MASTER_PORT"]))
    if nodes == 1:
        return 0
    deadline = time.monotonic() + timeout
    if rank == 0:
        try:
            server = listen(address[1])
        except OSError as error:
            say(f"cannot listen on port {address[1]}: {error}")
            return GAVE_UP
        missing = gather(server, nodes, greeting, deadline)
        if not missing:
            return 0
        say(f"gave up after {timeout:.0f} s: {describe(missing, environ)} did not come")
        return GAVE_UP
    reason = report(address, rank, greeting, deadline)
    if reason is None:
        return 0
    say(f"gave up after {timeout:.0f} s: node rank 0 at {address[0]}:{address[1]}: {reason}")
    return GAVE_UP


def gather(server: socket.socket, nodes: int, greeting: str, deadline: float) -> list[int]:
    """Wait for all other nodes and let them go; give the ranks that did not come."""
    present: dict[int, socket.socket] = {}
    next_word = time.monotonic() + REPORT_EVERY_SECONDS
    with server:
        while True:
            missing = sorted(set(range(1, nodes)) - set(present))
            if not missing:
                present = {rank: peer for rank, peer in present.items() if is_alive(peer)}
                missing = sorted(set(range(1, nodes)) - set(present))
            if not missing or time.monotonic() > deadline:
                break
            if time.monotonic() > next_word:
                next_word = time.monotonic() + REPORT_EVERY_SECONDS
                say(f"{len(present) + 1} of {nodes} nodes are here, waiting for {ranges(missing)}")
            server.settimeout(max(0.05, min(1.0, deadline - time.monotonic())))
            try:
                peer, _ = server.accept()
            except TimeoutError:
                continue
            rank = read_rank(peer, greeting, nodes)
            if rank is not None:
                present[rank] = peer
    for peer in present.values():
        release(peer, b"go\n" if not missing else b"no\n")
    return missing


def listen(port: int) -> socket.socket:
    """Open the port on all addresses of the pod, IPv6 included where there is any."""
    if socket.has_dualstack_ipv6():
        try:
            return socket.create_server(("", port), family=socket.AF_INET6, dualstack_ipv6=True, backlog=4096)
        except OSError as error:  # IPv6 may be built in and switched off
            if error.errno not in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):
                raise
    return socket.create_server(("", port), backlog=4096)


def read_rank(peer: socket.socket, greeting: str, nodes: int) -> int | None:
    """Read a node's greeting; None for strangers and for nodes of another bundle."""
    peer.settimeout(5.0)
    try:
        line = b""
        while not line.endswith(b"\n") and len(line) < 512:
            more = peer.recv(512)
            if not more:
                break
            line += more
    except OSError:
        line = b""
    text = line.decode("utf-8", "replace").rstrip("\n")
    number = text[len(greeting) :]
    if text.startswith(greeting) and number.isdigit() and 0 < int(number) < nodes:
        return int(number)
    peer.close()
    return None


def is_alive(peer: socket.socket) -> bool:
    """Say whether the other end still waits: nothing to read means that it does."""
    peer.setblocking(False)
    try:
        return peer.recv(1, socket.MSG_PEEK) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


def release(peer: socket.socket, word: bytes) -> None:
    """Send the word and wait for the peer to close first, so that the port is not held afterwards."""
    try:
        peer.settimeout(2.0)
        peer.sendall(word)
        peer.shutdown(socket.SHUT_WR)
        peer.recv(1)
    except OSError:
        pass
    peer.close()


def report(address: tuple[str, int], rank: int, greeting: str, deadline: float) -> str | None:
    """Tell node rank 0 that this node is here and wait for its word; give the last reason, or None when all go."""
    reason = "no answer"
    next_word = time.monotonic() + REPORT_EVERY_SECONDS
    while time.monotonic() < deadline:
        try:
            with socket.create_connection(address, timeout=max(0.05, min(10.0, deadline - time.monotonic()))) as peer:
                peer.sendall(f"{greeting}{rank}\n".encode())
                peer.settimeout(max(0.05, deadline - time.monotonic()) + 5.0)
                word = peer.recv(16)
            if word.startswith(b"go"):
                return None
            reason = "it gave up waiting for others" if word.startswith(b"no") else "it ended before all were there"
        except OSError as error:
            reason = str(error)
        if time.monotonic() > next_word:
            next_word = time.monotonic() + REPORT_EVERY_SECONDS
            say(f"waiting for node rank 0 at {address[0]}:{address[1]}: {reason}")
        time.sleep(min(1.0, max(0.0, deadline - time.monotonic())))
    return reason


def describe(missing: list[int], environ: Mapping[str, str]) -> str:
    """Name missing node ranks with their clusters, from HF_NODE_GROUPS such as `beijing=0-7,shanghai=8-15`."""
    parts: list[str] = []
    for group in filter(None, environ.get("HF_NODE_GROUPS", "").split(",")):
        cluster, _, span = group.partition("=")
        first, _, last = span.partition("-")
        here = [rank for rank in missing if int(first) <= rank <= int(last)]
        if here:
            parts.append(f"{ranges(here)} of cluster {cluster}")
    return "node ranks " + (", ".join(parts) or ranges(missing))


def ranges(numbers: list[int]) -> str:
    """Write sorted numbers as ranges: 1-3,5."""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in spans)


def say(text: str) -> None:
    """Write one line to the pod's log."""
    sys.stderr.write(f"hyperflow: {text}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main(os.environ))
