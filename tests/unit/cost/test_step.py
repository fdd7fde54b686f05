import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hyperflow.cost.step import StageTimes, even_split, pipeline_seconds, segment_period, stage_layers

REFERENCE = Path(__file__).parents[4] / "shared" / "data" / "schedule_reference.json"


def test_equal_stages_give_the_textbook_bubbles():
    """(m + p - 1) slots for 1F1B, (p-1)/v more for interleaving (arXiv 2104.04473 section 2.2)."""
    stage = StageTimes(1.0, 1.0, 1.0)
    assert pipeline_seconds([stage] * 4, [0] * 3, 32, "1f1b") == 3 * 35
    assert pipeline_seconds([stage] * 4, [0] * 3, 32, "interleaved-1f1b", 2) == 3 * 32 + 3 * 3 / 2
    assert pipeline_seconds([stage] * 4, [0] * 3, 32, "gpipe") == 3 * 35
    assert pipeline_seconds([stage], [], 32, "1f1b") == 96


def test_a_slow_boundary_costs_its_delay_every_round():
    """schedules.md: a two-rank segment over one link gives (Ta+Tb)/2 + c."""
    assert segment_period([100, 100], [10]) == 110
    assert segment_period([100, 40], [10]) == 100


@pytest.mark.skipif(not REFERENCE.exists(), reason="the recorded schedules are not beside the checkout")
def test_recorded_1f1b_makespans_are_bounded_closely_and_gpipe_is_exact():
    over = []
    for row in json.loads(REFERENCE.read_text())["rows"]:
        if row["schedule"] not in ("1F1B", "GPipe"):
            continue
        times = [StageTimes(*stage) for stage in zip(row["F"], row["B"], row["W"], strict=True)]
        seconds = pipeline_seconds(times, row["comm"], row["m"], row["schedule"].lower())
        if row["schedule"] == "GPipe":
            assert seconds == pytest.approx(row["makespan"])
        else:
            assert seconds >= row["makespan"] - 1e-9, row["id"]
            over.append(seconds / row["makespan"] - 1)
    assert sum(over) / len(over) < 0.03


STAGE = st.builds(StageTimes, st.floats(0.1, 10), st.floats(0.1, 10), st.floats(0.1, 10))
SCHEDULES = ["1f1b", "gpipe", "interleaved-1f1b", "zb-1p", "zb-2p"]


@settings(max_examples=100, derandomize=True)
@given(st.lists(STAGE, min_size=1, max_size=8), st.integers(1, 64), st.sampled_from(SCHEDULES), st.integers(1, 4))
def test_no_schedule_beats_its_slowest_stage(times, microbatches, schedule, chunks):
    hops = [0.01] * (len(times) - 1)
    seconds = pipeline_seconds(times, hops, microbatches, schedule, chunks)
    assert seconds >= microbatches * max(t.total for t in times) - 1e-9


@settings(max_examples=60, derandomize=True)
@given(st.lists(STAGE, min_size=2, max_size=8), st.integers(2, 64), st.sampled_from(SCHEDULES), st.floats(1.1, 9))
def test_time_scales_with_all_speeds_together(times, microbatches, schedule, factor):
    hops = [0.02] * (len(times) - 1)
    slower = [StageTimes(*(factor * part for part in (t.forward, t.backward_input, t.backward_weight))) for t in times]
    plain = pipeline_seconds(times, hops, microbatches, schedule, 2)
    assert pipeline_seconds(slower, [factor * h for h in hops], microbatches, schedule, 2) == pytest.approx(
        factor * plain
    )


@settings(max_examples=100, derandomize=True)
@given(st.integers(1, 200), st.integers(1, 40))
def test_an_even_split_uses_every_layer_and_differs_by_one_at_most(layers, chunks):
    split = even_split(layers, chunks)
    assert (len(split), sum(split)) == (chunks, layers)
    assert max(split) - min(split) <= 1


def test_chunks_of_a_stage_lie_a_stage_count_apart():
    assert stage_layers((2, 3, 3, 2), 2, 0) == [(0, 2), (5, 3)]
    assert stage_layers((2, 3, 3, 2), 2, 1) == [(2, 3), (8, 2)]
