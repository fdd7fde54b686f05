"""Capability rows of lowering and manifests; the row's id is in each test's name."""

import json
from dataclasses import replace

import pytest

from hyperflow.errors import HyperFlowError
from hyperflow.ir.resolved import ResolvedTier
from hyperflow.lower.comm_contract import comm_document, comm_text, rank_groups
from hyperflow.lower.expand import expand
from hyperflow.lower.lower_job import lower
from hyperflow.render.render_bundle import render
from hyperflow.spec.fleet import Taint, TargetVersions, Tier
from hyperflow.spec.training_job import Checkpoint, Data, Environment, Guard, Patch
from hyperflow.validate.check_bundle import check
from tests.crd_schemas import schema_of, unknown_fields
from tests.manifest_cases import (
    TWO_CITIES,
    TWO_CITY_PLAN,
    cluster,
    fleet,
    job,
    one_city,
    plan,
    two_cities,
)

RACKS = (Tier(tier=1, name="rack", domain_nodes=(8, 8)), Tier(tier=2, name="row", domain_nodes=(16,)))
RACK = ResolvedTier(mode="hard", name="rack", number_by_cluster={"beijing": 1, "shanghai": 1})
ROW = ResolvedTier(mode="hard", name="row", number_by_cluster={"beijing": 2, "shanghai": 2})


def hyperjob(case, mode="auto"):
    """The HyperJob of a bundle."""
    return lower(*case, mode).objects[-1]


def of_kind(manifests, kind):
    return [item for item in manifests.objects if item.kind_name == kind]


def pod(child):
    """The pod spec of a replicated job."""
    return child.template_spec.tasks[0].template.spec


def env(child):
    return {item["name"]: item.get("value") for item in pod(child)["containers"][0]["env"]}


def four_stages(**settings):
    """Two stages of two nodes in each city, racks of eight nodes."""
    where = fleet(cluster("beijing", nodes=16, tiers=RACKS), cluster("shanghai", "H100", 16, tiers=RACKS), **settings)
    return where, plan([("beijing", "B200", [3, 3]), ("shanghai", "H100", [1, 1])], dp=2)


def test_a1_bundle_validates_against_the_crds_with_0_unknown_fields_and_is_byte_identical():
    bundle = render(lower(*two_cities()))
    assert bundle == render(lower(*two_cities()))
    for item in lower(*two_cities()).objects:
        schema = schema_of(item.kind_name, item.group_version)
        assert schema is None or unknown_fields(item.document(), schema) == []


def test_a2_two_clusters_of_different_devices_are_two_replicated_jobs_with_their_own_requests():
    where = fleet(cluster("beijing", "B200"), cluster("shanghai", "MI300X", resource="amd.com/gpu"))
    children = hyperjob(
        (job(where), plan([("beijing", "B200", [6]), ("shanghai", "MI300X", [2])]))
    ).spec.replicated_jobs
    assert [(c.name, c.replicas, c.cluster_names) for c in children] == [
        ("beijing", 1, ("beijing",)),
        ("shanghai", 1, ("shanghai",)),
    ]
    limits = [pod(child)["containers"][0]["resources"]["limits"] for child in children]
    assert limits == [{"nvidia.com/gpu": "8"}, {"amd.com/gpu": "8"}]


def test_a3_expansion_has_the_names_labels_and_policies_that_the_controller_makes():
    manifests = lower(*two_cities())
    child, policy = expand(manifests).objects[:2]
    assert child.metadata.name == policy.metadata.name == f"{manifests.name}-beijing-0"
    assert child.metadata.labels == {
        "volcano.sh/hyperjob-name": manifests.name,
        "volcano.sh/replicatedjob-name": "beijing",
    }
    assert policy.document()["spec"] == {
        "resourceSelectors": [
            {
                "apiVersion": "batch.volcano.sh/v1alpha1",
                "kind": "Job",
                "namespace": "default",
                "name": f"{manifests.name}-beijing-0",
            }
        ],
        "propagateDeps": True,
        "placement": {
            "clusterAffinity": {"clusterNames": ["beijing"]},
            "spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}],
            "replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"},
        },
    }
    assert child.spec == manifests.objects[-1].spec.replicated_jobs[0].template_spec


