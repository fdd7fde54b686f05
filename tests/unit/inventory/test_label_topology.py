import pytest

GPU = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}


def _tiers(fleet):
    return [(tier.name, tier.domain_nodes) for tier in fleet.clusters[0].tiers]


@pytest.mark.parametrize(
    ("keys", "names"),
    [
        (("fabric.topograph.run/tier-0", "fabric.topograph.run/tier-1"), ("leaf", "spine")),
        (("network.topology.nvidia.com/leaf", "network.topology.nvidia.com/spine"), ("leaf", "spine")),
        (("network.topology.nvidia.com/block", "network.topology.nvidia.com/spine"), ("leaf", "spine")),
        (("network.topology.kubernetes.io/block", "network.topology.kubernetes.io/spine"), ("leaf", "spine")),
        (
            ("topology.k8s.aws/network-node-layer-2", "topology.k8s.aws/network-node-layer-1"),
            ("network-node-layer-2", "network-node-layer-1"),
        ),
        (("cloud.google.com/gce-topology-subblock", "cloud.google.com/gce-topology-block"), ("subblock", "block")),
        (("topology.gke.io/rack", "topology.gke.io/cluster"), ("subblock", "block")),
        (
            ("oci.oraclecloud.com/rdma.local_block_id", "oci.oraclecloud.com/rdma.network_block_id"),
            ("local-block", "network-block"),
        ),
        (("volcano.sh/hypernode", "volcano.sh/hypercluster"), ("hypernode", "hypercluster")),
        (("backend.coreweave.cloud/leafgroup", "backend.coreweave.cloud/superpod"), ("leafgroup", "superpod")),
        (("topology-rack", "topology-spine"), ("rack", "spine")),
        (("cloud.provider.com/topology-rack", "cloud.provider.com/topology-block"), ("rack", "block")),
        (("example.com/rack", "example.com/row"), ("rack", "row")),
    ],
)
def test_tiers_count_from_the_leaf_in_every_label_family(read, node, keys, names):
    leaf, above = keys
    nodes = [node(f"n{i}", GPU | {leaf: f"l{i // 2}", above: "s"}) for i in range(5)]
    fleet, _ = read(nodes)
    assert _tiers(fleet) == [(names[0], (2, 2, 1)), (names[1], (5,))]


def test_three_topograph_families_in_one_cluster_are_one_tree(read, node):
    families = [
        ("fabric.topograph.run/tier-0", "fabric.topograph.run/tier-1"),
        ("network.topology.nvidia.com/leaf", "network.topology.nvidia.com/spine"),
        ("network.topology.kubernetes.io/block", "network.topology.kubernetes.io/spine"),
    ]
    nodes = [
        node(f"n{i}{j}", GPU | {leaf: f"leaf-{i}", spine: "spine-1"})
        for i, (leaf, spine) in enumerate(families)
        for j in range(2)
    ]
    fleet, findings = read(nodes)
    assert _tiers(fleet) == [("leaf", (2, 2, 2)), ("spine", (6,))]
    assert findings["HF331"].as_text() == (
        "warning[HF331] nodes state their topology in 3 label families: fabric.topograph.run/tier on 2,"
        " network.topology.kubernetes.io on 2, network.topology.nvidia.com on 2\n"
        "  --> cluster beijing\n"
        "  got n[00-01]\n"
        "  hint: domains of different families may be the same switch under two names; relabel the nodes named here"
    )


def test_a_rack_number_used_in_two_rows_is_two_racks(read, node):
    nodes = [
        node(f"n{r}{k}{i}", GPU | {"x.io/rack": f"{k}", "x.io/row": f"{r}"}) for r in "12" for k in "12" for i in "12"
    ]
    fleet, findings = read(nodes)
    assert _tiers(fleet) == [("rack", (2, 2, 2, 2)), ("row", (4, 4))]
    names = {hypernode.name for hypernode in fleet.clusters[0].hypernodes}
    assert len(names) == 6
    assert findings["HF329"].as_text() == (
        "note[HF329] 2 domain values under several parents; each counts as a domain\n"
        "  --> cluster beijing\n"
        "  got 1, 2\n"
        "  hint: unique values per domain are safer: Volcano's label discovery would merge or refuse these"
    )


def test_a_level_that_a_node_leaves_out_is_taken_from_its_neighbours(read, node):
    nodes = [node("n1", GPU | {"x.io/rack": "a", "x.io/row": "r"}), node("n2", GPU | {"x.io/rack": "a"})]
    fleet, _ = read(nodes)
    assert _tiers(fleet) == [("rack", (2,)), ("row", (2,))]


def test_a_row_label_alone_makes_no_rack(read, node):
    nodes = [node(f"n{i}", GPU | {"topology-rack": f"k{i // 2}", "topology-row": "r"}) for i in range(4)]
    fleet, findings = read([*nodes, node("extra", GPU | {"topology-row": "r"})])
    assert _tiers(fleet) == [("rack", (2, 2)), ("row", (4,))]
    assert findings["HF328"].got == "extra"


