"""The pass `plan` on whole jobs."""

import dataclasses
import re

import pytest

from hyperflow.errors import InfeasibleError, InputError
from hyperflow.ir.timeline import StageTimes
from hyperflow.plan.explain import explain_plan
from hyperflow.plan.make_plan import make_plan
from hyperflow.plan.search import search_ranked
from hyperflow.simulate.closed_forms import one_f_one_b_makespan
from hyperflow.simulate.looped import one_f_one_b
from hyperflow.simulate.timeline import simulate
from hyperflow.spec.launch import MegatronLaunch
from hyperflow.spec.training_job import Data
from hyperflow.units import GIB
from tests.plan_jobs import cluster, decoder, link, resolved, seventy, two_cities


def alternative(plan, name):
    return next(a for a in plan.alternatives if a.name == name)


def test_b3_two_cities_get_six_and_two_with_the_even_split_beside_it():
    plan = make_plan(two_cities())
    assert [(s.cluster, s.layers, s.first_layer) for s in plan.stages] == [("beijing", 6, 0), ("shanghai", 2, 6)]
    even = alternative(plan, "even split")
    assert (even.layers, even.feasible) == ((4, 4), True)
    assert even.step_seconds > 1.4 * plan.step_seconds
    assert dict(even.idle_by_cluster)["beijing"] > 0.4 > 0.1 > plan.stages[0].idle_fraction
    assert plan.optimal.proven and plan.optimal.gap == 0.0
    assert plan.shape == "pipeline"


def test_ranks_memory_and_layers_of_a_plan_add_up():
    plan = make_plan(seventy())
    degrees = plan.degrees
    assert sum(s.layers for s in plan.stages) == 80
    assert [s.first_layer for s in plan.stages] == [sum(s.layers for s in plan.stages[:i]) for i in range(degrees.pp)]
    assert [s.node_rank_offset for s in plan.stages] == [s.index * plan.stages[0].nodes for s in plan.stages]
    assert sum(s.nodes for s in plan.stages) * 8 == degrees.world_size <= 128
    assert all(s.memory_bytes <= s.memory_limit_bytes for s in plan.stages)
    assert degrees.dp * plan.micro_batch_size * plan.microbatches == plan.global_batch_size
    assert plan.step_seconds_low < plan.step_seconds < plan.step_seconds_high


def test_no_plan_is_worse_than_any_feasible_alternative():
    for job in (two_cities(), seventy()):
        plan = make_plan(job)
        rest = [a for a in plan.alternatives if a.feasible and not a.name.startswith("order ")]
        assert len(rest) > 2 and all(a.step_seconds >= plan.step_seconds for a in rest)


def test_the_simulated_step_stays_within_the_closed_form():
    plan = make_plan(seventy())
    costs = [(s.forward_seconds, s.backward_input_seconds, s.backward_weight_seconds) for s in plan.stages]
    forward, backward_input, backward_weight = (tuple(column) for column in zip(*costs, strict=True))
    times = StageTimes(forward=forward, backward_input=backward_input, backward_weight=backward_weight)
    hops = [0.0] * (len(plan.stages) - 1)
    for i, (a, b) in enumerate(zip(plan.stages, plan.stages[1:], strict=False)):
        if a.cluster != b.cluster:
            hops[i] = next(
                x.seconds_per_microbatch for x in plan.links if (x.source, x.target) == (a.cluster, b.cluster)
            )
    order = one_f_one_b(len(plan.stages), plan.microbatches, plan.warmup)
    makespan = simulate(order, times, hops).makespan
    assert plan.step_seconds * 0.93 < makespan <= plan.step_seconds


def test_the_same_job_gives_the_same_plan():
    first, second = make_plan(seventy()), make_plan(seventy())
    timeless = [
        dataclasses.replace(p, optimal=dataclasses.replace(p.optimal, solve_seconds=0.0)) for p in (first, second)
    ]
    assert timeless[0] == timeless[1]


def test_b1_layers_by_hand_run_no_solver(monkeypatch):
    def fail(*_, **__):
        raise AssertionError("a solver ran")

    monkeypatch.setattr("hyperflow.plan.choose.search_ranked", fail)
    monkeypatch.setattr("hyperflow.plan.make_plan.solve_split", fail)
    monkeypatch.setattr("hyperflow.plan.alternatives.search_ranked", lambda *_: make_result())
    plan = make_plan(two_cities(layers={"beijing": 5, "shanghai": 3}))
    assert [(s.cluster, s.layers) for s in plan.stages] == [("beijing", 5), ("shanghai", 3)]
    assert plan.optimal.solver == "given by hand" and not plan.optimal.proven
    assert plan.why[-1] == "the split was given by hand; no solver ran"


