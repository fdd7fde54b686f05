import json

import pytest

from hyperflow.inventory.fleet import read_fleet


def cluster_object(name="beijing", models=None, status=None, **spec):
    """A ready Karmada Cluster of 16 nodes with 128 GPUs."""
    gpus = {"cpu": "1024", "memory": "4Ti", "pods": "1760", "nvidia.com/gpu": "128"}
    base = {
        "conditions": [{"type": "Ready", "status": "True"}],
        "apiEnablements": [{"groupVersion": "batch.volcano.sh/v1alpha1", "resources": [{"kind": "Job"}]}],
        "nodeSummary": {"totalNum": 16, "readyNum": 15},
        "resourceSummary": {"allocatable": gpus, "allocated": {"nvidia.com/gpu": "32"}},
    }
    value = {
        "apiVersion": "cluster.karmada.io/v1alpha1",
        "kind": "Cluster",
        "metadata": {"name": name},
        "spec": {"region": "cn-beijing", **spec},
        "status": base | (status or {}),
    }
    if models is not None:
        value["spec"]["resourceModels"] = models
    return value


def test_a_cluster_that_karmada_cannot_use_is_named_with_the_cause(read):
    ready = {"conditions": [{"type": "Ready", "status": "False"}]}
    fleet, findings = read([cluster_object(status=ready)])
    assert fleet.clusters[0].karmada.unusable == "the cluster is not ready (Ready=False)"
    assert findings["HF341"].as_text() == (
        "warning[HF341] Karmada places no job there: the cluster is not ready (Ready=False)\n  --> cluster beijing"
    )


def test_a_cluster_without_volcano_is_named(read):
    _, findings = read([cluster_object(status={"apiEnablements": [{"groupVersion": "apps/v1", "resources": []}]})])
    assert findings["HF341"].message == (
        "Karmada places no job there: it does not serve Job of batch.volcano.sh/v1alpha1: Volcano is missing there"
    )


def test_a_cluster_without_a_summary_is_unknown_not_empty(read):
    _, findings = read([cluster_object(status={"resourceSummary": None})])
    assert findings["HF342"].as_text() == (
        "warning[HF342] Karmada has no resource summary of it: its capacity is unknown and Karmada counts 0\n"
        "  --> cluster beijing\n"
        "  hint: check its karmada-agent or the plane's access to it"
    )


def test_promises_beyond_the_cluster_are_named(read):
    summary = {"allocatable": {"nvidia.com/gpu": "64"}, "allocated": {"nvidia.com/gpu": "72"}}
    _, findings = read([cluster_object(status={"resourceSummary": summary})])
    assert findings["HF343"].as_text() == (
        "warning[HF343] more is promised than the cluster has; it counts as full\n"
        "  --> cluster beijing\n"
        "  got nvidia.com/gpu: 72 of 64"
    )


def test_the_node_list_and_the_plane_make_one_cluster(read, node):
    nodes = [node(f"n{i}") | {} for i in range(16)]
    for one in nodes:
        one["metadata"]["labels"]["hyperflow.io/cluster"] = "beijing"
    fleet, _ = read([*nodes, cluster_object()])
    (cluster,) = fleet.clusters
    assert cluster.region == "cn-beijing"
    assert cluster.nodes_usable == 16
    assert cluster.groups[0].free_devices == 128 - 32


def test_a_plane_that_lost_a_cluster_leaves_none_of_its_nodes_usable(read, node):
    one = node("n1", {"nvidia.com/gpu.product": "NVIDIA-H200", "hyperflow.io/cluster": "beijing"})
    fleet, _ = read([one, cluster_object(status={"conditions": [{"type": "Ready", "status": "Unknown"}]})])
    assert fleet.clusters[0].groups == ()
    assert fleet.clusters[0].excluded[0].cause == "the cluster is not ready (Ready=Unknown)"


def test_a_plane_that_lost_a_cluster_leaves_groups_by_hand_unusable_too(read, tmp_path):
    written = tmp_path / "fleet.yaml"
    written.write_text(
        "schema_version: hyperflow.fleet/v1\n"
        "clusters: [{name: beijing, groups: [{device: H100, count: 4, devices_per_node: 8}]}]\n"
    )
    plane = tmp_path / "plane.json"
    plane.write_text(json.dumps(cluster_object(status={"conditions": [{"type": "Ready", "status": "False"}]})))
    fleet, findings = read_fleet([written, plane])
    assert fleet.clusters[0].nodes_usable == 0
    assert "HF341" in {finding.code for finding in findings}


@pytest.mark.parametrize(
    ("models", "status", "grades"),
    [
        (None, None, 0),  # a live object leaves an empty list out
        ([], None, 0),
        (None, "absent", 9),  # a new object gets the defaults
    ],
)
def test_models_left_out_are_empty_on_a_live_object_and_the_defaults_on_a_new_one(read, models, status, grades):
    one = cluster_object(models=models)
    if status == "absent":
        del one["status"]
    fleet, _ = read([one])
    assert len(fleet.clusters[0].karmada.resource_models) == grades


def test_a_range_that_cannot_be_read_is_named(read):
    models = [{"grade": 0, "ranges": [{"name": "cpu", "min": "0", "max": "lots"}]}]
    _, findings = read([cluster_object(models=models)])
    assert findings["HF319"].got == "0 to lots"
