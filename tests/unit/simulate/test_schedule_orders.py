from collections import Counter

import pytest

from hyperflow.errors import InfeasibleError, InputError
from hyperflow.ir.timeline import Operation, PipelineOrder, StageTimes
from hyperflow.simulate.orders import SCHEDULES, order_for
from hyperflow.simulate.timeline import simulate


def _text(order: PipelineOrder, rank: int) -> str:
    return " ".join(f"{o.kind}{o.stage}.{o.microbatch}" for o in order.operations[rank])


def test_1f1b_runs_its_warmup_then_backward_and_forward_in_turn():
    order = order_for("1F1B", 2, 3)
    assert _text(order, 0) == "F0.0 F0.1 BW0.0 F0.2 BW0.1 BW0.2"
    assert _text(order, 1) == "F1.0 BW1.0 F1.1 BW1.1 F1.2 BW1.2"


def test_chosen_warmups_set_the_forwards_before_the_first_backward():
    order = order_for("1F1B", 3, 8, warmup=(6, 2, 1))
    assert [[o.kind for o in rank].index("BW") for rank in order.operations] == [6, 2, 1]


def test_zb_h1_keeps_one_weight_gradient_waiting_per_rank_above():
    assert _text(order_for("zb-h1", 2, 3), 1) == "F1.0 B1.0 F1.1 B1.1 W1.0 F1.2 B1.2 W1.1 W1.2"


def test_interleaved_deals_chunks_to_ranks_in_turn():
    order = order_for("Interleaved1F1B", 2, 2, 2)
    assert order.stage_ranks == (0, 1, 0, 1)
    assert _text(order, 1) == "F1.0 F1.1 F3.0 BW3.0 F3.1 BW3.1 BW1.0 BW1.1"


@pytest.mark.parametrize("name", sorted(SCHEDULES))
def test_every_operation_is_run_exactly_once(name):
    order = order_for(name, 3, 6)
    facts = SCHEDULES[name]
    seen = Counter((o.kind, o.stage, o.microbatch) for rank in order.operations for o in rank)
    forwards = {("F", s, i) for s in range(3 * facts.min_chunks) for i in range(6)}
    assert {key for key in seen if key[0] == "F"} == forwards
    assert set(seen.values()) == {1}
    inputs = {key[1:] for key in seen if key[0] in ("B", "BW")}
    weights = {key[1:] for key in seen if key[0] in ("W", "BW")}
    assert inputs == weights == {key[1:] for key in forwards}


def test_an_unknown_schedule_names_the_nearest():
    with pytest.raises(InputError) as caught:
        order_for("Interleaved2F", 2, 4)
    [finding] = caught.value.findings
    assert (finding.code, finding.message) == ("HF650", "'Interleaved2F' is not a schedule that can be simulated")
    assert finding.hint == 'did you mean "Interleaved1F1B"?'


def test_a_broken_rule_is_named_with_what_to_do():
    with pytest.raises(InputError) as caught:
        order_for("Interleaved1F1B", 3, 32, 2)
    assert str(caught.value) == (
        "error[HF653] Interleaved1F1B needs micro-batches in 10 whole rounds (m a multiple of max(1, m // p))\n"
        "  --> schedule\n"
        "  got m=32, p=3\n"
        "  hint: use m=30 or m=33"
    )


def test_dualpipe_v_refuses_fewer_microbatches_than_stages():
    with pytest.raises(InputError) as caught:
        order_for("DualPipeV", 4, 7)
    assert caught.value.findings[0].message == "DualPipeV needs at least as many micro-batches as its 8 stages"


def test_warmups_that_would_deadlock_are_refused():
    with pytest.raises(InputError) as caught:
        order_for("1F1B", 2, 4, warmup=(1, 2))
    assert str(caught.value) == (
        "error[HF654] these warm-up depths cannot run: depths must not increase along the ranks and the last must be "
        "at least 1, or ranks wait for each other\n"
        "  --> warmup\n"
        "  got [1, 2], expected for example [2, 1]"
    )


def test_an_automatic_order_needs_room_for_one_micro_batch():
    with pytest.raises(InfeasibleError) as caught:
        order_for("ZB_auto", 2, 4, limits=[0, 1])
    assert str(caught.value) == (
        "error[HF657] no order fits: a rank must hold at least one micro-batch from its forward to its W\n"
        "  --> mem_limit\n"
        "  got [0, 1]\n"
        "  hint: give at least 1 to every rank"
    )


def test_a_million_microbatches_get_a_bounded_answer():
    with pytest.raises(InputError) as caught:
        order_for("1F1B", 4, 10**6)
    assert str(caught.value) == (
        "error[HF655] the timeline would have 8,000,000 operations, more than the limit of 2,000,000\n"
        "  --> m\n"
        "  got m=1000000, p=4, v=1\n"
        "  hint: simulate fewer micro-batches and add one period for each of the others "
        "(hyperflow.simulate.closed_forms)"
    )


def test_an_order_that_deadlocks_says_who_waits():
    ranks = (
        (Operation("F", 0, 0), Operation("BW", 0, 0), Operation("F", 0, 1), Operation("BW", 0, 1)),
        (Operation("F", 1, 0), Operation("F", 1, 1), Operation("BW", 1, 0), Operation("BW", 1, 1)),
    )
    order = PipelineOrder(
        schedule="by hand", num_ranks=2, num_chunks=1, num_microbatches=2, stage_ranks=(0, 1), operations=ranks
    )
    times = StageTimes(forward=(1, 1), backward_input=(1, 1), backward_weight=(1, 1))
    with pytest.raises(InputError) as caught:
        simulate(order, times, (0,))
    assert str(caught.value) == (
        "error[HF656] the order of operations deadlocks: ranks wait for each other\n"
        "  --> by hand\n"
        "  got rank 0 before BW of micro-batch 0, rank 1 before F of micro-batch 1\n"
        "  hint: a rank must run the forwards that its successors need before it waits for their gradients"
    )
