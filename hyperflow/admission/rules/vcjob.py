"""What the webhook validatejob.volcano.sh denies in a new vcjob: counts, names, plugins, volumes, order, queue.

Source: volcano pkg/webhooks/admission/jobs/validate at ed72c7c81 (member), and as volcano-global 2ae7715 carries it
(plane), as recorded on 2026-11-30.
"""

from collections.abc import Iterator

from hyperflow.admission.names import dns_label, dns_subdomain, qualified_name
from hyperflow.admission.problem import Mend, Problem, denial
from hyperflow.admission.rules.job_view import VALIDATE_JOB, JobView, entries, whole
from hyperflow.admission.state import is_open
from hyperflow.errors import nearest
from hyperflow.json_tree import mapping, sequence, text

PLUGINS = ("env", "hcclrank", "mpi", "pytorch", "ray", "ssh", "svc", "tensorflow")


def counts(job: JobView) -> Iterator[Problem]:
    """Deny minAvailable above replicas, in a task or in the job."""
    total = sum(task.replicas for task in job.tasks)
    for task in job.tasks:
        if task.min_available > task.replicas:
            yield denial(
                "HF820", "task-min-available", (*task.path, "minAvailable"),
                f"task {task.name or task.index} needs {task.min_available} pods and has {task.replicas}", VALIDATE_JOB,
                got=task.min_available, expected=f"at most replicas, {task.replicas}",
                hint="lower minAvailable or raise replicas",
            )  # fmt: skip
    if job.min_available > total:
        yield denial(
            "HF820", "job-min-available", (*job.path, "minAvailable"),
            f"the job needs {job.min_available} pods and its tasks have {total}", VALIDATE_JOB,
            got=job.min_available, expected=f"at most {total}", hint="lower minAvailable or raise replicas",
        )  # fmt: skip
    if not job.tasks:
        yield denial("HF820", "no-tasks", (*job.path, "tasks"), "the job has no tasks", VALIDATE_JOB, hint="add a task")


def task_names(job: JobView) -> Iterator[Problem]:
    """Deny a task name that is no DNS label, or that two tasks share."""
    seen: dict[str, int] = {}
    for task in job.tasks:
        wrong = dns_label(task.name)
        if wrong:
            yield denial(
                "HF821", "task-name", (*task.path, "name"), f"the task name {wrong}", VALIDATE_JOB, got=task.name,
                expected="a DNS label", hint="use lower-case letters, digits and dashes",
            )  # fmt: skip
        if task.name in seen:
            yield denial(
                "HF821", "task-name-twice", (*task.path, "name"),
                f"task {task.name} has the name of task {seen[task.name]}", VALIDATE_JOB, got=task.name,
                expected="a name of its own", hint="rename one of the two",
            )  # fmt: skip
        seen.setdefault(task.name, task.index)


def pod_names(job: JobView) -> Iterator[Problem]:
    """Deny a job whose `{job}-{task}-{index of the task}` is longer than 63 characters."""
    for task in job.tasks:
        pod = f"{job.name}-{task.name}-{task.index}"
        if job.name and qualified_name(pod):
            yield denial(
                "HF821", "pod-name", ("metadata", "name"),
                f"the pod name {pod} has {len(pod)} characters", VALIDATE_JOB, got=job.name,
                expected="{job}-{task}-{index} of at most 63 characters",
                hint=f"make the job's name shorter by {max(1, len(pod) - 63)}",
            )  # fmt: skip


def plugin_names(job: JobView) -> Iterator[Problem]:
    """Deny a plugin that does not exist."""
    for name in job.plugins:
        if name not in PLUGINS:
            yield denial(
                "HF823", "plugin-name", (*job.path, "plugins", name), f"there is no job plugin {name}", VALIDATE_JOB,
                got=name, expected="one of " + ", ".join(PLUGINS), hint=nearest(name, PLUGINS),
            )  # fmt: skip


def mpi_tasks(job: JobView) -> Iterator[Problem]:
    """Deny the mpi plugin without its master task; the plane's older webhook asks for the worker task too."""
    if "mpi" not in job.plugins:
        return
    for role in ("master", "worker") if job.server == "plane" else ("master",):
        name = job.plugin_flag("mpi", role, role)
        if job.task(name) is None:
            yield denial(
                "HF823", "mpi-tasks", (*job.path, "plugins", "mpi"), f"the mpi plugin finds no {role} task {name}",
                VALIDATE_JOB, got=[task.name for task in job.tasks], expected=f"a task named {name}",
                hint=f"name the task {name}, or write --{role}=NAME in the plugin's arguments",
            )  # fmt: skip


def volumes(job: JobView) -> Iterator[Problem]:
    """Deny a volume without a mount path of its own, or with none or both of the two kinds of claim."""
    seen: set[str] = set()
    for index, volume in entries(job.spec.get("volumes")):
        path = (*job.path, "volumes", index)
        mount, name = text(volume.get("mountPath")), text(volume.get("volumeClaimName"))
        if not mount:
            yield denial("HF824", "volume-mount", (*path, "mountPath"), "the volume has no mountPath", VALIDATE_JOB,
                         hint="write mountPath")  # fmt: skip
        if mount and mount in seen:
            yield denial("HF824", "volume-mount-twice", (*path, "mountPath"), f"{mount} is mounted twice", VALIDATE_JOB,
                         got=mount, hint="mount one of the two elsewhere")  # fmt: skip
        seen.add(mount)
        if name and "volumeClaim" in volume:
            yield denial("HF824", "volume-claims", (*path, "volumeClaimName"),
                         "volumeClaim makes a new claim and volumeClaimName takes an old one", VALIDATE_JOB, got=name,
                         expected="one of the two", hint="take one of the two out")  # fmt: skip
        elif not name and "volumeClaim" not in volume:
            yield denial("HF824", "volume-claims", path, "the volume names no claim", VALIDATE_JOB,
                         expected="volumeClaimName or volumeClaim", hint="add one of the two")  # fmt: skip
        elif name and dns_subdomain(name):
            yield denial("HF824", "volume-claim-name", (*path, "volumeClaimName"), f"the name {dns_subdomain(name)}",
                         VALIDATE_JOB, got=name, hint="use the claim's real name")  # fmt: skip


