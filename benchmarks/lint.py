"""How long `hyperflow lint` takes, and how much memory: one document, many documents, large files, bombs.

    python benchmarks/lint.py [--documents 1000]

Prints one line a case: seconds of the whole process and its highest resident memory. Run it on a quiet machine.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import yaml

CONTAINER = {
    "name": "main",
    "image": "busybox",
    "resources": {"requests": {"cpu": "1", "nvidia.com/gpu": 8}, "limits": {"cpu": "1", "nvidia.com/gpu": 8}},
}


def job(number: int) -> dict[str, Any]:
    """Give a vcjob of two tasks; every tenth is risky, every hundredth denied."""
    pod = {"restartPolicy": "Never" if number % 10 else "Always", "containers": [CONTAINER]}
    tasks = [{"name": name, "replicas": 4, "template": {"spec": pod}} for name in ("main", "worker")]
    spec = {"queue": "default", "minAvailable": 8 if number % 100 else 9, "tasks": tasks}
    metadata = {"name": f"job-{number}"}
    return {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": metadata, "spec": spec}


def measure(title: str, path: Path, *options: str) -> None:
    """Run lint once and print seconds, memory and the size of its input."""
    command = [sys.executable, "-m", "hyperflow", "lint", str(path), "--format", "json", *options]
    start = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        _, _, usage = os.wait4(process.pid, 0)
        process.returncode = 0
    seconds = time.perf_counter() - start
    size = path.stat().st_size / 1e6
    print(f"{title:<34} {size:8.2f} MB {seconds:8.2f} s {usage.ru_maxrss / 1024:8.0f} MiB")


def write_inputs(folder: Path, count: int) -> None:
    """Write all inputs; done in a process of its own, so that its memory is not counted."""
    spec = job(1)["spec"]
    inputs = {
        "one.yaml": yaml.safe_dump(job(1)),
        "many.yaml": "---\n".join(yaml.safe_dump(job(number)) for number in range(count)),
        "many.json": json.dumps({"apiVersion": "v1", "kind": "List", "items": [job(n) for n in range(count)]}),
        "long-text.yaml": yaml.safe_dump({**job(1), "metadata": {"name": "x", "annotations": {"a": "x " * 5_000_000}}}),
        "wide.yaml": yaml.dump({**job(1), "spec": {**spec, "tasks": spec["tasks"] * 12000}}, Dumper=Plain),
        "bomb.yaml": "\n".join(
            ["a0: &a0 [x]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 30))]
        ),
    }
    for name, text in inputs.items():
        (folder / name).write_text(text, encoding="utf-8")


def main() -> None:
    """Write the inputs and measure each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=1000)
    parser.add_argument("--write", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.write:
        write_inputs(args.write, args.documents)
        return
    with tempfile.TemporaryDirectory() as folder:
        options = ["--documents", str(args.documents), "--write", folder]
        subprocess.run([sys.executable, __file__, *options], check=True)
        for path in sorted(Path(folder).iterdir()):
            measure(path.name, path)


class Plain(yaml.SafeDumper):
    """Writes equal parts in full, without aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        """Never use an alias."""
        return True


if __name__ == "__main__":
    main()