def test_a5_ignored_fields_are_told_and_change_no_child():
    manifests = lower(*two_cities())
    assert (
        "minAvailable of the HyperJob is written for people; volcano-global 2ae7715 reads it nowhere" in manifests.story
    )
    parent = manifests.objects[-1]
    other = parent.model_copy(update={"spec": parent.spec.model_copy(update={"min_available": 99})})
    assert expand(replace(manifests, objects=(*manifests.objects[:-1], other))).objects == expand(manifests).objects


def test_a6_namespace_reaches_every_namespaced_object_and_address():
    manifests = lower(*two_cities(namespace="research"))
    assert {item.metadata.namespace for item in manifests.objects} == {"research", None}
    assert {item.kind_name for item in manifests.objects if item.metadata.namespace is None} == {
        "ClusterPropagationPolicy"
    }
    assert env(manifests.objects[-1].spec.replicated_jobs[1])["MASTER_ADDR"].endswith(".research.svc")


def test_a7_patch_is_applied_last_and_told():
    patches = (
        Patch(path="pod.spec.serviceAccountName", value="trainer"),
        Patch(path="container[shanghai].resources.requests.cpu", value="4"),
        Patch(path='pod.metadata.annotations["a.b/c"]', value="x"),
        Patch(path="pod.spec.imagePullSecrets[0].name", value="regcred"),
    )
    manifests = lower(*two_cities(patches=patches))
    near, far = manifests.objects[-1].spec.replicated_jobs
    assert [pod(c)["serviceAccountName"] for c in (near, far)] == ["trainer", "trainer"]
    assert [pod(c)["containers"][0]["resources"]["requests"]["cpu"] for c in (near, far)] == ["96", "4"]
    assert near.template_spec.tasks[0].template.metadata.annotations == {"a.b/c": "x"}
    assert pod(near)["imagePullSecrets"] == [{"name": "regcred"}]
    assert [line for line in manifests.story if line.startswith("user patch")] == [
        "user patch: pod.spec.serviceAccountName = 'trainer'",
        "user patch: container[shanghai].resources.requests.cpu = '4'",
        "user patch: pod.metadata.annotations[\"a.b/c\"] = 'x'",
        "user patch: pod.spec.imagePullSecrets[0].name = 'regcred'",
    ]
    assert lower(*two_cities()).name != manifests.name


def test_b12_job_that_fits_one_cluster_is_one_child():
    manifests = lower(*one_city())
    assert (manifests.mode, len(manifests.children)) == ("single", 1)
    assert manifests.mode_reason == "all stages run on beijing: a plain Volcano Job, applied there"


def test_c1_each_job_of_direct_mode_has_a_policy_of_the_controllers_shape():
    manifests = lower(*two_cities(), "direct")
    own = {p.metadata.name: p for p in of_kind(manifests, "PropagationPolicy")}
    for child in manifests.children:
        placement = own[child.name].document()["spec"]["placement"]
        assert placement == {
            "clusterAffinity": {"clusterNames": [child.cluster]},
            "spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}],
            "replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"},
        }


def with_fallback(**settings):
    where = fleet(cluster("beijing"), cluster("shanghai", "H100"), cluster("chengdu", "A100", taints=(Taint(key="x"),)))
    return job(where, fallback={"shanghai": ("chengdu",)}, **settings), TWO_CITY_PLAN


def test_c2_fallbacks_are_ordered_groups_of_an_own_policy_that_exists_before_the_child():
    manifests = lower(*with_fallback())
    policy = next(p for p in of_kind(manifests, "PropagationPolicy") if p.metadata.name.endswith("shanghai-0-own"))
    assert policy.spec.priority == 10
    assert policy.spec.resource_selectors[0].name == manifests.children[1].name
    assert [t.cluster_names for t in policy.spec.placement.cluster_affinities] == [("shanghai",), ("chengdu",)]
    assert manifests.objects.index(policy) < manifests.objects.index(manifests.objects[-1])
    name = manifests.children[1].name
    assert f"{name} is claimed by {name}-own, which exists before it" in expand(manifests).claims
    assert manifests.objects[-1].spec.replicated_jobs[1].cluster_names == ("shanghai", "chengdu")


