"""Rows of docs/capabilities.md that the planner answers."""

import pytest

from hyperflow.errors import InfeasibleError, InputError
from hyperflow.plan.make_plan import make_plan
from hyperflow.spec.training_job import Data
from tests.plan_jobs import cluster, decoder, link, resolved, seventy, two_cities


def test_b2_and_b3_auto_gives_six_and_two():
    assert [s.layers for s in make_plan(two_cities(pp="auto")).stages] == [6, 2]


def test_b6_tp_16_needs_a_declared_domain():
    with pytest.raises(InputError, match="HF203"):
        make_plan(two_cities(tp=16))
    racks = [cluster("a", "GB200", 18, per_node=4, group={"nvlink_domain": 72})]
    plan = make_plan(resolved(racks, [], decoder(), parallel={"tp": 8, "dp": "auto"}))
    assert plan.degrees.tp == 8 and plan.stages[0].nodes % 2 == 0


def test_b6_tp_16_is_accepted_in_a_declared_domain_of_72_and_leaves_its_rest_over():
    rack = [cluster("a", "GB200", 18, per_node=4, group={"nvlink_domain": 72})]
    plan = make_plan(resolved(rack, [], decoder(), parallel={"tp": 16, "pp": 1, "dp": "auto"}))
    assert (plan.degrees.tp, plan.degrees.dp, plan.stages[0].nodes) == (16, 4, 16)
    assert plan.devices_left_over == (("a", 72 - 64),)
    two = [cluster("a", "GB200", 36, per_node=4, group={"nvlink_domain": 72})]
    with pytest.raises(InputError, match=r"HF20[56]"):
        # nine groups of sixteen are 144 devices, but each domain of 72 holds only four
        make_plan(resolved(two, [], decoder(), parallel={"tp": 16, "pp": 1, "dp": 9, "global_batch_size": 36}))


def test_b7_a_link_slower_than_compute_is_warned_about_with_both_numbers():
    clusters = [cluster("a", "B200", 1), cluster("b", "H100", 1)]
    plan = make_plan(resolved(clusters, [link("a", "b", gbps=1)], decoder(), parallel={"layers": {"a": 6, "b": 2}}))
    crossing = [(x.source, x.target, x.purpose, x.bytes_per_step) for x in plan.links]
    assert crossing == [("a", "b", "pp", 32 * 2 * 8192 * 8192), ("b", "a", "pp", 32 * 2 * 8192 * 8192)]
    finding = next(f for f in plan.findings if f.code == "HF214")
    assert finding.message == "the link a -> b takes 1.09 s per micro-batch, longer than a stage beside it computes"
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


