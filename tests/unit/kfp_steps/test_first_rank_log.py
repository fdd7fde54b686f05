"""The log of rank 0 is printed once, whatever happens to the connection and to the pod."""

import pytest

from hyperflow.errors import Finding, InputError
from hyperflow.kfp_steps import first_rank_log
from hyperflow.kfp_steps.first_rank_log import FirstRankLog
from hyperflow.submit.snapshot import JobName

JOB = JobName(job="j", name="j-1", namespace="default")


@pytest.fixture
def logs(monkeypatch):
    """What the server gives at each follow; a finding stands for a refusal."""
    given = []

    def read_log(_plane, _pod, *, follow):
        for item in given.pop(0):
            if isinstance(item, Finding):
                raise InputError(item)
            yield item

    monkeypatch.setattr(first_rank_log, "find_pod", lambda *_: None)
    monkeypatch.setattr(first_rank_log, "read_log", read_log)
    return given


@pytest.fixture
def forward():
    lines = []
    log = FirstRankLog(None, lines.append)

    def call(*, ended=False):
        log.forward(JOB, runs=not ended, ended=ended)
        if log._thread is not None:
            log._thread.join(5)
        log.forward(JOB, runs=False, ended=False)
        return lines

    call.lines = log.lines
    return call


def test_a_follow_that_breaks_off_goes_on_where_it_stopped(logs, forward):
    logs += [["a", "b"], ["a", "b", "c"], ["a", "b", "c", "d"]]
    forward()
    forward()
    assert forward(ended=True) == ["[rank 0] a", "[rank 0] b", "[rank 0] c", "[rank 0] d"]
    assert forward.lines() == ("a", "b", "c", "d")


def test_the_log_of_a_restarted_pod_is_another_one(logs, forward):
    logs += [["start 1", "b"], ["start 2", "b"]]
    forward()
    assert forward() == ["[rank 0] start 1", "[rank 0] b", "[rank 0] start 2", "[rank 0] b"]


def test_a_log_that_cannot_be_read_is_told_once(logs, forward):
    refusal = Finding(code="HF520", message="job j-1 shows no pod of rank 0")
    logs += [[refusal], [refusal], ["a"]]
    forward()
    forward()
    assert forward() == ["[rank 0] (no log: job j-1 shows no pod of rank 0)", "[rank 0] a"]


def test_nothing_is_asked_for_before_a_pod_runs(logs):
    log = FirstRankLog(None, print)
    log.forward(JOB, runs=False, ended=False)
    assert log._thread is None
