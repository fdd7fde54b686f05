import json
from pathlib import Path

import pytest

from hyperflow.admission.karmada_estimator import (
    DEFAULT_MODELS,
    estimate_replicas,
    exact_models,
    foresee_refusal,
    grade_nodes,
    models_patch,
)
from hyperflow.spec.fleet import Cluster, KarmadaView, NodeGroup, ResourceModelGrade
from hyperflow.units import parse_quantity

RECORDED = Path(__file__).parents[3] / ".." / "shared" / "data" / "karmada_estimates.json"
GIB = 1024**3
NODE = {"cpu": 64.0, "memory": 256.0 * GIB, "nvidia.com/gpu": 8.0}
SUMS = {"cpu": 1024.0, "memory": 4096.0 * GIB, "nvidia.com/gpu": 128.0, "pods": 1760.0}


def _view(models):
    return KarmadaView(resource_models=models, modelings=grade_nodes(models, [NODE] * 16), allocatable=SUMS)


def _cluster(models, view=True):
    group = NodeGroup(device="H100-80GB-SXM", count=16, devices_per_node=8, allocatable=NODE)
    return Cluster(name="beijing", groups=(group,), karmada=_view(models) if view else None)


def _trials():
    return json.loads(RECORDED.read_text())["trials"] if RECORDED.is_file() else []


@pytest.mark.skipif(not RECORDED.is_file(), reason="../shared is absent: recorded Karmada estimates not tested")
@pytest.mark.parametrize("trial", _trials(), ids=lambda trial: trial["id"])
def test_each_recorded_trial_is_placed_or_refused_as_karmada_did(trial):
    models = tuple(
        ResourceModelGrade(
            grade=grade["grade"],
            ranges={r["name"]: (parse_quantity(r["min"]), parse_quantity(r["max"])) for r in grade["ranges"]},
        )
        for grade in trial["resource_models"]
    )
    asked = {
        "cpu": trial["request"]["cpu"],
        "memory": trial["request"]["memory"],
        "nvidia.com/gpu": trial["request"]["gpu"],
    }
    request = {name: parse_quantity(amount) for name, amount in asked.items() if amount}
    estimate = estimate_replicas(_view(models), request)
    assert (estimate.replicas >= trial["request"]["replicas"]) == (trial["scheduled"] is not None)


def test_idle_nodes_have_the_grade_that_karmada_gave_them():
    assert grade_nodes(DEFAULT_MODELS, [NODE] * 16) == {6: 16}


def test_the_patch_lets_whole_node_pods_through_and_no_more_than_there_are_nodes():
    patch = models_patch(_cluster(DEFAULT_MODELS))
    assert patch["metadata"] == {"name": "beijing"}
    assert patch["spec"]["resourceModels"] == [
        {
            "grade": 0,
            "ranges": [
                {"name": "cpu", "min": "0", "max": "64"},
                {"name": "memory", "min": "0", "max": "256Gi"},
                {"name": "nvidia.com/gpu", "min": "0", "max": "8"},
            ],
        },
        {
            "grade": 1,
            "ranges": [
                {"name": "cpu", "min": "64", "max": "9223372036854775807"},
                {"name": "memory", "min": "256Gi", "max": "9223372036854775807"},
                {"name": "nvidia.com/gpu", "min": "8", "max": "9223372036854775807"},
            ],
        },
    ]
    request = {"cpu": 16, "memory": 100 * GIB, "nvidia.com/gpu": 8}
    assert estimate_replicas(_view(exact_models([NODE])), request).replicas == 16


def test_shapes_that_do_not_grow_together_have_no_exact_grades():
    small = {"cpu": 32.0, "memory": 128.0 * GIB, "nvidia.com/gpu": 4.0}
    assert len(exact_models([NODE, small])) == 3
    assert exact_models([NODE, {**small, "cpu": 128.0}]) == ()
    assert exact_models([NODE, {**small, "cpu": 64.0}]) == ()
    assert exact_models([]) == ()


def test_what_is_held_lowers_the_estimate_and_never_below_zero():
    free = KarmadaView(allocatable=SUMS, allocated={"nvidia.com/gpu": 100.0}, allocating={"nvidia.com/gpu": 4.0})
    assert estimate_replicas(free, {"nvidia.com/gpu": 8}).replicas == 3
    full = KarmadaView(allocatable=SUMS, allocated={"nvidia.com/gpu": 200.0})
    assert estimate_replicas(full, {"nvidia.com/gpu": 8}).replicas == 0
    assert estimate_replicas(KarmadaView(), {"cpu": 1}).replicas == 0


def test_a_refusal_is_foreseen_with_the_patch():
    finding = foresee_refusal(_cluster(DEFAULT_MODELS))
    assert finding is not None
    patch = json.dumps({"spec": models_patch(_cluster(DEFAULT_MODELS))["spec"]}, separators=(",", ":"))
    assert finding.as_text() == (
        "warning[HF340] beijing will be refused by Karmada: nvidia.com/gpu not in its resource models\n"
        "  --> cluster beijing\n"
        "  got 0 possible of 1 pods of {cpu: 1, memory: 1Gi, nvidia.com/gpu: 8},"
        " expected resource models whose bounds are the nodes' allocatable, or none\n"
        f"  hint: kubectl patch cluster beijing --type merge -p '{patch}'"
    )


def test_a_pod_larger_than_its_grade_is_foreseen_with_the_bound():
    finding = foresee_refusal(_cluster(DEFAULT_MODELS), {"cpu": 33}, 2)
    assert finding is not None
    assert finding.message == (
        "beijing will be refused by Karmada: nodes count as 32 of cpu, the lower bound of their grade"
    )


def test_a_cluster_without_room_is_not_blamed_on_its_models():
    finding = foresee_refusal(_cluster(()), {"nvidia.com/gpu": 8}, 17)
    assert finding is not None
    assert finding.message == "beijing will be refused by Karmada: 128 of nvidia.com/gpu free in the cluster"
    assert finding.hint == "ask for fewer nodes"


@pytest.mark.parametrize("models", [(), exact_models([NODE])])
def test_nothing_is_foreseen_where_the_job_goes_through(models):
    assert foresee_refusal(_cluster(models), {"cpu": 16, "nvidia.com/gpu": 8}, 16) is None
    assert foresee_refusal(_cluster(models, view=False)) is None
