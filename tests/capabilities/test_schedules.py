"""Rows of docs/capabilities.md that the schedule simulation bears out."""

import re

from hyperflow.ir.timeline import StageTimes
from hyperflow.report.timeline_svg import Panel, draw_timelines
from hyperflow.simulate.closed_forms import zb_h1_period
from hyperflow.simulate.orders import order_for
from hyperflow.simulate.timeline import simulate

# Two cities of two stages; the second city's devices take twice as long per layer.
_EVEN = StageTimes(forward=(30, 30, 60, 60), backward_input=(34, 34, 68, 68), backward_weight=(26, 26, 52, 52))
_SPLIT = StageTimes(forward=(40, 40, 40, 40), backward_input=(45,) * 4, backward_weight=(35,) * 4)
_LINKS = (0, 4, 0)
_CITIES = ("beijing", "beijing", "shanghai", "shanghai")


def test_b4_the_picture_shows_the_idle_share_of_both_splits_and_the_step():
    even, split = (simulate(order_for("1F1B", 4, 16), times, _LINKS) for times in (_EVEN, _SPLIT))
    assert split.makespan < even.makespan
    assert split.idle_fractions[0] < even.idle_fractions[0]
    svg = draw_timelines(
        [
            Panel(title="even", timeline=even, clusters=_CITIES),
            Panel(title="asymmetric", timeline=split, clusters=_CITIES),
        ],
        unit="ms",
    )
    assert [float(x) for x in re.findall(r"([0-9.]+) ms for 16 micro-batches", svg)] == [even.makespan, split.makespan]
    idle = [f"{sum(t.idle_fractions[:2]) / 2:.0%}" for t in (even, split)]
    assert re.findall(r"beijing idle ([0-9]+%)", svg) == idle


def test_b5_zero_bubble_lowers_the_predicted_bubble():
    plain, zero = (simulate(order_for(name, 4, 16), _SPLIT, _LINKS) for name in ("1f1b", "zero-bubble"))
    assert zero.bubble_fraction < plain.bubble_fraction
    assert zero.peak_until_weight == (4, 4, 4, 4)
    # The delay of the boundary is free while twice it is not above W.
    assert zb_h1_period(_SPLIT.forward, _SPLIT.backward_input, _SPLIT.backward_weight, (0, 17, 0)) == 120
