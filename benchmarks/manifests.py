"""Time and size of lowering, rendering and checking a large job: python -m benchmarks.manifests"""

import resource
import time

from hyperflow.lower.comm_contract import comm_text
from hyperflow.lower.lower_job import lower
from hyperflow.render.render_bundle import render
from hyperflow.validate.check_bundle import check
from tests.manifest_cases import cluster, fleet, job, model, plan


def large_job(nodes_per_stage=64, stages=16, clusters=4):
    """A job of `stages` stages of `nodes_per_stage` nodes over some clusters: 1,024 nodes, 8,192 devices."""
    names = [f"c{i}" for i in range(clusters)]
    where = fleet(*(cluster(name, nodes=nodes_per_stage * stages) for name in names))
    split = [(name, "B200", [8] * (stages // clusters)) for name in names]
    return job(where, shape=model(8 * stages)), plan(split, dp=nodes_per_stage)


def main():
    """Print the seconds of each step and the largest file."""
    case = large_job()
    marks = [time.perf_counter()]
    manifests = lower(*case)
    marks.append(time.perf_counter())
    bundle = render(manifests)
    marks.append(time.perf_counter())
    findings = check(manifests, bundle)
    marks.append(time.perf_counter())
    text = comm_text(manifests.comm)
    marks.append(time.perf_counter())
    for name, start, end in zip(("lower", "render", "check", "comm.json"), marks[:-1], marks[1:], strict=True):
        print(f"{name:10} {end - start:6.2f} s")
    largest = max(bundle.files, key=lambda file: len(file.text))
    print(f"{'total':10} {marks[-1] - marks[0]:6.2f} s, {len(bundle.files)} files, {len(findings)} findings")
    print(f"largest    {len(largest.text.encode())} bytes ({largest.path}), comm.json {len(text)} bytes")
    print(f"memory     {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MiB")


if __name__ == "__main__":
    main()