def test_c2_what_differs_on_a_fallback_cluster_is_overridden_there():
    manifests = lower(*with_fallback(env=Environment(nccl={"chengdu": {"NCCL_SOCKET_IFNAME": "eth1"}})))
    (override,) = of_kind(manifests, "OverridePolicy")
    (rule,) = override.spec.override_rules
    assert rule.target_cluster.cluster_names == ("chengdu",)
    (change,) = rule.overriders.plaintext
    assert (change.path, change.operator) == ("/spec/tasks/0/template/spec", "replace")
    assert change.value["tolerations"] == [{"key": "x", "effect": "NoSchedule", "operator": "Exists"}]
    variables = {item["name"]: item.get("value") for item in change.value["containers"][0]["env"]}
    assert (variables["HF_CLUSTER"], variables["NCCL_SOCKET_IFNAME"]) == ("chengdu", "eth1")
    assert variables["HF_NODE_RANK_OFFSET"] == "1"


def test_c2_fallback_of_node_rank_0_makes_both_clusters_providers():
    where = fleet(cluster("beijing"), cluster("shanghai", "H100"), cluster("chengdu", "A100"))
    manifests = lower(job(where, fallback={"beijing": ("chengdu",)}), TWO_CITY_PLAN)
    (service,) = of_kind(manifests, "MultiClusterService")
    assert [c.name for c in service.spec.provider_clusters] == ["beijing", "chengdu"]
    assert [c.name for c in service.spec.consumer_clusters] == ["beijing", "chengdu", "shanghai"]


def test_c2_one_child_with_fallbacks_is_a_job_with_a_policy_and_no_hyperjob():
    where = fleet(cluster("beijing", nodes=2), cluster("chengdu", nodes=2))
    manifests = lower(job(where, fallback={"beijing": ("chengdu",)}), plan([("beijing", "B200", [4, 4])]))
    assert manifests.mode == "direct"
    assert manifests.mode_reason == "one child with fallback clusters needs a policy of its own and no HyperJob"
    assert [item.kind_name for item in manifests.objects].count("Job") == 1


def test_c5_every_task_says_how_many_pods_it_needs_and_explain_says_what_they_ask():
    manifests = lower(*four_stages_case())
    for child in manifests.objects[-1].spec.replicated_jobs:
        assert [task.min_available for task in child.template_spec.tasks] == [4]
    assert (
        f"{manifests.children[0].name} asks for 4 pods of 96 cpu, 1536Gi memory, 8 nvidia.com/gpu each"
        in manifests.story
    )


def four_stages_case(**settings):
    where, shape = four_stages()
    return job(where, **settings), shape


def test_d1_queue_and_priority_stand_in_every_template_and_not_on_the_hyperjob():
    parent = hyperjob(two_cities())
    specs = [child.template_spec for child in parent.spec.replicated_jobs]
    assert [(spec.queue, spec.priority_class_name) for spec in specs] == [("llm", "high")] * 2
    assert "queue" not in json.dumps(parent.metadata.model_dump())


def test_d4_gang_is_whole_in_each_cluster_and_a_bounded_barrier_holds_the_start():
    manifests = lower(*four_stages_case(guard=Guard(rendezvous_timeout_seconds=300)))
    for child in manifests.objects[-1].spec.replicated_jobs:
        assert child.template_spec.min_available == 4
        assert env(child)["HF_RENDEZVOUS_TIMEOUT_SECONDS"] == "300"
    assert any(f.code == "HF421" and "device-hours" in f.message for f in manifests.findings)


