"""What lowering refuses, with the full text of each finding."""

from dataclasses import replace

import pytest

from hyperflow.errors import HyperFlowError, SourceSpan
from hyperflow.ir.resolved import ResolvedTier
from hyperflow.lower.lower_job import lower
from hyperflow.spec.fleet import LinkKind, Tier
from hyperflow.spec.launch import FunctionLaunch, MegatronLaunch, TorchrunLaunch
from hyperflow.spec.training_job import Checkpoint, Data, Environment, Guard, Patch
from tests.manifest_cases import (
    BEIJING,
    DENSE,
    SHANGHAI,
    TWO_CITY_PLAN,
    cluster,
    fleet,
    job,
    model,
    one_city,
    plan,
    two_cities,
)


def refusal(case, mode="auto"):
    """The text of the error and its exit code."""
    with pytest.raises(HyperFlowError) as caught:
        lower(*case, mode)
    return str(caught.value), caught.value.exit_code


def notes(case, code):
    """The texts of the findings with that code."""
    return [finding.as_text() for finding in lower(*case).findings if finding.code == code]


RACKS = ResolvedTier(mode="hard", name="rack", number_by_cluster={"beijing": 1, "shanghai": 1})


def test_long_name_is_refused_with_the_cut():
    text, code = refusal(two_cities(name="a-very-long-name-for-a-training-job-of-two-cities"))
    assert (text, code) == (
        "error[HF400] the name a-very-long-name-for-a-training-job-of-two-cities-0000000-shanghai-0-node-0 has 75 "
        "characters, 63 are allowed\n"
        "  --> job.name\n"
        "  got a-very-long-name-for-a-training-job-of-two-cities, expected at most 37 characters, such as "
        "'a-very-long-name-for-a-training-job-o'\n"
        "  hint: a pod's name is its host name; shorten the job's name",
        1,
    )


@pytest.mark.parametrize("name", ["Toy", "8toy", "toy.8", "toy_8", "-toy", "toy-"])
def test_name_that_a_service_cannot_have_is_refused(name):
    text, _ = refusal(two_cities(name=name))
    assert text == (
        f"error[HF400] {name!r} is no legal name here\n"
        "  --> job.name\n"
        f"  got {name}, expected lower-case letters, digits and -, a letter first"
    )


def test_real_highest_pod_index_counts_for_the_length():
    where = fleet(cluster("beijing", "B200", 1000))
    name = "a" * 47
    wide = plan([("beijing", "B200", [8])], dp=1000)
    narrow = plan([("beijing", "B200", [8])], dp=10)
    assert "HF400" in refusal((job(where, name=name), wide))[0]
    assert lower(job(where, name=name), narrow).children[0].nodes == 10


def test_hyperjob_mode_is_refused_where_the_crd_drops_partitions():
    case = (job(fleet(BEIJING, SHANGHAI), stage_tier=RACKS), TWO_CITY_PLAN)
    text, code = refusal(case, "hyperjob")
    assert (text, code) == (
        "error[HF401] the shipped HyperJob CRD drops spec.replicatedJobs[].templateSpec.tasks[].partitionPolicy\n"
        "  --> --mode\n"
        "  got hyperjob, expected direct, or a plane with the CRD that `hyperflow crd` prints\n"
        "  hint: the job needs it because stages are held within rack (topology.stage)",
        3,
    )


def test_each_target_that_lacks_a_feature_is_named_with_its_lowest_version():
    old = fleet(
        cluster("beijing", versions=BEIJING.versions.model_copy(update={"volcano": "1.13.0"})),
        SHANGHAI,
        volcano="1.11.0",
    )
    text, code = refusal((job(old, job_tier=RACKS, stage_tier=RACKS), TWO_CITY_PLAN), "direct")
    assert code == 3
    assert text.split("\n")[:4] == [
        "error[HF402] beijing runs Volcano 1.13.0, which lacks spec.tasks[].partitionPolicy of a vcjob",
        "  --> topology.stage",
        "  got 1.13.0, expected 1.14.4 or later",
        "  hint: upgrade it, or leave the topology constraint out",
    ]
    assert "the plane runs Volcano 1.11.0, which lacks spec.networkTopology of a vcjob" in text


def test_unknown_mode_is_a_usage_error_with_the_nearest():
    assert refusal(two_cities(), "hyperjobs") == (
        "error[HF403] unknown mode 'hyperjobs'\n"
        "  --> --mode\n"
        "  expected auto, hyperjob, direct\n"
        '  hint: did you mean "hyperjob"?',
        2,
    )


