"""How long a node list takes to become a fleet, and how much memory: `python benchmarks/fleet.py [NODES ...]`.

The lists are shaped like `kubectl get nodes -o json`: about 6 kB a node, images and conditions included. Each size
runs in a process of its own, so that the peak of memory is its own.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SIZES = (1250, 2500, 5000, 10000)


def make_node(number: int) -> dict[str, object]:
    """Give one H100 node of a fabric of racks of 16 and rows of 8 racks."""
    rack, row = number // 16, number // 128
    labels = {f"feature.node.kubernetes.io/cpu-cpuid.FLAG{i}": "true" for i in range(25)} | {
        "kubernetes.io/hostname": f"gpu-{number:05}",
        "node.kubernetes.io/instance-type": "bare-metal",
        "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3",
        "nvidia.com/gpu.memory": "81559",
        "nvidia.com/gpu.count": "8",
        "network.topology.nvidia.com/leaf": f"leaf-{rack:04}",
        "network.topology.nvidia.com/spine": f"spine-{row:03}",
        "network.topology.nvidia.com/core": "core",
    }
    sizes = {"cpu": "224", "memory": f"{2113396684 + number % 7}Ki", "pods": "110", "nvidia.com/gpu": "8"}
    kinds = ("NetworkUnavailable", "MemoryPressure", "DiskPressure", "PIDPressure", "Ready")
    conditions = [
        {
            "type": kind,
            "status": "True" if kind == "Ready" and number % 97 else "False",
            "reason": f"Kubelet{kind}",
            "message": "what the kubelet says of it",
            "lastHeartbeatTime": "2026-11-30T00:00:00Z",
            "lastTransitionTime": "2026-11-30T00:00:00Z",
        }
        for kind in kinds
    ]
    image = "registry.example.com/train/megatron@sha256:" + "0" * 64
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": f"gpu-{number:05}", "labels": labels, "annotations": {"a": "x" * 600}, "uid": str(number)},
        "spec": {"podCIDR": "10.0.0.0/24", "providerID": f"metal://{number}"},
        "status": {
            "allocatable": sizes,
            "capacity": sizes,
            "conditions": conditions,
            "images": [{"names": [image, image], "sizeBytes": 10**10 + i} for i in range(10)],
            "nodeInfo": {"kubeletVersion": "v1.34.2", "osImage": "Ubuntu 24.04"},
        },
    }


def measure(path: str) -> None:
    """Read one list and print seconds and peak bytes as JSON."""
    from hyperflow.inventory.fleet import load_fleet

    start = time.perf_counter()
    fleet, _ = load_fleet([path])
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    usable = fleet.clusters[0].nodes_usable
    print(json.dumps({"seconds": seconds, "peak_bytes": peak, "usable": usable, "tiers": len(fleet.clusters[0].tiers)}))


def main(sizes: list[int]) -> None:
    """Measure every size and print a table."""
    print(f"{'nodes':>7} {'MB':>6} {'seconds':>8} {'peak MB':>8} {'us/node':>8}")
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "nodes.json"
            path.write_text(json.dumps({"kind": "List", "items": [make_node(i) for i in range(size)]}))
            command = [sys.executable, __file__, "--measure", str(path)]
            shown = subprocess.run(command, capture_output=True, text=True, check=True)
            row = json.loads(shown.stdout)
            megabytes = path.stat().st_size / 1e6
        per_node = row["seconds"] / size * 1e6
        print(f"{size:>7} {megabytes:>6.1f} {row['seconds']:>8.2f} {row['peak_bytes'] / 1e6:>8.0f} {per_node:>8.0f}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        measure(sys.argv[2])
    else:
        main([int(size) for size in sys.argv[1:]] or list(SIZES))
