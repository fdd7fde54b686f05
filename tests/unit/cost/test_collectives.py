import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hyperflow.cost.collectives import (
    all_gather_seconds,
    all_reduce_seconds,
    all_to_all_seconds,
    crossing_bytes,
    flat_all_reduce_seconds,
    hierarchical_all_reduce_seconds,
    nvls_all_reduce_seconds,
    p2p_seconds,
)


def test_ring_all_reduce_moves_each_byte_almost_twice():
    assert all_reduce_seconds(8e9, 8, 350e9, 0) == pytest.approx(2 * 7 / 8 * 8e9 / 350e9)


def test_small_messages_pay_latency_per_ring_step():
    """NCCL on 8 H100 (cost-formulas section 7): bus bandwidth 237 GB/s at 16 MiB, 362 at 64 MiB, 480 at 8 GiB."""
    for size, published in ((16 * 2**20, 237e9), (64 * 2**20, 362e9), (8 * 2**30, 480e9)):
        seconds = all_reduce_seconds(size, 8, 480e9, 5e-6)
        assert 2 * 7 / 8 * size / seconds == pytest.approx(published, rel=0.08)


def test_switch_reduction_needs_less_wire_than_a_ring():
    assert nvls_all_reduce_seconds(1e9, 8, 450e9, 0) == pytest.approx(9 / 8 * 1e9 / 450e9)
    assert nvls_all_reduce_seconds(1e9, 8, 450e9, 0) < all_reduce_seconds(1e9, 8, 450e9, 0)


def test_one_rank_communicates_nothing():
    assert all_gather_seconds(1e9, 1, 1e9, 1) == all_to_all_seconds(1e9, 1, 1e9, 1) == 0
    assert nvls_all_reduce_seconds(1e9, 1, 1e9, 1) == 0


def test_a_message_to_a_peer_pays_its_bytes_and_the_latency():
    assert p2p_seconds(134e6, 12.5e9, 0.01) == pytest.approx(0.01072 + 0.01)


def test_hierarchy_over_two_sites_crosses_with_the_bytes_of_one_replica():
    """Reduce-scatter and all-gather inside, 2(J-1)/J of the bytes over the shared pipe, and its round trips."""
    inside = 2 * 7 / 8 * 10e9 / 300e9
    expected = inside + 10e9 / 12.5e9 + 2 * 0.02
    assert hierarchical_all_reduce_seconds(10e9, [8, 8], 300e9, 0, 12.5e9, 0.02) == pytest.approx(expected)
    assert hierarchical_all_reduce_seconds(10e9, [8], 300e9, 0, 12.5e9, 0.02) == pytest.approx(inside)


@settings(max_examples=50, derandomize=True)
@given(st.integers(2, 64), st.integers(2, 64), st.floats(1e6, 1e11), st.floats(1e8, 1e11))
def test_hierarchy_is_never_slower_than_a_flat_ring_over_a_thin_pipe(first, second, size, pipe):
    inside = max(pipe, 300e9)
    flat = flat_all_reduce_seconds(size, [first, second], inside, 0, pipe, 0)
    nested = hierarchical_all_reduce_seconds(size, [first, second], inside, 0, pipe, 0)
    assert nested <= flat + 2 * size / inside


def test_flat_all_reduce_sends_the_bytes_of_every_rank_over_the_link():
    assert crossing_bytes(10e9, [8, 8]) == 8 * crossing_bytes(10e9, [1, 1])
    expected = 8 * 10e9 / 12.5e9 + 2 * 0.02
    assert flat_all_reduce_seconds(10e9, [8, 8], 300e9, 0, 12.5e9, 0.02) == pytest.approx(expected)
    alone = flat_all_reduce_seconds(10e9, [8], 300e9, 0, 12.5e9, 0.02)
    assert alone == pytest.approx(all_reduce_seconds(10e9, 8, 300e9, 0))
