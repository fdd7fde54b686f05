"""Seeded runs of a bundle on this machine: pods start in random order up to 10 s late, one is killed on the way.

A run is right when it completed with the losses of the unsplit run, or failed with a reason other than the limit of the
whole run; and when no process and no listening port is left either way.
"""

import contextlib
import os
import random
import re
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

EXAMPLE = Path(__file__).parents[1] / "examples" / "03_tiny_local"
HYPERFLOW = (sys.executable, "-m", "hyperflow")
TOLERANCE = 1e-5
LATEST_START_SECONDS = 10
LIMIT_SECONDS = 900


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What one run came to; `wrong` is empty when all held."""

    seed: int
    seconds: float
    state: str
    killed: bool
    restarts: int
    reasons: tuple[str, ...]
    wrong: tuple[str, ...]


def losses_in(text):
    """The losses that a run printed."""
    return [float(value) for value in re.findall(r"step \d+ loss ([0-9.]+)", text)]


def unsplit_losses():
    """The losses of the same training in one process."""
    command = [sys.executable, EXAMPLE / "train.py", "--single"]
    return losses_in(subprocess.run(command, capture_output=True, text=True, check=True, timeout=300).stdout)


def compile_example(folder, *settings, job=EXAMPLE / "job.py"):
    """Write the bundle of the example, or of a variant of its job file, into the folder."""
    sets = [word for setting in settings for word in ("--set", setting)]
    command = [*HYPERFLOW, "compile", job, "-o", folder, *sets]
    compiled = subprocess.run(command, capture_output=True, text=True, check=False)
    assert compiled.returncode == 0, compiled.stderr
    return folder


def run_example(bundle, *options, folder=EXAMPLE):
    """Run a bundle whose training script lies in the folder; give exit code and all output."""
    shown = subprocess.run(
        [*HYPERFLOW, "run-local", bundle, "--workdir", folder, *map(str, options)],
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_SECONDS + 60,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    return shown.returncode, shown.stdout + shown.stderr


def one_run(seed, bundle, folder, expected):
    """Run the bundle with the faults of a seed and judge what came of it."""
    chance = random.Random(seed)
    victim, moment = chance.choice(["north", "south"]), chance.uniform(0, 2 * LATEST_START_SECONDS)
    home = Path(folder) / f"run{seed}"
    spread = ("--start-spread", LATEST_START_SECONDS, "--seed", seed)
    began = time.monotonic()
    code, shown = run_example(
        bundle, *spread, "--kill", f"{victim}/0@{moment:.1f}", "--run-dir", home, "--timeout", LIMIT_SECONDS
    )
    reasons = tuple(re.findall(r"^\S+: (?:Failed|Terminated|Aborted), (.*)$", shown, re.MULTILINE))
    wrong = [f"{pid} is left" for pid in left_behind(str(home))]
    wrong += [f"port {port} is busy" for port in map(int, re.findall(r"127\.0\.0\.1:(\d+) here", shown)) if busy(port)]
    if code == 0:
        got = losses_in(shown)[-len(expected) :]
        if len(got) != len(expected) or max(abs(a - b) for a, b in zip(got, expected, strict=True)) > TOLERANCE:
            wrong.append("it completed with other losses")
    elif code != 5 or not reasons or any(reason.startswith("not done after") for reason in reasons):
        wrong.append(f"exit code {code} without a reason: {shown[-2000:]}")
    return Outcome(
        seed=seed,
        seconds=time.monotonic() - began,
        state="completed" if code == 0 else "failed",
        killed=f"killed {victim}/0" in shown,
        restarts=len(re.findall(r": restart \d+ of ", shown)),
        reasons=reasons,
        wrong=tuple(wrong),
    )


def left_behind(mark):
    """Processes whose environment still carries the run's folder."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if mark.encode() in entry.read_bytes():
                found.append(int(entry.parent.name))
    return found


def busy(port):
    """Whether something still listens on the port."""
    try:
        socket.create_server(("127.0.0.1", port)).close()
    except OSError:
        return True
    return False
