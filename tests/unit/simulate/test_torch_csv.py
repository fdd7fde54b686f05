from hyperflow.simulate.orders import order_for
from hyperflow.simulate.torch_csv import compute_only_csv


def test_chosen_warmups_are_written_one_row_per_rank():
    assert compute_only_csv(order_for("1F1B", 2, 4, warmup=(3, 1))) == (
        "0F0,0F1,0F2,0B0,0F3,0B1,0B2,0B3\n1F0,1B0,1F1,1B1,1F2,1B2,1F3,1B3\n"
    )


def test_a_split_backward_uses_the_letters_i_and_w():
    assert compute_only_csv(order_for("ZB-H1", 2, 2)).splitlines()[1] == "1F0,1I0,1F1,1I1,1W0,1W1"


def test_chunks_are_named_by_their_stage():
    assert compute_only_csv(order_for("DualPipeV", 1, 2)) == "0F0,1F0,0F1,1B0,1F1,0B0,1B1,0I1,0W1\n"