def test_flag_against_the_plan_is_refused_and_an_equal_one_taken():
    launch = MegatronLaunch(args={"tensor_model_parallel_size": 4, "num-layers": 8, "--use-tp-pp-dp-mapping": True})
    assert refusal(two_cities(launch=launch))[0] == (
        "error[HF404] the flag --tensor-model-parallel-size contradicts the plan: the plan says 8\n"
        "  --> launch.args\n"
        "  got tensor_model_parallel_size=4\n"
        "  hint: leave it out; change the decorators instead\n"
        "error[HF404] the flag --use-tp-pp-dp-mapping contradicts the plan: it interleaves the stages node by node, "
        "so every hop would cross clusters\n"
        "  --> launch.args\n"
        "  got --use-tp-pp-dp-mapping=True\n"
        "  hint: leave it out; change the decorators instead"
    )


def test_script_that_is_an_option_of_torchrun_is_refused():
    assert "HF404" in refusal(two_cities(launch=TorchrunLaunch(script="--nnodes=3")))[0]
    args = lower(*two_cities(launch=TorchrunLaunch(script="-m", args=("acme.train",))))
    assert args.mode == "hyperjob"


def test_schedule_that_megatron_lacks_is_refused_with_those_it_has():
    case = two_cities()
    assert refusal((case[0], replace(case[1], schedule="zero-bubble")))[0] == (
        "error[HF405] Megatron-LM has no schedule 'zero-bubble'\n"
        "  --> parallel.schedule\n"
        "  got zero-bubble, expected one of 1f1b, interleaved-1f1b\n"
        "  hint: choose another schedule, or another framework"
    )


def test_stage_with_fewer_layers_than_parts_is_refused():
    thin = replace(plan([("beijing", "B200", [7]), ("shanghai", "H100", [1])]), schedule="interleaved-1f1b")
    assert refusal((two_cities()[0], thin))[0] == (
        "error[HF406] schedule interleaved-1f1b needs 2 layers or more on each stage\n"
        "  --> plan of toy8\n"
        "  got 1 layers on stage 1, expected at least 2\n"
        "  hint: use schedule 1f1b, or fewer stages"
    )


def test_devices_that_do_not_spread_over_the_pods_are_refused():
    base = TWO_CITY_PLAN
    stages = (base.stages[0], replace(base.stages[1], nodes=2))
    text, code = refusal((two_cities()[0], replace(base, stages=stages)))
    assert (text.split("\n")[0], code) == ("error[HF407] 16 devices do not spread evenly over 3 nodes", 3)
    assert text.endswith("hint: use nodes with equal device counts, or change tp, cp or dp")


def test_lambda_and_too_large_source_are_refused():
    where = two_cities(launch=FunctionLaunch(name="<lambda>", source="f = lambda: 0\n"))
    assert refusal(where)[0] == (
        "error[HF408] '<lambda>' is no function that can be packed\n"
        "  --> launch\n"
        "  hint: give hf.function a function with a name of its own, not a lambda"
    )
    big = two_cities(launch=FunctionLaunch(name="train", source="def train():\n    pass\n" + "#" * 2**20))
    text, code = refusal(big)
    assert code == 3
    assert "error[HF408] the launch files take" in text
    assert "got packed_function.py: 1048598 bytes" in text


def test_reserved_and_illegal_variables_are_refused_together():
    settings = Environment(variables={"HF_TP": "1", "1X": "2"}, nccl={"beijing": {"MASTER_ADDR": "h"}})
    assert refusal(two_cities(env=settings))[0] == (
        "error[HF409] the variable 'HF_TP' is set by HyperFlow or torchrun\n"
        "  --> env\n"
        "  got 'HF_TP'\n"
        "  hint: use another name\n"
        "error[HF409] the variable '1X' has no legal name\n"
        "  --> env\n"
        "  got '1X'\n"
        "  hint: letters, digits and _, no digit first\n"
        "error[HF409] the variable 'MASTER_ADDR' is set by HyperFlow or torchrun\n"
        "  --> env.nccl.beijing\n"
        "  got 'MASTER_ADDR'\n"
        "  hint: use another name"
    )