def test_e2_hard_tier_is_a_number_and_soft_has_none():
    where, shape = four_stages()
    hard = hyperjob((job(where, job_tier=ROW), shape)).spec.replicated_jobs[0].template_spec.network_topology
    assert hard.model_dump(exclude_none=True) == {"mode": "hard", "highest_tier_allowed": 2}
    soft = ResolvedTier(mode="soft", name="", number_by_cluster={})
    found = hyperjob((job(where, job_tier=soft), shape)).spec.replicated_jobs[0].template_spec.network_topology
    assert found.model_dump(exclude_none=True) == {"mode": "soft"}


def test_e2_left_open_the_job_is_soft_where_the_cluster_has_tiers_and_says_why():
    manifests = lower(*four_stages_case())
    assert "no tier was asked for: beijing packs the job softly" in manifests.story
    assert hyperjob(two_cities()).spec.replicated_jobs[0].template_spec.network_topology is None


def test_e3_stages_of_two_nodes_in_racks_are_partitions_of_two():
    where = fleet(cluster("beijing", nodes=16, tiers=RACKS))
    shape = plan([("beijing", "B200", [2, 2, 2, 2])], dp=2)
    manifests = lower(job(where, job_tier=ROW, stage_tier=RACK), shape)
    task = manifests.objects[-1].spec.tasks[0]
    assert task.partition_policy.model_dump(by_alias=True, exclude_none=True) == {
        "totalPartitions": 4,
        "partitionSize": 2,
        "minPartitions": 4,
        "networkTopology": {"mode": "hard", "highestTierAllowed": 1},
    }
    assert (task.replicas, task.min_available, manifests.mode) == (8, 8, "single")


def test_b6_tensor_parallel_over_nodes_of_one_scale_up_domain_is_a_partition_of_that_tier():
    where = fleet(
        cluster("gb200", "GB200", 36, devices=4, nvlink_domain=72, tiers=[Tier(tier=1, domain_nodes=(18, 18))])
    )
    manifests = lower(job(where), plan([("gb200", "GB200", [8])], tp=16, dp=4, devices=4))
    policy = manifests.objects[-1].spec.tasks[0].partition_policy
    assert (policy.total_partitions, policy.partition_size, policy.network_topology.highest_tier_allowed) == (4, 4, 1)
    assert any("each tensor-parallel group of 4 nodes is one partition" in line for line in manifests.story)


def test_b6_domain_declared_without_tiers_is_taken_as_the_leaf_tier_and_warned_of():
    where = fleet(cluster("gb200", "GB200", 36, devices=4, nvlink_domain=72))
    manifests = lower(job(where), plan([("gb200", "GB200", [8])], tp=8, dp=4, devices=4))
    policy = manifests.objects[-1].spec.tasks[0].partition_policy
    assert (policy.partition_size, policy.network_topology.highest_tier_allowed) == (2, 1)
    assert [f.as_text() for f in manifests.findings if f.code == "HF435"] == [
        "warning[HF435] tier 1 of gb200 is taken to be its scale-up domains, as the fleet states no tiers\n"
        "  --> on\n"
        "  expected HyperNodes of tier 1, one a scale-up domain\n"
        "  hint: without such HyperNodes the scheduler spreads a tensor-parallel group over any nodes"
    ]


def test_f1_contract_carries_groups_bytes_link_classes_and_storage_with_a_digest():
    manifests = lower(*two_cities(data=Data(path="s3://corpus/x")))
    document = comm_document(manifests.comm)
    assert json.loads(comm_text(manifests.comm)) == document
    kinds = {(g["kind"], g["link_class"], len(g["ranks"])) for g in document["groups"]}
    assert kinds == {("tp", "scale-up", 8), ("pp", "inter-cluster", 2)}
    assert document["links"] == [
        {"from": "beijing", "to": "shanghai", "purpose": "pp", "bytes_per_step": 4_294_967_296}
    ]
    assert [(s["purpose"], s["path"], s["access"]) for s in document["storage"]] == [
        ("data", "s3://corpus/x", "read"),
        ("checkpoint", "pvc://ckpt/toy8", "read-write"),
    ]
    assert manifests.objects[-1].metadata.annotations["hyperflow.io/comm-digest"].startswith("sha256:")
    crossing = sum(g["bytes_per_rank_and_step"] for g in document["groups"] if g["kind"] == "pp")
    assert crossing == 2 * 32 * 8192 * 8192 * 2


