"""What is wrong or surprising in the documents: one exact text per code."""

import pytest

from hyperflow.errors import InputError


def _refused(kit, values):
    with pytest.raises(InputError) as caught:
        kit.read(values)
    return {(f.code, f.message) for f in caught.value.findings if f.severity == "error"}


def _said(kit, values):
    return {(f.code, f.severity, f.message) for f in kit.findings(values)}


def _text(kit, values, code):
    return next(f.as_text() for f in kit.findings(values) if f.code == code)


def test_documents_that_are_no_objects_are_refused(kit):
    assert ("HF350", "a document without kind") in _refused(kit, [{"spec": {}}, *kit.leaves(), kit.vcjob("a", 1)])
    bare = {"kind": "HyperNode", "name": "roce0", "spec": {"members": []}}
    assert ("HF350", "HyperNode without a name has no usable spec.tier") in _refused(
        kit, [*kit.leaves(), bare, kit.vcjob("a", 1)]
    )


def test_other_kinds_are_named_and_left_alone(kit):
    values = [*kit.leaves(), kit.vcjob("a", 1), {"kind": "ConfigMap", "metadata": {"name": "c"}}]
    said = _said(kit, values)
    assert ("HF351", "note", "documents of kind ConfigMap say nothing about placement and are not read") in said


def test_nothing_to_place_on_or_nothing_to_place(kit):
    assert ("HF352", "no Node document was given") in _refused(kit, [kit.vcjob("a", 1)])
    assert ("HF353", "no job was given") in _refused(kit, kit.leaves())


def test_names_given_twice(kit):
    values = [*kit.leaves(), kit.node("n0-0"), kit.hypernode("l0", 1, ["n0-0"]), kit.vcjob("a", 1), kit.vcjob("a", 2)]
    assert _refused(kit, values) == {
        ("HF354", "node n0-0 is given twice for the cluster"),
        ("HF354", "HyperNode l0 is given twice"),
        ("HF354", "job a is given twice"),
    }


def test_a_pod_on_an_unknown_node_counts_nowhere(kit):
    values = [*kit.leaves(), *kit.running("r", ["gone"]), kit.vcjob("a", 16)]
    expected = ("HF355", "warning", "pod r-w-0 runs on node gone, which was not given; it counts nowhere")
    assert expected in _said(kit, values)
    assert kit.place(values)["a"].verdict == "fits"


def test_members_that_select_nothing(kit):
    bad = kit.hypernode("l9", 1, [])
    bad["spec"]["members"] = [
        {"type": "Node", "selector": {"regexMatch": {"pattern": "^a("}}},
        {"type": "HyperNode", "selector": {"labelMatch": {"matchLabels": {"a": "b"}}}},
    ]
    said = _said(kit, [*kit.leaves(), bad, kit.vcjob("a", 1)])
    first = "member 0 of HyperNode l9 selects nothing: missing closing ) in '^a('"
    second = "member 1 of HyperNode l9 selects HyperNodes by rule, which the scheduler ignores"
    assert {("HF356", "warning", first), ("HF356", "warning", second)} <= said


@pytest.mark.parametrize(
    ("quantity", "message"),
    [
        ("lots", "nvidia.com/gpu: 'lots' is not a quantity"),
        ("-1", "nvidia.com/gpu: -1 is negative"),
        ("1E400", "nvidia.com/gpu: 1E400 is more than Kubernetes holds"),
    ],
)
def test_quantities_that_cannot_be_read(kit, quantity, message):
    assert ("HF357", message) in _refused(kit, [*kit.leaves(), kit.vcjob("a", 1, gpus=quantity)])


def test_pod_rules_that_are_not_modelled(kit):
    job = kit.vcjob("a", 1, pod={"affinity": {"podAntiAffinity": {"requiredDuringScheduling": [{}]}}})
    expected = ("HF358", "warning", "podAntiAffinity is not modelled: placement is judged without it")
    assert expected in _said(kit, [*kit.leaves(), job])


