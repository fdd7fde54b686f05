"""What a step tells of the speed of its job: the reader of `hyperflow report`, over the logs of the pods."""

import pytest

from hyperflow.kfp_steps.backend import Observation
from hyperflow.kfp_steps.follow import Outcome
from hyperflow.kfp_steps.measured import measured_steps
from hyperflow.kfp_steps.outputs import metrics_of
from tests.kfp_cases import write_tiny


@pytest.fixture
def plan(tmp_path):
    return write_tiny(tmp_path).plan()


def megatron(step, milliseconds, stamp=""):
    return f"{stamp} iteration {step:8}/ 100 | consumed samples: 9 | elapsed time per iteration (ms): {milliseconds} |"


def titan(step, tokens_per_second):
    return f"[rank0]: 2026-11-30 12:00:0{step},000 - root - INFO - step: {step}  loss: 8.1  tps: {tokens_per_second}"


def outcome(ran_seconds):
    return Outcome(
        state="COMPLETED",
        reason="",
        last=Observation(state="COMPLETED"),
        events=(),
        ran_seconds=ran_seconds,
        waited_seconds=0,
    )


def test_the_first_log_with_step_lines_is_measured_whatever_the_rank(plan):
    quiet, speaks = ["started", "saved"], [megatron(n, ms) for n, ms in ((1, 9000.0), (2, 510.0), (3, 530.0))]
    assert measured_steps([quiet, speaks, [megatron(1, 1.0)]], plan).step_seconds == pytest.approx(0.52)
    assert measured_steps([quiet, quiet], plan) is None


def test_a_torchtitan_log_is_measured_by_the_tokens_of_the_plan(plan):
    tokens = plan.global_batch_size * 24 / plan.degrees.world_size  # of one step on one device, sequences of 24
    found = measured_steps([[titan(1, 1), titan(2, tokens / 2), titan(3, tokens / 2)]], plan)
    assert found.step_seconds == pytest.approx(2.0)


def test_a_script_of_ones_own_is_measured_by_step_seconds(plan):
    found = measured_steps([["step 1 loss 2 step_seconds 9", "step 2 loss 2 step_seconds 5e-1"]], plan)
    assert (found.step_seconds, found.kept_steps) == (0.5, 2)


def test_goodput_comes_from_the_log_where_it_carries_times_and_from_the_run_where_not(plan):
    # two steps of 2 s, then a pause: the third ends 10 s after the first began
    stamps = ["[2026-11-30 12:00:02]", "[2026-11-30 12:00:04]", "[2026-11-30 12:00:10]"]
    timed = measured_steps([[megatron(n, 2000.0, stamp) for n, stamp in enumerate(stamps, 1)]], plan)
    assert metrics_of(plan, timed, outcome(100.0))["goodput"] == pytest.approx(0.6)
    assert metrics_of(plan, timed, outcome(100.0), adopted=True)["ettr"] == pytest.approx(0.6)
    bare = measured_steps([[megatron(n, 2000.0) for n in (1, 2, 3)]], plan)
    figures = metrics_of(plan, bare, outcome(10.0))
    assert figures["goodput"] == pytest.approx(0.6)
    assert "ettr" not in figures
    # who took the job over has not seen how long it ran
    assert "goodput" not in metrics_of(plan, bare, outcome(10.0), adopted=True)


def test_steps_that_a_restart_lost_are_counted_apart(plan):
    log = [megatron(n, 1000.0) for n in (1, 2, 3, 2, 3, 4)]
    figures = metrics_of(plan, measured_steps([log], plan), None)
    assert (figures["kept_steps"], figures["lost_steps"]) == (4, 2)