@pytest.mark.parametrize(
    ("path", "value", "line"),
    [
        ("spec.x", 1, "hf.patch('spec.x') leads nowhere: it begins with none of job., pod. and container."),
        (
            "pod[paris].spec.hostIPC",
            True,
            "hf.patch('pod[paris].spec.hostIPC') leads nowhere: the job does not run on paris; "
            "it runs on beijing, shanghai",
        ),
        (
            "pod.spec.containers[3].image",
            "x",
            "hf.patch('pod.spec.containers[3].image') leads nowhere: there is no item [3]",
        ),
        (
            "pod.spec.servceAccountName",
            "x",
            "the Job is not valid at tasks.0.template: spec.servceAccountName: unknown field; did you mean "
            '"serviceAccountName"?',
        ),
        (
            "job.tasks[0].minAvailable",
            "two",
            "the Job is not valid at tasks.0.minAvailable: Input should be a valid integer, unable to parse string as "
            "an integer",
        ),
        (
            "job.ttlSecondsAfterFinish",
            3,
            "the Job is not valid at ttlSecondsAfterFinish: Extra inputs are not permitted",
        ),
    ],
)
def test_patch_that_leads_nowhere_or_breaks_the_job_is_refused(path, value, line):
    text, code = refusal(two_cities(patches=(Patch(path=path, value=value),)))
    assert (text.split("\n")[0], code) == (f"error[HF410] {line}", 1)


def test_unknown_rendezvous_leaves_no_route():
    assert refusal(two_cities(rendezvous="carrier-pigeon")) == (
        "error[HF411] no route from shanghai to rank 0: this is no known way\n"
        "  --> on.rendezvous\n"
        "  got 'carrier-pigeon', expected one of mcs, service-export, hostnetwork, address=HOST:PORT\n"
        '  hint: use rendezvous="mcs", or "address=HOST:PORT" of a load balancer in front of node rank 0',
        1,
    )


@pytest.mark.parametrize("address", ["address=host", "address=host:0", "address=host:70000", "address=a b:1"])
def test_address_without_a_usable_port_leaves_no_route(address):
    assert "HF411" in refusal(two_cities(rendezvous=address))[0]


def test_plane_without_multi_cluster_services_leaves_no_route():
    old = (job(fleet(BEIJING, SHANGHAI, karmada="1.7.0")), TWO_CITY_PLAN)
    text, code = refusal(old)
    assert (text.split("\n")[0], code) == (
        "error[HF411] no route from shanghai to rank 0: the plane runs Karmada 1.7.0",
        3,
    )


def test_t5_forced_pytorch_plugin_is_refused_over_two_children():
    forced = (Patch(path="job.plugins.pytorch", value=["--master=node"]),)
    assert refusal(two_cities(patches=forced))[0] == (
        "error[HF412] the plugin 'pytorch' makes each of the 2 children a world of its own\n"
        "  --> patch\n"
        "  got plugins.pytorch, expected the plugins env and svc only\n"
        "  hint: leave it out; ranks, world size and master address are set for all children together"
    )
    assert "pytorch" in lower(*one_city(patches=forced)).objects[-1].spec.plugins


def test_e3_partition_wider_than_the_job_is_refused():
    rows = ResolvedTier(mode="hard", name="row", number_by_cluster={"beijing": 2})
    inner = ResolvedTier(mode="hard", name="rack", number_by_cluster={"beijing": 1})
    where, shape = one_city()
    assert refusal((replace(where, job_tier=inner, stage_tier=rows), shape)) == (
        "error[HF413] on beijing a stage may spread over tier 2 while the job is held within tier 1\n"
        "  --> topology.stage\n"
        "  got stage tier 2, job tier 1, expected a stage tier of at most 1\n"
        "  hint: the job's tier wins; give the stage a closer tier",
        3,
    )


