import pytest

from hyperflow.errors import InputError

READY = [{"type": "Ready", "status": "True"}]
PRODUCT = "nvidia.com/gpu.product"


@pytest.mark.parametrize(
    ("labels", "resource", "device"),
    [
        ({PRODUCT: "NVIDIA-A100-SXM4-80GB", "nvidia.com/gpu.memory": "81920"}, "nvidia.com/gpu", "A100-80GB-SXM"),
        ({PRODUCT: "A100-SXM4-40GB"}, "nvidia.com/gpu", "A100-40GB-SXM"),
        ({PRODUCT: "NVIDIA-A100-80GB-PCIe"}, "nvidia.com/gpu", "A100-80GB-PCIe"),
        ({PRODUCT: "NVIDIA-H100-SXM5-80GB"}, "nvidia.com/gpu", "H100-80GB-SXM"),
        ({PRODUCT: "NVIDIA-H800"}, "nvidia.com/gpu", "H800-80GB-SXM"),
        ({PRODUCT: "NVIDIA-H200"}, "nvidia.com/gpu", "H200-SXM"),
        ({PRODUCT: "NVIDIA-GH200-480GB", "nvidia.com/gpu.memory": "97871"}, "nvidia.com/gpu", "GH200-96GB"),
        ({PRODUCT: "Tesla-V100-SXM2-16GB"}, "nvidia.com/gpu", "V100-16GB-SXM"),
        ({"cloud.google.com/gke-accelerator": "nvidia-b200"}, "nvidia.com/gpu", "B200-SXM"),
        ({"cloud.google.com/gke-accelerator": "nvidia-tesla-a100"}, "nvidia.com/gpu", "A100-40GB-SXM"),
        ({"cloud.google.com/gke-tpu-accelerator": "tpu-v5p-slice"}, "google.com/tpu", "TPU-v5p"),
        ({"node.kubernetes.io/instance-type": "p5en.48xlarge"}, "nvidia.com/gpu", "H200-SXM"),
        ({"node.kubernetes.io/instance-type": "Standard_ND96isr_H100_v5"}, "nvidia.com/gpu", "H100-80GB-SXM"),
        ({"node.kubernetes.io/instance-type": "BM.GPU.GB200.4"}, "nvidia.com/gpu", "GB200"),
        (
            {"karpenter.k8s.aws/instance-gpu-name": "a100", "karpenter.k8s.aws/instance-gpu-memory": "81920"},
            "nvidia.com/gpu",
            "A100-80GB-SXM",
        ),
        (
            {"karpenter.k8s.aws/instance-gpu-name": "a100", "karpenter.k8s.aws/instance-gpu-memory": "40960"},
            "nvidia.com/gpu",
            "A100-40GB-SXM",
        ),
        ({"amd.com/gpu.device-id": "74a5", "amd.com/gpu.vram": "256G"}, "amd.com/gpu", "MI325X"),
        ({"accelerator-type": "module-910b-8"}, "huawei.com/Ascend910", "Ascend-910B"),
        ({"accelerator-type": "Ascend-A3"}, "huawei.com/Ascend910", "Ascend-910C-die"),
        ({"mthreads.com/gpu.model": "MTT-S4000"}, "mthreads.com/gpu", "MTT-S4000"),
        ({"hyperflow.io/device": "H20"}, "nvidia.com/gpu", "H20-96GB"),
    ],
)
def test_every_vendors_labels_name_the_device(read, node, labels, resource, device):
    fleet, _ = read([node("n1", labels, resource=resource)])
    assert [group.device for group in fleet.clusters[0].groups] == [device]
    assert fleet.clusters[0].groups[0].resource == resource


