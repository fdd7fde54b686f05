"""Settings of the Kubeflow task that go on to the training pods: `dsl.TaskConfig` as values and patches of the job."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hyperflow.compiler import CompileOptions
from hyperflow.dsl.declared_job import DeclaredJob
from hyperflow.errors import Finding, InputError
from hyperflow.json_tree import dig, is_mapping, mapping, sequence

_LISTS = {
    "env": ("container.env", "containers", "env"),
    "volume_mounts": ("container.volumeMounts", "containers", "volumeMounts"),
    "volumes": ("pod.spec.volumes", "", "volumes"),
    "tolerations": ("pod.spec.tolerations", "", "tolerations"),
}


def patches_of(task: Mapping[str, Any], job: DeclaredJob, options: CompileOptions) -> list[dict[str, Any]]:
    """Give the patches that add a task's settings to every training pod of the job.

    `task` holds the fields of dsl.TaskConfig that are set. What the plan decides stays: device counts in `resources`
    are left out. Raises InputError (HF558) for a variable or volume that the job has already.
    """
    given = {name: value for name, value in task.items() if value}
    if not given:
        return []
    patches: list[dict[str, Any]] = []
    findings: list[Finding] = []
    for cluster, pod in _pods(job, options).items():
        container = mapping(sequence(pod.get("containers"))[0])
        for name, (path, inside, field) in _LISTS.items():
            existing = sequence((container if inside else pod).get(field))
            findings += _clashes(name, existing, sequence(given.get(name)))
            patches += _appended(cluster, path, existing, sequence(given.get(name)))
        patches += _set(cluster, "pod.spec.nodeSelector", mapping(given.get("node_selector")))
        patches += _set(cluster, "pod.spec.affinity", mapping(given.get("affinity")))
        ours = mapping(container.get("resources"))
        for kind in ("requests", "limits"):
            wanted = mapping(mapping(given.get("resources")).get(kind))
            devices = set(mapping(ours.get("limits")))
            patches += _set(
                cluster, f"container.resources.{kind}", {k: v for k, v in wanted.items() if k not in devices}
            )
    if findings:
        raise InputError(list(dict.fromkeys(findings)))
    return patches


def _pods(job: DeclaredJob, options: CompileOptions) -> dict[str, dict[str, Any]]:
    """Pod specs by cluster, as they would be without the task's settings."""
    made = job.compilation(replace(options, stop_after="lower")).needed_manifests
    clusters = {child.name: child.cluster for child in made.children}
    specs: dict[str, Any] = {}
    for item in made.objects:
        document = item.document()
        if item.kind_name == "HyperJob":
            for part in sequence(dig(document, "spec", "replicatedJobs")):
                specs[str(dig(part, "clusterNames", 0))] = dig(part, "templateSpec")
        elif item.kind_name == "Job":
            specs[clusters[item.metadata.name]] = dig(document, "spec")
    return {name: mapping(dig(spec, "tasks", 0, "template", "spec")) for name, spec in specs.items()}


def _appended(cluster: str, path: str, existing: list[Any], new: list[Any]) -> list[dict[str, Any]]:
    root, _, rest = path.partition(".")
    first = len(existing)
    return [{"path": f"{root}[{cluster}].{rest}[{first + number}]", "value": item} for number, item in enumerate(new)]


def _set(cluster: str, path: str, new: Mapping[str, Any]) -> list[dict[str, Any]]:
    root, _, rest = path.partition(".")
    return [{"path": f'{root}[{cluster}].{rest}["{key}"]', "value": value} for key, value in new.items()]


def _clashes(name: str, existing: list[Any], new: list[Any]) -> list[Finding]:
    if name == "tolerations":
        return []
    key = "mountPath" if name == "volume_mounts" else "name"
    taken = {item.get(key) for item in existing if is_mapping(item)}
    return [
        Finding(
            code="HF558",
            message=f"the task sets {name} {item.get(key)!r}, which the job has already",
            where=f"task_config.{name}",
            got=str(item.get(key)),
            hint="set it once: in the job's decorators or on the task",
        )
        for item in map(mapping, new)
        if item.get(key) in taken
    ]
