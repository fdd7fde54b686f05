"""The history of a job from its objects and events, with the answers worked out by hand."""

import pytest

from hyperflow.report.job_history import read_history
from hyperflow.report.model_shape import shape_columns
from hyperflow.report.run_report import report_document
from hyperflow.report.training_log import measure_log, read_steps, with_seconds
from tests.manifest_cases import DENSE, MIXTURE, model
from tests.unit.cli.test_report import TWO_RESTARTS


def at(second):
    """A second after noon, as Kubernetes writes it."""
    return f"2026-11-30T12:{second // 60:02}:{second % 60:02}Z"


def child(name, *phases, created=0, **status):
    """A vcjob of the job toy whose phases began at the given seconds."""
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job",
        "metadata": {"name": name, "creationTimestamp": at(created), "labels": {"volcano.sh/hyperjob-name": "toy-1"}},
        "status": {
            "conditions": [{"status": phase, "lastTransitionTime": at(second)} for phase, second in phases],
            "state": {"phase": phases[-1][0], "lastTransitionTime": at(phases[-1][1])} if phases else {},
            **status,
        },
    }  # fmt: skip


def event(name, reason, second, kind="Pod", **more):
    return {
        "apiVersion": "v1", "kind": "Event", "involvedObject": {"kind": kind, "name": name}, "reason": reason,
        "lastTimestamp": at(second), **more,
    }  # fmt: skip


# a-0 runs from 10 to 100 s and again from 120 to 200 s; b-0 from 30 to 200 s.
# Together: 30-100 and 120-200 = 150 s of 200 s. Waiting until 30 s.
FIRST = child(
    "toy-1-a-0", ("Pending", 0), ("Running", 10), ("Restarting", 100), ("Pending", 105), ("Running", 120),
    ("Completed", 200), retryCount=1,
)  # fmt: skip
SECOND = child("toy-1-b-0", ("Pending", 1), ("Running", 30), ("Completed", 200))


def test_waiting_running_and_availability_are_those_worked_out_by_hand():
    history = read_history([FIRST, SECOND], "toy-1")
    assert history.wall_seconds == 200.0
    assert history.waiting_seconds == 30.0
    assert history.running_seconds == 150.0
    assert history.available == 0.75
    assert (history.restarts, history.failures, history.evictions) == (1, (), ())


def test_evicted_pods_are_counted_once_each_whether_an_event_or_the_pod_tells():
    pod = {
        "kind": "Pod", "metadata": {"name": "toy-1-b-0-node-1", "labels": {"volcano.sh/job-name": "toy-1-b-0"}},
        "status": {"reason": "Evicted"},
    }  # fmt: skip
    told = [
        event("toy-1-a-0-node-0", "Evict", 99),
        event("toy-1-b-0-node-1", "Evicted", 150, count=2),
        event("other-a-0-node-0", "Evict", 99),
        event("toy-1-a-0", "Evict", 99, kind="Job"),
        event("toy-1-a-0-node-0", "Scheduled", 9),
    ]
    assert len(read_history([FIRST, SECOND, pod, *told], "toy-1").evictions) == 3
    assert len(read_history([FIRST, SECOND, pod], "toy-1").evictions) == 1


def test_a_failed_child_is_told_with_the_seconds_since_the_submission():
    lost = child("toy-1-b-0", ("Pending", 1), ("Running", 30), ("Failed", 60), created=5)
    history = read_history([FIRST, lost], "toy-1")
    assert history.failures == (("toy-1-b-0", "Failed", 60.0),)
    assert history.running_seconds == 30.0


def test_a_job_that_still_runs_is_measured_to_the_time_of_the_look():
    living = [child("toy-1-a-0", ("Pending", 0), ("Running", 40))]
    noon = read_history([FIRST], "toy-1").submitted_at
    assert read_history(living, "toy-1", until=noon + 100).available == 0.6
    assert read_history(living, "toy-1").wall_seconds == 40.0
    assert read_history([child("toy-1-a-0")], "toy-1", until=noon + 100).running_seconds == 0
    assert read_history([child("toy-1-a-0")], "toy-1", until=noon + 100).waiting_seconds is None


def test_a_phase_without_its_time_tells_nothing_of_running():
    untimed = {**child("toy-1-a-0"), "status": {"state": {"phase": "Running"}}}
    history = read_history([untimed], "toy-1", until=read_history([FIRST], "toy-1").submitted_at + 100)
    assert (history.wall_seconds, history.running_seconds, history.available) == (100.0, None, None)


def test_objects_of_other_jobs_tell_nothing():
    assert read_history([FIRST, event("toy-1-a-0", "Evict", 3)], "toy-2") is None
    assert read_history(["no object", {"kind": "Job", "apiVersion": "batch/v1"}], "toy-1") is None


def test_steps_that_a_restart_threw_away_are_sorted_by_their_cause():
    # the first restart of the log lies between 10 and 24 s, the second between 28 and 42 s
    history = read_history([FIRST, event("toy-1-a-0-node-0", "Evict", 12)], "toy-1")
    measures = measure_log(with_seconds(read_steps(TWO_RESTARTS), None))
    assert [r.lost_steps for r in measures.rollbacks] == [2, 1]
    document = report_document({}, measures, history)
    assert document["history"]["lost_steps"] == {"by_eviction": 2, "by_restart": 1}
    assert {"goodput", "ETTR", "waiting", "available"} <= set(document["definitions"])


@pytest.mark.parametrize(
    ("layer", "columns"),
    [
        (DENSE, {"ffn": 28672, "heads": 64, "kv_heads": 8, "head_dim": 128, "gated_mlp": 1, "experts": None}),
        (MIXTURE, {"ffn": 1536, "experts": 128, "topk": 8, "moe_ffn": 1536, "shared_ffn": 0, "kv_heads": 4}),
    ],
)
def test_a_models_columns_are_those_of_its_commonest_layer(layer, columns):
    found = shape_columns(model(layer=layer), "bf16")
    assert {name: found[name] for name in columns} == columns
    assert found["precision"] == "bf16"
