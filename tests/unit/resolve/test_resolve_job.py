"""Names are looked up once, here; what cannot be found is told with the nearest known one."""

from pathlib import Path

import pytest

from hyperflow.errors import InputError
from hyperflow.inventory.models import load_model
from hyperflow.resolve.resolve_job import resolve
from hyperflow.simulate.orders import SCHEDULES
from hyperflow.spec.fleet import Cluster, Fleet, Link, NodeGroup, Tier
from hyperflow.spec.training_job import ModelRequest, Parallelism, Placement, TierConstraint, Topology, TrainingJob

REQUEST = ModelRequest(layers=2, hidden=64, ffn=64, heads=1, vocab=64, seq=64)
TIERS = (Tier(tier=1, name="rack", domain_nodes=(4, 4)), Tier(tier=2, name="row", domain_nodes=(8,)))


def cluster(name="beijing", device="H100", count=8, tiers=TIERS):
    group = NodeGroup(device=device, count=count, devices_per_node=8)
    return Cluster(name=name, groups=(group,), tiers=tiers)


def job(*clusters, links=(), **changes):
    values = {
        "name": "toy",
        "image": "registry.example.com/x:1",
        "model": REQUEST,
        "on": Placement(fleet=Fleet(clusters=clusters, links=links)),
    }
    return TrainingJob(**{**values, **changes})


@pytest.fixture
def model():
    return load_model(REQUEST, Path())[0]


def findings_of(declared, model):
    with pytest.raises(InputError) as caught:
        resolve(declared, model)
    return caught.value.findings


def test_a_device_alias_becomes_its_catalogue_key(model):
    resolved = resolve(job(cluster(device="h100")), model)
    assert resolved.clusters[0].groups[0].device == "H100-80GB-SXM"
    assert set(resolved.devices) == {"H100-80GB-SXM"}


def test_an_unknown_device_is_refused_with_the_nearest(model):
    (finding,) = findings_of(job(cluster(device="MI300Y")), model)
    assert finding.as_text() == (
        'error[HF121] unknown device "MI300Y" in cluster "beijing"\n'
        '  --> cluster "beijing"\n'
        "  got MI300Y, expected a device of the catalogue\n"
        '  hint: did you mean "MI300X"?'
    )


@pytest.mark.parametrize(
    ("alias", "key"),
    [("A100-80GB", "A100-80GB-SXM"), ("A100-40GB", "A100-40GB-SXM"), ("H100-80GB", "H100-80GB-SXM")],
)
def test_a_device_with_its_memory_and_no_form_is_the_one_that_the_bare_name_means(model, alias, key):
    assert set(resolve(job(cluster(device=alias)), model).devices) == {key}


def test_an_unknown_device_near_an_alias_is_told_the_alias(model):
    (finding,) = findings_of(job(cluster(device="H1000")), model)
    assert finding.hint == 'did you mean "H100"?'


def test_a_tier_of_a_cluster_without_tiers_is_refused_with_where_tiers_are_declared(model):
    topology = Topology(job=TierConstraint(mode="hard", tier="rack"))
    (finding,) = findings_of(job(cluster(tiers=()), topology=topology), model)
    assert finding.as_text() == (
        "error[HF126] unknown tier 'rack' in cluster \"beijing\"\n"
        "  --> @hf.topology(job=)\n"
        "  got rack, expected a cluster with tiers\n"
        "  hint: hf.Cluster has no tiers; they are declared in a fleet file (docs/fleets.md)"
    )


@pytest.mark.parametrize(
    ("asked", "hint"),
    [
        ("nonsense", "docs/schedules.md says what each of them does"),
        ("1F2B", 'did you mean "1f1b"?'),
        ("atuo", 'did you mean "auto"?'),
    ],
)
def test_an_unknown_schedule_is_refused_with_its_place_and_all_that_are_known(model, asked, hint):
    (finding,) = findings_of(job(cluster(), parallel=Parallelism(schedule=asked)), model)
    assert finding.as_text() == (
        f"error[HF650] unknown schedule {asked!r}\n"
        "  --> @hf.parallel(schedule=)\n"
        f"  got {asked}, expected one of auto, {', '.join(SCHEDULES)}\n"
        f"  hint: {hint}"
    )