def test_e3_partitions_that_do_not_divide_name_the_two_nearest_sizes():
    where = fleet(cluster("gb200", "GB200", 8, devices=4, nvlink_domain=72, tiers=[Tier(tier=1, domain_nodes=(18,))]))
    uneven = plan([("gb200", "GB200", [8])], tp=20, dp=2, devices=4)
    odd = replace(uneven, stages=(replace(uneven.stages[0], nodes=10),))
    assert lower(job(where), odd).objects[-1].spec.tasks[0].partition_policy.partition_size == 5
    tensor_three = plan([("gb200", "GB200", [8])], tp=12, dp=2, cp=2, devices=4)
    cut = replace(tensor_three, stages=(replace(tensor_three.stages[0], nodes=12),))
    assert lower(job(where), cut).objects[-1].spec.tasks[0].partition_policy.total_partitions == 4
    mixed = plan([("gb200", "GB200", [4, 4])], tp=4, dp=3, devices=4)
    stages = (replace(mixed.stages[0], nodes=4), replace(mixed.stages[1], node_rank_offset=4, nodes=2))
    tier = ResolvedTier(mode="hard", name="rack", number_by_cluster={"gb200": 1})
    shape = replace(mixed, stages=stages, shape="data-parallel")
    assert refusal((replace(job(where), stage_tier=tier), shape))[0] == (
        "error[HF413] 6 nodes on gb200 do not divide into partitions of 4\n"
        "  --> topology.stage\n"
        "  got 6 nodes, partitions of 4, expected partitions of 3 or 6\n"
        "  hint: change dp or tp so that stages have equal numbers of nodes"
    )


def test_t11_elastic_job_under_a_topology_constraint_is_refused():
    where, shape = one_city(patches=(Patch(path="job.minAvailable", value=1),))
    assert lower(where, shape).objects[-1].spec.min_available == 1
    tier = ResolvedTier(mode="hard", name="rack", number_by_cluster={"beijing": 1})
    assert refusal((replace(where, job_tier=tier), shape))[0] == (
        "error[HF414] an elastic Job under a topology constraint never runs: its domain needs room for all its pods\n"
        "  --> patch\n"
        "  got minAvailable 1, expected minAvailable equal to replicas, or partitions with a smaller minPartitions\n"
        "  hint: leave minAvailable alone, or drop hf.topology"
    )


def test_t7_tier_that_a_cluster_lacks_is_refused():
    tier = ResolvedTier(mode="hard", name="rack", number_by_cluster={"beijing": 1})
    where, shape = two_cities(job_tier=tier)
    assert refusal((where, shape))[0] == (
        "error[HF415] cluster 'shanghai' has no usable tier 'rack'\n"
        "  --> topology.job\n"
        "  got rack, expected one of its tiers: none\n"
        "  hint: the scheduler would apply no limit at all; name a tier of every cluster, fallbacks included"
    )


def test_b6_tensor_parallel_over_nodes_needs_a_tier_for_its_domain():
    where = fleet(cluster("beijing", "B200", 2))
    wide = plan([("beijing", "B200", [8])], tp=16)
    assert refusal((job(where), wide))[0] == (
        "error[HF415] cluster 'beijing' has no HyperNode tier that matches its scale-up domain of 1 nodes\n"
        "  --> parallel.tp\n"
        "  got tp=16, which spans 2 nodes, expected a tier whose domains have 2 to 1 nodes\n"
        "  hint: give the scale-up domains HyperNodes of their own, or choose a tp that fits one node"
    )


def test_d4_partial_start_and_assumed_versions_are_told():
    assert notes(two_cities(), "HF421") == [
        "note[HF421] the gang is per cluster only; a partial start costs up to 2.0 device-hours before the rendezvous "
        "times out after 900 s\n"
        "  --> guard.rendezvous_timeout\n"
        "  hint: a shorter hf.guard(rendezvous_timeout=...) costs less and forgives less"
    ]
    assert notes(one_city(), "HF421") == []
    assert notes(one_city(), "HF422") == [
        "note[HF422] assumed Volcano 1.15.1 on beijing\n"
        "  --> fleet.versions\n"
        "  hint: state the versions in the fleet, or check them with hyperflow doctor"
    ]


def test_h4_restart_from_step_zero_is_warned_of_and_young_interval_hinted_at():
    assert notes(two_cities(checkpoint=None), "HF423") == [
        "warning[HF423] a restart starts from step 0: 3 retries are allowed, no checkpoint is made\n"
        "  --> checkpoint\n"
        '  hint: add @hf.checkpoint(to="pvc://...", every="20m"), or retries=0'
    ]
    assert notes(two_cities(checkpoint=None, retries=0), "HF423") == []
    often = Checkpoint(to="pvc://ckpt", every_seconds=60.0, mtbf_seconds=6 * 3600.0)
    assert notes(two_cities(checkpoint=often), "HF424") == [
        "note[HF424] if a checkpoint takes 60 s to write, the best interval is 27 min, about 1435 steps\n"
        "  --> checkpoint.every\n"
        "  got every 60 s, expected sqrt(2 x write time x MTBF) (Young)\n"
        "  hint: measure the write time and put it into the formula"
    ]


