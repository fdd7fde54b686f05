"""Starts the local ranks of one node and ends with the first exit code that is not 0."""

import argparse
import os
import subprocess
import sys
import time


def main():
    """Run the script once for each local rank."""
    parser = argparse.ArgumentParser()
    for name in ("nnodes", "nproc_per_node", "node_rank"):
        parser.add_argument(f"--{name}", type=int)
    for name in ("master_addr", "master_port", "max_restarts", "rdzv_conf"):
        parser.add_argument(f"--{name}")
    parser.add_argument("script", nargs=argparse.REMAINDER)
    args = parser.parse_args()
    world = args.nnodes * args.nproc_per_node
    processes = []
    for local in range(args.nproc_per_node):
        rank = args.node_rank * args.nproc_per_node + local
        ranks = {"RANK": rank, "LOCAL_RANK": local, "WORLD_SIZE": world}
        environment = os.environ | {name: str(value) for name, value in ranks.items()}
        processes.append(subprocess.Popen([sys.executable, *args.script], env=environment))
    codes = [process.poll() for process in processes]
    while None in codes and not any(codes):
        time.sleep(0.02)
        codes = [process.poll() for process in processes]
    for process in processes:
        process.terminate()
        process.wait()
    return next((code for code in codes if code), 0)


if __name__ == "__main__":
    sys.exit(main())
