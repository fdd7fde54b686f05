"""Time to count one config: `python benchmarks/model_counts.py [CONFIG.json...]` (default: all presets).

Prints the median and the slowest over the models, each the best of 20 readings, text parsing included.
"""

import json
import statistics
import sys
import time
from pathlib import Path

from hyperflow.catalog.data import load
from hyperflow.inventory.config_file import model_of_config, parse_config

REPEATS = 20


def best_milliseconds(text: str) -> float:
    """The best of several readings of one config."""
    best = float("inf")
    for _ in range(REPEATS):
        started = time.perf_counter()
        model_of_config(parse_config(text, "config"), "config")
        best = min(best, time.perf_counter() - started)
    return best * 1e3


def main(paths: list[str]) -> None:
    """Print the times."""
    texts = {path: Path(path).read_text() for path in paths}
    if not texts:
        texts = {name: json.dumps(row["config"]) for name, row in load("models.yaml").items()}
    times = {name: best_milliseconds(text) for name, text in texts.items()}
    slowest = max(times, key=times.__getitem__)
    print(f"{len(times)} models: median {statistics.median(times.values()):.2f} ms, "
          f"slowest {times[slowest]:.2f} ms ({slowest})")  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1:])
