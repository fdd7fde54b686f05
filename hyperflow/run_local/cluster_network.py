"""One network for each cluster's pods, and the slow links between them: all packets, not only those to a Service.

The kernel gives each cluster its own loopback and one interface (make_namespace.py); this process carries the packets
from one to the other, each as late as its link says. Linux only; needs no root where user namespaces are allowed.
"""

import contextlib
import heapq
import os
import selectors
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hyperflow.errors import Finding
from hyperflow.run_local.make_namespace import INTERFACE, LARGEST_PACKET
from hyperflow.run_local.options import Delay

_HERE = Path(__file__).parent
_SETUP_SECONDS = 20
_READS_A_TURN = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Namespace:
    """The network of one cluster: its address, and the open files by which packets and processes enter."""

    address: str
    packets: int
    network: int
    user: int

    @property
    def files(self) -> tuple[int, ...]:
        """What a process needs open to enter."""
        return (self.network, self.user) if self.user >= 0 else (self.network,)

    def entered(self, command: Sequence[str]) -> list[str]:
        """Give the command line that runs `command` in the network."""
        script = str(_HERE / "enter_namespace.py")
        return [sys.executable, "-I", "-S", script, str(self.network), str(self.user), *command]

    def variables(self) -> dict[str, str]:
        """What tells frameworks to use the cluster's interface."""
        # names of these addresses stand nowhere, and PyTorch warns of each connection that it cannot name
        return {"GLOO_SOCKET_IFNAME": INTERFACE, "TP_SOCKET_IFNAME": INTERFACE, "TORCH_CPP_LOG_LEVEL": "ERROR"}

    def close(self) -> None:
        """Let the kernel drop the network, once its processes have ended."""
        for file in (self.packets, *self.files):
            os.close(file)


def make_namespaces(clusters: Sequence[str]) -> dict[str, Namespace] | Finding:
    """Make one network for each cluster; a warning (HF455) with the system's reason where this machine cannot."""
    made: dict[str, Namespace] = {}
    for number, cluster in enumerate(clusters, start=1):
        found = _make(f"10.77.{number // 250}.{number % 250 + 1}")
        if isinstance(found, str):
            for namespace in made.values():
                namespace.close()
            return Finding(
                code="HF455",
                severity="warning",
                message="--delay holds back Services only: addresses that processes find out themselves stay quick",
                where="--delay",
                got=found,
                expected="Linux with /dev/net/tun, as root or where user namespaces are allowed",
                hint="run it as root to delay all that goes from one cluster to another",
            )
        made[cluster] = found
    return made


def _make(address: str) -> Namespace | str:
    if not hasattr(socket, "send_fds") or not sys.platform.startswith("linux"):
        return f"{sys.platform} has no network namespaces"
    ours, theirs = socket.socketpair()
    with ours, theirs:
        made = subprocess.run(
            [sys.executable, "-I", "-S", str(_HERE / "make_namespace.py"), address, str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            capture_output=True,
            text=True,
            check=False,
            timeout=_SETUP_SECONDS,
        )
        if made.returncode:
            return made.stderr.strip().splitlines()[-1]
        _, (packets, network, user), _, _ = socket.recv_fds(ours, 16, 3)
    if os.path.sameopenfile(user, own := os.open("/proc/self/ns/user", os.O_RDONLY)):
        os.close(user)
        user = -1
    os.close(own)
    os.set_blocking(packets, False)
    return Namespace(address=address, packets=packets, network=network, user=user)


class Carrier:
    """Carries packets between the clusters in a thread; each link holds them back by its one-way delay."""

    def __init__(self, namespaces: Mapping[str, Namespace], delays: Sequence[Delay]) -> None:
        self._namespaces = dict(namespaces)
        self._seconds = {delay.clusters: delay.one_way_seconds for delay in delays}
        self._targets = {socket.inet_aton(space.address): name for name, space in namespaces.items()}
        self._waiting: list[tuple[float, int, int, bytes]] = []
        self._count = 0
        self._stop_read, self._stop_write = os.pipe()
        self._thread = threading.Thread(target=self._carry, daemon=True)

    def start(self) -> None:
        """Begin to carry."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread and close every network."""
        os.write(self._stop_write, b"x")
        self._thread.join(5)
        for file in (self._stop_read, self._stop_write):
            os.close(file)
        for namespace in self._namespaces.values():
            namespace.close()

    def _carry(self) -> None:
        with selectors.SelectSelector() as selector:  # others wait for whole milliseconds
            selector.register(self._stop_read, selectors.EVENT_READ)
            for name, namespace in self._namespaces.items():
                selector.register(namespace.packets, selectors.EVENT_READ, name)
            while True:
                self._deliver()
                wait = max(0.0, self._waiting[0][0] - time.monotonic()) if self._waiting else None
                for key, _ in selector.select(wait):
                    if key.fd == self._stop_read:
                        return
                    self._take(key.data, key.fd)

    def _deliver(self) -> None:
        now = time.monotonic()
        while self._waiting and self._waiting[0][0] <= now:
            _, _, file, packet = heapq.heappop(self._waiting)
            with contextlib.suppress(OSError):  # the network is gone, as when a cable is cut
                os.write(file, packet)

    def _take(self, source: str, file: int) -> None:
        for _ in range(_READS_A_TURN):
            try:
                packet = os.read(file, LARGEST_PACKET + 64)
            except BlockingIOError:
                return
            target = self._targets.get(packet[16:20]) if packet[0] >> 4 == 4 else None
            if target is not None:
                self._count += 1
                due = time.monotonic() + self._seconds.get(frozenset((source, target)), 0.0)
                heapq.heappush(self._waiting, (due, self._count, self._namespaces[target].packets, packet))
