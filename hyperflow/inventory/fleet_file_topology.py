"""The parts of fleet.yaml below a cluster: tiers, HyperNodes, taints and what Karmada believes."""

from hyperflow.inventory.hostlists import expand_hosts
from hyperflow.inventory.mapping_fields import Fields, shown
from hyperflow.spec.fleet import HyperNode, HyperNodeMember, KarmadaView, ResourceModelGrade, Taint, Tier
from hyperflow.units import parse_quantity


def read_tier(fields: Fields, number: int) -> Tier | None:
    """Read one tier: `{tier, name, domain_nodes: [18, 16]}` or `{tier, name, domains: 6, nodes: 18}`."""
    here = len(fields.findings)
    tier = fields.integer("tier", number)
    name = fields.text("name")
    sizes = fields.items("domain_nodes")
    domains, nodes = fields.integer("domains", least=1), fields.integer("nodes")
    known = fields.take("known")
    fields.finish()
    if domains is not None and nodes is not None and not sizes and domains <= 1_000_000:
        sizes = [nodes] * domains
    whole = all(isinstance(size, int) and not isinstance(size, bool) and size >= 0 for size in sizes)
    if not sizes or not whole:
        fields.fault("domain_nodes", shown(sizes or None), "a list of node counts, or `domains:` and `nodes:`")
    if known not in (None, True, False):
        fields.fault("known", shown(known), "true or false")
    if len(fields.findings) > here or tier is None:
        return None
    return Tier(tier=tier, name=name, domain_nodes=tuple(sizes), known=known is not False)


def read_hypernode(fields: Fields) -> HyperNode | None:
    """Read one HyperNode: `{name, tier, tier_name, nodes: [host lists]}` or `hypernodes: [names]`."""
    here = len(fields.findings)
    name, tier = fields.text("name", required=True), fields.integer("tier", required=True)
    tier_name = fields.text("tier_name")
    members: list[HyperNodeMember] = []
    for item in fields.items("nodes"):
        try:
            if not isinstance(item, str | int) or isinstance(item, bool):
                raise ValueError("not a text")
            members += [HyperNodeMember(type="Node", name=node) for node in expand_hosts(str(item))]
        except ValueError as error:
            fields.fault("nodes", shown(item), "names or ranges such as node[01-16]", str(error))
    members += [HyperNodeMember(type="HyperNode", name=child) for child in fields.names("hypernodes")]
    fields.finish()
    if len(fields.findings) > here or tier is None:
        return None
    return HyperNode(name=name, tier=tier, tier_name=tier_name, members=tuple(members))


def read_taints(fields: Fields) -> tuple[Taint, ...]:
    """Read `taints: [{key, value, effect}]`."""
    taints: list[Taint] = []
    for i, item in enumerate(fields.items("taints")):
        one = Fields(item, f"{fields.at('taints')}[{i}]", fields.findings)
        key, value = one.text("key", required=True), one.text("value")
        effect = one.choice("effect", ("NoSchedule", "PreferNoSchedule", "NoExecute"), "NoSchedule")
        one.finish()
        taints.append(Taint.model_validate({"key": key, "value": value, "effect": effect}))
    return tuple(taints)


def read_karmada_view(fields: Fields | None) -> KarmadaView | None:
    """Read `karmada:`; quantities as Kubernetes writes them, an open maximum as null."""
    if fields is None:
        return None
    models: list[ResourceModelGrade] | None = None
    if "resource_models" in fields.values:
        models = [
            _read_grade(Fields(item, f"{fields.at('resource_models')}[{i}]", fields.findings), i)
            for i, item in enumerate(fields.items("resource_models"))
        ]
    view = {
        "unusable": fields.text("unusable"),
        "nodes_total": fields.integer("nodes_total"),
        "nodes_ready": fields.integer("nodes_ready"),
        "labels": fields.texts("labels"),
        "taints": read_taints(fields),
        "resource_models": models if models is None else tuple(models),
        "modelings": _read_modelings(fields),
        "allocatable": _read_quantities(fields, "allocatable") if "allocatable" in fields.values else None,
        "allocated": _read_quantities(fields, "allocated"),
        "allocating": _read_quantities(fields, "allocating"),
    }
    fields.finish()
    return KarmadaView.model_validate(view)


def _read_quantities(fields: Fields, key: str) -> dict[str, float]:
    child = fields.child(key)
    if child is None:
        return {}
    read = {name: child.parsed(name, _quantity, "a quantity") for name in list(child.values)}
    return {name: value for name, value in read.items() if value is not None}


def _quantity(value: object) -> float:
    return parse_quantity(str(value))


def _read_modelings(fields: Fields) -> dict[int, int]:
    child = fields.child("modelings")
    counts: dict[int, int] = {}
    for key in list(child.values) if child else []:
        assert child is not None
        count = child.integer(key)
        if key.isascii() and key.isdigit() and len(key) < 9 and count is not None:
            counts[int(key)] = count
        else:
            child.fault(key, shown(count), "a grade number with a node count")
    return counts


def _read_grade(fields: Fields, index: int) -> ResourceModelGrade:
    grade = fields.integer("grade", index)
    child = fields.child("ranges")
    ranges: dict[str, tuple[float, float | None]] = {}
    for name in list(child.values) if child else []:
        assert child is not None
        bounds = child.items(name)
        try:
            low, high = bounds
            ranges[name] = (_quantity(low), None if high is None else _quantity(high))
        except ValueError:
            child.fault(name, shown(bounds), "[minimum, maximum or null]")
    fields.finish()
    return ResourceModelGrade(grade=grade if grade is not None else index, ranges=ranges)
