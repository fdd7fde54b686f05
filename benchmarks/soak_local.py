"""Soak of run-local: seeded runs with random starting order, delays and a lost pod; each must end right or say why.

    python benchmarks/soak_local.py [--runs 50] [--first-seed 0]

Needs PyTorch. Prints a line per run and, at the end, how many completed, failed with a reason, and left a process or
a busy port behind. Exit 1 when any run hung, left something, or completed with other losses than the unsplit run.
"""

import argparse
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

EXAMPLE = Path(__file__).parents[1] / "examples" / "03_tiny_local"
HYPERFLOW = [sys.executable, "-m", "hyperflow"]


def losses_in(text: str) -> list[float]:
    """The losses that a run printed."""
    return [float(value) for value in re.findall(r"step \d+ loss ([0-9.]+)", text)]


def left_behind(mark: str) -> int:
    """Processes whose environment still carries the run's folder."""
    found = 0
    for entry in Path("/proc").glob("[0-9]*/environ"):
        try:
            found += mark.encode() in entry.read_bytes()
        except OSError:
            continue
    return found


def run(seed: int, bundle: Path, folder: Path, expected: list[float]) -> tuple[bool, str]:
    """Run once; give whether it was right and a line to print."""
    chance = random.Random(seed)
    options = ["--start-spread", "10", "--seed", str(seed), "--run-dir", str(folder / f"run{seed}"), "--timeout", "400"]
    if chance.random() < 0.5:
        options += ["--kill", f"{chance.choice(['north', 'south'])}/0@{chance.uniform(1, 25):.1f}"]
    start = time.monotonic()
    shown = subprocess.run(
        [*HYPERFLOW, "run-local", str(bundle), "--workdir", str(EXAMPLE), *options],
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    losses = losses_in(shown.stdout)[-len(expected) :]
    same = len(losses) == len(expected) and max(abs(a - b) for a, b in zip(losses, expected, strict=True)) < 1e-5
    reasons = [line for line in shown.stdout.splitlines() if "Failed" in line]
    orphans = left_behind(str(folder / f"run{seed}"))
    right = orphans == 0 and ((shown.returncode == 0 and same) or (shown.returncode == 5 and bool(reasons)))
    verdict = "completed" if shown.returncode == 0 else f"failed: {reasons[0] if reasons else '?'}"
    return (
        right,
        f"seed {seed}: {verdict} in {time.monotonic() - start:.0f} s, {orphans} left, {' '.join(options[-2:])}",
    )


def main() -> int:
    """Compile once, run many times."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--first-seed", type=int, default=0)
    arguments = parser.parse_args()
    single = subprocess.run(
        [sys.executable, EXAMPLE / "train.py", "--single"], capture_output=True, text=True, check=True
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        bundle = folder / "out"
        subprocess.run([*HYPERFLOW, "compile", EXAMPLE / "job.py", "-o", bundle], check=True, capture_output=True)
        results: list[bool] = []
        for seed in range(arguments.first_seed, arguments.first_seed + arguments.runs):
            right, line = run(seed, bundle, folder, losses_in(single.stdout))
            results.append(right)
            print(("ok   " if right else "WRONG ") + line, flush=True)
    print(f"{sum(results)} of {len(results)} runs ended right")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
