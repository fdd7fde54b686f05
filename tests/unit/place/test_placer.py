"""Verdicts on small clusters: the user guide's scenarios, queues, partitions, chance, several clusters."""

import pytest


def _short(placement):
    return placement.verdict, placement.pods_placed, placement.looks_like


def test_elastic_job_under_a_hard_leaf_is_never_placed_where_the_guide_says_four(kit):
    placed = kit.place([*kit.leaves(2), kit.vcjob("a", 8, kit.hard(1), minimum=4)])["a"]
    assert _short(placed) == ("never", 0, "unschedulable")
    assert placed.reason == (
        "can never fit: the largest domain it may use, l0 (tier 1, leaf, 4 nodes), takes 4 of 8 pods, 4 missing "
        "(with a topology all 8 pending pods must fit, not only minAvailable 4)"
    )
    assert placed.change == "tier 2 (mid, 8 nodes) or soft or at most 4 pods"


def test_min_partitions_is_the_way_to_be_elastic(kit):
    busy = kit.running("r", ["n1-0"])
    placed = kit.place([*kit.leaves(2), *busy, kit.vcjob("a", 8, minimum=4, partition=kit.parts(2, 4, 1))])["a"]
    assert _short(placed) == ("fits", 4, "running")
    assert [(p.index, p.domain, len(p.nodes)) for p in placed.partitions] == [(0, "l0", 4)]
    assert placed.nodes[4:] == (None,) * 4


def test_two_independent_jobs_take_one_leaf_each(kit):
    placed = kit.place([*kit.leaves(2), kit.vcjob("a", 4, kit.hard(1)), kit.vcjob("b", 4, kit.hard(1))])
    assert {placed["a"].domain, placed["b"].domain} == {"l0", "l1"}
    assert [p.looks_like for p in placed.values()] == ["running", "running"]


def test_soft_elastic_needs_room_for_all_pods_in_the_whole_cluster(kit):
    placed = kit.place([*kit.leaves(), kit.vcjob("a", 20, {"mode": "soft"}, minimum=4)])["a"]
    assert _short(placed) == ("never", 0, "unschedulable")


def test_plain_elastic_job_runs_what_fits(kit):
    placed = kit.place([*kit.leaves(), kit.vcjob("a", 20, minimum=16)])["a"]
    assert _short(placed) == ("fits", 16, "running")
    assert placed.reason == "in top (tier 3, top, 16 nodes), 16 nodes; 4 more pods wait, the minimum of 16 runs"


def test_a_gang_that_fits_no_domain_keeps_a_larger_job_out_of_the_queue(kit):
    jobs = [kit.vcjob("a", 5, kit.hard(1)), kit.vcjob("b", 12), kit.vcjob("c", 2)]
    placed = kit.place([*kit.leaves(), *jobs])
    assert _short(placed["a"]) == ("never", 0, "unschedulable")
    assert _short(placed["b"]) == ("later", 0, "no-pods")
    assert _short(placed["c"]) == ("fits", 2, "running")
    assert placed["b"].reason == (
        "fits later, not now: does not enter its queue: asks 96 nvidia.com/gpu, the cluster allows 128 nvidia.com/gpu, "
        "40 nvidia.com/gpu held by jobs that entered; 8 nvidia.com/gpu missing; "
        "it fits when a ends (only a share of the queue is held)"
    )


def test_later_names_a_small_job_whose_end_is_enough(kit):
    busy = [
        *kit.running("big", [f"n0-{i}" for i in range(4)]),
        *kit.running("mid", [f"n1-{i}" for i in range(3)]),
        *kit.running("small", ["n2-0"]),
        *kit.running("rest", [f"n3-{i}" for i in range(4)]),
    ]
    placed = kit.place([*kit.leaves(), *busy, kit.vcjob("a", 4, kit.hard(1))])["a"]
    assert _short(placed) == ("later", 0, "unschedulable")
    assert placed.reason.endswith("takes 3 of 4 pods, 1 missing (nodes kept out: 12 by too little nvidia.com/gpu); "
                                  "it fits when small ends (1 node held)")  # fmt: skip


def test_larger_than_everything_says_both_numbers(kit):
    placed = kit.place([*kit.leaves(), kit.vcjob("a", 40)])["a"]
    assert _short(placed) == ("never", 0, "no-pods")
    assert placed.reason == (
        "can never fit: does not enter its queue: asks 320 nvidia.com/gpu, the cluster allows 128 nvidia.com/gpu; "
        "192 nvidia.com/gpu missing"
    )
    assert placed.change == "at most 16 pods"