@pytest.mark.parametrize(
    ("labels", "resource", "cause"),
    [
        ({PRODUCT: "NVIDIA-H20", "nvidia.com/gpu.memory": "143771"}, "nvidia.com/gpu", "140 GiB of device memory"),
        ({PRODUCT: "NVIDIA-Z900"}, "nvidia.com/gpu", "NVIDIA-Z900 is not in the catalogue"),
        ({PRODUCT: "NVIDIA-Z900", "node.kubernetes.io/instance-type": "p5.48xlarge"}, "nvidia.com/gpu", "NVIDIA-Z900"),
        ({"amd.com/gpu.product-name": "AMD_Instinct_MI300X_OAM", "amd.com/gpu.vram": "64G"}, "amd.com/gpu", "64 GiB"),
        ({"hyperflow.io/device": "MI300X"}, "nvidia.com/gpu", "the node offers nvidia.com/gpu"),
        ({}, "habana.ai/gaudi", "habana.ai/gaudi without a label that names the device"),
        ({"karpenter.k8s.aws/instance-gpu-name": "a100"}, "nvidia.com/gpu", "without a label"),
    ],
)
def test_a_device_is_never_guessed(read, node, labels, resource, cause):
    fleet, findings = read([node("n1", labels, resource=resource)])
    assert fleet.clusters[0].groups == ()
    assert fleet.clusters[0].unidentified_devices == 8
    assert cause in findings["HF316"].message


def _text(read, node, code, **parts):
    _, findings = read([node("good"), node("bad", **parts)])
    return findings[code].as_text()


def test_nodes_that_are_not_ready_are_named(read, node):
    assert _text(read, node, "HF310", conditions=[{"type": "Ready", "status": "False"}]) == (
        "warning[HF310] 1 node left out: not ready (Ready=False)\n"
        "  --> cluster beijing\n"
        "  got bad\n"
        "  hint: kubectl describe node NAME says why"
    )


def test_cordoned_nodes_are_named(read, node):
    assert _text(read, node, "HF311", spec={"unschedulable": True}) == (
        "warning[HF311] 1 node left out: cordoned\n  --> cluster beijing\n  got bad\n  hint: kubectl uncordon NAME"
    )


def test_nodes_with_a_foreign_taint_are_named(read, node):
    spec = {"taints": [{"key": "team", "value": "vision", "effect": "NoSchedule"}]}
    assert _text(read, node, "HF312", spec=spec) == (
        "warning[HF312] 1 node left out: taint team=vision:NoSchedule\n"
        "  --> cluster beijing\n"
        "  got bad\n"
        "  hint: if your jobs may run there, read the fleet with --tolerate KEY or --tolerate KEY=VALUE"
    )


@pytest.mark.parametrize("tolerate", ["team", "team=vision"])
def test_a_tolerated_taint_leaves_the_node_usable_and_travels_with_its_group(read, node, tolerate):
    spec = {"taints": [{"key": "team", "value": "vision", "effect": "NoSchedule"}]}
    fleet, findings = read([node("n1", spec=spec)], tolerate=[tolerate])
    assert "HF312" not in findings
    assert [(t.key, t.value) for t in fleet.clusters[0].groups[0].taints] == [("team", "vision")]


@pytest.mark.parametrize(
    ("key", "value", "usable"),
    [
        ("nvidia.com/gpu", "present", 1),
        ("sku", "gpu", 1),
        ("kubernetes.azure.com/scalesetpriority", "spot", 1),
        ("kwok.x-k8s.io/node", "fake", 1),
        ("node.kubernetes.io/disk-pressure", "", 0),
        ("node-role.kubernetes.io/control-plane", "", 0),
        ("karpenter.sh/disrupted", "", 0),
        ("team", "vision", 0),
    ],
)
def test_only_taints_that_jobs_tolerate_leave_a_node_usable(read, node, key, value, usable):
    taint = {"key": key, "value": value, "effect": "NoSchedule"}
    fleet, _ = read([node("n1", spec={"taints": [taint]})])
    assert fleet.clusters[0].nodes_usable == usable


def test_a_preference_against_a_node_does_not_exclude_it(read, node):
    taint = {"key": "team", "value": "vision", "effect": "PreferNoSchedule"}
    fleet, _ = read([node("n1", spec={"taints": [taint]})])
    assert fleet.clusters[0].nodes_usable == 1
    assert fleet.clusters[0].groups[0].taints == ()


