"""Runs one bundle in a process of its own, apart from the step that started it: a restarted step finds it again.

    python -m hyperflow.kfp_steps.local_run FOLDER WORKDIR

FOLDER holds `bundle/`; `output.log`, `logs/`, `state.json` and at the end `result.json` are written there. While
`lock` is locked, the job runs. SIGTERM ends every pod and leaves no result.
"""

import fcntl
import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from types import FrameType

from hyperflow.errors import HyperFlowError
from hyperflow.report.dump import tree_of
from hyperflow.run_local.bundle_folder import read_bundle_folder
from hyperflow.run_local.options import ChildResult, RunOptions
from hyperflow.run_local.run_bundle import run_bundle

BUNDLE, LOCK, PID, OUTPUT, STATE, RESULT = "bundle", "lock", "pid", "output.log", "state.json", "result.json"
YEARS_SECONDS = 10 * 365 * 86400.0


def main(folder: Path, work_dir: Path) -> int:
    """Run the bundle once; give 0 when it completed, 5 when not, 3 when another process runs it."""
    signal.signal(signal.SIGTERM, _end)
    signal.signal(signal.SIGINT, _end)
    with (folder / LOCK).open("w") as lock:
        if not _take(lock.fileno()):
            return 3
        (folder / PID).write_text(str(os.getpid()))
        print("ready", flush=True)  # the step waits for this word: from here on the job can be found
        result = _run(folder, work_dir)
        _write(folder / RESULT, result)
    return 0 if result["state"] == "COMPLETED" else 5


def _write(path: Path, document: dict[str, object]) -> None:
    """Write a file that is there whole or not at all, since the step reads it at any time."""
    fresh = path.with_name(f".{path.name}")
    fresh.write_text(json.dumps(document), encoding="utf-8")
    fresh.rename(path)


def _take(lock: int) -> bool:
    """Lock for this process; who only looks whether the job runs also holds it for a moment, so try again."""
    for _ in range(40):
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0.05)
        else:
            return True
    return False


def _run(folder: Path, work_dir: Path) -> dict[str, object]:
    guard = threading.Lock()
    with (folder / OUTPUT).open("w", encoding="utf-8") as output:

        def say(line: str) -> None:
            with guard:
                output.write(line + "\n")
                output.flush()

        try:
            bundle = read_bundle_folder(folder / BUNDLE)
            cores = os.cpu_count() or 1
            # how long a job may run is the step's to say, so this limit is out of reach
            options = RunOptions(work_dir=work_dir, timeout_seconds=YEARS_SECONDS, max_processes=max(16, 4 * cores))

            def watch(children: tuple[ChildResult, ...]) -> None:
                _write(folder / STATE, {"children": [tree_of(child) for child in children]})

            return dict(tree_of(run_bundle(bundle, options, folder, say, watch)))
        except HyperFlowError as error:
            say(str(error))
            return {"state": "FAILED", "children": [], "reason": error.findings[0].message}


def _end(number: int, _frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise SystemExit(128 + number)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
