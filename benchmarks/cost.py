"""Cost evaluations per second: `python benchmarks/cost.py`. A 126-layer model on 240 configurations, 3 times over.

Prints how many times a second `device_costs` prices a whole model on one device, and a whole run is predicted.
"""

import time
from itertools import product

from hyperflow.catalog.devices import find_device
from hyperflow.cost.layer_costs import device_costs
from hyperflow.cost.predict import predict_run
from hyperflow.cost.shapes import dense_decoder
from hyperflow.ir.costs import CostSettings
from hyperflow.ir.plan import Degrees
from hyperflow.ir.runs import Run

MODEL = dense_decoder(
    126, name="405b", hidden=16384, ffn=53248, heads=128, kv_heads=8, head_dim=128, vocab=128256, sequence_length=8192
)
REPEATS = 3


def configurations() -> list[CostSettings]:
    """TP, PP, DP and micro-batch sizes as a search meets them."""
    return [
        CostSettings(
            degrees=Degrees(tp=tp, pp=pp, dp=dp), micro_batch_size=size, microbatches=32, schedule="1f1b",
            recompute="none", zero=1, precision="bf16",
        )
        for tp, pp, dp, size in product((1, 2, 4, 8), (1, 2, 7, 14, 18), (1, 2, 4, 8), (1, 2, 4))
    ]  # fmt: skip


def main() -> None:
    """Print both rates, the best of the repeats."""
    device = find_device("H100")
    assert device is not None
    chosen = configurations()
    runs = [
        Run(
            identifier="1", row=1, source="benchmark", model=MODEL, stage_devices=(device,) * s.degrees.pp, settings=s,
            split=(126 // s.degrees.pp,) * s.degrees.pp, num_devices=s.degrees.world_size, global_batch_size=32,
            measured_seconds=None, measured_bytes=None, kind="", fit=False,
        )
        for s in chosen
    ]  # fmt: skip
    rates = {"device_costs": 0.0, "predict_run": 0.0}
    for _ in range(REPEATS):
        started = time.perf_counter()
        for settings in chosen:
            device_costs(MODEL, device, settings)
        rates["device_costs"] = max(rates["device_costs"], len(chosen) / (time.perf_counter() - started))
        started = time.perf_counter()
        for run in runs:
            predict_run(run)
        rates["predict_run"] = max(rates["predict_run"], len(runs) / (time.perf_counter() - started))
    for name, rate in rates.items():
        print(f"{name}: {rate:.0f} a second")


if __name__ == "__main__":
    main()
