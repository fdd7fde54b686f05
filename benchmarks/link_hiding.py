"""What warm-up depths do about a slow link, measured: `python benchmarks/link_hiding.py [MILLISECONDS] [ROUNDS]`.

Trains examples/03_tiny_local in three orders (1F1B as it is, one micro-batch more before the link, and the order that
HyperFlow plans for the link), each with and without the one-way delay (default 25) between the clusters. Prints the
median step of all rounds (default 3), and what the simulator makes of the undelayed step. Needs PyTorch, and Linux with
network namespaces.
"""

import json
import re
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from hyperflow.ir.timeline import StageTimes
from hyperflow.simulate.looped import one_f_one_b
from hyperflow.simulate.timeline import simulate
from hyperflow.simulate.torch_csv import compute_only_csv
from tests.local_runs import EXAMPLE, compile_example, run_example

STEPS, FIRST_COUNTED = 30, 5


def order_of(depths: tuple[int, ...], microbatches: int):
    """The 1F1B order with these warm-up depths."""
    return one_f_one_b(len(depths), microbatches, depths)


def seconds_of(bundle: Path, folder: Path, milliseconds: float) -> list[float]:
    """Run once and give the seconds of the steps that count."""
    code, shown = run_example(bundle, "--delay", f"north-south={milliseconds:g}ms", "--run-dir", folder)
    assert code == 0 and "HF455" not in shown, shown[-2000:]
    return [float(found) for found in re.findall(r"step_seconds ([0-9.]+)", shown)][FIRST_COUNTED:]


def simulated(depths: tuple[int, ...], plan: dict, undelayed: float, delay: float) -> float:
    """The step by the simulator: stages share the undelayed step by their layers, a backward is two forwards."""
    microbatches, layers = plan["microbatches"], [stage["layers"] for stage in plan["stages"]]
    times = StageTimes(
        forward=tuple(map(float, layers)),
        backward_input=tuple(map(float, layers)),
        backward_weight=tuple(map(float, layers)),
    )
    order = order_of(depths, microbatches)
    unit = undelayed / simulate(order, times, (0.0,)).makespan
    return unit * simulate(order, times, (delay / unit,)).makespan


def main(milliseconds: float, rounds: int) -> int:
    """Measure and print the table."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        job = (EXAMPLE / "job.py").read_text().replace("rtt_ms=5", f"rtt_ms={2 * milliseconds:g}")
        planned = folder / "planned.py"
        planned.write_text(job)
        plan = json.loads((compile_example(folder / "planned", job=planned) / "plan.json").read_text())
        rows = {"1F1B": (2, 1), "one more": (3, 1), "planned": tuple(plan["warmup"])}
        bundles = {}
        for title, depths in rows.items():
            csv, file = folder / f"{depths[0]}.csv", folder / f"job{depths[0]}.py"
            csv.write_text(compute_only_csv(order_of(depths, plan["microbatches"])))
            file.write_text(job.replace('"--steps", "20"', f'"--steps", "{STEPS}", "--order", "{csv}"'))
            bundles[title] = compile_example(folder / f"out{depths[0]}", job=file)
        seconds = {(title, delay): [] for title in rows for delay in (0.0, milliseconds)}
        for number in range(rounds):
            for title, delay in seconds:
                seconds[title, delay] += seconds_of(bundles[title], folder / f"{title}{delay}{number}", delay)
        print(f"{'order':10} {'depths':8} {'no delay':>10} {f'{milliseconds:g} ms':>10} {'simulated':>10}")
        for title, depths in rows.items():
            free, slow = (statistics.median(seconds[title, delay]) for delay in (0.0, milliseconds))
            foreseen = simulated(depths, plan, free, milliseconds / 1000)
            print(f"{title:10} {depths!s:8} {free:8.3f} s {slow:8.3f} s {foreseen:8.3f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]) if len(sys.argv) > 1 else 25.0, int(sys.argv[2]) if len(sys.argv) > 2 else 3))