def test_f1_link_classes_follow_pods_scale_up_domains_and_clusters():
    tiers = [Tier(tier=1, domain_nodes=(18, 18))]
    where = fleet(cluster("gb200", "GB200", 36, devices=4, nvlink_domain=72, tiers=tiers))
    manifests = lower(job(where), plan([("gb200", "GB200", [4, 4])], tp=16, dp=4, devices=4))
    assert {(g.kind, g.link_class) for g in manifests.comm.groups} == {
        ("tp", "scale-up"),
        ("dp", "scale-out"),
        ("pp", "scale-out"),
    }
    inside = lower(job(fleet(cluster("a"))), plan([("a", "B200", [8])], tp=2, dp=4))
    assert {(g.kind, g.link_class) for g in inside.comm.groups} == {("tp", "scale-up"), ("dp", "scale-up")}


def test_f2_ranks_are_those_of_the_worked_example():
    groups = rank_groups(plan([("beijing", "B200", [52]), ("shanghai", "H100", [28])], dp=8))
    assert groups["pp"][:2] == [(0, 64), (1, 65)]
    assert groups["tp"][1] == tuple(range(8, 16))
    assert groups["dp"][0] == tuple(range(0, 64, 8))


@pytest.mark.parametrize(
    ("path", "volume", "inner"),
    [
        (
            "pvc://corpus/a/b",
            {"persistentVolumeClaim": {"claimName": "corpus", "readOnly": True}},
            "/hyperflow/data/a/b",
        ),
        ("/mnt/tokens", {"hostPath": {"path": "/mnt/tokens", "type": "Directory"}}, "/hyperflow/data"),
        ("s3://bucket/x", None, "s3://bucket/x"),
    ],
)
def test_f3_data_is_mounted_read_only_or_named(path, volume, inner):
    child = hyperjob(two_cities(data=Data(path=path))).spec.replicated_jobs[0]
    volumes = {v["name"]: {k: v[k] for k in v if k != "name"} for v in pod(child)["volumes"]}
    assert volumes.get("data") == volume
    assert env(child)["HF_DATA_PATH"] == inner
    mounts = [m for m in pod(child)["containers"][0]["volumeMounts"] if m["name"] == "data"]
    assert mounts == ([{"name": "data", "mountPath": "/hyperflow/data", "readOnly": True}] if volume else [])


def test_f3_data_source_is_claimed_for_the_children_that_read_it():
    manifests = lower(*two_cities(data=Data(path="datasource://amoro/table/prod.db.user")))
    claims = of_kind(manifests, "DataSourceClaim")
    assert [claim.document()["spec"] for claim in claims] == [
        {
            "system": "amoro",
            "dataSourceType": "table",
            "dataSourceName": "prod.db.user",
            "workload": {
                "apiVersion": "batch.volcano.sh/v1alpha1",
                "kind": "Job",
                "name": child.name,
                "namespace": "default",
            },
        }
        for child in manifests.children
    ]
    assert check(manifests, render(manifests)) == ()
    assert not of_kind(lower(*one_city(data=Data(path="datasource://amoro/table/x"))), "DataSourceClaim")


def test_f4_mcs_leads_to_rank_0_with_one_address():
    manifests = lower(*two_cities())
    (service,) = of_kind(manifests, "Service")
    assert service.spec.selector == {
        "volcano.sh/job-name": manifests.children[0].name,
        "volcano.sh/task-index": "0",
        "volcano.sh/task-spec": "node",
    }
    (multi,) = of_kind(manifests, "MultiClusterService")
    assert multi.document()["spec"] == {
        "types": ["CrossCluster"],
        "providerClusters": [{"name": "beijing"}],
        "consumerClusters": [{"name": "shanghai"}],
    }
    assert {env(c)["MASTER_ADDR"] for c in manifests.objects[-1].spec.replicated_jobs} == {
        f"{manifests.name}-rank0.default.svc"
    }
    assert ("karmada", "multi-cluster-service") in {(n.product, n.feature) for n in manifests.needs}


