"""The compiled bundle trains: losses over split stages equal the unsplit run step by step (needs PyTorch)."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip(
    "torch", reason="not tested: training on this machine, since PyTorch is absent (make setup-local)"
)

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples" / "03_tiny_local"
pytestmark = pytest.mark.local
TOLERANCE = 1e-5


def losses_in(text):
    return [float(value) for value in re.findall(r"step \d+ loss ([0-9.]+)", text)]


@pytest.fixture(scope="module")
def unsplit():
    """Losses of the same training in one process."""
    shown = subprocess.run(
        [sys.executable, EXAMPLE / "train.py", "--single"], capture_output=True, text=True, check=True, timeout=300
    )
    return losses_in(shown.stdout)


def run_local(folder, *options, settings=()):
    """Compile the example and run its bundle; give exit code and all output."""
    hyperflow = [sys.executable, "-m", "hyperflow"]
    sets = [word for setting in settings for word in ("--set", setting)]
    compiled = subprocess.run(
        [*hyperflow, "compile", EXAMPLE / "job.py", "-o", folder / "out", *sets],
        capture_output=True,
        text=True,
        check=False,
    )
    assert compiled.returncode == 0, compiled.stderr
    shown = subprocess.run(
        [*hyperflow, "run-local", folder / "out", "--workdir", EXAMPLE, "--timeout", "280", *options],
        capture_output=True,
        text=True,
        check=False,
        timeout=400,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    return shown.returncode, shown.stdout + shown.stderr


@pytest.mark.parametrize("schedule", ["1f1b", "zb-h1"])
def test_the_split_run_has_the_losses_of_the_unsplit_run(tmp_path, unsplit, schedule):
    code, shown = run_local(tmp_path, settings=[f"parallel.schedule={schedule}"])
    assert code == 0, shown[-3000:]
    split = losses_in(shown)
    assert len(split) == len(unsplit) == 20
    assert max(abs(a - b) for a, b in zip(split, unsplit, strict=True)) < TOLERANCE


def test_the_order_that_hides_the_link_has_the_same_losses(tmp_path, unsplit):
    code, shown = run_local(tmp_path)
    csv = next((tmp_path / "out").glob("*config-map*launch*")).read_text()
    assert "schedule.csv" in csv, "the plan of this example holds more micro-batches before the slow link"
    assert code == 0, shown[-3000:]
    assert losses_in(shown) == pytest.approx(unsplit, abs=TOLERANCE)


def test_a_pod_lost_on_the_way_up_comes_again_and_the_job_ends_right(tmp_path, unsplit):
    code, shown = run_local(tmp_path, "--kill", "south/0@4", "--start-spread", "2", "--seed", "7")
    assert code == 0, shown[-3000:]
    assert losses_in(shown)[-20:] == pytest.approx(unsplit, abs=TOLERANCE)