def make_result():
    from hyperflow.plan.search import SearchResult

    return SearchResult(best=None, bound_seconds=0.0, considered=0, solved=0, stopped=False)


def test_b1_layers_by_stage_keep_the_users_order():
    plan = make_plan(seventy(layers=(13, 13, 27, 27), dp=4))
    assert [s.layers for s in plan.stages] == [13, 13, 27, 27]
    by_name = make_plan(seventy(layers={"shanghai": (13, 13), "beijing": (27, 27)}, dp=4))
    assert [s.cluster for s in by_name.stages] == ["shanghai", "shanghai", "beijing", "beijing"]


def test_all_wrong_degrees_are_told_at_once_with_their_place():
    with pytest.raises(InputError) as caught:
        make_plan(two_cities(tp=16, layers={"beijing": 6, "shanghai": 3, "peking": 0}))
    assert [f.code for f in caught.value.findings] == ["HF203", "HF203", "HF204", "HF204", "HF204"]
    first = caught.value.findings[0].as_text()
    assert first == (
        'error[HF203] tp=16 does not fit the fastest domain of cluster "beijing" (8 GPUs per node, '
        "no NVLink domain declared)\n"
        "  --> job.py:9:17\n"
        "  9 | @hf.parallel(tp=16, dp=1, layers={'beijing': 6, 'shanghai': 3, 'peking': 0})\n"
        "    |                 ^^ needs 16 GPUs in one domain, largest is 8\n"
        "  hint: tp=8, or declare the rack as one domain: nvlink_domain: 72"
    )


def test_b1_layers_that_do_not_add_up_are_refused_at_their_line():
    with pytest.raises(InputError) as caught:
        make_plan(two_cities(layers={"beijing": 6, "shanghai": 3}))
    assert str(caught.value) == (
        'error[HF204] layers={"beijing": 6, "shanghai": 3} adds up to 9, the model has 8\n'
        "  --> job.py:9:33\n"
        "  9 | @hf.parallel(tp=8, dp=1, layers={'beijing': 6, 'shanghai': 3})\n"
        "    |                                 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ 8 layers\n"
        "  hint: leave layers= out to have them chosen"
    )


def test_h9_the_product_of_degrees_is_checked_at_the_keyword():
    with pytest.raises(InputError) as caught:
        make_plan(two_cities(pp=4, dp=2))
    assert str(caught.value) == (
        "error[HF205] tp=8 x cp=1 x pp=4 x dp=2 = 64 devices, the clusters have 16\n"
        "  --> job.py:9:29\n"
        "  9 | @hf.parallel(tp=8, dp=2, pp=4)\n"
        "    |                             ^ at most 16 devices\n"
        '  hint: lower a degree, or leave it open: dp="auto", pp="auto"'
    )


def test_h9_whole_stages_are_counted_not_devices():
    clusters = [cluster("a", "H100", 1), cluster("b", "H100", 3)]
    job = resolved(clusters, [link("a", "b")], decoder(), parallel={"dp": 2, "pp": 2})
    with pytest.raises(InputError, match=r"HF205.*pp=2 stages of 16 devices each, the clusters hold 1 of them whole"):
        make_plan(job)


@pytest.mark.parametrize(
    ("parallel", "message"),
    [
        ({"tp": 8, "ep": 4}, "ep=4 does not divide the experts of the model"),
        ({"dp": 3}, "global_batch_size=32 is no multiple of dp x micro_batch_size"),
        ({"cp": 3}, "cp=3 does not divide the sequence into pairs of chunks"),
    ],
)
def test_a_degree_that_divides_nothing_is_refused(parallel, message):
    with pytest.raises(InputError) as caught:
        make_plan(two_cities(**parallel))
    assert (caught.value.findings[0].code, caught.value.findings[0].message) == ("HF206", message)


def test_heads_must_be_divisible():
    with pytest.raises(InputError) as caught:
        make_plan(resolved([cluster("a", "H100", 1)], [], decoder(heads=12, kv_heads=12), parallel={"tp": 8}))
    assert str(caught.value) == (
        "error[HF206] tp=8 does not divide the attention heads\n"
        "  --> job.py:9:17\n"
        "  9 | @hf.parallel(tp=8, dp=1)\n"
        "    |                 ^\n"
        '  hint: change tp, or let it be chosen: tp="auto"'
    )


