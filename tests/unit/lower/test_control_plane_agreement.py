"""Our children, policies, ranks and environment against what a real control plane made and held."""

import json
from pathlib import Path

import pytest

from hyperflow.lower.draft import TASK_NAME
from hyperflow.lower.expand import expand
from hyperflow.lower.lower_job import lower
from hyperflow.spec.launch import TorchrunLaunch
from tests.manifest_cases import cluster, fleet, job, plan, two_cities

RUNS = Path(__file__).parents[3] / ".." / "shared" / "data" / "control_plane_runs.json"


@pytest.fixture(scope="module")
def recorded():
    if not RUNS.is_file():
        pytest.skip("control_plane_runs.json is not beside the checkout: agreement with the real plane was not tested")
    return json.loads(RUNS.read_text())


def four_nodes():
    """Four nodes in each of two clusters, like the recorded run whose members were looked into."""
    where = fleet(cluster("s0", nodes=4), cluster("s1", nodes=4))
    return lower(job(where, name="demo"), plan([("s0", "B200", [4]), ("s1", "B200", [4])], dp=4))


def paths(tree, inside_pods=False):
    """All field paths of a Job spec; pods are a world of their own."""
    if isinstance(tree, dict):
        return {
            path
            for key, value in tree.items()
            for path in ({key} | ({f"{key}.{p}" for p in paths(value)} if key not in ("spec", "plugins") else set()))
        }
    if isinstance(tree, list):
        return {path for item in tree for path in paths(item)}
    return set()


def test_children_are_named_as_the_controller_names_them(recorded):
    checked = 0
    for run in recorded["runs"]:
        submitted, children = run.get("submitted"), run.get("children")
        if not isinstance(submitted, dict) or not children or run["id"] == "second-template-bad":
            continue
        expected = [f"{submitted['metadata']['name']}-{c['name']}-0" for c in submitted["spec"]["replicatedJobs"]]
        assert set(children) <= set(expected), run["id"]
        checked += 1
    assert checked > 8
    manifests = lower(*two_cities())
    names = [item.metadata.name for item in expand(manifests).objects]
    assert names == [name for child in manifests.children for name in (child.name, child.name)]


def test_nothing_that_the_plane_added_to_a_recorded_child_is_left_out_of_ours(recorded):
    ours = paths(expand(four_nodes()).objects[0].document()["spec"])
    for run in recorded["runs"]:
        submitted, children = run.get("submitted"), run.get("children") or {}
        if not isinstance(submitted, dict):
            continue
        for template in submitted["spec"]["replicatedJobs"]:
            name = f"{submitted['metadata']['name']}-{template['name']}-0"
            added = paths(children.get(name, {})) - paths(template["templateSpec"])
            assert added - {"ttlSecondsAfterFinished"} <= ours, run["id"]


def test_pods_services_and_selectors_meet_the_labels_that_members_hold(recorded):
    manifests = four_nodes()
    pod = recorded["what_members_hold"]["member1_pods"][0]
    (service,) = [item for item in manifests.objects if item.kind_name == "Service"]
    assert set(service.spec.selector) <= set(pod["metadata"]["labels"])
    child = manifests.children[0].name
    renamed = {
        key: value.replace("demo-s0-0", child).replace("w", TASK_NAME)
        if key.endswith(("job-name", "task-spec"))
        else value
        for key, value in pod["metadata"]["labels"].items()
    }
    assert service.spec.selector.items() <= renamed.items()


def test_names_of_hosts_are_those_of_the_svc_plugin(recorded):
    held = recorded["what_members_hold"]
    pod = held["member1_pods"][0]["spec"]
    assert (pod["hostname"], pod["subdomain"]) == ("demo-s0-0-w-0", "demo-s0-0")
    assert held["member1_services"][0]["spec"]["publishNotReadyAddresses"] is True
    assert held["member1_networkpolicies"] == []
    single = lower(job(fleet(cluster("s0", nodes=4)), name="demo"), plan([("s0", "B200", [8])], dp=4))
    spec = single.objects[-1].spec
    assert spec.plugins["svc"] == ("--disable-network-policy=true", "--publish-not-ready-addresses=true")
    address = next(
        e["value"] for e in spec.tasks[0].template.spec["containers"][0]["env"] if e["name"] == "MASTER_ADDR"
    )
    host = pod["hostname"].replace("demo-s0-0", single.name).replace("-w-", f"-{TASK_NAME}-")
    assert address == f"{host}.{single.name}.default.svc"


def test_variables_and_mounts_of_plugins_do_not_clash_with_ours(recorded):
    launch = TorchrunLaunch(script="t.py")
    spec = lower(*two_cities(launch=launch)).objects[-1].spec.replicated_jobs[0].template_spec
    container = spec.tasks[0].template.spec["containers"][0]
    for held in recorded["what_members_hold"]["member1_pods"]:
        added = held["spec"]["containers"][0]
        assert not {e["name"] for e in added["env"]} & {e["name"] for e in container["env"]}
        assert not {m["mountPath"] for m in added["volumeMounts"]} & {m["mountPath"] for m in container["volumeMounts"]}


def test_own_policy_claims_as_recorded(recorded):
    """Those that existed before the child claimed it, whatever their priority; the later one did not."""
    for claim in recorded["claims"]:
        assert (claim["claimed_by"] == ["fb"]) is claim["policy_first"], claim["note"]
    where = fleet(cluster("beijing"), cluster("shanghai", "H100"), cluster("chengdu"))
    manifests = lower(job(where, fallback={"shanghai": ("chengdu",)}), two_cities()[1])
    kinds = [item.kind_name for item in manifests.objects]
    assert kinds[-1] == "HyperJob"
    assert kinds.count("HyperJob") == 1
    recorded_terms = recorded["claims"][0]["placement"][0]["clusterAffinities"]
    own = next(
        item
        for item in manifests.objects
        if item.metadata.name.endswith("-0-own") and item.kind_name == "PropagationPolicy"
    )
    ours = own.document()["spec"]["placement"]["clusterAffinities"]
    assert [sorted(term) for term in ours] == [sorted(term) for term in recorded_terms]
