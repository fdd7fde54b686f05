"""A small job over two clusters, made to be a step of the pipelines beside it."""

import hyperflow as hf

north = hf.Cluster("north", nodes=1, gpu="H100:2")
south = hf.Cluster("south", nodes=1, gpu="A100:2")


@hf.job(name="line", image="registry.example.com/line:1", retries=1)
@hf.model(layers=8, hidden=48, ffn=192, heads=4, vocab=96, seq=24, gated=False)
@hf.parallel(tp=1, pp=2, dp=2, micro_batch_size=1, global_batch_size=16)
@hf.on(north, south, links=[hf.link("north", "south", gbps=10, rtt_ms=5)], rendezvous="mcs")
@hf.guard(rendezvous_timeout="2m")
@hf.checkpoint(to="s3://checkpoints/line", every="20m")
@hf.env(TOKENS="s3://corpus/line.csv", LEARNING_RATE="0.1", STEPS="20")
def train():
    """Give the entry point: a script that reads the plan from HF_* variables."""
    return hf.torchrun("train.py")
