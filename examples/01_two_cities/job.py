"""Eight layers over two cities: the faster node must get more of them."""

import hyperflow as hf

beijing = hf.Cluster("beijing", region="cn-beijing", nodes=1, gpu="B200:8")
shanghai = hf.Cluster("shanghai", region="cn-shanghai", nodes=1, gpu="H100:8")


@hf.job(name="two-cities", image="registry.example.com/train:1.4", queue="llm", priority="high")
@hf.model(layers=8, hidden=8192, ffn=28672, heads=64, kv_heads=8, vocab=128256, seq=8192)
@hf.data(path="pvc://corpus/tokens", at="all")
@hf.parallel(tp=8, pp="auto", dp=1, micro_batch_size=1, global_batch_size=32, schedule="1f1b")
@hf.on(beijing, shanghai, links=[hf.link("beijing", "shanghai", gbps=100, rtt_ms=25)], rendezvous="mcs")
@hf.checkpoint(to="s3://checkpoints/two-cities", every="20m")
def train():
    """Give the entry point: torchtitan, which can run the order that hides the link between the cities."""
    return hf.torchtitan(module="llama3", config="two_cities", args={"training.steps": 1000})
