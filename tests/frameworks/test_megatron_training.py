"""A bundle for Megatron-LM trains with megatron-core itself: its own layout parser, rank groups, model and pipeline."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.local_runs import TOLERANCE, compile_example, losses_in, run_example

pytestmark = pytest.mark.frameworks

REASON = "not tested: training by megatron-core itself, since {} is absent (make test-frameworks)"
pytest.importorskip("torch", reason=REASON.format("PyTorch"))
pytest.importorskip("megatron.core", reason=REASON.format("megatron-core"))

HERE = Path(__file__).parent
STEPS = 4
JOB = """
import hyperflow as hf

north = hf.Cluster("north", nodes=1, gpu="H100:{devices}")
south = hf.Cluster("south", nodes=1, gpu="A100:{devices}")


@hf.job(name="tiny", image="x", retries=1)
@hf.model(layers=8, hidden=32, ffn=64, heads=4, vocab=96, seq=16, gated=False)
@hf.parallel(tp={tp}, pp=2, dp={dp}, micro_batch_size=1, global_batch_size=8, layers={{"north": 5, "south": 3}})
@hf.on(north, south, links=[hf.link("north", "south", gbps=10, rtt_ms=5)], rendezvous="mcs")
@hf.guard(rendezvous_timeout="2m")
def train():
    return hf.megatron(script="train_megatron.py", args={{"train-iters": {steps}}})
"""


@pytest.fixture(scope="module")
def unsplit():
    """Losses of the same flags in one process."""
    sizes = "--num-layers 8 --hidden-size 32 --ffn-hidden-size 64 --num-attention-heads 4 --seq-length 16"
    batch = f"--micro-batch-size 1 --global-batch-size 8 --train-iters {STEPS}"
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", HERE / "train_megatron.py"]
    shown = subprocess.run([*launch, *sizes.split(), *batch.split()], capture_output=True, text=True, check=True)
    return losses_in(shown.stdout)


@pytest.mark.parametrize(("tp", "dp"), [(1, 1), (2, 1), (1, 2)])
def test_b8_megatron_core_trains_the_planned_stages_to_the_losses_of_the_unsplit_model(tmp_path, unsplit, tp, dp):
    job = tmp_path / "job.py"
    job.write_text(JOB.format(tp=tp, dp=dp, devices=tp * dp, steps=STEPS))
    bundle = compile_example(tmp_path / "out", job=job)
    code, shown = run_example(bundle, "--timeout", 280, folder=HERE)
    assert code == 0, shown[-3000:]
    found = re.findall(r"rank (\d+) stage (\d+) layers (\d+)-(\d+)", shown)
    stages = json.loads((bundle / "plan.json").read_text())["stages"]
    planned = [
        (rank, stage["index"], stage["first_layer"] + 1, stage["first_layer"] + stage["layers"])
        for stage in stages
        for rank in range(stage["index"] * tp * dp, (stage["index"] + 1) * tp * dp)
    ]
    assert sorted(tuple(map(int, row)) for row in found) == planned
    assert len(unsplit) == STEPS
    assert losses_in(shown) == pytest.approx(unsplit, abs=TOLERANCE)
