"""Our own fleet.yaml: the fleet as a person writes it, with units a person uses."""

from collections import Counter
from typing import Any

from hyperflow.catalog.devices import device_names, device_spellings, find_device
from hyperflow.catalog.links import fibre_round_trip, nominal_rate
from hyperflow.errors import Finding, InputError, nearest, raise_errors
from hyperflow.inventory.fleet_file_topology import read_hypernode, read_karmada_view, read_taints, read_tier
from hyperflow.inventory.hostlists import expand_hosts
from hyperflow.inventory.mapping_fields import Fields, parse_size, shown
from hyperflow.spec.fleet import MAX_ROUND_TRIP_MS, Cluster, Exclusion, Fleet, Link, LinkKind, NodeGroup, TargetVersions
from hyperflow.units import gigabits_per_second, parse_quantity

SCHEMA_VERSION = "hyperflow.fleet/v1"
SIZED_RESOURCES = ("memory", "ephemeral-storage", "hugepages-1Gi", "hugepages-2Mi")
_KINDS = tuple(kind.value for kind in LinkKind)


def read_fleet_file(document: dict[str, Any], file: str) -> Fleet:
    """Read one parsed fleet.yaml; raises InputError (HF301-HF306) with every fault in it."""
    findings: list[Finding] = []
    fields = Fields(document, file, findings)
    version = fields.text("schema_version")
    if version != SCHEMA_VERSION:
        raise InputError(
            Finding(
                code="HF306",
                message="a fleet file must state its schema version",
                where=file,
                got=version or "nothing",
                expected=SCHEMA_VERSION,
                hint=f"write `schema_version: {SCHEMA_VERSION}` on top",
            )
        )
    clusters = [
        _read_cluster(Fields(item, f"{file}: clusters[{i}]", findings))
        for i, item in enumerate(fields.items("clusters"))
    ]
    links = [_read_link(Fields(item, f"{file}: links[{i}]", findings)) for i, item in enumerate(fields.items("links"))]
    versions = _read_versions(fields.child("versions"))
    fields.finish()
    raise_errors(findings)
    return Fleet(
        clusters=tuple(cluster for cluster in clusters if cluster),
        links=tuple(link for link in links if link),
        versions=versions,
    )


def _read_cluster(fields: Fields) -> Cluster | None:
    here = len(fields.findings)
    name = fields.text("name", required=True)
    region = fields.text("region")
    groups = [_read_group(fields, i, item) for i, item in enumerate(fields.items("groups"))]
    tiers = [
        read_tier(Fields(item, f"{fields.at('tiers')}[{i}]", fields.findings), i + 1)
        for i, item in enumerate(fields.items("tiers"))
    ]
    hypernodes = [
        read_hypernode(Fields(item, f"{fields.at('hypernodes')}[{i}]", fields.findings))
        for i, item in enumerate(fields.items("hypernodes"))
    ]
    labels = [
        tuple(Fields({"keys": item}, fields.at("topology_labels"), fields.findings).names("keys"))
        for item in fields.items("topology_labels")
    ]
    excluded = [_read_exclusion(fields, i, item) for i, item in enumerate(fields.items("excluded"))]
    versions = _read_versions(fields.child("versions"))
    karmada = read_karmada_view(fields.child("karmada"))
    nodes_total = fields.integer("nodes_total")
    unidentified = fields.integer("unidentified_devices", 0)
    price = fields.number("price_per_device_hour")
    quotas = fields.child("quotas")
    quota_values: dict[str, dict[str, float]] = {}
    if quotas:
        quota_values = {queue: _read_resources(quotas, queue) for queue in quotas.values}
    fields.finish()
    if len(fields.findings) > here:
        return None
    return Cluster(
        name=name,
        region=region,
        groups=tuple(group for group in groups if group),
        nodes_total=nodes_total,
        excluded=tuple(excluded),
        unidentified_devices=unidentified or 0,
        tiers=tuple(tier for tier in tiers if tier),
        hypernodes=tuple(hypernode for hypernode in hypernodes if hypernode),
        topology_labels=tuple(labels),
        versions=versions,
        karmada=karmada,
        quotas=quota_values,
        price_per_device_hour=price,
    )


