from pathlib import Path

import pytest

from hyperflow.errors import InputError
from hyperflow.inventory.fleet import load_fleet, write_fleet
from hyperflow.spec.fleet import LinkKind

FLEET = """\
schema_version: hyperflow.fleet/v1
versions: {karmada: 1.19.0, hyperjob_crd: patched}
clusters:
  - name: beijing
    region: cn-beijing
    groups:
      - {device: B200, count: 16, devices_per_node: 8, free_devices: 100, allocatable: {cpu: 192, memory: 2000GiB}}
    tiers:
      - {tier: 1, name: rack, domain_nodes: [9, 7]}
      - {tier: 2, name: row, domains: 1, nodes: 16}
    versions: {volcano: 1.15}
  - name: shanghai
    groups:
      - {device: H100, node_names: ["n[01-04]"], devices_per_node: 8, network: roce, network_gbps: 400}
links:
  - {a: beijing, b: shanghai, gbps: 100, rtt_ms: 25, curve: [{size: 64MiB, ms: 12}]}
"""


def _write(tmp_path, text, name="fleet.yaml"):
    path = tmp_path / name
    path.write_text(text)
    return path


def _errors(path):
    with pytest.raises(InputError) as caught:
        load_fleet([path])
    return str(caught.value)


def test_a_hand_written_fleet_is_read_with_its_units_converted(tmp_path):
    fleet, findings = load_fleet([_write(tmp_path, FLEET)])
    beijing, shanghai = fleet.clusters
    assert findings == ()
    assert (beijing.devices_total, shanghai.nodes_usable) == (128, 4)
    assert beijing.groups[0].device == "B200-SXM"
    assert beijing.groups[0].resource == "nvidia.com/gpu"
    assert beijing.groups[0].allocatable == {"cpu": 192, "memory": 2000 * 1024**3}
    assert [tier.domain_nodes for tier in beijing.tiers] == [(9, 7), (16,)]
    assert beijing.versions.volcano == "1.15"
    assert shanghai.groups[0].node_names == ("n01", "n02", "n03", "n04")
    assert shanghai.groups[0].network == LinkKind.ROCE
    assert shanghai.groups[0].network_bytes_per_second_per_device == 50e9
    link = fleet.link("shanghai", "beijing")
    assert link is not None
    assert (link.bytes_per_second, link.round_trip_seconds, link.kind) == (12.5e9, 0.025, LinkKind.WAN)
    assert link.curve == ((64 * 1024**2, 0.012),)


def test_a_written_fleet_is_read_back_equal(tmp_path):
    fleet, _ = load_fleet([_write(tmp_path, FLEET)])
    again, _ = load_fleet([_write(tmp_path, write_fleet(fleet), "again.yaml")])
    assert again == fleet


@pytest.mark.parametrize(
    ("link", "bytes_per_second", "seconds"),
    [
        ("kind: infiniband, rtt_ms: 0.02", 50e9, 0.00002),
        ("kind: infiniband, gbps: 3200, rtt_ms: 0.02", 400e9, 0.00002),
        ("kind: wan, gbps: 100, km: 1200", 12.5e9, 0.012),
        ("gbps: 100, km: 1200, rtt_ms: 30", 12.5e9, 0.03),
    ],
)
def test_a_link_takes_its_rate_and_latency_from_what_is_given_or_its_kind(tmp_path, link, bytes_per_second, seconds):
    text = FLEET.split("links:")[0] + f"links: [{{a: beijing, b: shanghai, {link}}}]\n"
    (read,) = load_fleet([_write(tmp_path, text)])[0].links
    assert (read.bytes_per_second, read.round_trip_seconds) == pytest.approx((bytes_per_second, seconds))


@pytest.mark.parametrize("link", ["kind: wan, rtt_ms: 1", "kind: ethernet, rtt_ms: 1", "kind: infiniband", "gbps: 1"])
def test_what_no_kind_tells_must_be_given(tmp_path, link):
    text = FLEET.split("links:")[0] + f"links: [{{a: beijing, b: shanghai, {link}}}]\n"
    assert "HF301" in _errors(_write(tmp_path, text))


def test_long_names_and_labels_are_read_whole(tmp_path):
    text = (
        "schema_version: hyperflow.fleet/v1\n"
        "clusters:\n"
        f"  - name: a\n    topology_labels: [[x.io/{'k' * 63}]]\n"
        f"    groups: [{{device: H100, count: 1, devices_per_node: 8, labels: {{x: {'v' * 63}}}}}]\n"
        f"    hypernodes: [{{name: t, tier: 2, hypernodes: [{'h' * 253}]}}]\n"
    )
    (cluster,) = load_fleet([_write(tmp_path, text)])[0].clusters
    assert cluster.topology_labels == (("x.io/" + "k" * 63,),)
    assert cluster.groups[0].labels == {"x": "v" * 63}
    assert cluster.hypernodes[0].members[0].name == "h" * 253


def test_clusters_and_links_may_stand_in_different_files(tmp_path):
    clusters, links = FLEET.split("links:")
    first = _write(tmp_path, clusters, "clusters.yaml")
    second = _write(tmp_path, "schema_version: hyperflow.fleet/v1\nlinks:" + links, "links.yaml")
    fleet, _ = load_fleet([first, second])
    assert fleet.link("beijing", "shanghai") is not None


