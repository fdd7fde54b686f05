"""The verb crd: the patched HyperJob CRD, and what a given one drops."""

import json
from pathlib import Path

import pytest
import yaml

from hyperflow.cli import main

CRDS = Path(__file__).parents[3] / ".." / "shared" / "third_party" / "crds"


def crd(group, kind, spec, version="v1alpha1"):
    schema = {"type": "object", "properties": {"spec": spec}}
    versions = [{"name": version, "served": True, "schema": {"openAPIV3Schema": schema}}]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "x"},
        "spec": {"group": group, "names": {"kind": kind}, "scope": "Namespaced", "versions": versions},
    }


def hyperjob_crd(template):
    item = {"type": "object", "properties": {"name": {"type": "string"}, "templateSpec": template}}
    spec = {"type": "object", "properties": {"replicatedJobs": {"type": "array", "items": item}}}
    return crd("training.volcano.sh", "HyperJob", spec)


TASK = {"type": "object", "properties": {"name": {"type": "string"}, "partitionPolicy": {"type": "object"}}}
TIER = {"highestTierAllowed": {"type": "integer"}, "highestTierName": {"type": "string"}}
VCJOB_SPEC = {
    "type": "object",
    "properties": {
        "tasks": {"type": "array", "items": TASK},
        "networkTopology": {"type": "object", "properties": TIER},
    },
}
OLD_TEMPLATE = {
    "type": "object",
    "properties": {
        "tasks": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}}},
        "networkTopology": {
            "type": "object",
            "properties": {"highestTierAllowed": {"type": "integer", "default": 1}},
        },
    },
}


@pytest.fixture
def files(tmp_path):
    hyperjob, vcjob = tmp_path / "hyperjob.yaml", tmp_path / "vcjob.yaml"
    hyperjob.write_text(yaml.safe_dump(hyperjob_crd(OLD_TEMPLATE)))
    vcjob.write_text(yaml.safe_dump(crd("batch.volcano.sh", "Job", VCJOB_SPEC)))
    return str(hyperjob), str(vcjob)


def test_the_patched_crd_carries_the_vcjobs_spec_and_all_else_as_it_was(files, capsys):
    assert main(["crd", "--hyperjob", files[0], "--vcjob", files[1]]) == 0
    assert yaml.safe_load(capsys.readouterr().out) == hyperjob_crd(VCJOB_SPEC)


def test_check_names_what_is_dropped_and_what_gets_a_default(files, capsys):
    assert main(["crd", "--check", files[0], "--vcjob", files[1], "--format", "json"]) == 3
    answer = json.loads(capsys.readouterr().out)
    prefix = "spec.replicatedJobs[].templateSpec"
    assert answer["drops"] == [f"{prefix}.networkTopology.highestTierName", f"{prefix}.tasks[].partitionPolicy"]
    assert answer["defaults"] == [{"path": f"{prefix}.networkTopology.highestTierAllowed", "value": 1}]
    assert [(f["code"], f["severity"], f["message"]) for f in answer["findings"]] == [
        ("HF891", "error", f"{answer['drops'][0]} is dropped from every HyperJob"),
        ("HF891", "error", f"{answer['drops'][1]} is dropped from every HyperJob"),
        ("HF892", "warning", f"{prefix}.networkTopology.highestTierAllowed becomes 1 where it is left out"),
    ]


def test_a_patched_crd_drops_nothing(files, capsys, tmp_path):
    main(["crd", "--hyperjob", files[0], "--vcjob", files[1]])
    patched = tmp_path / "patched.yaml"
    patched.write_text(capsys.readouterr().out)
    assert main(["crd", "--check", str(patched), "--vcjob", files[1]]) == 0
    assert capsys.readouterr().out == "0 fields dropped, 0 defaults of its own\n"


def test_a_file_that_is_no_hyperjob_crd_is_exit_1(files, capsys):
    assert main(["crd", "--check", files[1], "--vcjob", files[1]]) == 1
    assert capsys.readouterr().err == (
        "error[HF890] no CustomResourceDefinition of HyperJob (training.volcano.sh) in the file\n"
        f"  --> {files[1]}\n"
        "  got CustomResourceDefinition, expected the CRD of training.volcano.sh/HyperJob\n"
        "  hint: kubectl get crd hyperjobs.training.volcano.sh -o yaml, or jobs.batch.volcano.sh for the vcjob\n"
    )


def test_the_crds_of_a_live_plane_are_patched_and_can_be_applied(monkeypatch, capsys):
    live = hyperjob_crd(OLD_TEMPLATE)
    live["metadata"] |= {"resourceVersion": "7", "uid": "u", "managedFields": [{}]}
    live["status"] = {"conditions": []}
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"
    held = {
        f"{path}hyperjobs.training.volcano.sh": live,
        f"{path}jobs.batch.volcano.sh": crd("batch.volcano.sh", "Job", VCJOB_SPEC),
    }

    class Plane:
        def __init__(self, context):
            assert context == "plane"

        def get(self, path, query):
            return held.get(path)

    monkeypatch.setattr("hyperflow.submit.live_inventory.KubernetesServer", Plane)
    assert main(["crd", "--context", "plane"]) == 0
    assert yaml.safe_load(capsys.readouterr().out) == hyperjob_crd(VCJOB_SPEC)
    held.clear()
    assert main(["crd", "--context", "plane"]) == 1
    assert "  --> context plane\n  got nothing, expected" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["--hyperjob", "a"], ["--hyperjob", "a", "--vcjob", "b", "--context", "c"]])
def test_other_arguments_are_a_usage_error(arguments, capsys):
    assert main(["crd", *arguments]) == 2
    assert capsys.readouterr().err == (
        "error[HF893] give the CRDs as files or by a context, not both and not neither\n"
        "  --> command line\n"
        "  expected --hyperjob FILE --vcjob FILE, or --check FILE --vcjob FILE, or --context C\n"
        "  hint: hyperflow crd --help\n"
    )


@pytest.mark.skipif(not CRDS.is_dir(), reason="no CRD files: the shipped ones were not patched")
def test_the_shipped_crds_make_one_that_keeps_partitions(capsys):
    files = CRDS / "training.volcano.sh_hyperjobs.yaml", CRDS / "batch.volcano.sh_jobs.yaml"
    assert main(["crd", "--check", str(files[0]), "--vcjob", str(files[1]), "--format", "json"]) == 3
    drops = json.loads(capsys.readouterr().out)["drops"]
    assert "spec.replicatedJobs[].templateSpec.tasks[].partitionPolicy" in drops
    assert main(["crd", "--hyperjob", str(files[0]), "--vcjob", str(files[1]), "--format", "json"]) == 0
    patched = json.loads(capsys.readouterr().out)
    vcjob = next(d for d in yaml.safe_load_all(files[1].read_text()) if d)
    template = patched["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"][
        "replicatedJobs"
    ]["items"]["properties"]["templateSpec"]
    assert template == vcjob["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