def test_t13_short_rendezvous_timeout_is_warned_of():
    assert notes(two_cities(guard=Guard(rendezvous_timeout_seconds=60)), "HF425") == [
        "warning[HF425] children that restart at different moments will miss each other\n"
        "  --> guard.rendezvous_timeout\n"
        "  got 60 s, expected more than 60 s, the shortest communication timeout\n"
        "  hint: set hf.guard(rendezvous_timeout=...) to several minutes"
    ]


@pytest.mark.parametrize(
    "path", ["tokens", "pvc://", "pvc://UPPER/x", "pvc://a/../../etc", "/", "s3://", "datasource://a/b", ""]
)
def test_path_that_pods_cannot_reach_is_refused(path):
    text, _ = refusal(two_cities(data=Data(path=path)))
    assert text == (
        "error[HF426] data.path is no place that pods can reach\n"
        "  --> data.path\n"
        f"  got {path!r}, expected pvc://CLAIM/PATH, an absolute path on the nodes, or a URI such as s3://bucket/path\n"
        "  hint: name the claim or bucket that holds it"
    )


def test_layers_that_differ_are_warned_of():
    windowed = DENSE.model_copy(update={"attention": DENSE.attention.model_copy(update={"window": 1024})})
    shape = model(4).model_copy(update={"runs": (*model(4).runs, *model(4, windowed).runs)})
    assert notes(two_cities(shape=shape), "HF427") == [
        "warning[HF427] the layers of toy differ in their mixers; Megatron's flags describe the first one\n"
        "  --> launch.args\n"
        "  hint: add the flags of that model family (windows, hybrid patterns) to hf.megatron(args=...)"
    ]


def test_h8_nccl_settings_for_an_unknown_cluster_or_a_network_without_rdma():
    settings = Environment(nccl={"bejing": {"NCCL_IB_HCA": "mlx5"}})
    assert refusal(two_cities(env=settings))[0] == (
        "error[HF428] NCCL settings for the unknown cluster 'bejing'\n"
        "  --> env.nccl\n"
        "  expected one of beijing, shanghai\n"
        '  hint: did you mean "beijing"?'
    )
    plain = fleet(cluster("beijing", network=LinkKind.ETHERNET), SHANGHAI)
    settings = Environment(nccl={"beijing": {"NCCL_IB_HCA": "mlx5"}, "shanghai": {"NCCL_IB_HCA": "mlx5"}})
    assert notes((job(plain, env=settings), TWO_CITY_PLAN), "HF429") == [
        "warning[HF429] NCCL_IB_HCA names adapters, but the network of beijing is Ethernet without RDMA\n"
        "  --> env.nccl\n"
        "  got mlx5\n"
        "  hint: leave it out, or correct the cluster's network kind in the fleet"
    ]


def test_illegal_labels_are_refused():
    assert refusal(two_cities(labels={"team a": "x"}))[0] == (
        "error[HF430] the label or annotation 'team a' is not legal or belongs to HyperFlow or Volcano\n"
        "  --> job.labels\n"
        "  got team a=x, expected a key such as team or example.com/team; a label value of at most 63 letters, digits, "
        "-, _ and ."
    )
    assert "HF430" in refusal(two_cities(labels={"volcano.sh/job-name": "x"}))[0]


def test_f3_stage_that_reads_data_where_it_is_not_is_refused():
    assert refusal(two_cities(data=Data(path="pvc://corpus", at=("shanghai",))))[0] == (
        "error[HF431] stage 0 reads the data on beijing, where it is not\n"
        "  --> data.at\n"
        "  got shanghai, expected beijing too, or stage 0 elsewhere\n"
        "  hint: copy the data there, or name the clusters in hf.on in another order"
    )
    assert lower(*two_cities(data=Data(path="pvc://corpus", at=("beijing",)))).mode == "hyperjob"


