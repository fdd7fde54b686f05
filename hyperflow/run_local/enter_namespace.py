"""Runs as a process of its own: moves into a network made by make_namespace.py and becomes the given command.

    python enter_namespace.py NET_FD USER_FD COMMAND...

USER_FD is -1 where the network needs no user namespace. Exit code 127 when the command cannot be started.
"""

import ctypes
import os
import sys


def main(network: int, user: int, command: list[str]) -> None:
    """Move and become the command; see the module. The user namespace comes first, since it allows the second move."""
    libc = ctypes.CDLL(None, use_errno=True)
    for file in (user, network):
        if file >= 0:
            if libc.setns(file, 0):
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
            os.close(file)
    os.execvp(command[0], command)


if __name__ == "__main__":
    words = sys.argv[3:]
    try:
        main(int(sys.argv[1]), int(sys.argv[2]), words)
    except OSError as problem:
        print(f"cannot start {words[0]}: {problem.strerror}", flush=True)
        sys.exit(127)
