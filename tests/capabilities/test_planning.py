"""Rows of docs/capabilities.md that the planner answers."""

import pytest

from hyperflow.errors import InfeasibleError, InputError
from hyperflow.plan.make_plan import make_plan
from hyperflow.spec.training_job import Data
from tests.plan_jobs import cluster, decoder, link, resolved, two_cities


def test_b2_and_b3_auto_gives_six_and_two():
    assert [s.layers for s in make_plan(two_cities(pp="auto")).stages] == [6, 2]


def test_b6_tp_16_needs_a_declared_domain():
    with pytest.raises(InputError, match="HF203"):
        make_plan(two_cities(tp=16))
    racks = [cluster("a", "GB200", 18, per_node=4, group={"nvlink_domain": 72})]
    plan = make_plan(resolved(racks, [], decoder(), parallel={"tp": 8, "dp": "auto"}))
    assert plan.degrees.tp == 8 and plan.stages[0].nodes % 2 == 0


def test_b7_a_link_slower_than_compute_is_warned_about_with_both_numbers():
    clusters = [cluster("a", "B200", 1), cluster("b", "H100", 1)]
    plan = make_plan(resolved(clusters, [link("a", "b", gbps=1)], decoder(), parallel={"layers": {"a": 6, "b": 2}}))
    crossing = [(x.source, x.target, x.purpose, x.bytes_per_step) for x in plan.links]
    assert crossing == [("a", "b", "pp", 32 * 2 * 8192 * 8192), ("b", "a", "pp", 32 * 2 * 8192 * 8192)]
    finding = next(f for f in plan.findings if f.code == "HF214")
    assert finding.message == "the link a -> b takes longer than a stage beside it computes"
    assert finding.got == "1.09 s per micro-batch" and finding.expected is not None


def test_b9_every_stage_fits_its_memory():
    clusters = [cluster("a", "B200", 1), cluster("b", "A100", 1)]
    plan = make_plan(resolved(clusters, [link("a", "b")], decoder(30), parallel={"pp": 2}))
    assert all(stage.memory_bytes <= stage.memory_limit_bytes for stage in plan.stages)


def test_b12_fragments_are_joined_and_a_whole_cluster_is_used_alone():
    fragments = [cluster("a", "H100", 16), cluster("b", "H100", 20)]
    split = make_plan(
        resolved(
            fragments,
            [link("a", "b", gbps=800, rtt_ms=1)],
            decoder(64),
            parallel={"dp": 4, "pp": 8, "global_batch_size": 128},
        )
    )
    assert {s.cluster for s in split.stages} == {"a", "b"}
    whole = [*fragments, cluster("c", "H100", 32)]
    links = [link("a", "b", gbps=800, rtt_ms=1), link("b", "c"), link("a", "c")]
    plan = make_plan(resolved(whole, links, decoder(64), parallel={"dp": 4, "pp": 8, "global_batch_size": 128}))
    assert plan.clusters == ("c",) and plan.shape == "single"
    assert [f.message for f in plan.findings if f.code == "HF213"] == [
        "fits whole in c: no split over clusters is needed"
    ]


def test_c4_a_pair_over_max_rtt_is_excluded():
    clusters = [cluster("a", "H100", 1), cluster("b", "H100", 1)]
    with pytest.raises(InfeasibleError) as caught:
        make_plan(resolved(clusters, [link("a", "b", rtt_ms=40)], decoder(), parallel={"pp": 2}, on={"max_rtt_ms": 30}))
    assert caught.value.findings[0].as_text() == (
        'error[HF208] stages on "a" and "b" cannot be neighbours: round trip 40 ms, max_rtt_ms=30\n'
        '  --> @hf.on(links=)\n  hint: hf.link("a", "b", gbps=..., rtt_ms=...)'
    )


def test_c4_clusters_without_a_declared_link_are_refused():
    clusters = [cluster("a", "H100", 1), cluster("b", "H100", 1)]
    with pytest.raises(InfeasibleError, match=r'HF208.*"a" and "b" cannot be neighbours: no link is declared'):
        make_plan(resolved(clusters, [], decoder(), parallel={"layers": {"a": 4, "b": 4}}))


def test_f3_the_first_stage_is_where_the_data_is():
    clusters = [cluster("a", "B200", 1), cluster("b", "H100", 1)]
    data = Data(path="pvc://x", at=("b",))
    plan = make_plan(resolved(clusters, [link("a", "b")], decoder(), parallel={"pp": 2}, data=data))
    assert plan.stages[0].cluster == "b"
    assert [f.message for f in plan.findings if f.code == "HF216"] == [
        "the last stage is on a and reads the labels, but the data is at b"
    ]
    with pytest.raises(InfeasibleError) as caught:
        make_plan(
            resolved(clusters, [link("a", "b")], decoder(), parallel={"pp": 2}, data=Data(path="pvc://x", at=("c",)))
        )
    assert caught.value.findings[0].as_text() == (
        "error[HF210] no usable cluster holds the data, which the first stage reads\n"
        "  --> @hf.data(at=)\n  got a, b, expected a cluster with the data: c\n"
        "  hint: copy the data, name another cluster in at=, or start the pipeline there"
    )


def test_f3_layers_by_hand_do_not_move_stage_0_away_from_the_data():
    clusters = [cluster("a", "B200", 1), cluster("b", "H100", 1)]
    job = resolved(
        clusters,
        [link("a", "b")],
        decoder(),
        parallel={"layers": {"a": 6, "b": 2}},
        data=Data(path="pvc://x", at=("b",)),
    )
    with pytest.raises(InfeasibleError, match="HF210"):
        make_plan(job)


def test_h9_degrees_must_fit_the_devices():
    with pytest.raises(InputError, match="HF205"):
        make_plan(two_cities(pp=2, dp=2))