def test_a_file_that_is_no_fleet_is_refused(tmp_path):
    path = _write(tmp_path, "kind: Service\n")
    assert _errors(path).startswith("error[HF300] ")


def test_a_wrong_value_is_named_with_its_place(tmp_path):
    path = _write(tmp_path, FLEET.replace("memory: 2000GiB", "memory: 2000"))
    assert _errors(path) == (
        "error[HF301] memory is not a size with its unit, such as 512GiB\n"
        f"  --> {path}: clusters[0].groups[0].allocatable.memory\n"
        "  got 2000, expected a size with its unit, such as 512GiB"
    )


def test_an_unknown_key_is_named_with_the_nearest_one(tmp_path):
    path = _write(tmp_path, FLEET.replace("rtt_ms", "rtt_msec").replace(", curve: [{size: 64MiB, ms: 12}]", ""))
    assert _errors(path) == (
        "error[HF301] rtt_ms is not a number of at least 0\n"
        f"  --> {path}: links[0].rtt_ms\n"
        "  got nothing, expected a number of at least 0\n"
        "error[HF302] unknown key 'rtt_msec'\n"
        f"  --> {path}: links[0]\n"
        "  got rtt_msec, expected one of a, b, curve, gbps, kind, km, rtt_ms\n"
        '  hint: did you mean "rtt_ms"?'
    )


def test_an_unknown_device_is_named_with_the_nearest_one(tmp_path):
    path = _write(tmp_path, FLEET.replace("device: H100,", "device: H100-80G,"))
    message = _errors(path)
    assert message.startswith(
        "error[HF303] the catalogue has no device 'H100-80G'\n"
        f"  --> {path}: clusters[1].groups[0].device\n"
        "  got H100-80G, expected one of A100-40GB-SXM, "
    )
    assert message.endswith('hint: did you mean "H100-80GB"?')
    path = _write(tmp_path, FLEET.replace("device: H100,", "device: H1000,"))
    assert _errors(path).endswith('hint: did you mean "H100"?')


def test_two_clusters_of_one_name_are_refused(tmp_path):
    path = _write(tmp_path, FLEET.replace("name: shanghai", "name: beijing").split("links:")[0])
    assert _errors(path) == (
        "error[HF304] two clusters are named 'beijing'\n  --> cluster beijing\n  hint: rename one of them"
    )


def test_a_link_to_nowhere_is_refused(tmp_path):
    path = _write(tmp_path, FLEET.replace("b: shanghai", "b: shangai"))
    assert _errors(path) == (
        "error[HF305] a link names 'shangai', which is no cluster of this fleet\n"
        "  --> link beijing - shangai\n"
        "  got shangai, expected one of beijing, shanghai\n"
        '  hint: did you mean "shanghai"?'
    )


def test_a_fleet_without_its_schema_version_is_refused(tmp_path):
    path = _write(tmp_path, FLEET.replace("hyperflow.fleet/v1", "hyperflow.fleet/v9"))
    assert _errors(path) == (
        "error[HF306] a fleet file must state its schema version\n"
        f"  --> {path}\n"
        "  got hyperflow.fleet/v9, expected hyperflow.fleet/v1\n"
        "  hint: write `schema_version: hyperflow.fleet/v1` on top"
    )


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("count: 16", "count: -1", "clusters[0].groups[0].count"),
        ("count: 16", "count: 1.5", "clusters[0].groups[0].count"),
        ("count: 16", "count: lots", "clusters[0].groups[0].count"),
        ("devices_per_node: 8, free", "devices_per_node: 0, free", "clusters[0].groups[0].devices_per_node"),
        ("[9, 7]", "[9, -7]", "clusters[0].tiers[0].domain_nodes"),
        ("network: roce", "network: token-ring", "clusters[1].groups[0].network"),
        ("n[01-04]", "n[04-01]", "clusters[1].groups[0].node_names"),
        ("n[01-04]", "n[1-4],n2", "clusters[1].groups[0].node_names"),
        ("gbps: 100", "gbps: 0", "links[0].gbps"),
        ("gbps: 100", "gbps: .inf", "links[0].gbps"),
        ("[{size: 64MiB, ms: 12}]", "[{size: 64, ms: 12}]", "links[0].curve[0].size"),
    ],
)
def test_each_wrong_value_is_found_where_it_stands(tmp_path, old, new, place):
    assert old in FLEET
    path = _write(tmp_path, FLEET.replace(old, new))
    assert f"{path}: {place}\n" in _errors(path)


def test_the_example_of_the_documentation_is_read(tmp_path):
    page = (Path(__file__).parents[3] / "docs" / "fleets.md").read_text()
    example = page.split("```yaml\n")[1].split("```")[0]
    fleet, _ = load_fleet([_write(tmp_path, example)])
    assert [(cluster.name, cluster.devices_total) for cluster in fleet.clusters] == [
        ("beijing", 128),
        ("shanghai", 128),
    ]
