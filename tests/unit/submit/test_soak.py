"""A short soak in the tests (the long one is benchmarks/soak_submit.py), and a watch of many children."""

import itertools
import tracemalloc

import pytest

from hyperflow.inventory.bundle_reader import read_bundle
from hyperflow.submit.snapshot import JobName
from hyperflow.submit.watch import Pace, follow
from tests.live_plane import live_plane, write_bundle
from tests.soak_runs import one_run

CHILDREN = 60


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    return read_bundle(write_bundle(tmp_path_factory.mktemp("bundle") / "out"))


def test_faults_and_kills_end_in_one_job_and_then_in_none(tmp_path, monkeypatch, bundle):
    with live_plane(tmp_path, monkeypatch) as live:
        outcomes = [one_run(live, bundle, seed) for seed in range(3)]
    assert [(outcome.seed, outcome.wrong) for outcome in outcomes if outcome.wrong] == []
    assert sum(outcome.kills for outcome in outcomes) > 0


def child(name, i):
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": f"{name}-{i}", "namespace": "default", "labels": {"hyperflow.io/bundle": name}},
        "spec": {"tasks": [{"name": "w", "replicas": 4, "template": {"spec": {"containers": []}}}]},
        "status": {"state": {"phase": "Running"}, "running": 4},
    }


def test_a_watch_of_many_children_asks_a_fixed_number_of_times_a_look_and_keeps_memory_flat(tmp_path, monkeypatch):
    with live_plane(tmp_path, monkeypatch) as live:
        live.server.after_request = lambda: None
        jobs = [live.server.plane.put(child("wide", i)) for i in range(CHILDREN)]
        job = JobName(job="wide", name="wide", namespace="default")
        looks, sizes, counts = 12, [], []
        tracemalloc.start()
        for i, status in enumerate(follow(live.plane, job, Pace(pause_seconds=2, quiet_seconds=1))):
            assert (status.state, len(status.children)) == ("RUNNING", CHILDREN)
            sizes.append(tracemalloc.get_traced_memory()[0])
            counts.append(len(live.server.faults.requests))
            live.server.plane.store.history.clear()
            changed = live.server.plane.store.get(live.controllers._job(live.server.plane), "default", f"wide-{i}")
            live.put({**changed, "status": {**changed["status"], "retryCount": i}})
            if i + 1 == looks:
                break
        tracemalloc.stop()
    assert len(jobs) == CHILDREN
    steps = {b - a for a, b in itertools.pairwise(counts[1:])}
    assert max(steps) <= 11, "a look is at most ten lists and one watch"
    assert sizes[-1] - sizes[3] < 3_000_000
    assert live.clock.now() >= 2 * (looks - 1)
