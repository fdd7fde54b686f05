"""The pod template of a stage group: one container that takes a node's devices, and what it needs around it."""

from typing import Any

from hyperflow.errors import Finding, InfeasibleError
from hyperflow.lower.draft import LAUNCH_DIR, Draft
from hyperflow.lower.environment import escape_dollars, group_variables
from hyperflow.lower.health import HEALTH_VOLUME, health_container
from hyperflow.lower.launch import LaunchRecipe
from hyperflow.lower.rendezvous import PORT_NAME, Rendezvous
from hyperflow.lower.stage_groups import StageGroup, node_group_for, telling_label
from hyperflow.lower.storage import CACHE_MOUNT, checkpoint_location, data_location, keeps_cache
from hyperflow.spec.fleet import Cluster, LinkKind, NodeGroup

CONTAINER = "train"
NODE_SHARE = 0.75
"""Part of a node's cpu and memory that a pod with all its devices asks for; the rest stays for the node's daemons."""


def pod_template(
    draft: Draft, group: StageGroup, cluster: Cluster, recipe: LaunchRecipe, rendezvous: Rendezvous
) -> dict[str, Any]:
    """Give the template as a tree.

    Raises InfeasibleError (HF407) when the cluster has no node with enough devices.
    """
    nodes = node_group_for(cluster, group.device, group.devices_per_node)
    if nodes is None:
        raise InfeasibleError(
            Finding(
                code="HF407",
                message=f"cluster {cluster.name} has no node with {group.devices_per_node} devices",
                where="fallback" if cluster != group.cluster else "on",
                got=", ".join(f"{g.device}:{g.devices_per_node}" for g in cluster.groups) or "no usable nodes",
                expected=f"{group.devices_per_node} devices in every pod",
                hint="choose clusters whose nodes hold as many devices",
            )
        )
    spec: dict[str, Any] = {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [_container(draft, group, cluster, nodes, recipe, rendezvous)],
        "volumes": _volumes(draft, nodes, group.devices_per_node),
    }
    if rendezvous.host_network:
        spec |= {"hostNetwork": True, "dnsPolicy": "ClusterFirstWithHostNet"}
    health = draft.job.job.guard.health
    if health:
        spec["initContainers"] = [health_container(health, draft.job.job.image, nodes.resource, group.devices_per_node)]
    selector, tolerations = telling_label(cluster, nodes), _tolerations(nodes)
    spec |= {"nodeSelector": selector} if selector else {}
    spec |= {"tolerations": tolerations} if tolerations else {}
    metadata: dict[str, Any] = {"labels": draft.labels}
    if draft.job.job.annotations:
        metadata["annotations"] = dict(draft.job.job.annotations)
    return {"metadata": metadata, "spec": spec}


def _container(
    draft: Draft,
    group: StageGroup,
    cluster: Cluster,
    nodes: NodeGroup,
    recipe: LaunchRecipe,
    rendezvous: Rendezvous,
) -> dict[str, Any]:
    variables = dict(recipe.variables) | group_variables(draft, group, cluster, rendezvous)
    env: list[dict[str, Any]] = [{"name": n, "value": escape_dollars(v)} for n, v in sorted(variables.items())]
    env.append({"name": "HF_NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}})
    security: dict[str, Any] = {"allowPrivilegeEscalation": False}
    if nodes.network in (LinkKind.INFINIBAND, LinkKind.ROCE):
        security["capabilities"] = {"add": ["IPC_LOCK"]}
    ports = [{"name": PORT_NAME, "containerPort": rendezvous.port, "protocol": "TCP"}]
    container: dict[str, Any] = {
        "name": CONTAINER,
        "image": draft.job.job.image,
        "command": ["/bin/sh", f"{LAUNCH_DIR}/launch.sh"],
        "args": [escape_dollars(argument) for argument in recipe.arguments],
        "env": env,
        "ports": ports,
        "resources": _resources(nodes, group.devices_per_node),
        "securityContext": security,
        "volumeMounts": _mounts(draft),
    }
    if rendezvous.host_network:  # a declared port becomes a host port, and no second pod would fit on the node
        del container["ports"]
    return container


def _resources(nodes: NodeGroup, devices: int) -> dict[str, Any]:
    """Devices as request and limit alike, and a share of the node's cpu and memory where those are known."""
    requests: dict[str, str] = {}
    share = NODE_SHARE * devices / nodes.devices_per_node
    cores = int(nodes.allocatable.get("cpu", 0) * share)
    memory = int(nodes.allocatable.get("memory", 0) * share) // 2**30
    if cores:
        requests["cpu"] = str(cores)
    if memory:
        requests["memory"] = f"{memory}Gi"
    return {"requests": {**requests, nodes.resource: str(devices)}, "limits": {nodes.resource: str(devices)}}


def _volumes(draft: Draft, nodes: NodeGroup, devices: int) -> list[dict[str, Any]]:
    shared_memory: dict[str, Any] = {"medium": "Memory"}
    memory = int(nodes.allocatable.get("memory", 0) * NODE_SHARE / 2 * devices / nodes.devices_per_node) // 2**30
    if memory:
        shared_memory["sizeLimit"] = f"{memory}Gi"
    volumes: list[dict[str, Any]] = [
        {"name": "hyperflow-launch", "configMap": {"name": draft.launch_name, "defaultMode": 0o555}},
        {"name": "shared-memory", "emptyDir": shared_memory},
    ]
    data, checkpoint = data_location(draft.job), checkpoint_location(draft.job)
    volumes += [{"name": "data", **data.volume}] if data and data.volume else []
    volumes += [{"name": "checkpoint", **checkpoint.volume}] if checkpoint and checkpoint.volume else []
    volumes += [{"name": "cache", "emptyDir": {}}] if keeps_cache(draft.job) else []
    volumes += [{"name": HEALTH_VOLUME, "emptyDir": {}}] if draft.job.job.guard.health else []
    return volumes


def _mounts(draft: Draft) -> list[dict[str, Any]]:
    mounts: list[dict[str, Any]] = [
        {"name": "hyperflow-launch", "mountPath": LAUNCH_DIR, "readOnly": True},
        {"name": "shared-memory", "mountPath": "/dev/shm"},
    ]
    data, checkpoint = data_location(draft.job), checkpoint_location(draft.job)
    if data and data.mount:
        mounts.append({"name": "data", "mountPath": data.mount, "readOnly": True})
    if checkpoint and checkpoint.mount:
        mounts.append({"name": "checkpoint", "mountPath": checkpoint.mount})
    if keeps_cache(draft.job):
        mounts.append({"name": "cache", "mountPath": CACHE_MOUNT})
    if draft.job.job.guard.health:
        mounts.append({"name": HEALTH_VOLUME, "mountPath": "/hyperflow/health"})
    return mounts


def _tolerations(nodes: NodeGroup) -> list[dict[str, Any]]:
    return [
        {"key": taint.key, "effect": taint.effect}
        | ({"operator": "Equal", "value": taint.value} if taint.value else {"operator": "Exists"})
        for taint in nodes.taints
    ]