def test_c4_neighbours_without_a_declared_link_are_refused_fallbacks_included():
    apart = fleet(BEIJING, SHANGHAI).model_copy(update={"links": ()})
    assert refusal((job(apart), TWO_CITY_PLAN))[0] == (
        "error[HF432] neighbouring stages run on beijing and shanghai, and no link between them is declared\n"
        "  --> on.links\n"
        '  expected hf.link("beijing", "shanghai", gbps=..., rtt_ms=...)\n'
        "  hint: declare the link, or leave one of the clusters out"
    )
    three = fleet(BEIJING, SHANGHAI, cluster("chengdu"))
    three = three.model_copy(update={"links": tuple(link for link in three.links if "chengdu" not in (link.a, link.b))})
    text, _ = refusal((job(three, fallback={"shanghai": ("chengdu",)}), TWO_CITY_PLAN))
    assert text == (
        "error[HF432] chengdu stands in for shanghai as fallback and has no link to beijing\n"
        "  --> on.links\n"
        '  expected hf.link("beijing", "chengdu", gbps=..., rtt_ms=...)\n'
        "  hint: declare the link, or leave one of the clusters out"
    )
    text, _ = refusal((job(three, fallback={"beijing": ("chengdu",)}), TWO_CITY_PLAN))
    assert text.startswith("error[HF432] chengdu stands in for beijing as fallback and has no link to shanghai\n")
    four = three.model_copy(update={"clusters": (*three.clusters, cluster("wuhan"))})
    text, _ = refusal((job(four, fallback={"beijing": ("chengdu",), "shanghai": ("wuhan",)}), TWO_CITY_PLAN))
    assert "chengdu stands in for beijing and wuhan for shanghai as fallbacks, and have no link to each other\n" in text


def test_nodes_of_two_devices_that_no_label_tells_apart_are_warned_of():
    near, far = cluster("beijing", "B200").groups[0], cluster("x", "H100").groups[0]
    mixed = cluster("beijing").model_copy(update={"groups": (near, far)})
    shape = plan([("beijing", "H100", [8])])
    assert notes((job(fleet(mixed)), shape), "HF433") == [
        "warning[HF433] pods for H100 may land on B200 nodes of beijing: both offer nvidia.com/gpu\n"
        "  --> on\n"
        "  expected a node label that tells them apart\n"
        "  hint: give the node groups labels in the fleet"
    ]
    labels = {"nvidia.com/gpu.product": "H100", "a": "1"}
    told = mixed.model_copy(update={"groups": (near, far.model_copy(update={"labels": labels}))})
    manifests = lower(job(fleet(told)), shape)
    assert manifests.objects[-1].spec.tasks[0].template.spec["nodeSelector"] == {"nvidia.com/gpu.product": "H100"}
    assert not [f for f in manifests.findings if f.code == "HF433"]


def test_checkpoint_at_a_uri_is_noted_for_megatron():
    assert notes(two_cities(checkpoint=Checkpoint(to="s3://ckpt/x")), "HF434") == [
        "note[HF434] Megatron-LM writes checkpoints to file systems; a URI needs storage support in the image\n"
        "  --> checkpoint.to\n"
        "  got s3://ckpt/x\n"
        "  hint: try one save first, or mount a claim: pvc://CLAIM/PATH"
    ]
    assert notes(two_cities(checkpoint=Checkpoint(to="msc://profile/x")), "HF434") == []


def test_devices_are_found_by_any_spelling_of_the_catalogue():
    near, far = cluster("beijing", "B200").groups[0], cluster("x", "H100", resource="x.com/gpu").groups[0]
    mixed = cluster("beijing").model_copy(update={"groups": (near, far)})
    manifests = lower(job(fleet(mixed)), plan([("beijing", "H100-80GB-SXM", [8])]))
    container = manifests.objects[-1].spec.tasks[0].template.spec["containers"][0]
    assert container["resources"]["limits"] == {"x.com/gpu": "8"}


def test_patch_is_pointed_at_where_it_stands_and_a_fault_is_told_once():
    patches = (Patch(path="pod.spec.nodeSelektor", value={}), Patch(path="job.maxRetry", value=4))
    where, shape = two_cities(patches=patches)
    span = SourceSpan(file="job.py", line=9, column=1, width=8, text='@hf.patch("pod.spec.nodeSelektor", {})')
    sources = {"patch.pod.spec.nodeSelektor": span, "patch.job.maxRetry": replace(span, line=10)}
    pointed = replace(where, job=where.job.model_copy(update={"sources": sources}))
    assert refusal((pointed, shape))[0].split("\n")[:2] == [
        "error[HF410] the Job is not valid at tasks.0.template: spec.nodeSelektor: unknown field; did you mean "
        '"nodeSelector"?',
        "  --> job.py:9:1",
    ]
    assert refusal((pointed, shape))[0].count("HF410") == 1