def _read_group(cluster: Fields, index: int, item: object) -> NodeGroup | None:
    fields = Fields(item, f"{cluster.at('groups')}[{index}]", cluster.findings)
    here = len(fields.findings)
    key = fields.text("device", required=True)
    device = find_device(key)
    if key and device is None:
        fields.findings.append(unknown_device(key, fields.at("device")))
    names = read_names(fields, "node_names")
    gbps = fields.number("network_gbps")
    group: dict[str, Any] = {
        "count": fields.integer("count", len(names) or None, required=not names),
        "devices_per_node": fields.integer("devices_per_node", required=True, least=1),
        "resource": fields.text("resource", device.resource if device else ""),
        "free_devices": fields.integer("free_devices"),
        "nvlink_domain": fields.integer("nvlink_domain", least=1),
        "allocatable": _read_resources(fields, "allocatable"),
        "labels": fields.texts("labels"),
        "taints": read_taints(fields),
        "node_names": names,
        "network": LinkKind(fields.choice("network", _KINDS, "infiniband")),
        "network_bytes_per_second_per_device": gigabits_per_second(gbps) if gbps else None,
    }
    fields.finish()
    if names and group["count"] not in (None, len(names)):
        fields.fault("count", str(group["count"]), f"the number of node_names ({len(names)})")
    if len(fields.findings) > here or device is None:
        return None
    return NodeGroup(device=device.name, **group)


def unknown_device(name: str, where: str) -> Finding:
    """Say that a device is not in the catalogue (HF303)."""
    return Finding(
        code="HF303",
        message=f"the catalogue has no device {shown(name)!r}",
        where=where,
        got=shown(name),
        expected="one of " + ", ".join(device_names()),
        hint=nearest(name, device_spellings())
        or "add it to hyperflow/catalog/devices.yaml (docs/how-to/add-a-device.md)",
    )


def read_names(fields: Fields, key: str) -> tuple[str, ...]:
    """Read a list of host lists such as `[node[01-16], login]`."""
    names: list[str] = []
    for item in fields.items(key):
        try:
            if not isinstance(item, str | int) or isinstance(item, bool):
                raise ValueError("not a text")
            names += expand_hosts(str(item))
        except ValueError as error:
            fields.fault(key, shown(item), "names or ranges such as node[01-16]", str(error))
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated:
        fields.fault(key, ", ".join(repeated[:5]), "each node once")
    return tuple(names)


def _read_resources(fields: Fields, key: str) -> dict[str, float]:
    child = fields.child(key)
    if child is None:
        return {}
    values: dict[str, float] = {}
    for name in list(child.values):
        sized = name in SIZED_RESOURCES
        expected = "a size with its unit, such as 512GiB" if sized else "a quantity"
        value = child.parsed(name, parse_size if sized else _quantity, expected)
        if value is not None:
            values[name] = value
    return values


def _quantity(value: object) -> float:
    return parse_quantity(str(value))


def _read_exclusion(cluster: Fields, index: int, item: object) -> Exclusion:
    fields = Fields(item, f"{cluster.at('excluded')}[{index}]", cluster.findings)
    exclusion = Exclusion(cause=fields.text("cause", required=True), nodes=read_names(fields, "nodes"))
    fields.finish()
    return exclusion


def _read_versions(fields: Fields | None) -> TargetVersions:
    if fields is None:
        return TargetVersions()
    names = ("volcano", "volcano_global", "karmada")
    texts = {name: fields.text(name) or None for name in names}
    crd = fields.choice("hyperjob_crd", ("", "shipped", "patched"), "")
    fields.finish()
    return TargetVersions.model_validate({**texts, "hyperjob_crd": crd or None})


def _read_link(fields: Fields) -> Link | None:
    """Read one link; a kind with a nominal rate needs no `gbps`, and `km` of fibre stand for `rtt_ms`."""
    here = len(fields.findings)
    a, b = fields.text("a", required=True), fields.text("b", required=True)
    kind = LinkKind(fields.choice("kind", _KINDS, "wan"))
    kilometres = fields.number("km")
    gbps = fields.number("gbps", required=nominal_rate(kind) is None)
    rtt = fields.number("rtt_ms", required=kilometres is None)
    curve = _read_curve(fields)
    fields.finish()
    if gbps == 0:
        fields.fault("gbps", "0", "more than 0")
    if rtt is not None and rtt > MAX_ROUND_TRIP_MS:
        fields.fault("rtt_ms", f"{rtt:g}", f"at most {MAX_ROUND_TRIP_MS:,.0f}")
    speed = nominal_rate(kind) if gbps is None else gigabits_per_second(gbps)
    if len(fields.findings) > here or speed is None:
        return None
    seconds = fibre_round_trip(kilometres or 0) if rtt is None else rtt / 1e3
    return Link(a=a, b=b, kind=kind, bytes_per_second=speed, round_trip_seconds=seconds, curve=curve)


def _read_curve(fields: Fields) -> tuple[tuple[float, float], ...]:
    curve: list[tuple[float, float]] = []
    for i, item in enumerate(fields.items("curve")):
        point = Fields(item, f"{fields.at('curve')}[{i}]", fields.findings)
        size, milliseconds = point.parsed("size", parse_size, "a size such as 64MiB"), point.number("ms")
        point.finish()
        if size is None or milliseconds is None:
            point.fault("", shown(item), "a point such as {size: 64MiB, ms: 12}")
        else:
            curve.append((size, milliseconds / 1e3))
    return tuple(curve)