def test_an_affinity_operator_that_does_not_exist(kit):
    term = {"matchExpressions": [{"key": "leaf", "operator": "Like", "values": ["l*"]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    job = kit.vcjob("a", 1, pod={"affinity": {"nodeAffinity": required}})
    assert _refused(kit, [*kit.leaves(), job]) == {("HF359", "node affinity operator 'Like' does not exist")}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"minAvailable": 9}, "job a: minAvailable 9 is more than its 8 pods"),
        ({"minAvailable": -1}, "minAvailable '-1' is not a number of 0 or more"),
        ({"minAvailable": 10**9}, "minAvailable 1000000000 is more than the 200000 pods read here"),
        ({"tasks": []}, "job a has no tasks"),
        ({"networkTopology": {"mode": "firm"}}, "networkTopology.mode 'firm' is neither hard nor soft"),
        ({"networkTopology": {"highestTierAllowed": "rack"}}, "highestTierAllowed 'rack' is no tier number"),
        (
            {"networkTopology": {"highestTierAllowed": 1, "highestTierName": "leaf"}},
            "highestTierAllowed and highestTierName exclude each other",
        ),
    ],
)
def test_jobs_that_volcano_would_deny(kit, change, message):
    job = kit.vcjob("a", 8)
    job["spec"] |= change
    assert ("HF360", message) in _refused(kit, [*kit.leaves(), job])


def test_partitions_must_make_up_the_replicas(kit):
    refused = _refused(kit, [*kit.leaves(), kit.vcjob("a", 8, partition=kit.parts(3, 3))])
    assert ("HF360", "task w: 3 partitions of 3 are not its 8 replicas") in refused


def test_a_task_without_requests_is_named_and_goes_anywhere(kit):
    job = kit.vcjob("a", 2, kit.hard(1), gpus=0)
    job["spec"]["tasks"][0]["template"]["spec"]["containers"][0] = {"name": "c"}
    values = [*kit.leaves(), job]
    message = "task w of a asks for nothing: its pods go anywhere, outside gang and topology"
    assert ("HF361", "warning", message) in _said(kit, values)
    placed = kit.place(values)["a"]
    assert (placed.verdict, placed.pods_placed, placed.looks_like) == ("fits", 2, "running")


def test_an_unknown_priority_class(kit):
    job = kit.vcjob("a", 1)
    job["spec"]["priorityClassName"] = "urgent"
    known = {"kind": "PriorityClass", "metadata": {"name": "high"}, "value": 10}
    message = "PriorityClass urgent is not among the documents: priority 0 is taken"
    assert ("HF362", "warning", message) in _said(kit, [*kit.leaves(), known, job])


def test_a_pod_group_without_pods_takes_shares_of_its_minimum(kit):
    group = {
        "kind": "PodGroup",
        "metadata": {"name": "g"},
        "spec": {"minMember": 4, "minResources": {"nvidia.com/gpu": "32"}, "networkTopology": kit.hard(1)},
    }
    values = [*kit.leaves(), group]
    message = "PodGroup g has no pods among the documents: 4 equal shares of minResources taken"
    assert ("HF363", "note", message) in _said(kit, values)
    assert (kit.place(values)["g"].tier, kit.place(values)["g"].pods_placed) == (1, 4)


def test_a_frozen_tree_is_an_error_that_names_the_harm(kit):
    values = [*kit.leaves(), kit.hypernode("m9", 2, ["l0"], "mid", "HyperNode"), kit.vcjob("a", 1)]
    assert _text(kit, values, "HF364") == (
        "error[HF364] HyperNode l0 has two parents, m0 and m9: the scheduler places no job with a networkTopology "
        "in the cluster\n  hint: give every HyperNode one parent and no cycle; plain jobs still run"
    )


def test_missing_members_overlaps_and_nodes_left_out(kit):
    late = kit.node("late")
    late["status"]["conditions"][0]["status"] = "False"
    tree = [kit.hypernode("l9", 1, ["n0-0", "gone"]), late]
    said = _said(kit, [*kit.leaves(), *tree, kit.vcjob("a", 1)])
    missing = "HyperNodes of the cluster list members that do not exist: l9 lists node gone"
    overlap = "nodes of the cluster are in several HyperNodes that do not contain each other"
    assert {
        ("HF365", "warning", missing),
        ("HF366", "warning", overlap),
        ("HF367", "note", "nodes of the cluster that take part in nothing: late (not ready)"),
    } <= said


