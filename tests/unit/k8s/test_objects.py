"""Typed objects: the laws of one object, the table of pod fields, and other people's manifests."""

from pathlib import Path

import pytest
import yaml
from kubernetes.client import models

from hyperflow.k8s.karmada import Placement, PlaintextOverrider, PropagationPolicy
from hyperflow.k8s.parse import KINDS, parse_object
from hyperflow.k8s.pod_fields import check_pod_template, pod_field_table
from hyperflow.k8s.volcano import JobSpec, LifecyclePolicy, NetworkTopology, PartitionPolicy, Task
from hyperflow.lower.lower_job import lower
from tests.crd_schemas import schema_of
from tests.manifest_cases import two_cities

SAMPLES = Path(__file__).parents[3] / ".." / "shared" / "third_party" / "manifests"
TEMPLATE = {"metadata": {}, "spec": {"containers": [{"name": "a", "image": "b"}]}}


def task(**fields):
    return {"name": "n", "replicas": 4, "minAvailable": 4, "maxRetry": 3, "template": TEMPLATE, **fields}


def spec(**fields):
    return {"schedulerName": "volcano", "queue": "q", "minAvailable": 4, "maxRetry": 3, "tasks": [task()], **fields}


@pytest.mark.parametrize(
    ("record", "fields", "reason"),
    [
        (NetworkTopology, {"mode": "hard"}, "hard needs exactly one of"),
        (
            NetworkTopology,
            {"mode": "hard", "highestTierAllowed": 1, "highestTierName": "r"},
            "hard needs exactly one of",
        ),
        (NetworkTopology, {"mode": "soft", "highestTierAllowed": 1}, "soft takes no tier"),
        (NetworkTopology, {"mode": "hard", "highestTierAllowed": 0}, "greater than or equal to 1"),
        (PartitionPolicy, {"totalPartitions": 2, "partitionSize": 2, "minPartitions": 3}, "minPartitions is above"),
        (LifecyclePolicy, {"action": "AbortJob"}, "exactly one of event, events and exitCode"),
        (LifecyclePolicy, {"action": "AbortJob", "event": "PodFailed", "exitCode": 1}, "exactly one of event"),
        (LifecyclePolicy, {"action": "AbortJob", "exitCode": 0}, "exit code 0 is no failure"),
        (LifecyclePolicy, {"action": "AbortJob", "event": "PodRunning"}, "Input should be"),
        (LifecyclePolicy, {"action": "Abort", "event": "PodFailed"}, "Input should be"),
        (LifecyclePolicy, {"action": "AbortJob", "event": "PodPending"}, "PodPending without a timeout"),
        (LifecyclePolicy, {"action": "ResumeJob", "event": "PodFailed"}, "ResumeJob answers no failure"),
        (Task, task(minAvailable=5), "minAvailable is above replicas"),
        (Task, task(partitionPolicy={"totalPartitions": 3, "partitionSize": 1, "minPartitions": 3}), "replicas is not"),
        (
            Task,
            task(partitionPolicy={"totalPartitions": 4, "partitionSize": 1, "minPartitions": 2}),
            "minAvailable is not",
        ),
        (Task, task(template={"metadata": {}, "spec": {"container": []}}), 'did you mean "containers"'),
        (JobSpec, spec(minAvailable=5), "minAvailable is above the sum"),
        (JobSpec, spec(tasks=[task(), task()]), "two tasks have one name"),
        (JobSpec, spec(maxRetry=0), "greater than or equal to 1"),
        (PlaintextOverrider, {"path": "spec", "operator": "remove"}, "should match pattern"),
        (PlaintextOverrider, {"path": "/spec", "operator": "replace"}, "replace needs a value"),
        (
            Placement,
            {"replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"}},
            "tears the Job apart",
        ),
    ],
)
def test_object_that_breaks_its_own_law_cannot_be_made(record, fields, reason):
    with pytest.raises(ValueError, match=reason):
        record.model_validate(fields)


def test_hyperjob_takes_no_ttl_no_copies_and_no_second_of_a_name():
    parent = lower(*two_cities()).objects[-1].document()
    for change, reason in (
        (lambda c: c[0]["templateSpec"].update(ttlSecondsAfterFinished=1), "runs the training twice"),
        (lambda c: c[0].update(replicas=2), "Input should be 1"),
        (lambda c: c[1].update(name="beijing"), "two replicatedJobs have one name"),
        (lambda c: c[1].update(clusterNames=[]), "at least 1 item"),
    ):
        broken = lower(*two_cities()).objects[-1].document()
        change(broken["spec"]["replicatedJobs"])
        with pytest.raises(ValueError, match=reason):
            parse_object(broken)
    assert parse_object(parent).document() == parent


