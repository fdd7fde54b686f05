"""The whole command line on Llama-3.1-405B over 8 clusters of 4 device types, every degree open, on one core.

Run by hand: `python -m benchmarks.compile_405b [ROUNDS]`. Each round is a fresh process (start, imports, all passes,
all files), held to one core with `taskset` where there is one. The plan is read back from the bundle, and layers,
capacity and the memory of every stage are added up anew from the cost model.
"""

import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.compile import measured
from hyperflow.catalog.devices import find_device
from hyperflow.cost.layer_costs import device_costs
from hyperflow.cost.memory import in_flight, stage_bytes
from hyperflow.inventory.models import load_model
from hyperflow.ir.costs import CostSettings
from hyperflow.ir.plan import Degrees
from hyperflow.spec.training_job import ModelRequest

NODES, DEVICES, SEQUENCE = 16, 8, 8192
JOB = f"""\
import hyperflow as hf

names = ["b200a", "b200b", "h200a", "h200b", "h100a", "h100b", "a100a", "a100b"]
clusters = [hf.Cluster(name, nodes={NODES}, gpu=f"{{name[:-1].upper()}}:{DEVICES}") for name in names]
links = [
    hf.link(a, b, gbps=400, rtt_ms=4 + 4 * (j - i)) for i, a in enumerate(names) for j, b in enumerate(names) if i < j
]


@hf.job(name="llama-405b", image="registry.example.com/train:1.4", queue="llm")
@hf.model(preset="llama-3.1-405b", seq={SEQUENCE})
@hf.data(path="pvc://corpus/tokens", at="all")
@hf.parallel(
    tp="auto", cp="auto", ep="auto", pp="auto", dp="auto", micro_batch_size="auto", recompute="auto",
    global_batch_size=512,
)
@hf.on(*clusters, links=links, rendezvous="mcs")
def train():
    return hf.torchtitan(module="llama3", config="llama3_405b")
"""


def check(plan: dict[str, Any]) -> list[str]:
    """Give what the plan breaks: layers of the model, nodes of the clusters, memory of the stages."""
    model, _ = load_model(ModelRequest(preset="llama-3.1-405b", seq=SEQUENCE), Path())
    degrees = Degrees(**plan["degrees"])
    stages = plan["stages"]
    broken = [] if sum(stage["layers"] for stage in stages) == model.num_layers else ["layers"]
    nodes: dict[str, int] = {}
    for stage in stages:
        index, last = stage["index"], stage["index"] == len(stages) - 1
        nodes[stage["cluster"]] = nodes.get(stage["cluster"], 0) + stage["nodes"]
        device = find_device(stage["device"])
        assert device is not None
        settings = CostSettings(
            degrees=degrees,
            micro_batch_size=plan["micro_batch_size"],
            microbatches=plan["microbatches"],
            schedule=plan["schedule"],
            recompute=plan["recompute"],
            zero=1,
            precision="bf16",
            sequence_parallel=degrees.tp > 1,
        )
        costs = device_costs(model, device, settings)
        held = max(in_flight("1f1b", index, degrees.pp, plan["microbatches"]), plan["warmup"][index])
        need = stage_bytes(costs, stage["first_layer"], stage["layers"], held, is_first=index == 0, is_last=last)
        broken += [f"memory of stage {index}"] if need > costs.memory_limit_bytes else []
    return broken + [f"nodes of {name}" for name, count in nodes.items() if count > NODES]


def main(rounds: int) -> None:
    """Measure, read the plan back, check it."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "job.py").write_text(JOB, encoding="utf-8")
        one_core = ["taskset", "-c", "0"] if shutil.which("taskset") else []
        command = [*one_core, sys.executable, "-m", "hyperflow.compile", "job.py", "-o", "out"]
        runs = [measured(command, folder) for _ in range(rounds + 1)][1:]  # the first puts byte code on disk
        plan = json.loads((folder / "out" / "plan.json").read_text(encoding="utf-8"))
    optimal = plan["optimal"]
    best = min(runs, key=lambda run: run.processor_seconds)
    print(
        f"405B over 8 clusters, whole command: {best.seconds:.2f} s, {best.processor_seconds:.2f} s of the processor, "
        f"{best.peak_mib:.0f} MiB{'' if one_core else ' (not held to one core)'}; step {plan['step_seconds']:.2f} s, "
        f"gap {optimal['gap']:.2%}; broken: {check(plan) or 'nothing'}"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
