"""A short soak in the tests (the long one is benchmarks/soak_submit.py), and an hour of following many children."""

import json
from typing import ClassVar

import pytest

from hyperflow.inventory.bundle_reader import read_bundle
from hyperflow.submit import watch
from hyperflow.submit.remembered import Remembered
from hyperflow.submit.snapshot import JobName
from tests.live_plane import live_plane, write_bundle
from tests.soak_runs import one_run
from tests.wide_job import HOUR, NAME, WideJob, most_requests

MINUTE = 60.0


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    return read_bundle(write_bundle(tmp_path_factory.mktemp("bundle") / "out"))


def test_faults_and_kills_end_in_one_job_and_then_in_none(tmp_path, monkeypatch, bundle):
    with live_plane(tmp_path, monkeypatch) as live:
        outcomes = [one_run(live, bundle, seed) for seed in range(4)]
    assert [(outcome.seed, outcome.wrong) for outcome in outcomes if outcome.wrong] == []
    assert sum(outcome.kills for outcome in outcomes) > 0
    assert sum(outcome.expiries for outcome in outcomes) > 0


class Weighed(Remembered):
    """Lists whose size can be asked for."""

    made: ClassVar = []

    def __init__(self, plane, lists=None):
        super().__init__(plane, lists)
        self.made.append(self)

    def size(self):
        return sum(len(json.dumps(item)) for known in self._lists.values() for item in known.items.values())


def test_an_hour_of_following_children_asks_within_its_bound_keeps_memory_flat_and_tells_the_truth(
    tmp_path, monkeypatch
):
    """Restarting children, a server that is down, forgets and forgets again; a phase is told a minute late at most."""
    with live_plane(tmp_path, monkeypatch, members=("a", "b")) as live:
        live.server.after_request = lambda: None
        wide = WideJob(live.server, children=6, churn_seconds=60)
        sizes, wrong, states = {}, [], []
        monkeypatch.setattr(watch, "Remembered", Weighed)
        for status in watch.follow(live.plane, JobName(job=NAME, name=NAME, namespace="default")):
            now = live.clock.now()
            states.append(status.state)
            wrong += [
                (now, child.name, child.phase)
                for child in status.children
                if not wide.was(child.name, child.phase, now - MINUTE, now)
            ]
            for moment in (0.4 * HOUR, 0.9 * HOUR):
                if now >= moment and moment not in sizes:
                    sizes[moment] = Weighed.made[0].size()
        requests = len(live.server.faults.requests)
    assert wrong == []
    assert states[-1] == "COMPLETED"
    assert {"FAILED", "UNKNOWN"} & set(states) == set()
    assert requests <= most_requests(members=2, news=wide.news)
    early, late = sizes.values()
    assert late <= 1.05 * early
