"""Fits a line to the points of a file: stands for a training, and needs nothing but Python.

Every rank reads TOKENS (a file:// URI or a path), rank 0 writes the checkpoint to HF_CHECKPOINT_PATH and prints
`step N loss X step_seconds S`. FAIL_AT_STEP makes every rank fail there: one that had
ended well would not come again for the restart of the others.
"""

import csv
import json
import os
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit


def local_path(uri):
    """Give the path of a file:// URI, or the text itself."""
    return Path(urlsplit(uri).path if uri.startswith("file://") else uri)


def main():
    """Train and leave a checkpoint."""
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    with local_path(os.environ["TOKENS"]).open(newline="") as file:
        points = [(float(x), float(y)) for x, y in csv.reader(file)]
    rate, steps = float(os.environ["LEARNING_RATE"]), int(os.environ["STEPS"])
    slope = offset = 0.0
    for step in range(1, steps + 1):
        begin = time.perf_counter()
        errors = [(slope * x + offset - y, x) for x, y in points]
        slope -= rate * 2 * sum(error * x for error, x in errors) / len(points)
        offset -= rate * 2 * sum(error for error, _ in errors) / len(points)
        if rank == 0:
            loss = sum(error**2 for error, _ in errors) / len(points)
            print(f"step {step} loss {loss:.6f} step_seconds {time.perf_counter() - begin:.6f}", flush=True)
        if step == int(os.environ.get("FAIL_AT_STEP", "0")):
            print("the step that was to fail", flush=True)
            sys.exit(78)  # no restart mends it
        time.sleep(float(os.environ.get("SLEEP_PER_STEP", "0")))
    if rank == 0:
        folder = local_path(os.environ["HF_CHECKPOINT_PATH"])
        folder.mkdir(parents=True, exist_ok=True)
        layers = [int(count) for count in os.environ["HF_LAYERS"].split(",")]
        state = {"slope": slope, "offset": offset, "world_size": world, "layers": layers}
        (folder / "line.json").write_text(json.dumps(state))


if __name__ == "__main__":
    main()
