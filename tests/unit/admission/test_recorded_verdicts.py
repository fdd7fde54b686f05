"""The recordings of real servers: verdicts, what they added, third-party manifests, HyperJobs that ran."""

import json
from pathlib import Path

import pytest

from hyperflow.admission.judge import judge, servers_of
from hyperflow.admission.state import ServerState
from hyperflow.admission.tables import catalogue_table
from hyperflow.inventory.documents import Document, scan_documents

SHARED = Path(__file__).parents[3] / ".." / "shared"
RECORDED = SHARED / "data" / "admission_verdicts.json"
pytestmark = pytest.mark.skipif(not RECORDED.is_file(), reason="no recordings: real verdicts were not compared")

DEFAULT_QUEUE = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "default"}}
NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}


@pytest.fixture(scope="module")
def recorded():
    return json.loads(RECORDED.read_text())


def _states(recorded):
    return {
        "member": ServerState([*recorded["about"]["there_before"], NAMESPACE]),
        "plane": ServerState([DEFAULT_QUEUE, NAMESPACE]),
    }


def _judged(recorded):
    states = _states(recorded)
    for case in recorded["cases"]:
        server = case["server"]
        yield case, judge(case["object"], server, states[server], catalogue_table(), case.get("update_from"))


def test_every_recorded_denial_is_denied_and_nothing_accepted_is(recorded):
    wrong = [
        case["id"] for case, found in _judged(recorded) if (found.verdict == "denied") != (case["verdict"] == "denied")
    ]
    assert wrong == []


def test_risky_is_what_the_study_calls_harmful_and_nothing_that_it_calls_harmless(recorded):
    wrong = [
        case["id"]
        for case, found in _judged(recorded)
        if "harmful" in case and found.verdict != ("risky" if case["harmful"] else "accepted")
    ]
    assert wrong == []


def test_added_is_what_the_servers_added(recorded):
    wrong = {
        case["id"]: (found.added, case.get("added", {}))
        for case, found in _judged(recorded)
        if case["verdict"] == "accepted" and found.added != case.get("added", {})
    }
    assert wrong == {}


def test_third_party_manifests_get_the_members_verdict(recorded):
    wrong, judged = [], 0
    state = ServerState([*recorded["about"]["there_before"], NAMESPACE])
    for row in recorded["third_party_manifests"]:
        documents = list(scan_documents(SHARED / "third_party" / "manifests" / row["file"]))
        found = documents[row["doc"]]
        assert isinstance(found, Document)
        if "member" not in servers_of(found.value):
            continue
        judged += 1
        value = {**found.value, "metadata": {**found.value["metadata"], "namespace": "default"}}
        if (judge(value, "member", state, catalogue_table()).verdict == "denied") != (row["verdict"] == "denied"):
            wrong.append((row["file"], row["doc"]))
    assert wrong == []
    assert judged == len(recorded["third_party_manifests"]) - 3, "a Deployment, a Service and a webhook are not judged"


def test_hyperjobs_that_the_plane_ran_are_not_denied():
    runs = json.loads((SHARED / "data" / "control_plane_runs.json").read_text())["runs"]
    state = ServerState([NAMESPACE])
    submitted = [run["submitted"] for run in runs if isinstance(run.get("submitted"), dict)]
    assert len(submitted) > 5
    table = catalogue_table().patched()
    denied = [
        (value["metadata"]["name"], server, [p.message for p in found.problems if p.severity == "error"])
        for value in submitted
        for server in servers_of(value)
        if (found := judge(value, server, state, table)).verdict == "denied"
    ]
    assert denied == []
