import re
import xml.etree.ElementTree as ElementTree

import pytest

from hyperflow.ir.timeline import StageTimes, Timeline
from hyperflow.report.timeline_svg import Panel, draw_timelines
from hyperflow.simulate.orders import order_for
from hyperflow.simulate.timeline import simulate

_SVG = "{http://www.w3.org/2000/svg}"
_BOX = re.compile(r"M([0-9.]+) ([0-9.]+)h([0-9.]+)v")


def _timeline(schedule: str = "1F1B", delay: float = 40) -> Timeline:
    times = StageTimes(forward=(20, 30), backward_input=(24, 34), backward_weight=(16, 26))
    return simulate(order_for(schedule, 2, 4), times, (delay,))


def _texts(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(f"{_SVG}text")]


def _boxes(svg: str, name: str) -> list[tuple[float, float, float]]:
    return [
        (float(x), float(y), float(width))
        for path in ElementTree.fromstring(svg).iter(f"{_SVG}path")
        if path.get("class") == name
        for x, y, width in _BOX.findall(path.get("d", ""))
    ]


def test_every_operation_has_a_box_and_idle_fills_the_rest():
    timeline = _timeline()
    svg = draw_timelines([Panel(title="1F1B", timeline=timeline)])
    assert len(_boxes(svg, "f")) == len(_boxes(svg, "b")) == 8
    scale = 1180 / timeline.makespan
    for rank, idle in enumerate(timeline.idle_per_rank):
        rows = sorted({y for _, y, _ in _boxes(svg, "f")})
        drawn = sum(width for _, y, width in _boxes(svg, "idle") if y == rows[rank])
        assert abs(drawn - idle * scale) < 0.1


def test_numbers_clusters_delays_and_idle_shares_are_written():
    panel = Panel(title="two cities", timeline=_timeline(), clusters=("beijing", "shanghai"))
    texts = _texts(draw_timelines([panel], unit="ms"))
    assert {"0", "1", "2", "3", "beijing", "shanghai", "rank 0", "rank 1", "time (ms)"} <= set(texts)
    assert "link between the clusters: one-way delay 40 ms" in texts
    # By hand: rank 1 runs two micro-batches from 60 to 240, two from 290 to 470; 40 back, 40 of backward on rank 0.
    assert "550 ms for 4 micro-batches, idle 45% (beijing idle 56%, shanghai idle 35%)" in texts


def test_two_timelines_share_one_scale():
    slow, fast = _timeline(delay=40), _timeline(delay=0)
    svg = draw_timelines([Panel(title="slow", timeline=slow), Panel(title="fast", timeline=fast)])
    ends = [float(x) for x in re.findall(r'class="end" d="M([0-9.]+)', svg)]
    assert (ends[0] - 150) / (ends[1] - 150) == pytest.approx(slow.makespan / fast.makespan, rel=1e-3)


def test_later_chunks_are_marked_and_named_in_the_legend():
    svg = draw_timelines([Panel(title="V", timeline=_timeline("ZB-V"))])
    assert len(_boxes(svg, "second")) == 2 * 4 * 3
    assert "underlined: later chunk of the rank" in _texts(svg)


def test_names_are_escaped_and_the_text_is_the_same_each_time():
    panel = Panel(title="<even> & odd", timeline=_timeline(), clusters=("a<b", "c"))
    svg = draw_timelines([panel])
    assert "<even> & odd" in _texts(svg)
    assert svg == draw_timelines([panel])
