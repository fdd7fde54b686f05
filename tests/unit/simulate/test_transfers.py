from hyperflow.ir.timeline import StageTimes
from hyperflow.simulate.orders import order_for
from hyperflow.simulate.transfers import simulate_transfers

_TIMES = StageTimes(forward=(10, 10), backward_input=(10, 10), backward_weight=(10, 10))


def test_a_link_that_carries_one_transfer_at_a_time_delays_the_second():
    gpipe = order_for("GPipe", 2, 3)
    free = simulate_transfers(gpipe, _TIMES, (25,))
    queued = simulate_transfers(gpipe, _TIMES, (25,), occupancy=(25,))
    assert free.starts[1][:3] == (35, 45, 55)
    assert queued.starts[1][:3] == (35, 60, 85)


def test_both_directions_of_a_link_are_apart():
    one_each_way = order_for("1F1B", 2, 1)
    assert simulate_transfers(one_each_way, _TIMES, (25,), occupancy=(25,)).makespan == 10 + 25 + 30 + 25 + 20


def test_a_blocking_send_keeps_the_sender_until_the_transfer_arrives():
    timeline = simulate_transfers(order_for("GPipe", 2, 2), _TIMES, (25,), blocking_sends=True)
    assert timeline.starts[0][:2] == (0, 35)


def test_a_wrap_around_hop_occupies_every_link_on_its_way():
    times = StageTimes(forward=(4, 4, 4), backward_input=(4, 4, 4), backward_weight=(4, 4, 4))
    timeline = simulate_transfers(order_for("Interleaved1F1B", 3, 3, 2), times, (5, 7), occupancy=(5, 7))
    second_chunk = next(
        start
        for operation, start in zip(timeline.order.operations[0], timeline.starts[0], strict=True)
        if operation.stage == 3
    )
    assert second_chunk == 2 + 5 + 2 + 7 + 2 + (7 + 5)
