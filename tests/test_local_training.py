"""The compiled bundle trains: losses over split stages equal the unsplit run step by step (needs PyTorch)."""

import pytest

from tests.local_runs import TOLERANCE, compile_example, losses_in, one_run, run_example, unsplit_losses

torch = pytest.importorskip(
    "torch", reason="not tested: training on this machine, since PyTorch is absent (make setup-local)"
)

pytestmark = pytest.mark.local


@pytest.fixture(scope="module")
def unsplit():
    """Losses of the same training in one process."""
    return unsplit_losses()


def run_local(folder, *options, settings=()):
    """Compile the example and run its bundle; give exit code and all output."""
    return run_example(compile_example(folder / "out", *settings), "--timeout", 280, *options)


@pytest.mark.parametrize("schedule", ["1f1b", "zb-h1"])
def test_the_split_run_has_the_losses_of_the_unsplit_run(tmp_path, unsplit, schedule):
    code, shown = run_local(tmp_path, settings=[f"parallel.schedule={schedule}"])
    assert code == 0, shown[-3000:]
    split = losses_in(shown)
    assert len(split) == len(unsplit) == 20
    assert max(abs(a - b) for a, b in zip(split, unsplit, strict=True)) < TOLERANCE


def test_the_order_that_hides_the_link_has_the_same_losses_over_a_slow_link(tmp_path, unsplit):
    code, shown = run_local(tmp_path, "--delay", "north-south=25ms")
    csv = next((tmp_path / "out").glob("*config-map*launch*")).read_text()
    assert "schedule.csv" in csv, "the plan of this example holds more micro-batches before the slow link"
    assert code == 0, shown[-3000:]
    assert losses_in(shown) == pytest.approx(unsplit, abs=TOLERANCE)


def test_a_pod_lost_on_the_way_up_comes_again_and_the_job_ends_right(tmp_path, unsplit):
    code, shown = run_local(tmp_path, "--kill", "south/0@4", "--start-spread", "2", "--seed", "7")
    assert code == 0, shown[-3000:]
    assert losses_in(shown)[-20:] == pytest.approx(unsplit, abs=TOLERANCE)


@pytest.mark.parametrize("seed", [2, 4])
def test_late_pods_and_a_lost_one_end_right_and_leave_nothing(tmp_path, unsplit, seed):
    """The long form is benchmarks/soak_local.py."""
    outcome = one_run(seed, compile_example(tmp_path / "out"), tmp_path, unsplit)
    assert outcome.wrong == ()
    assert outcome.killed
