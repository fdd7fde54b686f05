"""The embedded backend: the job's pods as processes on the machine of the step."""

import contextlib
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from hyperflow.inventory.documents import read_documents
from hyperflow.json_tree import dig, mapping, sequence, text
from hyperflow.kfp_steps.backend import ChildState, Observation, Say
from hyperflow.kfp_steps.local_run import BUNDLE, LOCK, OUTPUT, PID, RESULT, STATE
from hyperflow.run_local.child_controller import FINAL
from hyperflow.run_local.processes import descendants, end_all

ROOT_VARIABLE = "HYPERFLOW_LOCAL_DIR"
GRACE_SECONDS = 15.0


def local_root(place: str) -> Path:
    """Give the folder of all local jobs: the one named, else that of HYPERFLOW_LOCAL_DIR, else one below /tmp."""
    usual = Path(tempfile.gettempdir()) / f"hyperflow-jobs-{os.getuid()}"
    return Path(place or os.environ.get(ROOT_VARIABLE, "") or usual).absolute()


class LocalBackend:
    """One job below `root`; its runner is a session of its own, so it outlives the step that started it."""

    def __init__(self, root: Path, work_dir: Path, say: Say) -> None:
        self._root, self._work_dir, self._say = root, work_dir, say
        self._started: Path | None = None
        self._shown = 0
        self._log: list[str] = []

    def mode_for(self, mode: str, namespace: str) -> str:
        """Processes are started from the manifests of every mode."""
        return mode

    def start(self, bundle: Path, name: str) -> bool:
        """Start the bundle, or take over the job of that name, whether it runs or has ended."""
        self._started = self._root / name
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if _is_running(self._folder) or (self._folder / RESULT).is_file():
            return True
        shutil.rmtree(self._folder / BUNDLE, ignore_errors=True)
        (self._folder / STATE).unlink(missing_ok=True)
        shutil.copytree(bundle, self._folder / BUNDLE)
        with (self._folder / "runner.err").open("wb") as errors:
            # nothing of the step's own pipes is inherited: who waits for their end must not wait for the job
            runner = subprocess.Popen(
                [sys.executable, "-m", "hyperflow.kfp_steps.local_run", self._folder, self._work_dir.absolute()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
            )
        assert runner.stdout is not None
        return runner.stdout.readline() != b"ready\n"

    @property
    def _folder(self) -> Path:
        assert self._started is not None
        return self._started

    def look(self) -> Observation:
        """Print new lines of the pods, then say how the job stands."""
        running = _is_running(self._folder)
        self._forward()
        result = self._folder / RESULT
        if result.is_file():
            return _observed(json.loads(result.read_text(encoding="utf-8")))
        if running:
            return _running(self._folder / STATE)
        return Observation(state="FAILED", reason="its processes ended without a result")

    def _forward(self) -> None:
        path = self._folder / OUTPUT
        if not path.is_file():
            return
        with path.open("rb") as output:
            output.seek(self._shown)
            new = output.read()
        whole = new[: new.rfind(b"\n") + 1]
        self._shown += len(whole)
        for line in whole.decode("utf-8", errors="replace").splitlines():
            self._log.append(line)
            self._say(line)

    def logs(self) -> list[list[str]]:
        """Give what each pod has printed, in the order of their first lines."""
        by_pod: dict[str, list[str]] = {}
        for line in self._log:
            pod, _, said = line.partition("] ")
            by_pod.setdefault(pod, []).append(said)
        return list(by_pod.values())

    def delete(self) -> None:
        """End the job's processes and remove its folder."""
        if self._started is not None:
            _remove(self._started)


class LocalPlace:
    """All jobs below one folder."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def jobs_with_label(self, label: str, value: str) -> list[str]:
        """Give the jobs whose manifests carry the label."""
        return sorted(path.name for path in self._root.glob("*") if _label_of(path, label) == value)

    def delete(self, name: str) -> None:
        """End and remove one job."""
        _remove(self._root / name)


def _label_of(folder: Path, label: str) -> str:
    manifests = sorted((folder / BUNDLE).glob("[0-9]*.yaml"))
    # the last one starts the pods; the first may be shared with other jobs and carry no label of theirs
    documents = read_documents(manifests[-1]) if manifests else ()
    labels = [dig(document.value, "metadata", "labels", label) for document in documents]
    return text(next(iter(labels), ""))


def _is_running(folder: Path) -> bool:
    with contextlib.suppress(FileNotFoundError), (folder / LOCK).open("r") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def _remove(folder: Path) -> None:
    if _is_running(folder):
        pid = int((folder / PID).read_text())
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
        deadline = time.monotonic() + GRACE_SECONDS
        while _is_running(folder) and time.monotonic() < deadline:
            time.sleep(0.05)
        if _is_running(folder):
            end_all([*descendants(pid), pid], signal.SIGKILL)
    shutil.rmtree(folder, ignore_errors=True)


def _running(path: Path) -> Observation:
    """A job of which one part has failed while another runs on is degraded, as on a plane."""
    children: list[Any] = []
    with contextlib.suppress(FileNotFoundError):
        children = sequence(json.loads(path.read_text(encoding="utf-8")).get("children"))
    ended = [text(mapping(child).get("phase")) in FINAL for child in children]
    failed = any(
        done and mapping(child).get("phase") != "Completed" for child, done in zip(children, ended, strict=True)
    )
    return _observed({"state": "DEGRADED" if failed and not all(ended) else "RUNNING", "children": children})


def _running_pods(child: dict[str, Any]) -> int:
    pods = [mapping(pod) for pod in sequence(child.get("pods"))]
    return sum(pod.get("exit_code") is None for pod in pods) if child.get("phase") == "Running" else 0


def _observed(result: dict[str, Any]) -> Observation:
    children = [mapping(child) for child in sequence(result.get("children"))]
    reasons = [f"{child.get('name')}: {child.get('reason')}" for child in children if child.get("reason")]
    return Observation(
        state=text(result.get("state")),
        reason="; ".join(reasons) or text(result.get("reason")),
        children=tuple(
            ChildState(
                name=text(child.get("name")),
                cluster=text(child.get("cluster")),
                phase=text(child.get("phase")),
                running=_running_pods(child),
                total=len(sequence(child.get("pods"))),
                reason=text(child.get("reason")),
            )
            for child in children
        ),
        restarts=sum(int(child.get("retries", 0)) for child in children),
    )
