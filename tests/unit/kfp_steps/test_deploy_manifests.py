"""The roles in components/deploy grant every request that a step makes, on the plane and in the members behind it."""

import re

import yaml

from hyperflow.kfp_steps.component_body import cleanup, discover
from hyperflow.kfp_steps.follow import FollowPolicy
from hyperflow.kfp_steps.pack_job import pack_job
from hyperflow.kfp_steps.prepare import JobInputs, compiled
from hyperflow.kfp_steps.train_step import run_train
from tests.api_server.kinds import Kind
from tests.kfp_cases import ROOT, FileArtifact, outputs_in, write_tiny
from tests.live_plane import live_plane, queue

DEPLOY = ROOT / "components" / "deploy"
CLUSTERS = Kind(
    group="cluster.karmada.io", version="v1alpha1", kind="Cluster", plural="clusters", namespaced=False, status=False
)
PROXY = re.compile(r"(/apis/cluster\.karmada\.io/v1alpha1/clusters/[^/]+/proxy)(/.*)")
OBJECT = re.compile(r"/(?:api|apis/(?P<group>[^/]+))/v[^/]+(?:/namespaces/(?P<ns>[^/]+))?/(?P<rest>.+)")
EVERYBODY = ("/version", "/api", "/apis", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews")
"""What system:discovery and system:basic-user grant to every account."""


def add_nodes(live, **counts):
    """Let the plane show its members, and each member so many nodes of 8 devices."""
    live.server.plane.kinds.append(CLUSTERS)
    for name, count in counts.items():
        live.put({"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": name}})
        for index in range(count):
            labels = {"nvidia.com/gpu.product": "NVIDIA-H200"}
            status = {"allocatable": {"nvidia.com/gpu": "8", "memory": "2000Gi"}, "conditions": []}
            metadata = {"name": f"{name}-{index}", "labels": labels}
            live.server.members[name].put({"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": status})


def rules_in(file):
    """Kind of role -> its rules."""
    found = {}
    for document in yaml.safe_load_all((DEPLOY / file).read_text()):
        if document["kind"] in ("Role", "ClusterRole"):
            found[document["kind"]] = document["rules"]
    return found


def lacking(request, path, roles):
    """Verbs that the roles do not grant for a request: (verb, group, resource)."""
    if path in EVERYBODY or re.fullmatch(r"/apis?(/[^/]+)?/v[^/]+", path):
        return []
    found = OBJECT.fullmatch(path)
    parts = found["rest"].split("/")
    resource, named = parts[0], len(parts) > 1
    if len(parts) > 2:
        resource = f"{resource}/{parts[2]}"
    if found["ns"] and parts == ["namespaces"]:
        raise AssertionError(path)
    watches = request.query.get("watch") in ("1", "true", "True")
    verbs = {
        "GET": ["get" if named else "watch" if watches else "list"],
        "POST": ["create"],
        "PATCH": ["patch", "create"],  # an apply that finds nothing creates
        "PUT": ["update"],
        "DELETE": ["delete" if named else "deletecollection"],
    }[request.method]
    rules = [*roles["ClusterRole"], *(roles.get("Role", []) if found["ns"] == "default" else [])]
    granted = {
        verb
        for rule in rules
        if (found["group"] or "") in rule["apiGroups"] and resource in rule["resources"]
        for verb in rule["verbs"]
    }
    return [(verb, found["group"] or "", resource) for verb in verbs if verb not in granted]


def test_runtime_plans_for_the_fleet_that_the_current_context_shows(tmp_path, monkeypatch):
    with live_plane(tmp_path, monkeypatch, members=("north", "south")) as live:
        add_nodes(live, north=1, south=1)
        packed = pack_job(write_tiny(tmp_path), plan="runtime")
        late = {"parallel.tp": 8, "model.heads": 8}
        done = compiled(JobInputs(packed=packed, values=late, plan="runtime"), stop_after="plan")
    assert {stage.cluster: stage.device for stage in done.needed_plan.stages} == {
        "north": "H200-SXM",
        "south": "H200-SXM",
    }


def test_the_roles_grant_every_request_of_a_step(tmp_path, monkeypatch):
    with live_plane(tmp_path, monkeypatch, members=("north", "south")) as live:
        live.put(queue("default"))
        inputs = JobInputs(packed=pack_job(write_tiny(tmp_path)), run_id="run-1")
        name = compiled(inputs).needed_bundle.name
        policy = FollowPolicy(poll_seconds=0.05, on_failure="keep")
        live.controllers.script = {f"{name}-{group}-0": ["Running", "Failed"] for group in ("north", "south")}
        run_train(inputs, policy, outputs_in(tmp_path), backend="plane", must_complete=False)
        rest = {"run_state": "FAILED", "on_failure": "delete", "on_success": "keep"}
        assert cleanup(run_id="run-1", backend="plane", context="", namespace="default", **rest).deleted_jobs == 1
        add_nodes(live, north=2, south=1)
        found = discover(context="", sources=[], fleet=FileArtifact(str(tmp_path / "fleet.yaml")))
        assert found.devices == 24
        requests = list(live.server.faults.requests)
    plane, member = rules_in("rbac-plane.yaml"), rules_in("rbac-member.yaml")
    missing = set()
    for request in requests:
        proxied = PROXY.fullmatch(request.path)
        if proxied:
            missing |= {("plane", *item) for item in lacking(request, proxied[1], plane)}
            missing |= {("member", *item) for item in lacking(request, proxied[2], member)}
        else:
            missing |= {("plane", *item) for item in lacking(request, request.path, plane)}
    assert [" ".join(item) for item in sorted(missing)] == []
