"""Every recorded step of the real scheduler, from the state it began in."""

import json
from collections import Counter
from pathlib import Path

import pytest

RECORDING = Path(__file__).parents[3] / ".." / "shared" / "data" / "scheduler_placements.json"
LOOKS = {"Running": "running", "Inqueue": "unschedulable"}


def _scenarios():
    return json.loads(RECORDING.read_text())["scenarios"] if RECORDING.exists() else []


def _node(record, kit):
    made = kit.node(record["name"], record.get("labels"))
    made["status"]["allocatable"] = record["allocatable"]
    made["spec"] = {k: record[k] for k in ("taints", "unschedulable") if record.get(k)}
    return made


def _running(step, jobs):
    pods = []
    for name, at in step.get("before", {}).items():
        job = next(j for j in jobs if name.startswith(f"{j}-"))
        task = next(t for t in jobs[job]["spec"]["tasks"] if name.startswith(f"{job}-{t['name']}-"))
        labels = {"volcano.sh/job-name": job, "volcano.sh/queue-name": jobs[job]["spec"]["queue"]}
        spec = {**task["template"]["spec"], "nodeName": at}
        pods.append({"kind": "Pod", "metadata": {"name": name, "labels": labels}, "spec": spec})
    return pods


@pytest.mark.skipif(not RECORDING.exists(), reason="the recordings of the real scheduler are not beside the checkout")
@pytest.mark.parametrize("scenario", _scenarios(), ids=lambda s: s["id"])
def test_verdict_agrees_with_the_recorded_scheduler(scenario, kit):
    jobs = {}
    base = [*(_node(n, kit) for n in scenario["nodes"]), *scenario["hypernodes"], *scenario.get("queues", [])]
    for step in scenario["steps"]:
        new = {j["metadata"]["name"]: j for j in step.get("submitted", [])}
        jobs |= new
        if not new:
            continue
        pods = _running(step, jobs)
        busy = {p["metadata"]["labels"]["volcano.sh/job-name"] for p in pods}
        waiting = [j for name, j in jobs.items() if name not in new and name not in busy and name in step["result"]]
        placed = kit.place([*base, *pods, *waiting, *new.values()])
        expected = Counter(
            (sum(1 for at in step["result"][name]["pods"].values() if at),
             LOOKS.get(step["result"][name].get("podgroup"), "no-pods"))
            for name in new
        )  # fmt: skip
        assert expected == Counter((placed[name].pods_placed, placed[name].looks_like) for name in new)
        for name in new:
            _check_wholeness(placed[name], jobs[name])


def _check_wholeness(placement, job):
    """The answer is consistent with itself: nodes are as many as counted, partitions whole."""
    assert placement.pods_placed == sum(1 for at in placement.nodes if at)
    size = job["spec"]["tasks"][0].get("partitionPolicy", {}).get("partitionSize")
    assert all(len(part.nodes) == size for part in placement.partitions)
