"""Doctor's table: every check is red for its reason, with the fix, and grey where it may not look."""

import copy

import pytest

from hyperflow.inventory.bundle_reader import read_bundle
from hyperflow.spec.training_job import Patch
from hyperflow.submit.doctor import examine
from tests.api_server.faults import Fault
from tests.live_plane import PLANE_CRDS, crd, live_plane, priority_class, queue, write_bundle
from tests.manifest_cases import two_cities

CLUSTERS = {
    "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
    "metadata": {"name": "clusters.cluster.karmada.io"},
    "spec": {
        "group": "cluster.karmada.io", "scope": "Cluster", "names": {"kind": "Cluster", "plural": "clusters"},
        "versions": [{"name": "v1alpha1", "served": True, "storage": True, "subresources": {"status": {}}, "schema": {
            "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}],
    },
}  # fmt: skip


def cluster(name, models=()):
    """A Cluster as Karmada reports it: 16 idle nodes of 8 GPUs."""
    sums = {"cpu": "2048", "memory": "32Ti", "nvidia.com/gpu": "128", "pods": "1760"}
    return {
        "apiVersion": "cluster.karmada.io/v1alpha1",
        "kind": "Cluster",
        "metadata": {"name": name},
        "spec": {"resourceModels": list(models)},
        "status": {
            "conditions": [{"type": "Ready", "status": "True"}],
            "apiEnablements": [{"groupVersion": "batch.volcano.sh/v1alpha1", "resources": [{"kind": "Job"}]}],
            "resourceSummary": {
                "allocatable": sums, "allocated": {}, "allocatableModelings": [{"grade": 0, "count": 16}],
            },
        },
    }  # fmt: skip


CPU_ONLY = [{"grade": 0, "ranges": [{"name": "cpu", "min": "0", "max": "256"}]}]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    return read_bundle(write_bundle(tmp_path_factory.mktemp("bundle") / "out"))


@pytest.fixture
def live(tmp_path, monkeypatch):
    with live_plane(tmp_path, monkeypatch, plane_crds=(*PLANE_CRDS, CLUSTERS)) as plane:
        plane.server.after_request = lambda: None
        plane.put(cluster("beijing"), cluster("shanghai"), *flags())
        plane.put(claim("ckpt"))
        for member in plane.server.members.values():
            member.put(queue())
            member.put(priority_class())
        yield plane


def claim(name):
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name, "namespace": "default"}}


def deployment(name, *arguments):
    pod = {"containers": [{"name": "c", "args": list(arguments)}]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"template": {"spec": pod}},
    }


def flags(controllers="--controllers=dispatcher,reconciler", gates="MultiClusterService=true"):
    return (
        deployment("volcano-global-controller-manager", controllers, "--reconcilers=hyperjob"),
        deployment("karmada-controller-manager", f"--feature-gates={gates}"),
    )


def cells(live, bundle, state="bad"):
    return {(c.server, c.check): c for c in examine(live.plane, bundle) if c.state == state}


def test_a_good_plane_has_no_red_cell(live, bundle):
    found = examine(live.plane, bundle)
    assert [c for c in found if c.state != "ok"] == []
    assert {c.server for c in found} == {"plane", "beijing", "shanghai"}


def test_a_cluster_that_karmada_never_dispatches_to_is_named_with_the_patch(live, bundle):
    live.put(cluster("beijing", CPU_ONLY))
    (cell,) = cells(live, bundle).values()
    assert (cell.server, cell.check) == ("beijing", "Karmada dispatch")
    assert cell.detail == ("beijing will be refused by Karmada: memory, nvidia.com/gpu not in its resource models")
    assert cell.fix.startswith('kubectl patch cluster beijing --type merge -p \'{"spec":{"resourceModels":[]}}\'')


def test_a_cluster_that_is_not_registered_is_named(live, bundle):
    plane = live.server.plane
    plane.store.delete(plane.kind_named("Cluster"), "", "shanghai", {})
    cell = cells(live, bundle)["shanghai", "Karmada dispatch"]
    assert cell.detail == "no Cluster shanghai is registered; there are beijing"


