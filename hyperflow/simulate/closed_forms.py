"""Makespans and steady-state periods that need no simulation; the planner's MILP uses them row by row.

Notation: T_r = F_r + B_r + W_r is the time of rank r per micro-batch, c_e the one-way delay between ranks e and e+1,
k_r the forwards that rank r runs before its first backward. A period is the growth of the makespan per extra
micro-batch. Every formula is checked against the longest-path timeline in tests/property/test_schedule_laws.py;
docs/schedules.md derives them.
"""

from collections.abc import Sequence


def gpipe_makespan(
    forward: Sequence[float], backward: Sequence[float], links: Sequence[float], microbatches: int
) -> float:
    """Give the exact makespan of GPipe; `backward` is the whole backward (B + W) of each rank.

    sum(T) + 2 sum(c) + (m - 1) (max F + max(B + W)): the forwards flow as one pipeline paced by its slowest rank, then
    the backwards as another, so the two maxima need not be on the same rank and each delay is paid once per
    direction. Source: derived for unequal ranks; with equal ones it is (m + p - 1) T of GPipe, arXiv 1811.06965.

    >>> gpipe_makespan((20, 20), (40, 40), (0,), 4)
    300
    """
    fill = sum(forward) + sum(backward) + 2 * sum(links)
    return fill + (microbatches - 1) * (max(forward) + max(backward))


def one_f_one_b_period(totals: Sequence[float], links: Sequence[float], warmup: Sequence[int] | None = None) -> float:
    """Give the exact steady-state period of 1F1B over ranks of `totals` T_r, with unequal times and link delays.

    P = max over contiguous segments [r..q] of (sum T + 2 sum c inside) / (k_r - k_q + 1). A segment is a cycle of
    dependences: a micro-batch goes down to q and its gradient comes back to r, while r may be k_r - k_q forwards
    ahead. The standard warm-up k_r = p - r makes the divisor the number of ranks of the segment. `warmup` must not
    increase along the ranks. Source: maximum cycle ratio of the event graph of 1F1B (arXiv 2104.04473).

    >>> one_f_one_b_period((100, 100), (50,)), one_f_one_b_period((100, 100), (50,), warmup=(3, 1))
    (150.0, 100.0)
    """
    depth = warmup if warmup is not None else range(len(totals), 0, -1)
    period = 0.0
    for first in range(len(totals)):
        around = 0.0
        for last in range(first, len(totals)):
            around += totals[last] + (2 * links[last - 1] if last > first else 0.0)
            period = max(period, around / (depth[first] - depth[last] + 1))
    return period


def one_f_one_b_makespan(
    totals: Sequence[float], links: Sequence[float], microbatches: int, warmup: Sequence[int] | None = None
) -> float:
    """Give sum(T) + 2 sum(c) + (m - 1) P, P being the period above.

    For the standard warm-up this is never below the real makespan: each further micro-batch costs at most one
    period. It is above it by the part of the last cycle that the tail hides, most at m = p. With chosen warm-ups it
    is an estimate that a few instances exceed; time those with `timeline.simulate`.

    >>> one_f_one_b_makespan((60, 60), (0,), 4)
    300.0
    """
    period = one_f_one_b_period(totals, links, warmup)
    return sum(totals) + 2 * sum(links) + (microbatches - 1) * period


def zb_h1_period(
    forward: Sequence[float],
    backward_input: Sequence[float],
    backward_weight: Sequence[float],
    links: Sequence[float],
) -> float:
    """Give the exact steady-state period of ZB-H1.

    P = max(max T, max over contiguous segments [r..q] of (sum(F + B) + W_r + 2 sum c inside) / (q - r + 1)): only B,
    not W, lies on the way back, so between equal ranks a delay is free while 2c <= W. Source: maximum cycle ratio of
    the event graph of ZB-H1 (arXiv 2401.10241).

    >>> zb_h1_period((20, 20), (24, 24), (16, 16), (8,))
    60.0
    """
    period = 0.0
    for first in range(len(forward)):
        around = backward_weight[first]
        for last in range(first, len(forward)):
            around += forward[last] + backward_input[last] + (2 * links[last - 1] if last > first else 0.0)
            period = max(period, around / (last - first + 1))
    return period
