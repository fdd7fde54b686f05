"""Which version of a target has which field."""

import pytest

from hyperflow.catalog.data import load
from hyperflow.catalog.targets import (
    assumed_versions,
    describe_feature,
    first_version,
    has_feature,
    parse_version,
)
from hyperflow.spec.fleet import TargetVersions


@pytest.mark.parametrize(
    ("product", "feature", "version", "has"),
    [
        ("volcano", "network-topology", "1.11.0", False),
        ("volcano", "network-topology", "v1.12.0", True),
        ("volcano", "partition-policy", "1.13.9", False),
        ("volcano", "partition-policy", "1.14.0", True),
        ("volcano", "partition-policy", "1.14.0-alpha.0", False),
        ("volcano", "safe-partitions", "1.14.3", False),
        ("volcano", "safe-partitions", "1.14.4", True),
        ("volcano", "safe-partitions", "1.15.0", False),
        ("volcano", "safe-partitions", "1.15.1", True),
        ("volcano", "network-topology-default-tier", "1.13.2", True),
        ("volcano", "network-topology-default-tier", "1.14.0", False),
        ("volcano_global", "plane-restart-partition", "0.3.0", False),
        ("hyperjob_crd", "partition-policy", "shipped", False),
        ("hyperjob_crd", "partition-policy", "patched", True),
        ("hyperjob_crd", "default-tier-one", "patched", False),
        ("karmada", "overflow-affinities", "1.17.4", False),
        ("volcano", "partition-policy", "ed72c7c", True),
        ("volcano", "network-topology-default-tier", "ed72c7c", False),
    ],
)
def test_feature_is_there_exactly_in_its_versions(product, feature, version, has):
    assert has_feature(product, feature, version) is has


def test_a_pre_release_sorts_before_its_release_and_text_is_no_version():
    assert parse_version("1.16.0-alpha.1") < parse_version("1.16") < parse_version("1.16.1")
    assert parse_version("HEAD") is None


def test_assumed_versions_are_named_and_stated_ones_kept():
    filled, names = assumed_versions(TargetVersions(volcano="1.14.4", hyperjob_crd="patched"))
    assert (filled.volcano, filled.hyperjob_crd) == ("1.14.4", "patched")
    assert names == (f"karmada {filled.karmada}", f"volcano_global {filled.volcano_global}")


def test_the_assumed_floor_has_every_volcano_feature_that_is_safe_to_use():
    assumed, _ = assumed_versions(TargetVersions())
    assert has_feature("volcano", "safe-partitions", assumed.volcano or "")


@pytest.mark.parametrize("product", ["volcano", "volcano_global", "karmada", "hyperjob_crd"])
def test_every_row_says_what_it_is_and_where_it_was_seen(product):
    for feature, row in load("targets.yaml")[product].items():
        assert row["source"] and describe_feature(product, feature)
        assert product == "hyperjob_crd" or row["since"] is None or parse_version(first_version(product, feature))
