"""Pods get what Volcano's plugins give them, as recorded from a real member."""

import json

import pytest

from hyperflow.errors import InputError
from hyperflow.inventory.documents import Document
from hyperflow.run_local.addresses import Addresses, command_of, environment_of, make_folders
from hyperflow.run_local.pods import read_local_bundle


def documents(*values):
    return [Document(file="bundle/x.yaml", index=i, value=value) for i, value in enumerate(values)]


def hyperjob(name="demo", replicas=4, task="w", **container):
    template = {"spec": {"containers": [{"name": "main", "image": "x", "command": ["true"], **container}]}}
    spec = {
        "plugins": {"env": [], "svc": ["--disable-network-policy=true"]},
        "tasks": [{"name": task, "replicas": replicas, "template": template}],
    }
    replicated = {"name": "s0", "replicas": 1, "clusterNames": ["member1"], "templateSpec": spec}
    return {"kind": "HyperJob", "metadata": {"name": name}, "spec": {"replicatedJobs": [replicated]}}


def test_names_hosts_and_index_equal_a_recorded_member(shared):
    held = json.loads((shared / "data" / "control_plane_runs.json").read_text())["what_members_hold"]
    config = held["member1_configmaps"][0]["data"]
    recorded = {pod["metadata"]["name"]: pod for pod in held["member1_pods"]}
    bundle = read_local_bundle(documents(hyperjob(replicas=int(config["VC_W_NUM"]))))
    pods = [pod for pod in bundle.children[0].pods if pod.name in recorded]
    assert len(pods) == len(recorded) > 0
    for pod in pods:
        environment = dict(pod.containers[0].environment)
        names = {entry["name"] for entry in recorded[pod.name]["spec"]["containers"][0]["env"]}
        assert set(environment) == names
        assert environment["VC_W_HOSTS"] == config["VC_W_HOSTS"]
        assert environment["VC_W_NUM"] == config["VC_W_NUM"]
        assert environment["VC_TASK_INDEX"] == recorded[pod.name]["metadata"]["labels"]["volcano.sh/task-index"]
        assert ("/etc/volcano", "volcano-hosts") in pod.containers[0].mounts
        assert dict(dict(pod.volumes)["volcano-hosts"])["w.host"].split() == config["w.host"].split()


def test_a_plain_volcano_job_and_its_policy_give_the_cluster():
    template = {"spec": {"containers": [{"name": "main", "command": ["true"]}]}}
    job = {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": "toy"},
        "spec": {"tasks": [{"name": "node", "replicas": 1, "template": template}], "maxRetry": 2},
    }
    policy = {
        "kind": "PropagationPolicy",
        "metadata": {"name": "toy"},
        "spec": {
            "resourceSelectors": [{"kind": "Job", "name": "toy"}],
            "placement": {"clusterAffinities": [{"affinityName": "first", "clusterNames": ["south", "west"]}]},
        },
    }
    (child,) = read_local_bundle(documents(policy, job)).children
    assert (child.name, child.cluster, child.max_retry) == ("toy", "south", 2)


def test_a_folder_without_a_job_is_refused():
    with pytest.raises(InputError) as caught:
        read_local_bundle(documents({"kind": "ConfigMap", "metadata": {"name": "x"}}))
    assert str(caught.value) == (
        "error[HF451] the folder holds no HyperJob and no VolcanoJob\n"
        "  --> bundle/x.yaml\n"
        "  got ConfigMap, expected a bundle written by hyperflow compile\n"
        "  hint: give the folder that was given to compile with -o"
    )


def test_hosts_ports_and_mounted_paths_are_translated_whole(tmp_path):
    here = Addresses(ports={29500: 40001}, hosts={"toy-rank0.default.svc": "127.0.0.1", "toy-rank0": "127.0.0.1"})
    folders = {"/data": tmp_path / "data", "/data/cache": tmp_path / "cache"}
    translate = {
        "toy-rank0.default.svc": "127.0.0.1",
        "29500": "40001",
        "toy-rank0.default.svc:29500": "127.0.0.1:40001",
        "129500": "129500",
        "/data/x": f"{tmp_path}/data/x",
        "/data/cache/y": f"{tmp_path}/cache/y",
        "--load=/data/x": f"--load={tmp_path}/data/x",
        "/database": "/database",
        "my/data": "my/data",
        "toy-rank0-not": "toy-rank0-not",
    }
    assert {value: here.translate(value, folders) for value in translate} == translate


def test_a_folder_of_the_host_is_itself_where_this_machine_has_it(tmp_path):
    here, absent = tmp_path / "checkpoints", tmp_path / "absent"
    here.mkdir()
    volumes = [{"name": path.name, "hostPath": {"path": str(path)}} for path in (here, absent)]
    tasks = [{"name": "n", "template": {"spec": {"containers": [{"name": "m"}], "volumes": volumes}}}]
    jobs = [{"name": "north", "templateSpec": {"tasks": tasks}}]
    job = {"kind": "HyperJob", "metadata": {"name": "toy"}, "spec": {"replicatedJobs": jobs}}
    (pod,) = read_local_bundle([Document(file="x.yaml", index=0, value=job)]).children[0].pods
    folders = make_folders(pod, tmp_path / "pod", tmp_path / "shared")
    assert folders["checkpoints"] == here
    assert folders["absent"] == tmp_path / "shared" / "absent"
    assert not absent.exists()


def test_variables_and_commands_are_expanded_as_the_kubelet_does():
    container = {
        "name": "main",
        "command": ["echo", "$$(A) $(A) $(B)"],
        "env": [{"name": "A", "value": "5$$"}, {"name": "C", "value": "$(A) $(D) $HOME"}],
    }
    tasks = [{"name": "node", "replicas": 1, "template": {"spec": {"containers": [container]}}}]
    value = {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": "j"},
        "spec": {"tasks": tasks},
    }
    found = read_local_bundle([Document(file="x.yaml", index=0, value=value)]).children[0].pods[0].containers[0]
    here = Addresses(ports={}, hosts={})
    assert environment_of(found, here, {}, {}) == {"A": "5$", "C": "5$ $(D) $HOME"}
    assert command_of(found, here, {}) == ["echo", "$(A) 5$ $(B)"]
