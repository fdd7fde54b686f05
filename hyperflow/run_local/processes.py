"""Processes of one pod: started, read line by line, and ended with everything they started."""

import contextlib
import os
import signal
import subprocess
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

GRACE_SECONDS = 3.0
MARK = "HYPERFLOW_POD_PROCESS"
"""A variable that all processes of a pod inherit, so that those are found too whose parents have ended."""

_ROUNDS = 200


class PodProcess:
    """A running container. `exit_code` is None while it runs; a signal counts as 128 + its number.

    `files` stay open in the process.
    """

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        folder: Path,
        on_line: Callable[[str], None],
        files: Sequence[int] = (),
    ) -> None:
        self._mark = f"{MARK}={uuid.uuid4().hex}"
        name, _, value = self._mark.partition("=")
        self._process = subprocess.Popen(
            list(command),
            env={**environment, name: value},
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=files,
        )
        self._on_line = on_line
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def exit_code(self) -> int | None:
        """The exit code as Kubernetes counts it, or None."""
        code = self._process.poll()
        return code if code is None or code >= 0 else 128 - code

    def _read(self) -> None:
        assert self._process.stdout is not None
        with contextlib.suppress(ValueError, OSError):
            for raw in self._process.stdout:
                self._on_line(raw.decode("utf-8", errors="replace").rstrip("\n"))

    def kill(self) -> None:
        """End the process and all that it started at once, as a lost node would."""
        for _ in range(_ROUNDS):  # what is forked meanwhile is met in the next round
            family = {*descendants(self._process.pid), *marked(self._mark)} - {self._process.pid}
            end_all([*family, self._process.pid], signal.SIGKILL)
            if not family:
                break
            time.sleep(0.01)

    def stop(self) -> None:
        """Ask the process to end, and end by force what has not ended within the grace period."""
        if self._process.poll() is None:
            end_all([self._process.pid], signal.SIGTERM)
            deadline = time.monotonic() + GRACE_SECONDS
            while self._process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.02)
        self.kill()
        self._process.wait()
        self._reader.join(2)


def end_all(pids: Sequence[int], number: int) -> None:
    """Send the signal to each process that is still there."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def descendants(root: int) -> list[int]:
    """All processes below `root`, children last, read from /proc; empty where there is no /proc."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            pid_text, rest = entry.parent.name, entry.read_text().rpartition(")")[2].split()
            parents.setdefault(int(rest[1]), []).append(int(pid_text))
    found: list[int] = []
    waiting = [root]
    while waiting:
        for child in parents.get(waiting.pop(), []):
            found.append(child)
            waiting.append(child)
    return found[::-1]


def marked(mark: str) -> list[int]:
    """All running processes that were started with the variable `mark` (name=value); empty where there is no /proc."""
    found: list[int] = []
    for entry in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if mark.encode() in entry.read_bytes().split(b"\0"):
                found.append(int(entry.parent.name))
    return found
