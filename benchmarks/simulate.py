"""How long the simulation takes: one large timeline of each schedule, the searches, and all recorded rows.

Run by hand: `.venv/bin/python benchmarks/simulate.py [schedule_reference.json]`. Times are the best of five runs of
this process; the last line includes the start of a new process, as a user pays for it.
"""

import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

from hyperflow.ir.timeline import StageTimes
from hyperflow.simulate.orders import SCHEDULES, order_for
from hyperflow.simulate.timeline import simulate

RANKS, MICROBATCHES = 16, 256
TIMES = StageTimes(
    forward=tuple(20.0 + rank % 3 for rank in range(RANKS)),
    backward_input=tuple(24.0 + rank % 2 for rank in range(RANKS)),
    backward_weight=(16.0,) * RANKS,
)
LINKS = tuple(30.0 if rank == RANKS // 2 - 1 else 1.0 for rank in range(RANKS - 1))


def best_of(run: Callable[[], object], times: int = 5) -> float:
    """Give the shortest of some runs, in milliseconds."""
    found = []
    for _ in range(times):
        start = time.perf_counter()
        run()
        found.append(time.perf_counter() - start)
    return 1000 * min(found)


def main() -> None:
    """Print one line a schedule, the memory per operation, and the time for a file of cases."""
    print(f"p={RANKS}, m={MICROBATCHES}: operations, milliseconds to order (first time) and to simulate")
    for name in SCHEDULES:
        start = time.perf_counter()
        order = order_for(name, RANKS, MICROBATCHES, durations=TIMES, links=LINKS)
        ordering = 1000 * (time.perf_counter() - start)
        operations = sum(map(len, order.operations))
        print(f"  {name:<16}{operations:7d}{ordering:9.1f}{best_of(lambda o=order: simulate(o, TIMES, LINKS)):9.1f}")
    for microbatches in (256, 512, 1024):
        order = order_for("ZB-H1", RANKS, microbatches)
        tracemalloc.start()
        timeline = simulate(order, TIMES, LINKS)
        size, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        print(f"ZB-H1 m={microbatches}: timeline {size / sum(map(len, timeline.starts)):.0f} bytes per operation")
    for path in sys.argv[1:]:
        command = [str(Path(sys.executable).with_name("hyperflow")), "simulate", path, "--format", "json"]
        taken = best_of(lambda c=command: subprocess.run(c, stdout=subprocess.DEVNULL, check=False), times=3)
        print(f"hyperflow simulate {Path(path).name}: {taken / 1000:.1f} s with the start of the process")


if __name__ == "__main__":
    main()