def test_selector_and_taints_are_counted_in_the_reason(kit):
    job = kit.vcjob("a", 2, pod={"nodeSelector": {"leaf": "l9"}})
    placed = kit.place([*kit.leaves(), job])["a"]
    assert placed.reason == (
        "can never fit: the largest domain it may use, the whole cluster (16 nodes), takes 0 of 2 pods, 2 missing "
        "(nodes kept out: 16 by nodeSelector leaf=l9)"
    )


def test_partition_larger_than_a_leaf_gets_the_tiers_that_would_do(kit):
    job = kit.vcjob("a", 10, kit.hard(2), partition=kit.parts(2, 5, 2))
    placed = kit.place([*kit.leaves(), job])["a"]
    assert placed.reason == (
        "can never fit: the largest domain it may use, m0 (tier 2, mid, 8 nodes), takes 0 of 2 partitions of 5 pods, "
        "2 missing"
    )
    assert placed.change == "partition tier 2 (mid, 8 nodes) with job tier 3 (top, 16 nodes)"
    wider = kit.vcjob("a", 10, kit.hard(3), partition=kit.parts(2, 5, 2, tier=2))
    assert kit.place([*kit.leaves(), wider])["a"].pods_placed == 10


def test_a_frozen_tree_stops_jobs_with_a_topology_and_no_others(kit):
    broken = [*kit.leaves(), kit.hypernode("m9", 2, ["l0"], "mid", "HyperNode")]
    placed = kit.place([*broken, kit.vcjob("a", 4, kit.hard(1)), kit.vcjob("b", 4)])
    assert _short(placed["a"]) == ("never", 0, "unschedulable")
    assert placed["a"].reason == (
        "can never fit: HyperNode l0 has two parents, m0 and m9: the scheduler places no job with a topology until "
        "that is mended"
    )
    assert _short(placed["b"]) == ("fits", 4, "running")
    turning = [
        *kit.leaves(),
        kit.hypernode("x", 2, ["y"], "", "HyperNode"),
        kit.hypernode("y", 3, ["x"], "", "HyperNode"),
    ]
    assert "HyperNodes x and y contain each other" in kit.place([*turning, kit.vcjob("a", 1, kit.hard(1))])["a"].reason


def test_where_chance_in_an_earlier_choice_decides_the_reason_says_so(kit):
    nodes = [kit.node(f"n{leaf}-{i}") for leaf in range(3) for i in range(4)]
    tree = [kit.hypernode(f"l{leaf}", 1, [f"n{leaf}-{i}" for i in range(4)]) for leaf in range(3)]
    tree += [kit.hypernode("m0", 2, ["l0", "l1"], "", "HyperNode"), kit.hypernode("m1", 2, ["l2"], "", "HyperNode")]
    placed = kit.place([*nodes, *tree, kit.vcjob("a", 2, kit.hard(1)), kit.vcjob("b", 8, kit.hard(2))])
    assert placed["a"].chance == ""
    assert placed["b"].chance == (
        "chance decides: equal domains were open to a; with the other choice 8 of 8 pods are placed (running)"
    )
    assert placed["b"].reason.endswith(placed["b"].chance)


def test_queue_capability_and_guarantees_of_others(kit):
    capped = kit.queue("small", capability={"nvidia.com/gpu": "16"})
    placed = kit.place([*kit.leaves(), capped, kit.vcjob("a", 3, queue="small"), kit.vcjob("b", 2, queue="small")])
    assert _short(placed["a"]) == ("never", 0, "no-pods")
    assert "queue small allows 16 nvidia.com/gpu; 8 nvidia.com/gpu missing" in placed["a"].reason
    assert _short(placed["b"]) == ("fits", 2, "running")
    kept = kit.queue("kept", guarantee={"nvidia.com/gpu": "64"})
    assert _short(kit.place([*kit.leaves(), kept, kit.vcjob("a", 10)])["a"]) == ("never", 0, "no-pods")
    assert _short(kit.place([*kit.leaves(), kept, kit.vcjob("a", 10, queue="kept")])["a"]) == ("fits", 10, "running")


