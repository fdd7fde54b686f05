"""Soak of run-local: `python benchmarks/soak_local.py [RUNS] [FIRST_SEED]` (needs PyTorch).

Each run starts its pods in random order up to 10 s late and kills one. Prints a line per run, then the sums; exit 1
when a run hung, left a process or a port, or completed with other losses than the unsplit run.
"""

import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.local_runs import compile_example, one_run, unsplit_losses


def main(runs: int, first: int) -> int:
    """Compile once, run many times."""
    with tempfile.TemporaryDirectory() as folder:
        bundle = compile_example(Path(folder) / "out")
        expected = unsplit_losses()
        outcomes = []
        began = time.monotonic()
        for seed in range(first, first + runs):
            one = one_run(seed, bundle, folder, expected)
            outcomes.append(one)
            print(
                f"seed {seed}: {one.state} in {one.seconds:.0f} s, {'killed' if one.killed else 'not killed'}, "
                f"{one.restarts} restarts{''.join(f'; {why}' for why in (*one.reasons, *one.wrong))}",
                flush=True,
            )
    bad = sum(bool(one.wrong) for one in outcomes)
    completed = sum(one.state == "completed" for one in outcomes)
    print(
        f"{len(outcomes)} runs: {completed} completed with the losses of the unsplit run, {len(outcomes) - completed} "
        f"failed with a reason, {sum(one.killed for one in outcomes)} lost a pod, "
        f"{sum(one.restarts for one in outcomes)} restarts, longest {max(one.seconds for one in outcomes):.0f} s, "
        f"{bad} wrong, {time.monotonic() - began:.0f} s"
    )
    return 1 if bad else 0


if __name__ == "__main__":
    given = [int(argument) for argument in sys.argv[1:]]
    sys.exit(main(given[0] if given else 50, given[1] if len(given) > 1 else 0))
