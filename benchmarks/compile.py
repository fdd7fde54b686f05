"""How long a cold compile takes, beside a cold `kfp dsl compile` of one component, and how much memory.

Run by hand: `python benchmarks/compile.py [ROUNDS]`. Each figure is a fresh process; the best and the median of the
rounds are printed, and the peak resident memory of the largest round. Files of Python are compiled beforehand.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PIPELINE = """\
from kfp import dsl


@dsl.component(base_image="python:3.11")
def hello(name: str) -> str:
    return f"hello {name}"


@dsl.pipeline(name="one-component")
def pipeline(name: str = "world"):
    hello(name=name)
"""


class Run(NamedTuple):
    """What one fresh process took."""

    seconds: float
    processor_seconds: float
    peak_mib: float


def measured(command: list[str], folder: Path) -> Run:
    """Run one fresh process and measure it."""
    # byte code as an installed package has it, also where the environment forbids writing it
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    begun = time.perf_counter()
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} left with {process.returncode}")
    return Run(time.perf_counter() - begun, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def main(rounds: int) -> None:
    """Measure all commands in turn, so that a busy moment hits each of them, and print a table."""
    binaries = Path(sys.executable).parent
    job = str(ROOT / "examples" / "01_two_cities" / "job.py")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "pipeline.py").write_text(PIPELINE, encoding="utf-8")
        kfp = [str(binaries / "kfp"), "dsl", "compile", "--py", "pipeline.py", "--output", "pipeline.yaml"]
        commands = {
            "hyperflow --help": [str(binaries / "hyperflow"), "--help"],
            "python -m hyperflow.compile (example 01)": [sys.executable, "-m", "hyperflow.compile", job, "-o", "out"],
            "kfp dsl compile (one component)": kfp,
            "python -c pass": [sys.executable, "-c", "pass"],
        }
        for command in commands.values():
            measured(command, folder)  # so that byte code is on disk
        figures: dict[str, list[Run]] = {}
        for _ in range(rounds):
            for name, command in commands.items():
                figures.setdefault(name, []).append(measured(command, folder))
    print(f"{'command':<42}{'best':>9}{'median':>9}{'peak memory':>14}")
    for name, runs in figures.items():
        seconds = [run.seconds for run in runs]
        peak = max(run.peak_mib for run in runs)
        print(f"{name:<42}{min(seconds):>7.2f} s{statistics.median(seconds):>7.2f} s{peak:>10.0f} MiB")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