def test_a_node_whose_pods_ask_more_than_it_has_is_left_out(kit):
    values = [*kit.leaves(), *kit.running("r", ["n0-0", "n0-0"]), kit.vcjob("a", 4, kit.hard(1))]
    message = "nodes of the cluster that take part in nothing: n0-0 (its pods ask 16 nvidia.com/gpu of 8)"
    assert ("HF367", "note", message) in _said(kit, values)
    assert kit.place(values)["a"].domain != "l0"


def test_running_jobs_without_a_stated_queue(kit):
    capped = kit.queue("small", capability={"nvidia.com/gpu": "16"})
    values = [*kit.leaves(), capped, *kit.running("r", ["n0-0"]), kit.vcjob("a", 2, queue="small")]
    message = "no queue is stated for running jobs r; they are counted in every queue that could hold them"
    assert ("HF368", "note", message) in _said(kit, values)
    assert kit.place(values)["a"].looks_like == "no-pods"
    big = [f"n1-{i}" for i in range(4)]
    too_big = [*kit.leaves(), capped, *kit.running("r", big), kit.vcjob("a", 2, queue="small")]
    assert kit.place(too_big)["a"].looks_like == "running"


@pytest.mark.parametrize(
    ("topology", "message"),
    [
        ({"mode": "hard"}, "a: hard without a tier, the constraint on the job is void in the cluster"),
        (
            {"mode": "hard", "highestTierName": "leef"},
            "a: no HyperNode has tierName 'leef', the constraint on the job is void in the cluster",
        ),
        (
            {"mode": "hard", "highestTierAllowed": 9},
            "a: tier 9 is above the highest, 3; the constraint on the job is void in the cluster",
        ),
        ({"mode": "soft", "highestTierAllowed": 1}, "a: soft ignores the tier given for the job"),
    ],
)
def test_void_constraints_are_said(kit, topology, message):
    assert ("HF369", "warning", message) in _said(kit, [*kit.leaves(), kit.vcjob("a", 2, topology)])


def test_hard_without_hypernodes_is_void(kit):
    values = [kit.node("a"), kit.node("b"), kit.vcjob("j", 2, kit.hard(1))]
    message = "j: the cluster has no HyperNodes, so the constraint on the job is void"
    assert ("HF369", "warning", message) in _said(kit, values)
    assert kit.place(values)["j"].verdict == "fits"


def test_a_misspelt_tier_name_and_queue_get_the_nearest(kit):
    values = [*kit.leaves(), kit.queue("training"), kit.vcjob("a", 2, {"highestTierName": "leef"}, queue="trainin")]
    hints = {f.code: f.hint for f in kit.findings(values)}
    assert hints["HF369"] == 'did you mean "leaf"?'
    assert hints["HF370"] == 'did you mean "training"?'
    assert ("HF370", "warning", "a: queue trainin is not among the Queues of the cluster") in _said(kit, values)


def test_elastic_under_a_topology_is_warned_about(kit):
    values = [*kit.leaves(), kit.vcjob("a", 8, kit.hard(1), minimum=4)]
    assert _text(kit, values, "HF371") == (
        "warning[HF371] a: with a networkTopology a domain must have room for all 8 pods, not for minAvailable 4\n"
        "  --> in.yaml document 23 (Job a)\n  hint: to be elastic use partitionPolicy with minPartitions"
    )


def test_a_cluster_without_nodes(kit):
    job = kit.vcjob("a", 2)
    job["metadata"]["labels"] = {"hyperflow.io/cluster": "moon"}
    values = [kit.node("a", {"hyperflow.io/cluster": "earth"}), job]
    assert ("HF372", "warning", "a: no node of cluster moon was given") in _said(kit, values)
    placed = kit.place(values)["a"]
    assert (placed.verdict, placed.reason) == ("never", "none of its clusters (moon) has nodes here")