def test_elastic_job_in_a_capped_queue_gets_what_the_queue_allows(kit):
    capped = kit.queue("small", capability={"nvidia.com/gpu": "16"})
    placed = kit.place([*kit.leaves(), capped, kit.vcjob("a", 3, minimum=2, queue="small")])["a"]
    assert _short(placed) == ("fits", 2, "running")


def test_overcommit_lets_jobs_of_another_queue_enter_up_to_six_fifths(kit):
    queues = [kit.queue("one"), kit.queue("two")]
    start = [*kit.leaves(), *queues, kit.vcjob("a", 12, queue="one")]
    assert _short(kit.place([*start, kit.vcjob("b", 7, queue="two")])["b"]) == ("later", 0, "unschedulable")
    refused = kit.place([*start, kit.vcjob("b", 8, queue="two")])["b"]
    assert _short(refused) == ("later", 0, "no-pods")
    assert "1.2 times the cluster allows 153.6 nvidia.com/gpu" in refused.reason


def test_a_closed_or_parent_queue_takes_nothing(kit):
    closed = kit.queue("shut")
    closed["status"]["state"] = "Closed"
    placed = kit.place([*kit.leaves(), closed, kit.vcjob("a", 1, queue="shut")])["a"]
    assert (placed.verdict, placed.reason) == ("never", "can never fit: queue shut is not open")
    family = [kit.queue("up"), kit.queue("down", parent="up")]
    placed = kit.place([*kit.leaves(), *family, kit.vcjob("a", 1, queue="up")])["a"]
    assert placed.reason == "can never fit: queue up has child queues and takes no jobs itself"


def test_priority_order_is_an_option(kit):
    low, high = kit.vcjob("low", 16), kit.vcjob("high", 16)
    high["spec"]["priorityClassName"] = "high"
    values = [*kit.leaves(), {"kind": "PriorityClass", "metadata": {"name": "high"}, "value": 9}, low, high]
    assert [p.job for p in kit.place(values).values() if p.verdict == "fits"] == ["low"]
    assert [p.job for p in kit.place(values, by_priority=True).values() if p.verdict == "fits"] == ["high"]


def test_children_of_a_hyperjob_go_to_their_clusters(kit):
    def of(values, cluster):
        for value in values:
            value["metadata"].setdefault("labels", {})["hyperflow.io/cluster"] = cluster
        return values

    template = kit.vcjob("x", 4, kit.hard(1))["spec"]
    jobs = [{"name": n, "clusterNames": [c], "templateSpec": template} for n, c in (("s0", "bj"), ("s1", "sh"))]
    hyperjob = {"kind": "HyperJob", "metadata": {"name": "llm"}, "spec": {"replicatedJobs": jobs}}
    placed = kit.place([*of(kit.leaves(), "bj"), *of(kit.leaves(2), "sh"), hyperjob])
    assert [(p.job, p.cluster, p.verdict) for p in placed.values()] == [
        ("llm-s0-0", "bj", "fits"),
        ("llm-s1-0", "sh", "fits"),
    ]


def test_a_job_for_any_cluster_takes_the_first_that_fits(kit):
    def of(values, cluster):
        for value in values:
            value["metadata"].setdefault("labels", {})["hyperflow.io/cluster"] = cluster
        return values

    placed = kit.place([*of(kit.leaves(2), "a"), *of(kit.leaves(4), "b"), kit.vcjob("j", 12)])["j"]
    assert (placed.cluster, placed.verdict) == ("b", "fits")


def test_a_job_whose_pods_run_already_is_left_where_it_is(kit):
    placed = kit.place([*kit.leaves(), *kit.running("a", ["n0-0", "n0-1"]), kit.vcjob("a", 2)])["a"]
    assert _short(placed) == ("fits", 2, "running")
    assert (placed.nodes, placed.domain) == (("n0-0", "n0-1"), "l0")
    assert placed.reason == "already has 2 of 2 pods on nodes (minAvailable 2)"


def test_pods_of_other_owners_use_nodes_but_no_queue(kit):
    daemon = kit.running("x", ["n0-0"])[0]
    daemon["metadata"]["labels"] = {}
    placed = kit.place([*kit.leaves(), daemon, kit.vcjob("a", 16)])["a"]
    assert _short(placed) == ("later", 0, "unschedulable")
    assert placed.reason.endswith("it fits when pods of no job end (1 node held)")