def test_mig_slices_are_no_devices(read, node):
    labels = {PRODUCT: "NVIDIA-H100-80GB-HBM3-MIG-1g.10gb"}
    assert _text(read, node, "HF313", labels=labels, gpus=56) == (
        "warning[HF313] 1 node left out: cut into MIG slices (1g.10gb)\n"
        "  --> cluster beijing\n"
        "  got bad\n"
        "  hint: switch MIG off on them to train on whole devices"
    )


def test_whole_devices_beside_mig_slices_are_used(read, node):
    mixed = node("n1", gpus=4, capacity=4)
    mixed["status"]["capacity"]["nvidia.com/mig-1g.10gb"] = "28"
    fleet, _ = read([mixed])
    assert fleet.clusters[0].devices_total == 4


@pytest.mark.parametrize(
    "labels",
    [
        {PRODUCT: "NVIDIA-H100-80GB-HBM3-SHARED"},
        {PRODUCT: "NVIDIA-H100-80GB-HBM3", "nvidia.com/gpu.sharing-strategy": "time-slicing"},
        {PRODUCT: "NVIDIA-H100-80GB-HBM3", "nvidia.com/gpu.replicas": "4"},
    ],
)
def test_shared_devices_are_no_devices(read, node, labels):
    assert _text(read, node, "HF314", labels=labels, gpus=32) == (
        "warning[HF314] 1 node left out: time-sliced: one GPU is offered several times\n"
        "  --> cluster beijing\n"
        "  got bad\n"
        "  hint: remove the sharing configuration of the device plugin to train on whole devices"
    )


def test_a_node_that_lost_a_device_is_used_with_the_rest(read, node):
    fleet, findings = read([node("good"), node("bad", gpus=7, capacity=8)])
    assert [(g.devices_per_node, g.count) for g in fleet.clusters[0].groups] == [(8, 1), (7, 1)]
    assert findings["HF315"].as_text() == (
        "warning[HF315] 1 node with less than all devices: 7 of 8 devices are allocatable\n"
        "  --> cluster beijing\n"
        "  got bad\n"
        "  hint: a device is lost or unhealthy: drain and repair, or use only degrees that fit"
    )


def test_a_node_that_lost_all_devices_is_left_out(read, node):
    fleet, findings = read([node("good"), node("bad", gpus=0, capacity=8)])
    assert fleet.clusters[0].nodes_usable == 1
    assert findings["HF315"].message == "1 node left out: 0 of 8 devices are allocatable"


def test_an_unnamed_device_is_said_with_what_to_do(read, node):
    assert _text(read, node, "HF316", labels={}) == (
        "warning[HF316] 1 node left out: nvidia.com/gpu without a label that names the device\n"
        "  --> cluster beijing\n"
        "  got bad\n"
        "  hint: label the nodes hyperflow.io/device=NAME, or add the device (docs/how-to/add-a-device.md)"
    )


def test_devices_of_virtual_machines_are_no_devices(read, node):
    assert _text(read, node, "HF317", gpus=1, resource="nvidia.com/GH100_H100_SXM5_80GB") == (
        "warning[HF317] 1 node left out: handed to virtual machines as PCI functions (GH100_H100_SXM5_80GB)\n"
        "  --> cluster beijing\n"
        "  got bad\n"
        "  hint: they serve virtual machines, not pods"
    )


def test_a_node_without_memory_is_left_out(read, node):
    assert _text(read, node, "HF318", memory="1048576Ki") == (
        "warning[HF318] 1 node left out: 1.0 GiB of main memory for 8 devices\n"
        "  --> cluster beijing\n"
        "  got bad\n"
        "  hint: check the kubelet's reserved memory"
    )


def test_a_quantity_with_a_wrong_unit_is_named(read, node, tmp_path):
    assert _text(read, node, "HF319", memory="2000GiB") == (
        "warning[HF319] memory is not a quantity and counts as 0\n"
        f"  --> {tmp_path / 'beijing.json'}: node bad: status.allocatable and 1 more\n"
        "  got 2000GiB, expected a Kubernetes quantity such as 8, 95690m or 192Gi"
    )


