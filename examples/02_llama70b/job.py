"""Llama-3.1-70B over eight B200 nodes in one city and eight H100 nodes in another.

config.json holds the values of Meta's published configuration; fleet.yaml the two clusters and their link.
"""

from pathlib import Path

import hyperflow as hf

HERE = Path(__file__).parent


@hf.job(name="llama70b", image="registry.example.com/megatron:0.14", queue="pretrain", priority="high", retries=3)
@hf.model(config="config.json", seq=8192)
@hf.data(path="s3://corpus/tokens", cache="per-node")
@hf.parallel(tp=8, pp="auto", dp="auto", micro_batch_size=1, global_batch_size=256)
@hf.topology(job=hf.hard("row"))
@hf.on(hf.Fleet.load(HERE / "fleet.yaml"), rendezvous="mcs")
@hf.checkpoint(to="s3://checkpoints/llama70b", every="20m")
@hf.guard(on_partial_failure="abort", rendezvous_timeout="15m")
def train():
    """Give the entry point: Megatron-LM's own script."""
    return hf.megatron(script="pretrain_gpt.py", args={"lr": 1.5e-4, "train-iters": 1000, "bf16": True})