@pytest.mark.parametrize(
    ("change", "detail"),
    [
        (queue(state="Closed"), "queue llm is Closed, not Open"),
        (queue("llm-a", parent="llm"), "queue llm has child queues, so it takes no jobs"),
    ],
)
def test_a_queue_that_takes_no_jobs_is_red(live, bundle, change, detail):
    live.put(change)
    cell = cells(live, bundle)["plane", "queue"]
    assert cell.detail == detail
    assert cell.as_finding().as_text().startswith(f"error[HF523] queue: {detail}\n  --> plane\n  hint: ")


def test_a_queue_missing_on_the_plane_is_red_and_in_a_member_grey_because_it_comes_from_the_plane(live, bundle):
    for server in (live.server.plane, live.server.members["beijing"]):
        server.store.delete(server.kind_named("Queue"), "", "llm", {})
    assert cells(live, bundle)["plane", "queue"].detail == "queue llm does not exist"
    grey = cells(live, bundle, "unknown")
    assert grey["beijing", "queue"].detail == "queue llm does not exist; it comes from the plane"


@pytest.mark.parametrize(
    ("change", "detail"),
    [
        (queue(state="Closed"), "queue llm is Closed, not Open"),
        (queue("llm-a", parent="llm"), "queue llm has child queues, so it takes no jobs"),
    ],
)
def test_a_queue_that_takes_no_jobs_in_a_member_is_red_there(live, bundle, change, detail):
    live.server.members["shanghai"].put(change)
    (cell,) = cells(live, bundle).values()
    assert (cell.server, cell.check, cell.detail) == ("shanghai", "queue", detail)


def test_a_controller_that_is_off_and_a_gate_that_is_off_are_red(live, bundle):
    live.put(*flags("--controllers=dispatcher", "Failover=true"))
    red = cells(live, bundle)
    assert red["plane", "Karmada gates"].detail == "the gate MultiClusterService is off"
    live.put(deployment("volcano-global-controller-manager", "--controllers=dispatcher"))
    red = cells(live, bundle)
    assert red["plane", "controllers"].fix == "run it with --controllers=dispatcher,reconciler --reconcilers=hyperjob"


def test_a_missing_right_is_named_by_verb_and_resource(live, bundle):
    live.server.plane.allowed = lambda a: (a["verb"], a["resource"]) != ("delete", "hyperjobs")
    cell = cells(live, bundle)["plane", "rights"]
    assert cell.detail == "you may not delete hyperjobs.training.volcano.sh in namespace default"


def test_what_may_not_be_read_is_grey_and_never_green(live, bundle):
    live.server.faults.rules.append(lambda r: Fault(code=403) if "/proxy/" in r.path else None)
    found = [c for c in examine(live.plane, bundle) if c.server == "beijing" and c.check == "vcjob fields"]
    assert [c.state for c in found] == ["unknown"]
    assert found[0].detail.startswith("you may not get customresourcedefinitions.apiextensions.k8s.io")


def old_jobs(*fields):
    """A vcjob CRD without some fields of the job or its tasks."""
    old = copy.deepcopy(crd("batch.volcano.sh_jobs"))
    spec = old["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    for field in fields:
        spec.pop(field, None)
        spec["tasks"]["items"]["properties"].pop(field, None)
    return old


@pytest.mark.parametrize(
    ("field", "spec", "version"),
    [
        ("networkTopology", {"networkTopology": {"mode": "hard", "highestTierAllowed": 1}}, "1.12.0"),
        ("partitionPolicy", {"tasks": [{"name": "w", "partitionPolicy": {"totalPartitions": 1}}]}, "1.14.0"),
    ],
)
def test_a_member_whose_crd_lacks_a_field_is_told_the_lowest_version(tmp_path, monkeypatch, field, spec, version):
    from hyperflow.submit.live_schemas import check_member_schema

    with live_plane(tmp_path, monkeypatch) as live:
        member = live.server.members["beijing"]
        kind = member.kind_named("CustomResourceDefinition")
        stored = member.store.get(kind, "", "jobs.batch.volcano.sh")
        member.store.replace(kind, {**stored, "spec": old_jobs(field)["spec"]}, "test")
        (finding,) = check_member_schema(live.plane.member("beijing"), "beijing", [("a-0", spec)])
        assert finding.message.startswith("beijing's Job CRD drops spec.")
        assert field in finding.message
        assert finding.hint == f"install the CRDs of Volcano {version} or later"


def hypernode(name, tier):
    return {
        "apiVersion": "topology.volcano.sh/v1alpha1",
        "kind": "HyperNode",
        "metadata": {"name": name},
        "spec": {"tier": tier, "members": [{"type": "Node", "selector": {"exactMatch": {"name": "n0"}}}]},
    }


def scheduler(text):
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "volcano-scheduler-configmap", "namespace": "default"},
        "data": {"volcano-scheduler.conf": text},
    }