def test_one_fault_of_many_nodes_is_told_once(read, node, tmp_path):
    _, findings = read([node(f"n{i}", memory="2000GiB") for i in range(100)])
    assert findings["HF319"].where == f"{tmp_path / 'beijing.json'}: node n0: status.allocatable and 199 more"


def test_nodes_without_accelerators_are_a_note(read, node):
    plain = node("bad")
    del plain["status"]["allocatable"]["nvidia.com/gpu"], plain["status"]["capacity"]["nvidia.com/gpu"]
    _, findings = read([node("good"), plain])
    assert findings["HF307"].as_text() == (
        "note[HF307] 1 node left out: no accelerator\n  --> cluster beijing\n  got bad"
    )


@pytest.mark.parametrize("name", ["", "UPPER", "a b", "x" * 254, None, 7])
def test_a_node_without_a_legal_name_is_left_out(read, node, name):
    fleet, findings = read([node("good"), node(name)])
    assert fleet.clusters[0].nodes_total == 1
    assert findings["HF308"].message == "a node has no name that Kubernetes would take and is left out"


def test_a_label_that_no_server_would_take_is_named(read, node):
    _, findings = read([node("n1", {PRODUCT: "NVIDIA-H100-80GB-HBM3", "rack": "r" * 64})])
    assert findings["HF348"].message == "label rack is longer than the 63 characters that Kubernetes allows"


def test_one_finding_per_cause_names_all_nodes_as_ranges(read, node):
    nodes = [node(f"n{i}", spec={"unschedulable": True}) for i in range(1, 31)]
    _, findings = read([node("good"), *nodes])
    assert findings["HF311"].message == "30 nodes left out: cordoned"
    assert findings["HF311"].got == "n[1-30]"


def test_two_nodes_of_one_name_are_an_error(read, node):
    _, findings = read([node("n1"), node("n1")])
    assert findings["HF304"].as_text() == (
        "error[HF304] 1 node name given twice\n"
        "  --> cluster beijing\n"
        "  got n1\n"
        "  hint: give each node once; nodes of several clusters need CLUSTER=FILE or the label hyperflow.io/cluster"
    )


def test_nodes_of_different_sizes_are_groups_of_their_own(read, node):
    nodes = [node("a", memory="2000Gi"), node("b", memory="1990Gi"), node("c", memory="1000Gi"), node("d", cpu="96")]
    fleet, _ = read(nodes)
    groups = [(g.node_names, g.allocatable["memory"] / 1024**3, g.allocatable["cpu"]) for g in fleet.clusters[0].groups]
    assert groups == [(("d",), 2000, 96), (("c",), 1000, 192), (("a", "b"), 1990, 192)]


def test_unstated_readiness_is_said(read, node):
    one = node("n1")
    del one["status"]["conditions"]
    fleet, findings = read([one])
    assert fleet.clusters[0].nodes_usable == 1
    assert findings["HF347"].severity == "note"


def test_uncertain_facts_are_said(read, node):
    _, findings = read([node("n1", {PRODUCT: "NVIDIA-H20"})])
    assert findings["HF345"].as_text() == (
        "note[HF345] the catalogue is uncertain about H20-96GB: network_gbps\n"
        "  --> cluster beijing\n"
        "  hint: a profile (--profile) or calibration (--calibration) replaces these figures"
    )


def test_more_nodes_than_kubernetes_supports_are_noted(read, node):
    _, findings = read([node(f"n{i}") for i in range(5001)])
    assert findings["HF344"].as_text() == (
        "note[HF344] 5001 nodes are more than the 5000 that Kubernetes supports in a cluster\n"
        "  --> cluster beijing\n"
        "  hint: two clusters joined by a HyperJob stay within it"
    )


def test_a_list_without_nodes_is_refused(read):
    with pytest.raises(InputError) as caught:
        read([])
    assert caught.value.findings[0].code == "HF300"