def test_b10_a_policy_is_honoured_and_named():
    plan = make_plan(two_cities(policy="half"), policies={"half": lambda layers, stages: [layers // 2] * 2})
    assert [s.layers for s in plan.stages] == [4, 4]
    assert plan.why[-1] == "the split was given by the policy half; no solver ran"
    assert [s.layers for s in make_plan(two_cities(policy="even")).stages] == [4, 4]
    called = make_plan(two_cities(policy=lambda layers, stages: (7, 1)))
    assert [s.layers for s in called.stages] == [7, 1]


def test_b11_a_drained_cluster_changes_the_plan():
    def plan(free):
        clusters = [cluster("a", "B200", 1, group={"free_devices": free}), cluster("b", "H100", 1)]
        return make_plan(resolved(clusters, [link("a", "b")], decoder()))

    assert plan(8).clusters == ("a", "b")
    assert plan(0).clusters == ("b",)


def three_cities(fallback, **parallel):
    clusters = [
        cluster("beijing", "B200", 8),
        cluster("shanghai", "H100", 8),
        cluster("chengdu", "A100", 8),
        cluster("wuhan", "H100", 8),
    ]
    names = [c.name for c in clusters]
    links = [link(a, b, gbps=400) for i, a in enumerate(names) for b in names[i + 1 :]]
    degrees = {"dp": 4, "pp": 4, "global_batch_size": 256, **parallel}
    return resolved(clusters, links, decoder(80), parallel=degrees, fallback=fallback)


def test_c2_and_c3_fallbacks_are_priced_in_order_and_a_bad_one_is_warned_about():
    plan = make_plan(three_cities({"shanghai": ("wuhan", "chengdu")}))
    assert set(plan.clusters) == {"beijing", "shanghai"}
    assert [set(f.clusters) for f in plan.fallbacks] == [{"beijing", "wuhan"}, {"beijing", "chengdu"}]
    same, worse = plan.fallbacks
    assert same.step_seconds == pytest.approx(plan.step_seconds)
    assert worse.step_seconds > 1.05 * worse.resolved_step_seconds
    assert sum(worse.resolved_layers) == 80
    warned = [f.message for f in plan.findings if f.code == "HF217"]
    assert len(warned) == 1
    assert warned[0].startswith("fallback chengdu keeps a split made for other devices: ")
    assert warned[0].endswith(" would take")


def test_c2_a_fallback_that_cannot_take_the_stages_is_said():
    plan = make_plan(three_cities({"shanghai": ("nowhere",)}))
    assert [f.message for f in plan.findings if f.code == "HF218"] == [
        "fallback nowhere cannot take the stages: the fleet has no usable cluster of that name"
    ]
    assert plan.fallbacks == ()


def test_c6_one_inventory_gives_two_answers():
    def chosen(prefer):
        clusters = [cluster("large", "H100", 16), cluster("small", "H100", 3)]
        job = resolved(clusters, [link("large", "small")], decoder(), parallel={"pp": 2}, on={"prefer": prefer})
        return make_plan(job).clusters

    assert (chosen("binpack"), chosen("idle")) == (("small",), ("large",))


def test_c6_cheapest_takes_the_cheaper_devices_and_shows_the_fastest():
    clusters = [
        cluster("dear", "B200", 1, price_per_device_hour=12.0),
        cluster("cheap", "H100", 1, price_per_device_hour=2.0),
    ]
    plan = make_plan(resolved(clusters, [link("dear", "cheap")], decoder(), on={"prefer": "cheapest"}))
    assert plan.clusters == ("cheap",)
    fastest = next(a for a in plan.alternatives if a.name == "fastest")
    assert fastest.step_seconds < plan.step_seconds
    hourly = {"dear": 12.0, "cheap": 2.0}
    price = fastest.step_seconds * sum(hourly[s.cluster] for s in fastest.stages) / (plan.step_seconds * 2.0)
    assert fastest.reason == f"what prefer=cheapest gives up, at {price:.2f} times the price"
    assert plan.optimal.proven and plan.why[-1].startswith("proven cheapest of ")
    assert f": {plan.step_seconds * 8 / 3600:.3g} device-hours a step" in plan.why[-1]


def twins(gbps, **parallel):
    clusters = [cluster("a", "H100", 2), cluster("b", "H100", 2)]
    degrees = {"pp": 1, "dp": 4, "global_batch_size": 64, **parallel}
    return resolved(clusters, [link("a", "b", gbps=gbps, rtt_ms=1)], decoder(8), parallel=degrees)


def test_b7_and_g1_hierarchical_all_reduce_sends_less_by_the_ranks_inside():
    flat, nested = make_plan(twins(3200)), make_plan(twins(3200, allreduce="hierarchical"))
    assert (flat.shape, nested.shape) == ("data-parallel", "data-parallel")
    sent = [next(x.bytes_per_step for x in p.links if x.purpose == "dp") for p in (flat, nested)]
    assert sent[0] == pytest.approx(2 * sent[1])
    assert sent[1] == pytest.approx(4 * nested.total_parameters)
    assert [(s.cluster, s.replica, s.node_rank_offset) for s in nested.stages] == [("a", 0, 0), ("b", 1, 2)]
    assert nested.degrees.dp == 4 and sum(s.nodes * 8 for s in nested.stages) == nested.degrees.world_size


def test_g2_flat_all_reduce_over_a_link_is_warned_about_with_seconds():
    warned = [f for f in make_plan(twins(3200)).findings if f.code == "HF220"]
    (finding,) = warned
    seconds = str(finding.got).removesuffix(" a step on the link")
    assert finding.message == (
        f"data parallelism crosses clusters with a flat all-reduce that keeps the link {seconds} a step"
    )
    assert [f for f in make_plan(twins(3200, allreduce="hierarchical")).findings if f.code == "HF220"] == []


def test_b7_the_losing_shape_stands_in_the_table():
    plan = make_plan(seventy())
    row = next(a for a in plan.alternatives if a.name.startswith("data parallel across"))
    assert row.step_seconds > plan.step_seconds
    assert "hierarchical" in row.reason