def dependencies(job: JobView) -> Iterator[Problem]:
    """Deny an order of tasks that is no directed acyclic graph; an unknown task counts as a cycle."""
    waits = {task.name: _targets(task.values) for task in job.tasks}
    for task in job.tasks:
        path = (*task.path, "dependsOn", "name")
        for index, name in enumerate(waits[task.name]):
            if name not in waits:
                yield denial("HF825", "depends-on", (*path, index), f"there is no task {name}", VALIDATE_JOB, got=name,
                             expected="the name of another task", hint=nearest(name, waits))  # fmt: skip
    done: set[str] = set()
    while True:
        ready = {name for name, targets in waits.items() if name not in done and done.issuperset(targets)}
        if not ready:
            break
        done |= ready
    for task in job.tasks:
        if task.name not in done and all(name in waits for name in waits[task.name]):
            yield denial("HF825", "depends-on", (*task.path, "dependsOn"),
                         f"task {task.name} waits for itself, directly or through others", VALIDATE_JOB,
                         got=waits[task.name], expected="an order without a circle",
                         hint="take one of the waits out")  # fmt: skip


def _targets(task: dict[str, object]) -> list[str]:
    return [str(name) for name in sequence(mapping(task.get("dependsOn")).get("name"))]


def queue(job: JobView) -> Iterator[Problem]:
    """Deny a queue that is absent, not open, the root, or has children."""
    name = text(job.spec.get("queue"), "default") or "default"
    path = (*job.path, "queue")
    found = job.state.queue(name)
    if name == "root":
        yield denial("HF826", "queue-root", path, "no job may go to the root queue", VALIDATE_JOB, got=name,
                     expected="a leaf queue", hint="use another queue")  # fmt: skip
        return
    if found is None:
        if job.state.knows("scheduling.volcano.sh", "Queue"):
            known = [
                text(mapping(q.get("metadata")).get("name")) for q in job.state.all("scheduling.volcano.sh", "Queue")
            ]
            yield denial("HF826", "queue-missing", path, f"there is no queue {name} on the {job.server}", VALIDATE_JOB,
                         got=name, expected="a queue that exists",
                         hint=nearest(name, known) or "create the queue first")  # fmt: skip
        return
    if not is_open(found):
        yield denial("HF826", "queue-closed", path, f"the queue {name} is not open", VALIDATE_JOB,
                     got=mapping(found.get("status")).get("state"), expected="Open",
                     hint="open it or use another")  # fmt: skip
    children = job.state.child_queues(name)
    if children:
        yield denial("HF826", "queue-parent", path, f"the queue {name} has child queues: {', '.join(children)}",
                     VALIDATE_JOB, got=name, expected="a leaf queue", hint=f"use {children[0]}")  # fmt: skip


def partitions(job: JobView) -> Iterator[Problem]:
    """Deny partitions that do not add up to replicas or to minAvailable (members only)."""
    if job.server != "member":
        return
    for task in job.tasks:
        policy = mapping(task.values.get("partitionPolicy"))
        total, size, least = (whole(policy.get(k)) for k in ("totalPartitions", "partitionSize", "minPartitions"))
        if not policy or total < 1 or size < 1:
            continue
        path = (*task.path, "partitionPolicy")
        if task.replicas != total * size:
            below, above = task.replicas - task.replicas % size, task.replicas + -task.replicas % size
            sizes = f"replicas {below} or {above} divide into partitions of {size}"
            mend = sizes if below != above else f"write totalPartitions: {below // size}"
            yield denial("HF827", "partition-product", (*path, "totalPartitions"),
                         f"{total} partitions of {size} are {total * size} pods, replicas is {task.replicas}",
                         VALIDATE_JOB, got=total, expected="totalPartitions x partitionSize = replicas",
                         hint=mend)  # fmt: skip
        if least and "minAvailable" in task.posted and task.min_available != least * size:
            yield denial("HF827", "partition-minimum", (*task.path, "minAvailable"),
                         f"minPartitions {least} of {size} are {least * size} pods, not {task.min_available}",
                         VALIDATE_JOB, got=task.min_available, expected=f"{least * size}",
                         hint=f"write minAvailable: {least * size}",
                         mend=Mend(path=(*task.path, "minAvailable"), value=least * size))  # fmt: skip


def topology(job: JobView) -> Iterator[Problem]:
    """Deny a topology with a tier number and a tier name at once (members only)."""
    if job.server != "member":
        return
    places = [(job.path, job.spec)]
    places += [((*t.path, "partitionPolicy"), mapping(t.values.get("partitionPolicy"))) for t in job.tasks]
    for path, parent in places:
        tree = mapping(parent.get("networkTopology"))
        if "highestTierAllowed" in tree and text(tree.get("highestTierName")):
            yield denial("HF827", "tier-twice", (*path, "networkTopology", "highestTierName"),
                         "highestTierAllowed and highestTierName exclude each other", VALIDATE_JOB,
                         got=tree["highestTierName"], expected="one of the two",
                         hint="keep highestTierAllowed, it works in every version")  # fmt: skip


RULES = (
    counts, task_names, pod_names, plugin_names, mpi_tasks, volumes, dependencies, queue, partitions, topology,
)  # fmt: skip