def test_f4_service_export_and_import_give_the_derived_name_everywhere():
    manifests = lower(*two_cities(rendezvous="service-export"))
    name = f"{manifests.name}-rank0"
    assert [item.metadata.name for item in manifests.objects if item.kind_name.startswith("Service")] == [name] * 3
    (imported,) = of_kind(manifests, "ServiceImport")
    assert imported.document()["spec"]["type"] == "ClusterSetIP"
    policies = {p.metadata.name: p for p in of_kind(manifests, "PropagationPolicy")}
    assert policies[f"{name}-export"].spec.placement.cluster_affinity.cluster_names == ("beijing",)
    importing = policies[f"{name}-import"].spec
    assert (importing.placement.cluster_affinity.cluster_names, importing.propagate_deps) == (
        ("beijing", "shanghai"),
        True,
    )
    assert env(manifests.objects[-1].spec.replicated_jobs[0])["MASTER_ADDR"] == f"derived-{name}.default.svc"


def test_f4_host_network_pods_resolve_cluster_names():
    for child in hyperjob(two_cities(rendezvous="hostnetwork")).spec.replicated_jobs:
        assert (pod(child)["hostNetwork"], pod(child)["dnsPolicy"]) == (True, "ClusterFirstWithHostNet")
        assert "ports" not in pod(child)["containers"][0], "they would be host ports, one pod a node"


def test_f4_given_address_is_used_and_nothing_made_for_it():
    manifests = lower(*two_cities(rendezvous="address=rank0.example.com:4000"))
    for child in manifests.objects[-1].spec.replicated_jobs:
        assert (env(child)["MASTER_ADDR"], env(child)["MASTER_PORT"]) == ("rank0.example.com", "4000")
        assert pod(child)["containers"][0]["ports"][0]["containerPort"] == 4000
    assert not of_kind(manifests, "Service")


def test_f5_one_cluster_is_a_plain_job_without_policies():
    manifests = lower(*one_city())
    assert [item.kind_name for item in manifests.objects] == ["ConfigMap", "Job"]
    found = manifests.objects[-1].spec.tasks[0].template.spec["containers"][0]["env"]
    variables = {item["name"]: item.get("value") for item in found}
    assert variables["MASTER_ADDR"] == f"{manifests.name}-node-0.{manifests.name}.default.svc"


def test_h3_health_check_is_an_init_container_whose_fault_has_a_policy():
    spec = hyperjob(two_cities(guard=Guard(health="smi"))).spec.replicated_jobs[0].template_spec
    (health,) = spec.tasks[0].template.spec["initContainers"]
    assert health["command"][:2] == ["/bin/sh", "-c"]
    assert health["command"][2].startswith("nvidia-smi ")
    assert health["resources"]["limits"] == {"nvidia.com/gpu": "8"}
    assert (86, "RestartJob") in [(policy.exit_code, policy.action) for policy in spec.policies]
    own = hyperjob(two_cities(guard=Guard(health="ghcr.io/acme/check:1"))).spec.replicated_jobs[0]
    assert [(c["image"], "command" in c) for c in pod(own)["initContainers"]] == [("ghcr.io/acme/check:1", False)]


def test_h3_other_vendors_use_their_own_tool():
    where = fleet(cluster("beijing", "MI300X", resource="amd.com/gpu"), cluster("shanghai", "H100"))
    shape = plan([("beijing", "MI300X", [6]), ("shanghai", "H100", [2])])
    child = hyperjob((job(where, guard=Guard(health="smi")), shape)).spec.replicated_jobs[0]
    assert pod(child)["initContainers"][0]["command"][2].startswith("rocm-smi ")