def test_pods_of_two_shapes_share_nodes_and_one_domain(kit):
    job = kit.vcjob("a", 2, kit.hard(1))
    side = kit.vcjob("x", 2, gpus=0, cpu="4")["spec"]["tasks"][0]
    job["spec"]["tasks"].append({**side, "name": "side"})
    placed = kit.place([*kit.leaves(), job])["a"]
    assert (placed.pods_placed, placed.tier) == (4, 1)
    job["spec"]["tasks"][1]["replicas"] = 100
    placed = kit.place([*kit.leaves(), job])["a"]
    assert (placed.verdict, placed.looks_like) == ("never", "unschedulable")
    assert "takes 64 of 100 pods of task side" in placed.reason


@pytest.mark.parametrize("tier", [4, 99])
def test_a_tier_above_the_highest_reaches_nodes_outside_the_tree(kit, tier):
    values = [*kit.leaves(), kit.node("x-0"), kit.node("x-1")]
    assert kit.place([*values, kit.vcjob("a", 18, kit.hard(3))])["a"].verdict == "never"
    assert kit.place([*values, kit.vcjob("a", 18, kit.hard(tier))])["a"].verdict == "fits"


def test_init_containers_limits_and_overhead_count(kit):
    job = kit.vcjob("a", 1)
    spec = job["spec"]["tasks"][0]["template"]["spec"]
    spec["containers"] = [{"name": "c", "resources": {"limits": {"cpu": "8"}}}]
    spec["initContainers"] = [{"name": "i", "resources": {"requests": {"cpu": "60"}}}]
    spec["overhead"] = {"cpu": "5"}
    assert kit.place([*kit.leaves(), job])["a"].verdict == "never"
    spec["overhead"] = {"cpu": "4"}
    assert kit.place([*kit.leaves(), job])["a"].verdict == "fits"


def test_a_taint_gets_the_toleration_that_would_do(kit):
    taint = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}
    values = [kit.node(f"n{at}", taints=[taint]) for at in range(4)]
    placed = kit.place([*values, kit.vcjob("a", 2)])["a"]
    assert (placed.verdict, placed.change) == ("never", "tolerations for gpu")
    tolerant = kit.vcjob("a", 2, pod={"tolerations": [{"key": "gpu", "operator": "Exists"}]})
    assert kit.place([*values, tolerant])["a"].verdict == "fits"


def _pod_group(name, minimum, **more):
    return {"kind": "PodGroup", "metadata": {"name": name, **more}, "spec": {"minMember": minimum}}


def test_a_pod_group_takes_its_waiting_pods_and_their_partitions(kit):
    group = _pod_group("g", 4)
    group["spec"]["subGroupPolicy"] = [
        {
            "name": "w",
            "subGroupSize": 2,
            "minSubGroups": 2,
            "labelSelector": {"matchLabels": {"volcano.sh/task-spec": "w"}},
            "networkTopology": kit.hard(1),
        }
    ]
    pods = kit.running("g", ["x"] * 4)
    for pod in pods:
        del pod["spec"]["nodeName"]
        pod["metadata"]["labels"] = {"volcano.sh/task-spec": "w"}
        pod["metadata"]["annotations"] = {"scheduling.k8s.io/group-name": "g"}
    placed = kit.place([*kit.leaves(), *pods, group])["g"]
    assert (placed.verdict, placed.pods_placed) == ("fits", 4)
    assert [len(part.nodes) for part in placed.partitions] == [2, 2]


def test_a_jobs_own_pod_group_is_not_a_second_job(kit):
    own = _pod_group("a-uid", 2, ownerReferences=[{"kind": "Job", "name": "a"}])
    placed = kit.place([*kit.leaves(), kit.vcjob("a", 2), own])
    assert list(placed) == ["a"]
    alone = kit.place([*kit.leaves(), *kit.running("a", ["n0-0", "n0-1"]), own])["a"]
    assert alone.reason == "already has 2 of 2 pods on nodes (minAvailable 2)"


def test_jobs_that_ended_are_not_placed(kit):
    done = kit.vcjob("done", 2)
    done["status"] = {"state": {"phase": "Completed"}}
    assert list(kit.place([*kit.leaves(), done, kit.vcjob("a", 1)])) == ["a"]


def test_a_pod_group_that_needs_no_more_than_it_has_is_no_elastic_job(kit):
    group = _pod_group("g", 3)
    group["spec"] |= {"networkTopology": kit.hard(1), "minResources": {"nvidia.com/gpu": "24"}}
    assert "HF371" not in {f.code for f in kit.findings([*kit.leaves(), group])}
