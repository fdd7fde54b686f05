"""The picture of placed jobs: one square a node, one colour and number a job, readable in light and dark."""

import re
from xml.etree import ElementTree

from hyperflow.place.demo_topology import DemoSize, demo_documents
from hyperflow.place.placer import place_jobs
from hyperflow.place.records import ClusterRecord, JobRecord, NodeRecord, PodShape, RunningPod, TaskRecord
from hyperflow.report.topology_svg import PALETTE, draw_topology

SHAPE = PodShape(requests=(("cpu", 1.0),))


def _job(name, pods):
    task = TaskRecord(name="w", replicas=pods, minimum=pods, shape=SHAPE)
    return JobRecord(name=name, tasks=(task,), minimum=pods)


def _draw(nodes, jobs, pods=()):
    cluster = ClusterRecord(name="c<1>", nodes=tuple(nodes), pods=tuple(pods))
    return draw_topology([cluster], place_jobs([cluster], jobs).placements)


def _nodes(count, **more):
    return [NodeRecord(name=f"n{at}", labels={}, allocatable={"cpu": 1.0}, **more) for at in range(count)]


def _paints(text):
    return [rect.get("fill") for rect in ElementTree.fromstring(text).iter("{http://www.w3.org/2000/svg}rect")]


def test_each_job_has_its_own_colour_on_each_of_its_nodes_and_in_the_legend():
    paints = _paints(_draw(_nodes(5), [_job("a", 2), _job("b", 3)]))
    assert paints.count(PALETTE[0][0]) == 2 + 1
    assert paints.count(PALETTE[1][0]) == 3 + 1


def test_the_numbers_in_the_squares_tell_jobs_apart_without_colour():
    root = ElementTree.fromstring(_draw(_nodes(5), [_job("a", 2), _job("b", 3)]))
    numbers = [t.text for t in root.iter("{http://www.w3.org/2000/svg}text") if t.get("text-anchor")]
    assert sorted(numbers) == ["1"] * 3 + ["2"] * 4


def test_idle_busy_and_cordoned_nodes_look_different():
    nodes = [*_nodes(3), NodeRecord(name="z", labels={}, allocatable={"cpu": 1.0}, cordoned=True)]
    pod = RunningPod(name="p", node="n0", requests={"cpu": 1.0})
    text = _draw(nodes, [_job("a", 1)], [pod])
    assert [text.count(f'class="{kind}"') for kind in ("busy", "out", "idle")] == [1 + 1, 1 + 1, 1 + 1]


def test_names_cannot_become_markup():
    root = ElementTree.fromstring(_draw(_nodes(1), [_job("a&<b>", 1)]))
    words = [t.text for t in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "cluster c<1>" in words
    assert any(word.startswith("a&<b>: 1 of 1 pods") for word in words)


def test_dark_viewers_get_dark_paper_and_every_class_has_both_looks():
    text = _draw(_nodes(1), [_job("a", 1)])
    light, dark = text.split("@media (prefers-color-scheme:dark)")
    for kind in (".paper", ".panel", ".idle", ".busy", ".soft"):
        assert re.search(re.escape(kind) + r"\{", light)
        assert re.search(re.escape(kind) + r"\{", dark)


def test_a_waiting_job_is_in_the_legend_with_its_verdict():
    text = _draw(_nodes(2), [_job("a", 2), _job("b", 2)])
    assert "b: 0 of 2 pods, later" in text


def test_the_demo_has_one_square_per_node():
    size = DemoSize(rows=1, racks=2, nodes=3, extra=1)
    assert [len(documents) for documents in demo_documents(size).values()] == [7, 4, 2, 1]
