"""What pods need beside their Job: the launch files of ours, and objects of the user's that they name.

Karmada carries none of them along with a vcjob (no interpreter says what it depends on), so they get a policy.
"""

import json
from typing import Any

from hyperflow.errors import Finding, InfeasibleError
from hyperflow.json_tree import dig, mapping, sequence, text
from hyperflow.k8s.core import ConfigMap
from hyperflow.k8s.karmada import PropagationPolicy, ResourceSelector
from hyperflow.k8s.record import ObjectMeta
from hyperflow.k8s.volcano import JobSpec
from hyperflow.lower.draft import Draft
from hyperflow.lower.launch import LaunchRecipe, pod_file
from hyperflow.lower.propagation import duplicate_policy, select
from hyperflow.lower.schedule_file import FILE as SCHEDULE_FILE
from hyperflow.lower.schedule_file import needs_schedule_file, schedule_csv

CONFIG_MAP_LIMIT = 1024 * 1024


def launch_config(draft: Draft, recipe: LaunchRecipe) -> ConfigMap:
    """Give the ConfigMap with the launch script, the start barrier, the plan and the framework's files.

    Raises InfeasibleError (HF408) when it is larger than the store takes.
    """
    files = {
        "launch.sh": pod_file("launch.sh"),
        "start_barrier.py": pod_file("start_barrier.py"),
        "plan.json": json.dumps(launch_plan(draft), indent=1) + "\n",
        **recipe.pod_files,
    }
    if needs_schedule_file(draft.plan):
        files[SCHEDULE_FILE] = schedule_csv(draft.plan)
    size = sum(len(name.encode()) + len(content.encode()) for name, content in files.items())
    if size > CONFIG_MAP_LIMIT:
        largest = max(files, key=lambda name: len(files[name].encode()))
        raise InfeasibleError(
            Finding(
                code="HF408",
                message=f"the launch files take {size} bytes; a ConfigMap holds {CONFIG_MAP_LIMIT}",
                where="launch",
                got=f"{largest}: {len(files[largest].encode())} bytes",
                hint="move data and code into the image or onto storage",
                span=draft.job.job.sources.get("launch"),
            )
        )
    meta = ObjectMeta(name=draft.launch_name, namespace=draft.namespace, labels=draft.labels)
    return ConfigMap(metadata=meta, data=files, immutable=True)


def launch_plan(draft: Draft) -> dict[str, Any]:
    """The plan as training scripts read it from HF_PLAN_FILE."""
    plan, degrees = draft.plan, draft.plan.degrees
    stages = [
        {
            "index": stage.index,
            "replica": stage.replica,
            "cluster": stage.cluster,
            "layers": stage.layers,
            "first_layer": stage.first_layer,
            "nodes": stage.nodes,
            "node_rank_offset": stage.node_rank_offset,
        }
        for stage in plan.stages
    ]
    return {
        "schema": "hyperflow.launch/v1",
        "job": plan.job,
        "degrees": {"tp": degrees.tp, "cp": degrees.cp, "ep": degrees.ep, "pp": degrees.pp, "dp": degrees.dp},
        "micro_batch_size": plan.micro_batch_size,
        "global_batch_size": plan.global_batch_size,
        "microbatches": plan.microbatches,
        "schedule": plan.schedule,
        "warmup": list(plan.warmup),
        "recompute": plan.recompute,
        "zero": plan.zero,
        "stages": stages,
    }


def companion_policy(draft: Draft, config: ConfigMap, specs: list[JobSpec]) -> PropagationPolicy:
    """Copy the launch files and every object that the pods name to all clusters of the job."""
    named = {key: None for spec in specs for task in spec.tasks for key in named_objects(task.template.spec)}
    own = (config.kind_name, config.metadata.name)
    selectors = [
        ResourceSelector(api_version="v1", kind=kind, namespace=draft.namespace, name=name)
        for kind, name in sorted(named)
        if (kind, name) != own
    ]
    return duplicate_policy(draft, f"{draft.name}-companions", (select(config), *selectors), draft.all_clusters)


def named_objects(pod: dict[str, Any]) -> list[tuple[str, str]]:
    """Find ConfigMaps, Secrets, claims and the service account that a pod names, as kinds and names."""
    found: list[tuple[str, str]] = []
    for volume in sequence(pod.get("volumes")):
        found += _of_volume(mapping(volume))
        for source in sequence(dig(volume, "projected", "sources")):
            found.append(("ConfigMap", text(dig(source, "configMap", "name"))))
            found.append(("Secret", text(dig(source, "secret", "name"))))
    for container in [*sequence(pod.get("containers")), *sequence(pod.get("initContainers"))]:
        for source in sequence(dig(container, "envFrom")):
            found.append(("ConfigMap", text(dig(source, "configMapRef", "name"))))
            found.append(("Secret", text(dig(source, "secretRef", "name"))))
        for variable in sequence(dig(container, "env")):
            found.append(("ConfigMap", text(dig(variable, "valueFrom", "configMapKeyRef", "name"))))
            found.append(("Secret", text(dig(variable, "valueFrom", "secretKeyRef", "name"))))
    found += [("Secret", text(dig(item, "name"))) for item in sequence(pod.get("imagePullSecrets"))]
    account = text(pod.get("serviceAccountName"))
    found += [("ServiceAccount", account)] if account != "default" else []
    return [(kind, name) for kind, name in found if name]


def _of_volume(volume: dict[str, Any]) -> list[tuple[str, str]]:
    return [
        ("ConfigMap", text(dig(volume, "configMap", "name"))),
        ("Secret", text(dig(volume, "secret", "secretName"))),
        ("PersistentVolumeClaim", text(dig(volume, "persistentVolumeClaim", "claimName"))),
    ]
