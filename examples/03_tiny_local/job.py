"""A small GPT over two "clusters" of two devices, five layers in one and three in the other; runs on this machine.

hyperflow compile job.py -o out && hyperflow run-local out --workdir .
"""

import hyperflow as hf

north = hf.Cluster("north", nodes=1, gpu="H100:2")
south = hf.Cluster("south", nodes=1, gpu="A100:2")


@hf.job(name="tiny", image="registry.example.com/tiny:1", retries=3)
@hf.model(layers=8, hidden=48, ffn=192, heads=4, vocab=96, seq=24, gated=False)
@hf.parallel(tp=1, pp=2, dp=2, micro_batch_size=1, global_batch_size=16, layers={"north": 5, "south": 3})
@hf.on(north, south, links=[hf.link("north", "south", gbps=10, rtt_ms=5)], rendezvous="mcs")
@hf.guard(rendezvous_timeout="2m")
@hf.checkpoint(to="s3://checkpoints/tiny", every="20m")
def train():
    """Give the entry point: a script that reads the plan from HF_* variables."""
    return hf.torchrun("train.py", ["--steps", "20"])
