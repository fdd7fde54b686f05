"""What a version of Volcano, volcano-global, Karmada or the HyperJob CRD has, by catalog/targets.yaml."""

import re
from collections.abc import Mapping

from hyperflow.catalog.data import load
from hyperflow.json_tree import mapping, sequence, text
from hyperflow.spec.fleet import TargetVersions

_VERSION = re.compile(r"v?(\d+)\.(\d+)(?:\.(\d+))?(?:[-+](.*))?")


def parse_version(version: str) -> tuple[int, int, int, int] | None:
    """Read `v1.15.0-alpha.0` as comparable numbers, a pre-release before its release; None when it is no version.

    >>> parse_version("v1.14.2") > parse_version("1.14.2-rc.0")
    True
    """
    match = _VERSION.fullmatch(version.strip())
    if match is None:
        return None
    major, minor, patch, tail = match.groups()
    return int(major), int(minor), int(patch or 0), 0 if tail else 1


def assumed_versions(stated: TargetVersions) -> tuple[TargetVersions, tuple[str, ...]]:
    """Fill in the versions that are not stated with the newest safe floor; also name what was assumed."""
    floor: Mapping[str, str] = load("targets.yaml")["assumed"]
    missing = {field: floor[field] for field in floor if getattr(stated, field) is None}
    return stated.model_copy(update=missing), tuple(f"{field} {value}" for field, value in sorted(missing.items()))


def has_feature(product: str, feature: str, version: str) -> bool:
    """Say whether that version has the feature; the newest sources' answer for a text that is no version.

    For product `hyperjob_crd` the version is `shipped` or `patched`. Raises KeyError for an unknown feature.
    """
    row = load("targets.yaml")[product][feature]
    if product == "hyperjob_crd":
        return version in sequence(row["has"])
    since = mapping(row).get("since")
    if since is None:
        return False
    got = parse_version(version)
    if got is None:
        return "until" not in row
    if got < _number(since) or got[:3] in [_number(bad)[:3] for bad in sequence(mapping(row).get("except"))]:
        return False
    until = text(mapping(row).get("until"))
    return not until or got < _number(until)


def first_version(product: str, feature: str) -> str | None:
    """Give the first version that has the feature, None when no known one has."""
    return load("targets.yaml")[product][feature].get("since")


def describe_feature(product: str, feature: str) -> str:
    """Say for people what the feature is."""
    return load("targets.yaml")[product][feature]["what"]


def _number(version: str) -> tuple[int, int, int, int]:
    got = parse_version(version)
    assert got is not None, f"targets.yaml holds a bad version {version!r}"
    return got
