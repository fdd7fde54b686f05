"""Reports: measured beside predicted, from logs whose answers can be worked out by hand."""

import json

import pytest

from hyperflow.cli import main
from hyperflow.report.training_log import measure_log, read_steps, with_seconds
from tests.live_plane import write_bundle


def megatron(step, second, milliseconds=2000.0):
    """A step line as Megatron-LM writes it below torchrun."""
    stamp = f"2026-11-30 12:{second // 60:02}:{second % 60:02}"
    return (
        f"[default7]: [{stamp}] iteration {step:8}/  1000 | consumed samples: 320 | "
        f"elapsed time per iteration (ms): {milliseconds} | throughput per GPU (TFLOP/s/GPU): 312.1 | lm loss: 2.1E+00"
    )


# Steps of 2 s, logged one by one. Start at 0 s. Steps 1-5 end at 2..10 s; the pod dies; from a checkpoint after step 3
# steps 4-6 run again, ending at 24, 26, 28 s; dies again; steps 6-8 end at 42, 44, 46 s.
# Kept: steps 1-3, 4-5, 6-8 = 8 steps = 16 s; lost: 4, 5 of the first and 6 of the second = 3. Wall 46 s.
TWO_RESTARTS = [
    *(megatron(step, 2 * step) for step in range(1, 6)),
    "hyperflow: node rank 0 of 2, cluster beijing",
    *(megatron(step, 24 + 2 * (step - 4)) for step in range(4, 7)),
    *(megatron(step, 42 + 2 * (step - 6)) for step in range(6, 9)),
]


def measured(lines, **settings):
    return measure_log(with_seconds(read_steps(lines), None), **settings)


def test_two_restarts_give_the_goodput_worked_out_by_hand():
    found = measured(TWO_RESTARTS)
    assert (found.kept_steps, found.lost_steps, len(found.rollbacks)) == (8, 3, 2)
    assert found.step_seconds == 2.0
    assert found.wall_seconds == 46.0
    assert found.goodput == pytest.approx(16 / 46)
    assert found.ettr == pytest.approx(16 / 46)


def test_time_in_the_queue_counts_against_both_ratios():
    start = next(iter(read_steps(TWO_RESTARTS))).at - 2 - 54
    found = measured(TWO_RESTARTS, started_at=start)
    assert found.wall_seconds == 100.0
    assert found.ettr == pytest.approx(0.16)


def test_a_slow_step_lowers_goodput_and_not_ettr():
    lines = [megatron(1, 2), megatron(2, 4), megatron(3, 10, 6000.0), megatron(4, 12)]
    found = measured(lines)
    assert found.ettr == pytest.approx(1.0)
    assert found.goodput == pytest.approx(8 / 12)


def test_records_of_ten_steps_count_ten_steps():
    found = measured([megatron(10, 20), megatron(20, 40), megatron(20, 70)])
    assert (found.kept_steps, found.lost_steps, len(found.rollbacks)) == (20, 10, 1)
    assert found.wall_seconds == 70.0


def test_the_first_record_after_a_start_is_warm_up():
    assert measured([megatron(1, 30, 30000.0), megatron(2, 32), megatron(3, 34)]).step_seconds == 2.0


TITAN = (
    "[rank0]:[titan] 2026-11-30 12:00:{:02},123 - root - INFO - \x1b[31mstep: {:2}  \x1b[32mloss:  7.1  "
    "\x1b[33mmemory: 40.12GiB(50.1%)  \x1b[34mtps: 4,096  \x1b[36mtflops: 200.1  \x1b[35mmfu: 40.10%\x1b[39m"
)


def test_torchtitan_rates_become_step_times_by_the_plans_batch():
    lines = [TITAN.format(10, 1), TITAN.format(12, 2)]
    (first, second) = with_seconds(read_steps(lines), 8192.0)
    assert (first.step, first.seconds, second.at - first.at) == (1, 2.0, 2.0)
    assert with_seconds(read_steps(lines), None) == []


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return str(write_bundle(tmp_path_factory.mktemp("bundle") / "out"))


def test_report_prints_measured_beside_predicted(folder, tmp_path, capsys):
    log = tmp_path / "train.log"
    log.write_text("\n".join(TWO_RESTARTS))
    row = tmp_path / "row.csv"
    assert main(["report", folder, "--log", str(log), "--format", "json", "--row", str(row)]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["predicted"] == {"step_seconds": 1.122, "mfu": 0.4}
    assert document["measured"]["mfu"] == pytest.approx(0.4 * 1.122 / 2.0)
    assert document["step_seconds_ratio"] == pytest.approx(2.0 / 1.122)
    assert ",6/2,2,C," in row.read_text().splitlines()[1]
    assert main(["report", folder, "--log", str(log)]) == 0
    assert "step seconds          1.122         2" in capsys.readouterr().out


def test_a_log_without_steps_is_refused_and_one_without_times_is_noted(folder, tmp_path, capsys):
    log = tmp_path / "train.log"
    log.write_text("nothing here\n")
    assert main(["report", folder, "--log", str(log)]) == 1
    assert capsys.readouterr().err == (
        f"error[HF521] no training steps are in the log\n  --> {log}\n"
        "  expected lines `iteration N/M | ... elapsed time per iteration (ms): T`, `step: N loss: ... tps: R` "
        "or `step N ... step_seconds S`\n"
        "  hint: take the log of the last pipeline stage: hyperflow logs JOB GROUP/INDEX > FILE\n"
    )
    log.write_text("iteration 1/10 | elapsed time per iteration (ms): 2000.0 |\n")
    assert main(["report", folder, "--log", str(log)]) == 0
    assert "note[HF528] the log's steps carry no times, so goodput and ETTR are not known" in capsys.readouterr().err
