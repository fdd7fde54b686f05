import math

import pytest

from hyperflow.errors import HyperFlowError, InputError
from hyperflow.simulate.cases import read_case, rows_of, run_case

_GOOD = {"schedule": "1F1B", "p": 2, "m": 4, "F": [20, 20], "B": [24, 24], "W": [16, 16], "comm": [5]}


def _messages(**changed) -> list[str]:
    with pytest.raises(InputError) as caught:
        read_case({**_GOOD, **changed}, 0)
    return [f"{f.code} {f.where}: {f.message} (got {f.got}, expected {f.expected})" for f in caught.value.findings]


def test_a_good_case_is_timed():
    # By hand: rank 1 starts at 25, runs two micro-batches in 120, waits 10, runs two more; 5 back, 40 on rank 0.
    assert run_case(read_case(_GOOD, 0)).makespan == 320


def test_the_chunks_default_to_the_fewest_and_the_ranks_to_the_times():
    row = {key: value for key, value in _GOOD.items() if key != "p"}
    case = read_case({**row, "schedule": "zb-v"}, 0)
    assert (case.chunks, case.times.num_ranks) == (2, 2)


def test_times_that_are_not_positive_are_refused():
    assert _messages(F=[20, 0]) == [
        "HF652 F[1]: F[1] must be a finite number, above 0 (got 0, expected above 0)",
    ]
    assert _messages(W=[math.nan, 16])[0].startswith("HF652 W[0]: W[0] must be a finite number, above 0 (got nan")
    assert _messages(B=[24, math.inf])[0].startswith("HF652 B[1]: ")
    assert (
        _messages(comm=[-1])[0]
        == "HF652 comm[0]: comm[0] must be a finite number, 0 or more (got -1, expected 0 or more)"
    )
    assert _messages(F=[True, 20])[0].startswith("HF652 F[0]: ")


def test_wrong_lengths_are_refused_all_at_once():
    assert _messages(F=[20], comm=[5, 5]) == [
        "HF651 F: F has 1 entries (got (20,), expected 2 entries)",
        "HF651 comm: comm has 2 entries (got (5, 5), expected 1 entries)",
    ]


@pytest.mark.parametrize(
    ("field", "value"),
    [("p", 0), ("m", None), ("m", "8"), ("v", 1.5), ("m", True), ("F", None), ("schedule", None), ("warmup", [0, 1]),
     ("warmup", [2]), ("mem_limit", 0), ("mem_limit", [1]), ("clusters", ["a"]), ("blocking_sends", 1),
     ("framework", "jax"), ("occupancy", 3)],
)  # fmt: skip
def test_a_wrong_field_is_named(field, value):
    with pytest.raises(InputError) as caught:
        read_case({**_GOOD, field: value}, 0)
    assert {(f.code, f.where) for f in caught.value.findings} == {("HF651", field)}


def test_a_fault_of_the_times_is_told_once_where_no_ranks_are_given():
    bare = {"schedule": "1F1B", "m": 4, "B": [1], "W": [1], "comm": []}
    for times, where in ((3, "F"), ([math.nan], "F[0]"), ([], "p")):
        with pytest.raises(InputError) as caught:
            read_case({**bare, "F": times}, 0)
        assert [f.where for f in caught.value.findings] == [where]


def test_occupancy_longer_than_the_delay_is_refused():
    assert _messages(occupancy=[6]) == [
        "HF652 occupancy: occupancy is longer than the whole delay (got [6], expected at most comm, per link)"
    ]


def test_a_row_that_is_no_object_is_refused():
    with pytest.raises(InputError) as caught:
        read_case([1, 2], 3)
    assert str(caught.value) == (
        "error[HF651] a case must be an object\n  got [1, 2], expected fields schedule, p, m, F, B, W, comm"
    )


def test_a_document_without_cases_is_refused():
    with pytest.raises(InputError) as caught:
        rows_of({"cases": []}, "cases.json")
    assert str(caught.value) == (
        "error[HF651] no cases found\n"
        "  --> cases.json\n"
        "  got dict, expected a list of cases, or an object with the list under `rows`"
    )


def test_a_limit_that_a_fixed_order_exceeds_is_refused_with_the_rank():
    with pytest.raises(HyperFlowError) as caught:
        run_case(read_case({**_GOOD, "mem_limit": [1, 1]}, 0))
    assert str(caught.value) == (
        "error[HF657] 1F1B does not fit the memory limit in micro-batches per rank\n"
        "  --> mem_limit\n"
        "  got rank 0 holds 2, limit 1\n"
        "  hint: raise the limit, or use ZB_auto (one chunk), V-Half or V-Min, which need less"
    )


def test_the_rules_of_a_framework_come_with_the_generator_or_by_name():
    few = {**_GOOD, "p": 2, "m": 1}
    assert run_case(read_case(few, 0)).makespan == 130
    for asked in ({"order_from": "torch:1F1B"}, {"framework": "torch"}):
        with pytest.raises(InputError) as caught:
            run_case(read_case({**few, **asked}, 0))
        assert caught.value.findings[0].message == "1F1B in PyTorch needs at least as many micro-batches as ranks"
    odd = {**_GOOD, "schedule": "Interleaved1F1B", "v": 2, "m": 3, "framework": "megatron"}
    with pytest.raises(InputError) as caught:
        run_case(read_case(odd, 0))
    assert str(caught.value) == (
        "error[HF653] Interleaved1F1B in Megatron needs a number of micro-batches that is a multiple of the ranks\n"
        "  --> schedule\n"
        "  got m=3, p=2\n"
        "  hint: use m=2 or m=4"
    )
