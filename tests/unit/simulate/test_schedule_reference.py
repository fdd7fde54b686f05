"""All recorded schedules: constructed ones exact, searched ones never worse, none better than the optimum."""

import json
from pathlib import Path

import pytest

from hyperflow.errors import HyperFlowError
from hyperflow.simulate.cases import read_case, run_case
from hyperflow.simulate.orders import SCHEDULES

_DATA = Path(__file__).parents[3] / ".." / "shared" / "data" / "schedule_reference.json"
pytestmark = pytest.mark.skipif(not _DATA.exists(), reason=f"{_DATA.name} is not here: recorded schedules not checked")


@pytest.fixture(scope="module")
def reference():
    return json.loads(_DATA.read_text())


def test_every_recorded_row_is_reproduced_or_bettered_within_its_memory(reference):
    wrong = []
    for index, row in enumerate(reference["rows"]):
        case = read_case(row, index)
        timeline = run_case(case)
        exact = (
            abs(timeline.makespan - row["makespan"]) < 1e-6
            and abs(timeline.span_max - row["span_max"]) < 1e-6
            and list(timeline.peak_until_weight) == row["peak_until_W"]
            and list(timeline.peak_until_input) == row["peak_until_B"]
            and all(abs(a - b) < 1e-6 for a, b in zip(timeline.idle_per_rank, row["idle_per_rank"], strict=True))
        )
        no_worse = timeline.makespan <= row["makespan"] + 1e-6 and all(
            a <= b for a, b in zip(timeline.peak_until_weight, row["peak_until_W"], strict=True)
        )
        if not (exact or (SCHEDULES[case.schedule].searched and no_worse)):
            wrong.append((row["id"], row["schedule"], row["makespan"], timeline.makespan))
    assert wrong == []


def test_no_one_chunk_schedule_beats_the_optimum_under_its_limits(reference):
    better = []
    for index, optimum in enumerate(reference["optimum"]):
        names = ("ZB-H1", "ZB_auto") if optimum["backward"].startswith("split") else ("GPipe", "1F1B")
        for name in names:
            try:
                timeline = run_case(read_case({**optimum, "schedule": name}, index))
            except HyperFlowError:
                continue  # the limit of memory is too tight for this schedule
            if timeline.makespan < optimum["optimum_makespan"] - 1e-6:
                better.append((optimum["id"], name, optimum["optimum_makespan"], timeline.makespan))
    assert better == []


def test_what_a_generator_refuses_is_refused_with_a_rule(reference):
    # Four ZB_auto rows are not refusals but crashes of the generator; an order exists.
    rows = [row for row in reference["not_produced"] if row["schedule"] != "ZB_auto"]
    codes = set()
    for index, row in enumerate(rows):
        with pytest.raises(HyperFlowError) as caught:
            run_case(read_case(row, index))
        codes |= {finding.code for finding in caught.value.findings}
    assert codes == {"HF653"}
