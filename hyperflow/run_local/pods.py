"""From written manifests to the pods that the controllers would make: what they run, see and may reach.

The environment follows Volcano's env and svc plugins as recorded from a real member (hosts, task index, mounts).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hyperflow.errors import Finding, InputError
from hyperflow.inventory.documents import Document
from hyperflow.json_tree import dig, mapping, sequence, text


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """One lifecycle policy of a VolcanoJob or task: event or exit code, and what follows."""

    action: str
    events: tuple[str, ...] = ()
    exit_code: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """One container: its command and arguments as written, environment, and mount path -> volume name."""

    name: str
    command: tuple[str, ...]
    environment: tuple[tuple[str, str], ...]
    mounts: tuple[tuple[str, str], ...]
    ports: tuple[int, ...]
    working_dir: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """One pod of a child. `volumes` maps a volume name to its files (ConfigMap, Secret) or None for a folder."""

    name: str
    child: str
    cluster: str
    task: str
    index: int
    init_containers: tuple[Container, ...]
    containers: tuple[Container, ...]
    volumes: tuple[tuple[str, tuple[tuple[str, str], ...] | None], ...]
    host_paths: tuple[tuple[str, str], ...]
    labels: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Child:
    """One VolcanoJob with its pods and policies. `max_retry` bounds the restarts of the whole child."""

    name: str
    cluster: str
    pods: tuple[Pod, ...]
    policies: tuple[Policy, ...]
    max_retry: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A Service: its names in DNS, the labels it selects, its ports."""

    name: str
    namespace: str
    selector: tuple[tuple[str, str], ...]
    ports: tuple[int, ...]

    @property
    def hosts(self) -> tuple[str, ...]:
        """Every name by which pods may call it, the longest first."""
        base = f"{self.name}.{self.namespace}"
        return (f"{base}.svc.cluster.local", f"{base}.svc", base, self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalBundle:
    """What run-local needs of a bundle."""

    job: str
    children: tuple[Child, ...]
    services: tuple[Service, ...]


def read_local_bundle(documents: Sequence[Document]) -> LocalBundle:
    """Give the children, pods and Services of a bundle's manifests.

    Raises InputError (HF451) when there is neither a HyperJob nor a VolcanoJob among them.
    """
    values = [mapping(document.value) for document in documents]
    files = {
        (text(value.get("kind")), text(dig(value, "metadata", "name"))): _files(value)
        for value in values
        if value.get("kind") in ("ConfigMap", "Secret")
    }
    clusters = _pinned_clusters(values)
    children: list[Child] = []
    for value in values:
        name = text(dig(value, "metadata", "name"))
        if value.get("kind") == "HyperJob":
            for item in sequence(dig(value, "spec", "replicatedJobs")):
                children += _replicas(name, mapping(item), files)
        elif value.get("kind") == "Job" and text(value.get("apiVersion")).startswith("batch.volcano.sh/"):
            children.append(_child(name, clusters.get(name, "local"), mapping(value.get("spec")), files))
    if not children:
        raise InputError(
            Finding(
                code="HF451",
                message="the folder holds no HyperJob and no VolcanoJob",
                where=documents[0].file if documents else "",
                got=", ".join(sorted({text(value.get("kind")) or "?" for value in values})) or "no document",
                expected="a bundle written by hyperflow compile",
                hint="give the folder that was given to compile with -o",
            )
        )
    job = next(filter(None, (text(dig(value, "metadata", "labels", "hyperflow.io/job")) for value in values)), "")
    return LocalBundle(job=job or children[0].name, children=tuple(children), services=_services(values, children))


def _files(value: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    data = {**mapping(value.get("data")), **mapping(value.get("stringData"))}
    return tuple((name, str(content)) for name, content in data.items())


def _pinned_clusters(values: Sequence[dict[str, Any]]) -> dict[str, str]:
    """Job name -> first cluster of the policy that selects it (direct mode)."""
    pinned: dict[str, str] = {}
    for value in values:
        if value.get("kind") != "PropagationPolicy":
            continue
        placement = mapping(dig(value, "spec", "placement"))
        names = sequence(dig(placement, "clusterAffinity", "clusterNames")) or sequence(
            dig(placement, "clusterAffinities", 0, "clusterNames")
        )
        for selector in sequence(dig(value, "spec", "resourceSelectors")):
            if mapping(selector).get("kind") == "Job" and names:
                pinned[text(mapping(selector).get("name"))] = str(names[0])
    return pinned


Files = dict[tuple[str, str], tuple[tuple[str, str], ...]]


def _replicas(hyperjob: str, item: dict[str, Any], files: Files) -> list[Child]:
    group = text(item.get("name"))
    cluster = str((sequence(item.get("clusterNames")) or [group])[0])
    spec = mapping(item.get("templateSpec"))
    return [_child(f"{hyperjob}-{group}-{i}", cluster, spec, files) for i in range(int(item.get("replicas", 1)))]


def _child(name: str, cluster: str, spec: dict[str, Any], files: Files) -> Child:
    tasks = [mapping(task) for task in sequence(spec.get("tasks"))]
    hosts = {
        text(task.get("name")): [f"{name}-{task.get('name')}-{i}.{name}" for i in range(int(task.get("replicas", 1)))]
        for task in tasks
    }
    plugins = mapping(spec.get("plugins"))
    pods = [
        _pod(name, cluster, task, index, hosts if "svc" in plugins else {}, "env" in plugins, files)
        for task in tasks
        for index in range(int(task.get("replicas", 1)))
    ]
    policies = [_policy(mapping(policy)) for policy in sequence(spec.get("policies"))]
    return Child(
        name=name,
        cluster=cluster,
        pods=tuple(pods),
        policies=tuple(policies),
        max_retry=int(spec.get("maxRetry", 3)),
    )


def _policy(policy: dict[str, Any]) -> Policy:
    events = [text(policy.get("event")), *map(str, sequence(policy.get("events")))]
    code = policy.get("exitCode")
    return Policy(
        action=text(policy.get("action")),
        events=tuple(filter(None, events)),
        exit_code=code if isinstance(code, int) else None,
    )


def _pod(
    child: str, cluster: str, task: dict[str, Any], index: int, hosts: dict[str, list[str]], env: bool, files: Files
) -> Pod:
    task_name = text(task.get("name"))
    name = f"{child}-{task_name}-{index}"
    spec = mapping(dig(task, "template", "spec"))
    plugin = {"VC_TASK_INDEX": str(index), "VK_TASK_INDEX": str(index)} if env else {}
    for other, names in hosts.items():
        upper = other.upper().replace("-", "_")
        plugin |= {f"VC_{upper}_HOSTS": ",".join(names), f"VC_{upper}_NUM": str(len(names))}
    downward = {
        "metadata.name": name,
        "metadata.namespace": "default",
        "spec.nodeName": f"{cluster}-node-{index}",
        "status.podIP": "127.0.0.1",
        "status.hostIP": "127.0.0.1",
    }
    labels = {
        **mapping(dig(task, "template", "metadata", "labels")),
        "volcano.sh/job-name": child,
        "volcano.sh/task-spec": task_name,
        "volcano.sh/task-index": str(index),
    }
    volumes = [
        (text(mapping(volume).get("name")), _volume(mapping(volume), files)) for volume in sequence(spec.get("volumes"))
    ]
    mounts: list[tuple[str, str]] = []
    if hosts:
        volumes.append(("volcano-hosts", tuple((f"{t}.host", "\n".join(names) + "\n") for t, names in hosts.items())))
        mounts.append(("/etc/volcano", "volcano-hosts"))

    def read(key: str) -> tuple[Container, ...]:
        return tuple(_container(mapping(item), plugin, downward, mounts) for item in sequence(spec.get(key)))

    return Pod(
        name=name,
        child=child,
        cluster=cluster,
        task=task_name,
        index=index,
        init_containers=read("initContainers"),
        containers=read("containers"),
        volumes=tuple(volumes),
        host_paths=tuple(
            (text(mapping(volume).get("name")), text(dig(volume, "hostPath", "path")))
            for volume in sequence(spec.get("volumes"))
            if dig(volume, "hostPath", "path")
        ),
        labels=tuple(sorted((key, str(value)) for key, value in labels.items())),
    )


def _volume(volume: dict[str, Any], files: Files) -> tuple[tuple[str, str], ...] | None:
    config, secret = dig(volume, "configMap", "name"), dig(volume, "secret", "secretName")
    if isinstance(config, str):
        return files.get(("ConfigMap", config), ())
    return files.get(("Secret", secret), ()) if isinstance(secret, str) else None


def _container(
    item: dict[str, Any], plugin: dict[str, str], downward: dict[str, str], mounts: Sequence[tuple[str, str]]
) -> Container:
    environment: dict[str, str] = {}
    for entry in map(mapping, sequence(item.get("env"))):
        field = text(dig(entry, "valueFrom", "fieldRef", "fieldPath"))
        environment[text(entry.get("name"))] = downward.get(field, "") if field else str(entry.get("value", ""))
    command = [str(word) for word in (*sequence(item.get("command")), *sequence(item.get("args")))]
    own = [
        (text(mapping(m).get("mountPath")), text(mapping(m).get("name"))) for m in sequence(item.get("volumeMounts"))
    ]
    return Container(
        name=text(item.get("name")),
        command=tuple(command),
        environment=tuple({**environment, **plugin}.items()),
        mounts=(*own, *mounts),
        ports=tuple(int(mapping(port)["containerPort"]) for port in sequence(item.get("ports"))),
        working_dir=text(item.get("workingDir")),
    )


def _services(values: Sequence[dict[str, Any]], children: Sequence[Child]) -> tuple[Service, ...]:
    """The bundle's own Services, and the headless one that the svc plugin makes for each child."""
    own = [
        Service(
            name=text(dig(value, "metadata", "name")),
            namespace=text(dig(value, "metadata", "namespace"), "default"),
            selector=tuple(sorted((k, str(v)) for k, v in mapping(dig(value, "spec", "selector")).items())),
            ports=tuple(int(mapping(port)["port"]) for port in sequence(dig(value, "spec", "ports"))),
        )
        for value in values
        if value.get("kind") == "Service"
    ]
    pods = [
        Service(
            name=f"{pod.name}.{child.name}",
            namespace="default",
            selector=(("volcano.sh/job-name", child.name), ("volcano.sh/task-index", str(pod.index))),
            ports=(),
        )
        for child in children
        for pod in child.pods
    ]
    return (*own, *pods)