def test_b9_a_model_too_large_says_how_much_and_what_would_fit():
    job = resolved([cluster("a", "A100", 2)], [], decoder(80), parallel={"global_batch_size": 64})
    with pytest.raises(InfeasibleError) as caught:
        make_plan(job)
    finding = caught.value.findings[0]
    assert finding.message == (
        f"no plan fits the memory of the devices: the split that comes closest needs {finding.got}"
    )
    assert finding.got is not None and re.fullmatch(r"\d+\.\d GiB per device of stage \d+ of \d+ on a", finding.got)
    assert (finding.code, finding.expected) == ("HF207", "at most 70.9 GiB")
    assert finding.hint.endswith("fits (tried)")


def test_b9_the_change_that_is_named_really_fits():
    job = resolved(
        [cluster("a", "H100", 2)], [], decoder(44), parallel={"pp": 2, "micro_batch_size": 4, "global_batch_size": 64}
    )
    with pytest.raises(InfeasibleError) as caught:
        make_plan(job)
    assert caught.value.findings[0].hint == 'recompute="full" fits (tried)'
    fits = {"pp": 2, "micro_batch_size": 4, "global_batch_size": 64, "recompute": "full"}
    assert make_plan(resolved([cluster("a", "H100", 2)], [], decoder(44), parallel=fits)).recompute == "full"


def test_a_split_by_hand_that_does_not_fit_names_the_stage():
    with pytest.raises(InfeasibleError) as caught:
        make_plan(
            resolved(
                [cluster("a", "B200", 1), cluster("b", "H100", 1)],
                [link("a", "b")],
                decoder(40),
                parallel={"layers": {"a": 4, "b": 36}},
            )
        )
    finding = caught.value.findings[0]
    needed = str(finding.got).removesuffix(" needed per device")
    assert finding.message == f"stage 1 on b with 36 layers needs {needed} per device"
    assert (finding.code, finding.expected) == ("HF207", "at most 70.9 GiB")


def test_devices_left_over_are_counted():
    plan = make_plan(resolved([cluster("a", "B200", 3)], [], decoder(), parallel={"dp": 2, "pp": 1}))
    assert plan.devices_left_over == (("a", 8),)
    assert [(f.code, f.severity, f.message) for f in plan.findings] == [
        ("HF212", "warning", "8 of the devices of a are left over")
    ]


def test_megatron_is_told_that_it_cannot_hide_the_link():
    job = two_cities()
    megatron = dataclasses.replace(job, job=job.job.model_copy(update={"launch": MegatronLaunch()}))
    plan, hidden = make_plan(megatron), make_plan(job)
    assert plan.warmup == (2, 1) and hidden.warmup == (3, 1)
    assert plan.step_seconds > hidden.step_seconds
    standard = one_f_one_b_makespan(
        [stage.seconds_per_microbatch for stage in plan.stages],
        [plan.links[0].seconds_per_microbatch],
        plan.microbatches,
    )
    assert plan.step_seconds >= standard
    finding = next(f for f in plan.findings if f.code == "HF215")
    assert (
        finding.message == "Megatron keeps the standard 1F1B order and waits for the link with every micro-batch: "
        f"{plan.step_seconds:.2f} s a step"
    )
    assert finding.hint == "torchtitan takes the order as a file; a lower round trip or a larger micro-batch also helps"


def test_stages_whose_pods_would_differ_in_size_are_not_mixed():
    clusters = [cluster("a", "H100", 1), cluster("b", "H100", 2, per_node=4)]
    job = resolved(clusters, [link("a", "b")], decoder(), parallel={"tp": 4, "cp": 2, "pp": 2})
    with pytest.raises(InfeasibleError) as caught:
        make_plan(job)
    finding = caught.value.findings[0]
    assert (finding.code, finding.message, finding.expected) == (
        "HF211",
        "no choice of degrees can be placed on the clusters",
        "whole stages on a 1 x 8, b 2 x 4",
    )


def test_another_order_that_gains_under_a_twentieth_is_shown_and_not_taken():
    plan = make_plan(two_cities())
    other = alternative(plan, "order shanghai, beijing")
    assert plan.clusters == ("beijing", "shanghai")
    assert plan.step_seconds * 0.95 <= other.step_seconds < plan.step_seconds
    assert other.reason == "another order of clusters; declare them so to take it"
    assert plan.optimal.solver.endswith(" in the declared order")
    assert "in the declared order of clusters, which another must beat by 5%" in plan.why[-1]


