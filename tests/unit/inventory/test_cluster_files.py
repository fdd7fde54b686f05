"""Every file of ../shared/third_party/clusters, with the numbers worked out by hand from its nodes and labels."""

import json
from pathlib import Path

import pytest

from hyperflow.errors import InputError
from hyperflow.inventory.fleet import read_fleet
from hyperflow.inventory.fleet_summary import summarise_fleet

CLUSTERS = Path(__file__).parents[3] / ".." / "shared" / "third_party" / "clusters"
pytestmark = pytest.mark.skipif(not CLUSTERS.is_dir(), reason="../shared is absent: real cluster files not tested")

# file -> nodes, usable, device, devices per node, devices, tiers as (number, name, domains, largest)
EXPECTED = {
    # 4 nodes of 8; layer-3 is the leaf: two values of two nodes each, the same two pairs in layer-2, one in layer-1
    "nodes-eks-p4d.json": (
        *(4, 4, "A100-40GB-SXM", 8, 32),
        [
            (1, "network-node-layer-3", 2, 2),
            (2, "network-node-layer-2", 2, 2),
            (3, "network-node-layer-1", 1, 4),
        ],
    ),
    # layer-4 is the leaf here: four values; layer-3 joins two and two, layer-2 and layer-1 all four
    "nodes-eks-p6-b200.json": (
        *(4, 4, "B200-SXM", 8, 32),
        [
            (1, "network-node-layer-4", 4, 1),
            (2, "network-node-layer-3", 2, 2),
            (3, "network-node-layer-2", 1, 4),
            (4, "network-node-layer-1", 1, 4),
        ],
    ),
    # 2 + 2 nodes in two sub-blocks of one block, one node with the old labels, one with none
    "nodes-gke-a3mega.json": (6, 6, "H100-80GB-SXM", 8, 48, [(1, "subblock", 3, 2), (2, "block", 2, 4)]),
    "nodes-aks-h100.json": (4, 4, "H100-80GB-SXM", 8, 32, []),
    "nodes-amd-mi300x.json": (2, 2, "MI300X", 8, 16, []),
    # 6 nodes of 8 and 6 of 16, the last of which has 1 GiB of memory: 6 x 8 + 5 x 16
    "nodes-ascend.json": (12, 11, None, None, 128, [(1, "hypernode", 4, 3), (2, "hypercluster", 2, 6)]),
    # usable: 7 of 8 H100, H200 NVL, H100 PCIe, renamed H100, H20: 7 + 4 x 8
    "nodes-mixed-quirks.json": (13, 5, None, None, 39, []),
    # 18 in leaf-1-1, 17 in leaf-1-2, one with a hashed leaf name; one spine and one core over all 36 of 4
    "nodes-gb200-nvl72-topograph.json": (
        *(36, 36, "GB200", 4, 144),
        [(1, "leaf", 3, 18), (2, "spine", 1, 36), (3, "core", 1, 36)],
    ),
    "node-kwok-template.json": (1, 1, "H100-80GB-SXM", 8, 8, [(1, "rack", 1, 1), (2, "spine", 1, 1)]),
    "hypernodes-tree.json": (8, None, None, None, None, [(1, "rack", 4, 2), (2, "spine", 2, 4), (3, "core", 1, 8)]),
    "hypernodes-selectors.json": (None, None, None, None, None, [(1, "rack", 2, None), (2, "spine", 1, None)]),
    "hypernodes-ufm.json": (3, None, None, None, None, [(1, "", 2, 2), (2, "", 1, 3)]),
    # 12 blocks of 8
    "slurm-topology-block.conf": (96, None, None, None, None, [(1, "block", 12, 8)]),
    # 12 leaves of 8, two to a spine
    "slurm-topology-tree.conf": (
        96,
        None,
        None,
        None,
        None,
        [(1, "leaf", 12, 8), (2, "spine", 6, 16), (3, "core", 1, 96)],
    ),
    "topograph-medium.yaml": (8, None, None, None, None, [(1, "leaf", 4, 2), (2, "spine", 2, 4), (3, "core", 1, 8)]),
    "topograph-nvl72.yaml": (72, None, None, None, None, [(1, "leaf", 4, 18), (2, "spine", 2, 36), (3, "core", 1, 72)]),
    # sw-01: 13 racks of 9 and rack-1-04 with 3 + 1 + 3 = 7; sw-02: 14 racks of 9 and rack-2-15 with 5
    "topograph-dual-irregular.yaml": (
        *(13 * 9 + 7 + 14 * 9 + 5, None, None, None, None),
        [(1, "leaf", 29, 9), (2, "spine", 2, 131), (3, "core", 1, 255)],
    ),
    # 4 + 4 hosts on two leaf groups of two rails, one host without a peer
    "ufm-ports.json": (9, None, None, None, None, [(1, "leaf", 2, 4), (2, "spine", 1, 8)]),
    # two compute nodes of 4 GPUs in one NVLink domain; the type of the GPUs is not told
    "netq-computeNodes.json": (2, None, None, None, 8, [(1, "nvlink", 1, 2)]),
    # 119 names gpu-*; `localhost`, `ubuntu`, the fabric manager and 69 nameless cards are no nodes
    "ibnetdiscover.out": (119, None, None, None, None, [(1, "leaf", 8, 18), (2, "spine", 1, 119)]),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_a_cluster_file_gives_the_numbers_worked_out_by_hand(name):
    fleet, findings = read_fleet([CLUSTERS / name])
    (cluster,) = summarise_fleet(fleet)
    keys = ("nodes_total", "nodes_usable", "device", "devices_per_node", "devices_total")
    tiers = [(t["tier"], t["name"], t["domains"], t["largest_nodes"]) for t in cluster["tiers"]]
    assert (*(cluster[key] for key in keys), tiers) == EXPECTED[name]
    assert [finding for finding in findings if finding.severity == "error"] == []


# file -> codes of what must be said
SAID = {
    "nodes-eks-p4d.json": ["HF349", "HF347"],
    "nodes-gke-a3mega.json": ["HF331", "HF328", "HF349", "HF347"],
    "nodes-aks-h100.json": ["HF328", "HF347"],
    "nodes-gb200-nvl72-topograph.json": ["HF331", "HF349", "HF339", "HF347"],
    "nodes-mixed-quirks.json": [
        *("HF307", "HF310", "HF311", "HF313", "HF313", "HF314", "HF315", "HF316", "HF317"),
        *("HF328", "HF345", "HF345", "HF347"),
    ],
    "hypernodes-selectors.json": ["HF334"],
    "ufm-ports.json": ["HF328", "HF349"],
    "ibnetdiscover.out": ["HF336", "HF349"],
}


@pytest.mark.parametrize("name", SAID)
def test_what_a_cluster_file_hides_is_said(name):
    _, findings = read_fleet([CLUSTERS / name])
    assert [finding.code for finding in findings] == SAID[name]


def test_nodes_that_are_left_out_are_named_by_cause():
    fleet, _ = read_fleet([CLUSTERS / "nodes-mixed-quirks.json"])
    assert {node: exclusion.cause for exclusion in fleet.clusters[0].excluded for node in exclusion.nodes} == {
        "a100-mig-mixed": "cut into MIG slices (1g.10gb, 3g.40gb)",
        "a100-mig-single": "cut into MIG slices (1g.10gb)",
        "l40s-shared": "time-sliced: one GPU is offered several times",
        "h100-notready": "not ready (Ready=Unknown)",
        "h100-cordoned": "cordoned",
        "passthrough": "handed to virtual machines as PCI functions"
        " (AD102_GEFORCE_RTX_4090, AD102_HIGH_DEFINITION_AUDIO_CONTROLLER)",
        "cpu-only": "no accelerator",
        "gpu-no-labels": "nvidia.com/gpu without a label that names the device",
    }


def test_nvlink_domains_count_only_nodes_whose_fabric_is_up():
    fleet, _ = read_fleet([CLUSTERS / "nodes-gb200-nvl72-topograph.json"])
    sizes = {group.nvlink_domain: group.count for group in fleet.clusters[0].groups}
    assert sizes == {72: 18, 68: 17, None: 1}


def test_karmada_clusters_are_counted_as_the_plane_counts_them():
    fleet, findings = read_fleet([CLUSTERS / "karmada-clusters.json"])
    rows = {
        c["name"]: (c["nodes_total"], c["nodes_usable"], c["devices_total"], c["devices_free"])
        for c in summarise_fleet(fleet)
    }
    assert rows == {
        "b200-east": (16, 15, 128, 96),
        "h100-west": (16, 15, 127, 127),
        "ascend-north": (16, 15, 96, 96),
        "no-volcano": (16, 0, 64, 0),
        "down": (16, 0, 64, 0),
        "no-summary": (16, 15, None, None),
        "full": (16, 15, 64, 0),
    }
    assert [(f.code, f.where) for f in findings] == [
        ("HF340", "cluster b200-east"),
        ("HF341", "cluster no-volcano"),
        ("HF341", "cluster down"),
        ("HF342", "cluster no-summary"),
        ("HF343", "cluster full"),
    ]


@pytest.mark.parametrize(
    ("name", "codes"),
    [
        ("hypernodes-doc-example2.yaml", {"HF332"}),
        ("ibnetdiscover-bad.out", {"HF335"}),
        ("index.json", {"HF300"}),
    ],
)
def test_what_cannot_be_read_is_refused_by_name(name, codes):
    with pytest.raises(InputError) as caught:
        read_fleet([CLUSTERS / name])
    assert {finding.code for finding in caught.value.findings} == codes
    assert all(name in finding.where for finding in caught.value.findings)


def test_every_cluster_file_is_tested_here():
    known = {*EXPECTED, "karmada-clusters.json", "hypernodes-doc-example2.yaml", "ibnetdiscover-bad.out", "index.json"}
    assert {path.name for path in CLUSTERS.iterdir()} == known
    assert {"clusters/" + name for name in known} >= {
        row["file"] for row in json.loads((CLUSTERS / "index.json").read_text())
    }
