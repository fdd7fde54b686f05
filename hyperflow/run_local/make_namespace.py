"""Runs as a process of its own: makes a network of one cluster's pods and hands it to run-local, then ends.

    python make_namespace.py ADDRESS SOCKET_FD

The network has its own loopback and one interface, whose packets are read and written through a file: run-local carries
them to the other clusters. Sends the files of that interface, of the network and of its user namespace over the socket.
Nothing is left on the machine: the kernel drops the network when the last file is closed and the last pod has ended.
Root makes the network directly; others make it inside a user namespace of their own, where the kernel allows that.
Linux alone has this. Ends with exit code 1 and one line on stderr when it cannot.
"""

import ctypes
import fcntl
import os
import socket
import struct
import sys
from pathlib import Path

INTERFACE = "hyperflow0"
LARGEST_PACKET = 16_000
"""Bytes. Python carries each packet by itself, so few large ones are quicker than many small ones."""

_NEW_USER, _NEW_NET = 0x10000000, 0x40000000
_SET_TUN, _SET_FLAGS, _SET_ADDRESS, _SET_MASK, _SET_MTU = 0x400454CA, 0x8914, 0x8916, 0x891C, 0x8922
_TUN_WITHOUT_HEADER = 0x0001 | 0x1000
_UP_AND_RUNNING = 0x1 | 0x40


def main(address: str, channel: int) -> None:
    """Make the network and send its three files; see the module."""
    _enter_new_network()
    tun = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(tun, _SET_TUN, _request("H22x", _TUN_WITHOUT_HEADER))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, _SET_ADDRESS, _address(address))
        fcntl.ioctl(control, _SET_MASK, _address("255.255.255.0"))
        fcntl.ioctl(control, _SET_MTU, _request("i20x", LARGEST_PACKET))
        fcntl.ioctl(control, _SET_FLAGS, _request("H22x", _UP_AND_RUNNING, name="lo"))
        fcntl.ioctl(control, _SET_FLAGS, _request("H22x", _UP_AND_RUNNING))
    namespaces = [os.open(f"/proc/self/ns/{kind}", os.O_RDONLY) for kind in ("net", "user")]
    with socket.socket(fileno=channel) as to_run_local:
        socket.send_fds(to_run_local, [b"made"], [tun, *namespaces])


def _enter_new_network() -> None:
    user, group = os.getuid(), os.getgid()
    if user == 0 and _unshare(_NEW_NET) == 0:
        return
    number = _unshare(_NEW_USER | _NEW_NET)
    if number:
        raise OSError(number, os.strerror(number))
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
    Path("/proc/self/gid_map").write_text(f"{group} {group} 1")


def _unshare(flags: int) -> int:
    """Give 0, or the error's number."""
    libc = ctypes.CDLL(None, use_errno=True)
    return ctypes.get_errno() if libc.unshare(flags) else 0


def _request(form: str, value: int, name: str = INTERFACE) -> bytes:
    """A struct ifreq: the interface's name and one value (netdevice(7))."""
    return struct.pack(f"16s{form}", name.encode(), value)


def _address(address: str) -> bytes:
    """A struct ifreq with an IPv4 address."""
    return struct.pack("16sHH4s8x", INTERFACE.encode(), socket.AF_INET, 0, socket.inet_aton(address))


if __name__ == "__main__":
    try:
        main(sys.argv[1], int(sys.argv[2]))
    except (OSError, AttributeError) as error:  # AttributeError: a C library without unshare
        sys.exit(f"{error}")