def test_another_order_that_gains_over_a_twentieth_is_taken():
    """The 100 ms between a and c are paid with every micro-batch unless b stands between them."""
    links = [link("a", "b", rtt_ms=1), link("b", "c", rtt_ms=1), link("a", "c", rtt_ms=200)]
    clusters = [cluster("a", "H100", 1), cluster("c", "H100", 1), cluster("b", "H100", 1)]
    plan = make_plan(resolved(clusters, links, decoder(9), parallel={"pp": 3}))
    assert plan.clusters[1] == "b"
    assert "declared order" not in plan.optimal.solver + plan.why[-1]


def test_stages_smaller_than_a_node_share_it():
    plan = make_plan(resolved([cluster("a", "H100", 1)], [], decoder(), parallel={"tp": 2, "pp": 4, "dp": 1}))
    assert [(s.nodes, s.node_rank_offset) for s in plan.stages] == [(1, 0), (1, 1), (1, 2), (1, 3)]


def test_an_unknown_policy_is_refused_with_the_known_ones():
    with pytest.raises(InputError) as caught:
        make_plan(two_cities(policy="evn"))
    finding = caught.value.findings[0]
    assert (finding.code, finding.message, finding.hint) == (
        "HF219",
        'there is no split policy "evn"',
        'did you mean "even"?',
    )


@pytest.mark.parametrize("answer", [(4, 5), (8,), (8, 0), None, "44", (4.0, 4.0)])
def test_a_policy_that_gives_no_split_is_refused(answer):
    with pytest.raises(InputError) as caught:
        make_plan(two_cities(policy="mine"), policies={"mine": lambda layers, stages: answer})
    finding = caught.value.findings[0]
    assert (finding.code, finding.message) == ("HF219", 'the policy "mine" gave no split')
    assert finding.expected == "2 numbers of at least 1 that add up to 8"


def test_a_measured_profile_replaces_the_computed_times():
    from hyperflow.ir.profile import MeasuredLayer, Profile

    slow = MeasuredLayer(
        device="B200-SXM", tp=8, micro_batch_size=1, layer=None, forward_seconds=0.02, backward_seconds=0.04
    )
    plan = make_plan(two_cities(pp=2), profile=Profile(layers=(slow,)))
    assert plan.stages[[s.cluster for s in plan.stages].index("beijing")].layers < 4


def test_the_quota_of_the_queue_and_free_devices_bound_the_plan():
    quota = [
        cluster("a", "H100", 4, quotas={"default": {"nvidia.com/gpu": 16}}),
        cluster("b", "H100", 4, group={"free_devices": 15}),
    ]
    plan = make_plan(resolved(quota, [link("a", "b")], decoder(), parallel={"dp": "auto"}))
    taken = {name: sum(s.nodes * 8 for s in plan.stages if s.cluster == name) for name in ("a", "b")}
    assert taken["a"] <= 16 and taken["b"] <= 8


def test_a_link_curve_replaces_bandwidth_and_latency():
    clusters = [cluster("a", "B200", 1), cluster("b", "H100", 1)]
    size = 2 * 8192 * 8192
    curve = link("a", "b", curve=((size / 2, 0.001), (size * 1.5, 0.003)))
    plan = make_plan(resolved(clusters, [curve], decoder(), parallel={"pp": 2}))
    assert plan.links[0].seconds_per_microbatch == pytest.approx(0.002)


def test_the_row_of_a_cluster_alone_is_the_plan_that_this_cluster_would_get():
    """Memory is tight on the H100s here, so that the first choices searched are not the best."""
    model = decoder(80, hidden=8192, ffn=28672, heads=64, kv_heads=8)
    clusters = [cluster("east", "H100", 16), cluster("west", "B200", 8)]
    parallel = {"tp": "auto", "pp": "auto", "dp": "auto", "global_batch_size": 512}
    plan = make_plan(resolved(clusters, [link("east", "west")], model, parallel=parallel))
    for one in clusters:
        alone = make_plan(resolved([one], [], model, parallel=parallel))
        row = alternative(plan, f"{one.name} alone")
        assert (row.step_seconds, row.layers) == (alone.step_seconds, tuple(s.layers for s in alone.stages))