def test_policy_selects_in_its_own_namespace():
    policy = lower(*two_cities(), "direct").objects[-3].document()
    policy["spec"]["resourceSelectors"][0]["namespace"] = "other"
    with pytest.raises(ValueError, match="a selector's namespace must be the policy's"):
        PropagationPolicy.model_validate(policy)


NEWER_THAN_THE_SERVERS = {
    "V1ClusterTrustBundleProjection": {"user"},
    "V1ConfigMapVolumeSource": {"defaultUser"},
    "V1DownwardAPIVolumeFile": {"user"},
    "V1DownwardAPIVolumeSource": {"defaultUser"},
    "V1EmptyDirVolumeSource": {"mode"},
    "V1GRPCAction": {"mode"},
    "V1HTTPGetAction": {"protocol"},
    "V1KeyToPath": {"user"},
    "V1PodSpec": {"evictionResponders"},
    "V1ProjectedVolumeSource": {"defaultUser"},
    "V1SecretVolumeSource": {"defaultUser"},
    "V1ServiceAccountTokenProjection": {"user"},
    "V1VolumeMount": {"bindMountOptions"},
}
"""Fields of client 37 that the servers of the recordings (Kubernetes 1.36) do not know and would deny."""


def test_pod_fields_hold_those_of_the_official_client():
    names = {"V1" + name: fields for name, fields in pod_field_table().items()}
    compared = 0
    for name, fields in names.items():
        model = getattr(models, name, None)
        if model is not None:
            missing = set(model.attribute_map.values()) - set(fields) - NEWER_THAN_THE_SERVERS.get(name, set())
            assert not missing, f"{name} lacks {missing}"
            compared += 1
    assert compared > 80


def test_pod_fields_hold_those_of_the_vcjob_schema():
    schema = schema_of("Job", "batch.volcano.sh/v1alpha1")
    template = schema["properties"]["spec"]["properties"]["tasks"]["items"]["properties"]["template"]

    def missing(node, type_name, path):
        if type_name.startswith(("[", "{")):
            return missing(node.get("items") or node.get("additionalProperties") or {}, type_name[1:-1], path)
        fields = pod_field_table().get(type_name)
        if fields is None:
            return []
        found = [f"{path}.{key}" for key in node.get("properties", {}) if key not in fields]
        return found + [
            item
            for key, inner in node.get("properties", {}).items()
            if key in fields
            for item in missing(inner, fields[key], f"{path}.{key}")
        ]

    assert missing(template, "PodTemplateSpec", "template") == []


@pytest.mark.parametrize(
    ("pod", "fault"),
    [
        ({"nodeSelector": {"a": True}}, "spec.nodeSelector.a: must be text, got True"),
        ({"nodeSelector": {"a": 1}}, "spec.nodeSelector.a: must be text, got 1"),
        ({"hostNetwork": "yes"}, "spec.hostNetwork: must be true or false, got 'yes'"),
        ({"priority": 1.5}, "spec.priority: must be a whole number, got 1.5"),
        ({"tolerations": {}}, "spec.tolerations: must be a list"),
        ({"volumes": [{"name": "a", "secret": {"name": "x"}}]}, "spec.volumes[0].secret.name: unknown field"),
    ],
)
def test_pod_field_of_a_wrong_type_is_named(pod, fault):
    assert fault in "\n".join(check_pod_template({"spec": {"containers": [], **pod}}))


def test_quantities_may_be_numbers():
    resources = {"limits": {"cpu": 4, "nvidia.com/gpu": 8}, "requests": {"cpu": "4"}}
    assert check_pod_template({"spec": {"containers": [{"name": "a", "resources": resources}]}}) == []


def test_sample_manifests_parse_or_are_refused_for_a_stated_reason():
    if not SAMPLES.is_dir():
        pytest.skip("the sample manifests are not beside the checkout: other people's manifests were not read")
    parsed, refused = 0, 0
    for path in sorted(SAMPLES.glob("*.yaml")):
        for document in yaml.safe_load_all(path.read_text()):
            if document is None:
                continue
            try:
                item = parse_object(document)
            except ValueError as error:
                assert str(error).strip(), path.name
                refused += 1
            else:
                assert parse_object(item.document()) == item
                parsed += 1
    assert parsed >= 2
    assert refused > 20


def test_every_kind_names_its_api_path():
    assert all(kind.plural and kind.plural.islower() for kind in KINDS)
    assert len({kind.plural for kind in KINDS}) == len(KINDS)
