"""A step looks, tells what it sees, and leaves the job within one look when it cannot go on."""

import pytest

from hyperflow.errors import UsageError
from hyperflow.kfp_steps.backend import ChildState, Observation, open_backend, open_place
from hyperflow.kfp_steps.follow import FollowPolicy, follow
from hyperflow.kfp_steps.outputs import timeline_markdown


class Script:
    """A backend that shows the given states one after the other; time passes with sleep alone."""

    def __init__(self, *seen):
        self.seen, self.looks, self.time = list(seen), 0, 0.0

    def look(self):
        self.looks += 1
        return self.seen[min(self.looks, len(self.seen)) - 1]

    def run(self, **policy):
        lines = []
        outcome = follow(
            self, FollowPolicy(**{"poll_seconds": 10.0, **policy}), lines.append, lambda: self.time, self.sleep
        )
        return outcome, lines

    def sleep(self, seconds):
        self.time += seconds


WAITS = Observation(state="QUEUED", reason="queue llm: 3 jobs before this one")
RUNS = Observation(state="RUNNING")
DONE = Observation(state="COMPLETED")
CHILD = ChildState(name="t-west-0", cluster="west", phase="Failed", running=0, total=8, reason="image pull denied")
DEGRADED = Observation(state="DEGRADED", reason="west failed", children=(CHILD,))


def test_the_reason_for_waiting_is_told_once_and_again_after_five_minutes():
    outcome, lines = Script(*[WAITS] * 35, RUNS, DONE).run()
    assert outcome.state == "COMPLETED"
    assert lines == [
        "hyperflow: QUEUED after 0 s: queue llm: 3 jobs before this one",
        "hyperflow: QUEUED after 5 min 0 s: queue llm: 3 jobs before this one",
        "hyperflow: RUNNING after 5 min 50 s",
        "hyperflow: COMPLETED after 6 min 0 s",
    ]
    assert (outcome.waited_seconds, outcome.ran_seconds) == (340.0, 20.0)


def test_the_timeline_shows_the_course_the_parts_and_the_figures():
    outcome, _ = Script(WAITS, Observation(state="RUNNING", reason="a | b"), DEGRADED).run(poll_seconds=2000.0)
    assert timeline_markdown("t", outcome, {"goodput": 0.5}) == (
        "# t: DEGRADED\n\n"
        "| after | state | reason |\n|---|---|---|\n"
        "| 0 s | QUEUED | queue llm: 3 jobs before this one |\n"
        "| 33 min 20 s | RUNNING | a \\| b |\n"
        "| 1 h 6 min | DEGRADED | west failed |\n\n"
        "| cluster | phase | pods | reason |\n|---|---|---|---|\n"
        "| west | Failed | 8 | image pull denied |\n\n"
        "| figure | value |\n|---|---|\n"
        "| goodput | 0.5 |\n"
    )


def test_a_degraded_job_is_left_at_the_first_look_that_shows_it():
    script = Script(RUNS, DEGRADED, DEGRADED, DONE)
    outcome, lines = script.run()
    assert (outcome.state, outcome.reason, script.looks) == ("DEGRADED", "west failed", 2)
    assert lines[-1] == "hyperflow:   west: Failed, 0 of 8 pods run (image pull denied)"


def test_a_degraded_job_runs_on_where_the_user_wants_it():
    assert Script(RUNS, DEGRADED, DONE).run(abort_when_degraded=False)[0].state == "COMPLETED"


@pytest.mark.parametrize(
    ("seen", "policy", "reason"),
    [
        (
            WAITS,
            {"queue_timeout_seconds": 60},
            "still QUEUED after queue_timeout_seconds = 60.00 s: queue llm: 3 jobs before this one",
        ),
        (
            RUNS,
            {"run_timeout_seconds": 60, "queue_timeout_seconds": 1},
            "still RUNNING after run_timeout_seconds = 60.00 s",
        ),
    ],
)
def test_a_phase_that_takes_too_long_ends_the_step(seen, policy, reason):
    outcome, _ = Script(seen).run(**policy)
    assert (outcome.state, outcome.reason) == ("TIMED_OUT", reason)


def test_impossible_policies_are_refused_together():
    with pytest.raises(UsageError) as caught:
        FollowPolicy(on_cancel="forget", poll_seconds=-1)
    assert [finding.as_text() for finding in caught.value.findings] == [
        "error[HF557] on_cancel cannot be 'forget'\n  --> on_cancel\n  got 'forget', expected keep or delete\n"
        "  hint: give keep or delete",
        "error[HF557] poll_seconds cannot be -1\n  --> poll_seconds\n"
        "  got -1, expected a number of seconds, 0 or more\n  hint: give a number of seconds, 0 or more",
    ]


def test_an_unknown_backend_is_refused():
    for call in (lambda: open_backend("mainframe", "", "", print), lambda: open_place("mainframe", "", "")):
        with pytest.raises(UsageError) as caught:
            call()
        assert caught.value.findings[0].as_text() == (
            "error[HF556] there is no backend 'mainframe'\n"
            "  --> backend\n"
            "  got mainframe, expected plane, local or local:DIR\n"
            '  hint: backend="local" runs the job as processes of the step'
        )