def test_the_row_of_a_cluster_alone_says_when_its_search_was_cut_off(monkeypatch):
    def cut_off(*args):
        result = search_ranked(*args)
        return dataclasses.replace(result, stopped=True, bound_seconds=result.best.step_seconds * 0.93)

    monkeypatch.setattr("hyperflow.plan.alternatives.search_ranked", cut_off)
    model = decoder(80, hidden=8192, ffn=28672, heads=64, kv_heads=8)
    clusters = [cluster("east", "H100", 16), cluster("west", "B200", 8)]
    parallel = {"tp": "auto", "pp": "auto", "dp": "auto", "global_batch_size": 512}
    plan = make_plan(resolved(clusters, [link("east", "west")], model, parallel=parallel))
    reason = alternative(plan, "east alone").reason
    assert re.fullmatch(r"tp\d+ pp\d+ dp\d+; perhaps 7% quicker, the search was cut off", reason)


def test_an_order_too_long_for_a_file_is_not_planned_and_the_gain_is_told():
    plan = make_plan(two_cities(global_batch_size=100_000))
    assert plan.warmup == (2, 1)
    finding = next(f for f in plan.findings if f.code == "HF215")
    assert finding.message == (
        "the order that hides the link is too long for a file; the standard 1F1B order waits for the link: "
        f"{plan.step_seconds:.2f} s a step"
    )
    assert finding.hint == "a larger micro-batch makes fewer of them; a lower round trip also helps"
    assert [f for f in make_plan(two_cities()).findings if f.code == "HF215"] == []


def test_the_reasons_say_once_what_one_layer_costs_and_how_the_others_compare():
    plan = make_plan(two_cities())
    step = {a.name: a.step_seconds for a in plan.alternatives}
    more = min(seconds for name, seconds in step.items() if name.startswith("one layer from ")) - plan.step_seconds
    others = "; ".join(f"{n} {s / plan.step_seconds:.2f}" for n, s in step.items() if not n.startswith("one layer"))
    assert f"one layer from beijing to shanghai costs {more * 1e3:.2f} ms a step, the least of such moves" in plan.why
    assert f"the others take, in times the chosen step: {others}" in plan.why


def test_memory_that_binds_is_named_where_it_binds_most():
    plan = make_plan(two_cities())
    used = zip(plan.stages, (75, 79), strict=True)
    full = [dataclasses.replace(s, memory_bytes=b * GIB, memory_limit_bytes=80 * GIB) for s, b in used]
    tight = dataclasses.replace(plan, stages=tuple(full))
    why = explain_plan(tight, standard_seconds=1.0, considered=1, by="solver", keeps_order=False)
    assert "memory binds stage 1 on shanghai: 79.0 GiB of 80.0 GiB, and over 90% is used on 1 more" in why


def test_c4_a_cluster_that_the_round_trip_cuts_off_is_named_with_both_numbers():
    clusters = [cluster("a", "H100", 8), cluster("b", "A100", 8)]
    job = resolved(clusters, [link("a", "b", rtt_ms=10)], decoder(80), parallel={"pp": "auto"}, on={"max_rtt_ms": 5})
    finding = next(f for f in make_plan(job).findings if f.code == "HF221")
    assert (finding.severity, finding.message) == (
        "warning",
        "b is not used, since its stages could not be neighbours of those on a: round trip 10 ms, max_rtt_ms=5",
    )
    assert finding.hint == 'hf.link("a", "b", gbps=..., rtt_ms=...), or a larger max_rtt_ms'


def test_f3_a_cluster_alone_without_the_data_is_out_for_the_data():
    clusters = [cluster("a", "H100", 8), cluster("b", "H100", 8)]
    data = Data(path="pvc://d", at=("a",))
    plan = make_plan(resolved(clusters, [link("a", "b")], decoder(8), data=data))
    assert alternative(plan, "b alone").reason == "it does not hold the data, which the first stage reads"


def test_clusters_without_a_link_are_refused_for_the_link_alone_where_memory_is_not_short():
    clusters = [cluster("a", "H100", 1), cluster("b", "H100", 1)]
    with pytest.raises(InfeasibleError) as caught:
        make_plan(resolved(clusters, [], decoder(8), parallel={"pp": 2}))
    assert [f.code for f in caught.value.findings] == ["HF208"]


def test_a_policy_is_not_set_beside_an_order_that_it_would_not_split_so():
    plan = make_plan(two_cities(policy="even"))
    assert [a.name for a in plan.alternatives if a.name.startswith("order ")] == []
