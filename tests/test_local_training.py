"""The compiled bundle trains: losses over split stages equal the unsplit run step by step (needs PyTorch)."""

import inspect

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


def least_squares(steps: int, rate: float):
    """Fit a line on this rank's share of the points; the ranks add up their gradients."""
    import torch
    import torch.distributed as dist

    dist.init_process_group("gloo")
    ranks, rank = dist.get_world_size(), dist.get_rank()
    x = torch.linspace(-1, 1, 64, dtype=torch.float64)[rank::ranks]
    wanted, weights = 3 * x - 1, torch.zeros(2, dtype=torch.float64, requires_grad=True)
    for step in range(steps):
        loss = ((weights[0] * x + weights[1] - wanted) ** 2).sum() / 64
        (gradient,) = torch.autograd.grad(loss, weights)
        total = torch.cat([gradient, loss.detach()[None]])
        dist.all_reduce(total)
        weights.data -= rate * total[:2]
        if rank == 0:
            print(f"step {step} loss {total[2].item():.9f}", flush=True)
    dist.destroy_process_group()


JOB_OF_A_FUNCTION = """
import hyperflow as hf

{source}

@hf.job(name="line", image="x", retries=1)
@hf.model(layers=4, hidden=32, ffn=64, heads=4, vocab=96, seq=16)
@hf.parallel(tp=1, pp=2, dp=2, micro_batch_size=1, global_batch_size=4)
@hf.on(
    hf.Cluster("north", nodes=1, gpu="H100:2"),
    hf.Cluster("south", nodes=1, gpu="H100:2"),
    links=[hf.link("north", "south", gbps=10, rtt_ms=5)],
    rendezvous="mcs",
)
@hf.guard(rendezvous_timeout="2m")
def train():
    return hf.function(least_squares, steps=6, rate=0.5)
"""


def test_a_packed_function_trains_on_the_ranks_of_two_clusters(tmp_path):
    job = tmp_path / "job.py"
    job.write_text(JOB_OF_A_FUNCTION.format(source=inspect.getsource(least_squares)))
    code, shown = run_example(compile_example(tmp_path / "out", job=job), "--timeout", 280, folder=tmp_path)
    assert code == 0, shown[-3000:]
    x = torch.linspace(-1, 1, 64, dtype=torch.float64)
    slope, offset, expected = 0.0, 0.0, []
    for _ in range(6):
        error = slope * x + offset - (3 * x - 1)
        expected.append((error**2).mean().item())
        slope, offset = slope - (error * x).mean().item(), offset - error.mean().item()
    assert losses_in(shown) == pytest.approx(expected, abs=TOLERANCE)