def test_tiers_of_nodes_whose_device_is_unknown_are_counted_all_the_same(read, node):
    fleet, _ = read([node(f"n{i}", {"topology-rack": "k"}) for i in range(3)])
    assert fleet.clusters[0].nodes_usable == 0
    assert _tiers(fleet) == [("rack", (3,))]


def test_values_that_clash_between_tiers_get_names_of_their_own(read, node):
    nodes = [node(f"n{i}", GPU | {"volcano.sh/hypernode": f"s{i}", "volcano.sh/hypercluster": "s0"}) for i in range(2)]
    fleet, findings = read(nodes)
    names = [hypernode.name for hypernode in fleet.clusters[0].hypernodes]
    assert names == ["beijing-hypernode-s0", "beijing-s1", "beijing-hypercluster-s0"]
    assert not [finding for finding in findings.values() if finding.severity == "error"]


def test_values_too_long_for_a_name_are_shortened_to_distinct_ones(read, node):
    nodes = [node(f"n{i}", GPU | {"x.io/rack": "r" * 60 + str(i)}) for i in range(2)]
    fleet, _ = read(nodes)
    names = [hypernode.name for hypernode in fleet.clusters[0].hypernodes]
    assert len(set(names)) == 2
    assert all(len(name) <= 63 for name in names)


def test_node_names_tell_the_tree_where_no_label_does(read, node):
    nodes = [
        node(f"node-region1-zone1-dc1-row{row}-rack{rack:02}-node{i:02}")
        for row in (1, 2)
        for rack in (1, 2, 3)
        for i in range(1, 19)
    ]
    fleet, findings = read(nodes)
    assert _tiers(fleet) == [("rack", (18,) * 6), ("row", (54, 54)), ("dc", (108,))]
    assert findings["HF349"].message.startswith("the tiers are read from node names;")


@pytest.mark.parametrize("name", ["gpu-pod1-{}", "podium-{}", "racketeer1-{}", "n{}"])
def test_names_without_a_tree_make_none(read, node, name):
    fleet, _ = read([node(name.format(i)) for i in range(3)])
    assert [t.name for t in fleet.clusters[0].tiers] in ([], ["pod"])


def test_an_nvlink_domain_inside_a_leaf_is_a_tier_below_it(read, node):
    label = "accelerator.topograph.run/domain"
    nodes = [
        node(f"n{i}", GPU | {"fabric.topograph.run/tier-0": f"l{i // 4}", label: f"nvl{i // 2}"}) for i in range(8)
    ]
    fleet, _ = read(nodes)
    assert _tiers(fleet) == [("nvlink", (2, 2, 2, 2)), ("leaf", (4, 4))]
    assert [group.nvlink_domain for group in fleet.clusters[0].groups] == [16]


def test_an_nvlink_domain_equal_to_the_leaf_adds_no_tier(read, node):
    label = "accelerator.topograph.run/domain"
    nodes = [node(f"n{i}", GPU | {"fabric.topograph.run/tier-0": f"l{i // 2}", label: f"d{i // 2}"}) for i in range(4)]
    fleet, _ = read(nodes)
    assert _tiers(fleet) == [("leaf", (2, 2))]


def test_cliques_alone_make_nvlink_domains(read, node):
    nodes = [node(f"n{i}", GPU | {"nvidia.com/gpu.clique": f"uuid.{i // 3}"}) for i in range(6)]
    fleet, _ = read(nodes)
    assert _tiers(fleet) == [("nvlink", (3, 3))]
    assert [group.nvlink_domain for group in fleet.clusters[0].groups] == [24]


def test_a_node_whose_nvlink_fabric_is_down_is_named(read, node):
    label = "network.topology.nvidia.com/accelerator"
    nodes = [node(f"n{i}", GPU | {label: "d", "nvidia.com/gpu.clique": "u.1"}) for i in range(3)]
    fleet, findings = read([*nodes, node("n3", GPU | {label: "d"})])
    assert {g.nvlink_domain: g.count for g in fleet.clusters[0].groups} == {24: 3, None: 1}
    assert findings["HF339"].as_text() == (
        "warning[HF339] 1 node without the nvidia.com/gpu.clique that others of the domain have:"
        " the NVLink fabric is not up there, so they count outside the domain\n"
        "  --> cluster beijing\n"
        "  got n3\n"
        "  hint: check nvidia-fabricmanager and IMEX on them"
    )


def test_a_cluster_without_any_topology_says_so(read, node):
    _, findings = read([node("n1")])
    assert findings["HF328"].as_text() == (
        "warning[HF328] no label, name or file tells its topology: a hard tier cannot be honoured there\n"
        "  --> cluster beijing\n"
        "  hint: give HyperNodes or a fabric file, or label the nodes"
    )