def test_h4_checkpoints_are_mounted_and_told_to_the_process():
    child = hyperjob(two_cities(checkpoint=Checkpoint(to="pvc://ckpt/run", every_seconds=1200.0))).spec.replicated_jobs[
        0
    ]
    assert env(child)["HF_CHECKPOINT_PATH"] == "/hyperflow/checkpoint/run"
    mounts = {m["name"]: m for m in pod(child)["containers"][0]["volumeMounts"]}
    assert mounts["checkpoint"] == {"name": "checkpoint", "mountPath": "/hyperflow/checkpoint"}


def test_h5_retries_become_bounded_restarts_and_none_ends_the_job():
    some = hyperjob(two_cities(retries=5)).spec.replicated_jobs[0].template_spec
    assert some.max_retry == 5
    assert [p.model_dump(by_alias=True, exclude_none=True) for p in some.policies] == [
        {"action": "TerminateJob", "exitCode": 78},
        {"action": "RestartJob", "event": "PodFailed"},
        {"action": "RestartJob", "event": "PodEvicted"},
    ]
    none = hyperjob(two_cities(retries=0)).spec.replicated_jobs[0].template_spec
    assert {policy.action for policy in none.policies} == {"TerminateJob"}


def test_h6_caches_and_shared_memory_are_sized_from_the_node():
    child = hyperjob(two_cities(data=Data(path="s3://c/x", cache="per-node"))).spec.replicated_jobs[0]
    volumes = {v["name"]: v for v in pod(child)["volumes"]}
    assert volumes["shared-memory"]["emptyDir"] == {"medium": "Memory", "sizeLimit": "768Gi"}
    assert volumes["cache"] == {"name": "cache", "emptyDir": {}}
    assert env(child)["HF_DATA_CACHE"] == "/hyperflow/cache"


def test_h8_nccl_settings_stay_in_their_cluster():
    settings = Environment(nccl={"beijing": {"NCCL_IB_HCA": "mlx5"}}, variables={"OMP_NUM_THREADS": "8"})
    near, far = hyperjob(two_cities(env=settings)).spec.replicated_jobs
    assert (env(near)["NCCL_IB_HCA"], env(far).get("NCCL_IB_HCA")) == ("mlx5", None)
    assert [env(child)["OMP_NUM_THREADS"] for child in (near, far)] == ["8", "8"]


def test_h9_ranks_devices_and_processes_multiply_to_one_world():
    manifests = lower(*four_stages_case())
    children = manifests.objects[-1].spec.replicated_jobs
    assert [(c.node_rank_offset, c.nodes, c.devices_per_node, c.stages) for c in manifests.children] == [
        (0, 4, 8, (0, 1)),
        (4, 4, 8, (2, 3)),
    ]
    assert {(env(c)["WORLD_SIZE"], env(c)["HF_NNODES"], env(c)["HF_NPROC_PER_NODE"]) for c in children} == {
        ("64", "8", "8")
    }


def test_t1_t9_partitions_go_direct_with_the_shipped_crd_and_stay_in_the_hyperjob_with_the_patched_one():
    where, shape = four_stages()
    shipped = lower(job(where, job_tier=ROW, stage_tier=RACK), shape)
    assert (shipped.mode, shipped.mode_reason) == (
        "direct",
        "stages are held within rack (topology.stage), and the shipped HyperJob CRD drops partitionPolicy",
    )
    where, shape = four_stages(hyperjob_crd="patched")
    patched = lower(job(where, job_tier=ROW, stage_tier=RACK), shape)
    assert (patched.mode, patched.hyperjob_crd) == ("hyperjob", "patched")
    assert "meant for the patched HyperJob CRD" in patched.story
    assert ("hyperjob_crd", "partition-policy") in {(n.product, n.feature) for n in patched.needs}
    policies = [c.template_spec.tasks[0].partition_policy for c in patched.objects[-1].spec.replicated_jobs]
    assert [policy.partition_size for policy in policies] == [2, 2]


