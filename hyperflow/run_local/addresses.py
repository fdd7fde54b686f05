"""Names, ports and paths of the pods, mapped to this machine.

All pods share the loopback: each port that a container declares gets one free local port, every Service name leads to
127.0.0.1 (or to a proxy that delays it), and a mount path is a folder below the run's own folder.
"""

import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hyperflow.run_local.kubelet_text import expand
from hyperflow.run_local.pods import Container, LocalBundle, Pod

LOOPBACK = "127.0.0.1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Addresses:
    """Port of a container -> local port; Service name -> address, for one cluster's pods."""

    ports: Mapping[int, int]
    hosts: Mapping[str, str]

    def translate(self, value: str, folders: Mapping[str, Path]) -> str:
        """Give the value as a local process must see it: whole host names, ports and mounted paths replaced."""
        if value in self.hosts:
            return self.hosts[value]
        if value.isdigit() and int(value) in self.ports:
            return str(self.ports[int(value)])
        host, colon, port = value.rpartition(":")
        if colon and host in self.hosts and port.isdigit():
            return f"{self.hosts[host]}:{self.ports.get(int(port), int(port))}"
        for mount in sorted(folders, key=len, reverse=True):
            # a path stands alone or after a separator: --load=/data/x, a:/data/x
            folder = str(folders[mount])
            value = re.sub(rf"(^|[=:, ]){re.escape(mount)}(?=$|[/:, ])", lambda found, to=folder: found[1] + to, value)
        return value


def choose_ports(bundle: LocalBundle) -> dict[int, int]:
    """Give a free local port for every port that a container or a Service declares."""
    wanted = {port for service in bundle.services for port in service.ports}
    wanted |= {p for child in bundle.children for pod in child.pods for c in pod.containers for p in c.ports}
    held: list[socket.socket] = []
    chosen: dict[int, int] = {}
    for port in sorted(wanted):
        probe = socket.create_server((LOOPBACK, 0))
        held.append(probe)
        chosen[port] = int(probe.getsockname()[1])
    for probe in held:
        probe.close()
    return chosen


def make_folders(pod: Pod, root: Path, shared: Path) -> dict[str, Path]:
    """Write the pod's volumes below `root` and give volume name -> folder.

    Files of ConfigMaps and Secrets are written anew; a folder of the host is itself where this machine has it; other
    volumes are folders that all pods share, as they share a claim.
    """
    folders: dict[str, Path] = {}
    host_paths = {name: Path(path) for name, path in pod.host_paths}
    for name, files in pod.volumes:
        if name in host_paths and host_paths[name].is_dir():
            folders[name] = host_paths[name]
            continue
        folder = (root / name) if files is not None else (shared / name)
        folder.mkdir(parents=True, exist_ok=True)
        for file, content in files or ():
            path = folder / file
            path.write_text(content, encoding="utf-8")
            path.chmod(0o755)
        folders[name] = folder
    return folders


def mounted(container: Container, folders: Mapping[str, Path]) -> dict[str, Path]:
    """Give mount path -> folder for one container; /dev/shm stays the machine's own."""
    return {path: folders[volume] for path, volume in container.mounts if volume in folders and path != "/dev/shm"}


def command_of(container: Container, addresses: Addresses, folders: Mapping[str, Path]) -> list[str]:
    """Give the container's command line for this machine; `$(NAME)` and `$$` are expanded as the kubelet does."""
    environment = _expanded(container)
    return [addresses.translate(expand(word, environment), folders) for word in container.command]


def environment_of(
    container: Container, addresses: Addresses, folders: Mapping[str, Path], inherited: Mapping[str, str]
) -> dict[str, str]:
    """Give the environment of the process: the container's own over the little that is inherited."""
    own = {name: addresses.translate(value, folders) for name, value in _expanded(container).items()}
    return {**inherited, **own}


def _expanded(container: Container) -> dict[str, str]:
    """The variables, each with those before it filled in."""
    environment: dict[str, str] = {}
    for name, value in container.environment:
        environment[name] = expand(value, environment)
    return environment