def test_a_fleet_without_usable_nodes_is_refused_with_the_count(model):
    (finding,) = findings_of(job(cluster(count=0)), model)
    assert (finding.code, finding.message, finding.got) == (
        "HF122",
        "the fleet has no usable node",
        "1 clusters, 0 usable nodes",
    )


def test_one_empty_cluster_among_others_is_left_out_with_a_warning(model):
    resolved = resolve(job(cluster(), cluster("shanghai", count=0)), model)
    assert [c.name for c in resolved.clusters] == ["beijing"]
    (finding,) = resolved.findings
    assert (finding.code, finding.severity) == ("HF125", "warning")
    assert finding.message == 'cluster "shanghai" has no usable node and is left out'


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "Toy_Job"}, "name 'Toy_Job' is not a legal name"),
        ({"name": "1toy"}, "name '1toy' is not a legal name"),
        ({"name": "a" * 31}, f"name '{'a' * 31}' is not a legal name"),
        ({"namespace": "a.b"}, "namespace 'a.b' is not a legal name"),
        ({"queue": "LLM"}, "queue 'LLM' is not a legal name"),
        ({"priority": "very high"}, "priority 'very high' is not a legal name"),
        ({"image": "a b"}, "image 'a b' is not a legal name"),
    ],
)
def test_names_that_kubernetes_refuses_are_refused(model, changes, message):
    (finding,) = findings_of(job(cluster(), **changes), model)
    assert (finding.code, finding.message) == ("HF123", message)


@pytest.mark.parametrize("name", ["x y/Z", "上海", "a" * 49, "a.b"])
def test_a_cluster_name_that_karmada_refuses_is_refused_among_several(model, name):
    (finding,) = findings_of(job(cluster(), cluster(name)), model)
    assert (finding.code, finding.message) == ("HF123", f"cluster name {name!r} is not a legal name")
    assert finding.expected == "lower-case letters, digits or -, at most 48, as Karmada demands"
    assert resolve(job(cluster(name)), model).clusters[0].name == name


def test_the_longest_legal_job_name_passes(model):
    assert resolve(job(cluster(), name="a" * 30), model).job.name == "a" * 30


def test_cluster_names_in_fallbacks_and_links_must_exist(model):
    link = Link(a="beijing", b="shanghia", bytes_per_second=1e9, round_trip_seconds=0)
    declared = job(cluster(), cluster("shanghai"), links=(link,), fallback={"bejing": ("shanghai",)})
    found = findings_of(declared, model)
    assert [(f.code, f.message, f.hint) for f in found] == [
        ("HF124", 'unknown cluster "bejing" in fallback', 'did you mean "beijing"?'),
        ("HF124", 'unknown cluster "shanghia" in on.links', 'did you mean "shanghai"?'),
    ]


def test_a_tier_name_becomes_its_number_in_each_cluster(model):
    flat = (Tier(tier=1, name="row", domain_nodes=(8,)),)
    topology = Topology(job=TierConstraint(mode="hard", tier="row"), stage=TierConstraint(mode="soft"))
    resolved = resolve(job(cluster(), cluster("shanghai", tiers=flat), topology=topology), model)
    assert resolved.job_tier is not None and resolved.job_tier.number_by_cluster == {"beijing": 2, "shanghai": 1}
    assert resolved.stage_tier is not None and resolved.stage_tier.mode == "soft"


def test_t7_an_unknown_tier_is_an_error_with_the_nearest_name(model):
    (finding,) = findings_of(job(cluster(), topology=Topology(job=TierConstraint(mode="hard", tier="rak"))), model)
    assert finding.as_text() == (
        "error[HF126] unknown tier 'rak' in cluster \"beijing\"\n"
        "  --> @hf.topology(job=)\n"
        "  got rak, expected one of rack(1), row(2)\n"
        '  hint: did you mean "rack"?'
    )