def test_t2_needs_name_each_cluster_and_the_plane():
    where, shape = four_stages()
    manifests = lower(job(where, job_tier=ROW, stage_tier=RACK), shape)
    volcano = {(n.cluster, n.feature) for n in manifests.needs if n.product == "volcano"}
    assert {(place, "partition-policy") for place in ("beijing", "shanghai", None)} <= volcano
    old = where.model_copy(update={"versions": TargetVersions(volcano="1.10.0")})
    with pytest.raises(HyperFlowError, match=r"HF402.*the plane runs Volcano 1\.10\.0"):
        lower(job(old, job_tier=ROW, stage_tier=RACK), shape)


def test_t3_one_policy_carries_config_maps_secrets_and_claims_to_the_union_of_clusters():
    patches = (
        Patch(path="pod.spec.imagePullSecrets[0].name", value="regcred"),
        Patch(path="container.envFrom[0].configMapRef.name", value="settings"),
    )
    manifests = lower(*two_cities(data=Data(path="pvc://corpus"), patches=patches))
    (policy,) = of_kind(manifests, "PropagationPolicy")
    assert [(s.kind, s.name) for s in policy.spec.resource_selectors] == [
        ("ConfigMap", f"{manifests.name}-launch"),
        ("ConfigMap", "settings"),
        ("PersistentVolumeClaim", "ckpt"),
        ("PersistentVolumeClaim", "corpus"),
        ("Secret", "regcred"),
    ]
    assert policy.spec.placement.cluster_affinity.cluster_names == ("beijing", "shanghai")


def test_t3_shared_objects_have_policies_that_are_equal_in_every_bundle():
    first, second = lower(*two_cities()), lower(*four_stages_case())
    assert of_kind(first, "ClusterPropagationPolicy") == of_kind(second, "ClusterPropagationPolicy")
    assert [p.spec.resource_selectors[0].kind for p in of_kind(first, "ClusterPropagationPolicy")] == [
        "PriorityClass",
        "Queue",
    ]
    plain = lower(*two_cities(queue="default", priority=None))
    assert not of_kind(plain, "ClusterPropagationPolicy")


def test_t4_clusters_are_pinned_hard_and_said_so():
    manifests = lower(*two_cities())
    assert f"{manifests.children[0].name} is pinned (hard) to beijing" in manifests.story
    assert not any("prefer" in line for line in manifests.story)


def test_t5_children_share_one_world_and_no_plugin_makes_another():
    children = hyperjob(two_cities()).spec.replicated_jobs
    assert [sorted(c.template_spec.plugins) for c in children] == [["env", "svc"]] * 2
    assert [env(c)["HF_NODE_RANK_OFFSET"] for c in children] == ["0", "1"]
    assert {(env(c)["WORLD_SIZE"], env(c)["MASTER_ADDR"]) for c in children} == {
        ("16", env(children[0])["MASTER_ADDR"])
    }


def test_t13_peers_notice_a_loss_before_the_next_barrier_gives_up():
    manifests = lower(*two_cities(guard=Guard(rendezvous_timeout_seconds=900)))
    for child in manifests.objects[-1].spec.replicated_jobs:
        assert int(env(child)["HF_COMM_TIMEOUT_SECONDS"]) < int(env(child)["HF_RENDEZVOUS_TIMEOUT_SECONDS"])
        arguments = pod(child)["containers"][0]["args"]
        assert arguments[arguments.index("--distributed-timeout-minutes") + 1] == "10"
    assert any("lose their peer" in line and "start barrier" in line for line in manifests.story)


def test_f4_two_groups_on_one_cluster_need_no_service_over_clusters():
    shape = plan([("beijing", "B200", [4]), ("beijing", "H100", [4])])
    where = fleet(cluster("beijing", "B200", 2))
    mixed = where.clusters[0].model_copy(update={"groups": (*where.clusters[0].groups, cluster("x", "H100").groups[0])})
    manifests = lower(job(fleet(mixed)), shape)
    assert [c.group for c in manifests.children] == ["beijing-0", "beijing-1"]
    assert not of_kind(manifests, "MultiClusterService")
    assert (
        TWO_CITIES.clusters[0].name
        in of_kind(manifests, "PropagationPolicy")[0].spec.placement.cluster_affinity.cluster_names
    )