def test_tiers_and_the_scheduler_plugin_are_looked_up_where_a_topology_is_asked_for(live):
    from hyperflow.submit.doctor_topology import plugin_finding, tier_findings

    member, store = live.plane.member("beijing"), live.server.members["beijing"]
    specs = [("a-0", {"networkTopology": {"mode": "hard", "highestTierAllowed": 3}})]
    assert [f.message for f in tier_findings(member, "beijing", specs)] == [
        "there are no HyperNodes, so no tier means anything"
    ]
    store.put(hypernode("leaf", 1))
    store.put(hypernode("top", 2))
    assert [f.message for f in tier_findings(member, "beijing", specs)] == [
        "hard tier 3 is asked for; the tiers here are 1 to 2"
    ]
    assert (
        tier_findings(member, "beijing", [("a-0", {"networkTopology": {"mode": "hard", "highestTierAllowed": 2}})])
        == []
    )
    assert [f.severity for f in plugin_finding(member, "beijing", specs)] == ["note"]
    store.put(scheduler("- name: gang"))
    assert [f.message for f in plugin_finding(member, "beijing", specs)] == [
        "the scheduler's configuration does not name network-topology-aware, so topologies are ignored"
    ]
    store.put(scheduler("- name: gang\n- name: network-topology-aware"))
    assert plugin_finding(member, "beijing", specs) == []
    assert plugin_finding(member, "beijing", [("a-0", {})]) == []


@pytest.fixture(scope="module")
def private(tmp_path_factory):
    """The bundle with a pull secret."""
    patches = (Patch(path="pod.spec.imagePullSecrets[0].name", value="regcred"),)
    folder = write_bundle(tmp_path_factory.mktemp("private") / "out", job=two_cities(patches=patches))
    return read_bundle(folder)


def secret(name):
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "default"}, "data": {}}


def test_a_pull_secret_must_be_on_the_plane_or_in_the_member(live, private):
    red = cells(live, private)
    assert set(red) == {("beijing", "pull secrets"), ("shanghai", "pull secrets")}
    cell = red["beijing", "pull secrets"]
    assert cell.detail == "Secret regcred does not exist"
    assert cell.fix == "kubectl create secret docker-registry regcred -n default ..."
    live.server.members["beijing"].put(secret("regcred"))
    assert set(cells(live, private)) == {("shanghai", "pull secrets")}
    live.put(secret("regcred"))
    assert cells(live, private) == {}


def test_a_claim_that_pods_name_must_be_there_too(live, bundle):
    plane = live.server.plane
    plane.store.delete(plane.kind_named("PersistentVolumeClaim"), "default", "ckpt", {})
    live.server.members["shanghai"].put(claim("ckpt"))
    (cell,) = cells(live, bundle).values()
    assert (cell.server, cell.check, cell.detail) == (
        "beijing", "named objects", "PersistentVolumeClaim ckpt does not exist"
    )  # fmt: skip
    assert cell.fix == "create it in namespace default there, or on the plane, from where it is copied"


def test_members_that_may_not_be_reached_are_told_without_stopping_the_job(live, bundle):
    live.server.plane.allowed = lambda a: a.get("subresource") != "proxy"
    assert cells(live, bundle) == {}
    cell = cells(live, bundle, "unknown")["plane", "member access"]
    assert cell.detail == "you may not get clusters/proxy, so reasons and logs in the members cannot be read"
