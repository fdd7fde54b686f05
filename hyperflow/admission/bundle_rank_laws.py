"""Laws about ranks and pods: one world, one address of rank 0, pods that a kubelet takes."""

from collections import Counter
from collections.abc import Iterator

from hyperflow.admission.bundle_breach import Breach
from hyperflow.admission.bundle_view import BundleView, JobView
from hyperflow.json_tree import dig, mapping, sequence, text

RESERVED_MOUNT = "/etc/volcano"


def ranks_form_one_world(view: BundleView) -> Iterator[Breach]:
    """Offsets are contiguous from 0, and all children know the same world (T5, rules 2.4)."""
    expected = 0
    for job in sorted(view.jobs, key=lambda job: _number(job, "HF_NODE_RANK_OFFSET")):
        offset = _number(job, "HF_NODE_RANK_OFFSET")
        if offset != expected:
            yield _breach(job, f"node ranks begin at {offset}, not at {expected}", "ranks are missing or given twice")
        replicas = job.tasks[0].get("replicas") if job.tasks else None
        expected = offset + (replicas if isinstance(replicas, int) else 0)
    for job in view.jobs:
        if _number(job, "HF_NNODES") != expected:
            message = f"HF_NNODES is {job.variable('HF_NNODES')}, the bundle has {expected} nodes"
            yield _breach(job, message, "the rendezvous waits for ever")
        if _number(job, "WORLD_SIZE") != expected * _number(job, "HF_NPROC_PER_NODE"):
            message = f"WORLD_SIZE is {job.variable('WORLD_SIZE')}, not nodes times processes"
            yield _breach(job, message, "the rendezvous waits for ever")
    for name in ("MASTER_ADDR", "MASTER_PORT", "HF_NPROC_PER_NODE", "HF_BUNDLE"):
        values = {job.variable(name) for job in view.jobs}
        if len(values) > 1 or None in values:
            shown = ", ".join(sorted(str(value) for value in values))
            yield Breach(where=name, message=f"children disagree: {shown}", effect="they form several worlds")


def rank_zero_is_reachable(view: BundleView) -> Iterator[Breach]:
    """The Service of node rank 0 selects exactly its pod, before it is ready, on the port of the rendezvous."""
    first = next((job for job in view.jobs if job.variable("HF_NODE_RANK_OFFSET") == "0"), None)
    for service in view.of_kind("Service"):
        selector = mapping(dig(service.value, "spec", "selector"))
        task = text(first.tasks[0].get("name")) if first and first.tasks else ""
        wanted = {
            "volcano.sh/job-name": first.name if first else "",
            "volcano.sh/task-index": "0",
            "volcano.sh/task-spec": task,
        }
        where = f"{service.file}: spec"
        if selector != wanted:
            yield Breach(where=where, message="the Service does not select node rank 0", effect="nobody finds rank 0")
        if dig(service.value, "spec", "publishNotReadyAddresses") is not True:
            message = "publishNotReadyAddresses is not true"
            yield Breach(where=where, message=message, effect="peers cannot find rank 0 while it starts")
        ports = [str(dig(port, "port")) for port in sequence(dig(service.value, "spec", "ports"))]
        if first and first.variable("MASTER_PORT") not in ports:
            yield Breach(where=where, message="the Service lacks the rendezvous port", effect="nobody reaches rank 0")
        host = text(first.variable("MASTER_ADDR")) if first else ""
        named = (f"{service.name}.{service.namespace}.svc", f"derived-{service.name}.{service.namespace}.svc")
        if host not in named:
            message = f"MASTER_ADDR {host} is not the Service's name"
            yield Breach(where=where, message=message, effect="nobody reaches rank 0")


def lost_peers_are_noticed_in_time(view: BundleView) -> Iterator[Breach]:
    """Peers of a failed child must end before its next start barrier gives up (T13)."""
    for job in view.jobs:
        waits, notices = _number(job, "HF_RENDEZVOUS_TIMEOUT_SECONDS"), _number(job, "HF_COMM_TIMEOUT_SECONDS")
        if waits < 1 or notices < 1:
            yield _breach(job, "a timeout is missing", "a lost peer hangs the job")


def accelerators_are_whole_and_limited(view: BundleView) -> Iterator[Breach]:
    """Extended resources: whole numbers, limits equal to requests (facts 2)."""
    for job in view.jobs:
        for path, container in job.containers():
            requests = mapping(dig(container, "resources", "requests"))
            limits = mapping(dig(container, "resources", "limits"))
            for name in {*requests, *limits}:
                if "/" not in name:
                    continue
                asked, limit = str(requests.get(name)), str(limits.get(name))
                if asked != limit or not asked.isdigit():
                    message = f"{name} is requested {asked}, limited to {limit}"
                    yield Breach(where=f"{job.source.file}: {path}", message=message, effect="denied")


def variables_stand_once(view: BundleView) -> Iterator[Breach]:
    """Two variables of one name in a container are denied with 422 (facts 2)."""
    for job in view.jobs:
        for path, container in job.containers():
            names = Counter(text(dig(item, "name")) for item in sequence(container.get("env")))
            for name, count in names.items():
                if count > 1:
                    message = f"the variable {name} stands {count} times"
                    yield Breach(where=f"{job.source.file}: {path}", message=message, effect="denied")
            for item in sequence(container.get("env")):
                value = dig(item, "value")
                if value is not None and not isinstance(value, str):
                    message = f"the variable {dig(item, 'name')} is no text"
                    yield Breach(where=f"{job.source.file}: {path}", message=message, effect="denied")


def mounts_are_sound(view: BundleView) -> Iterator[Breach]:
    """Every mount has its volume, paths differ, /etc/volcano belongs to the svc plugin, shm is there (rules 2.3)."""
    for job in view.jobs:
        for path, container in job.containers():
            mounts = [mapping(m) for m in sequence(container.get("volumeMounts"))]
            pod = next(pod for where, pod in job.pods() if path.startswith(where))
            volumes = {text(dig(volume, "name")) for volume in sequence(pod.get("volumes"))}
            paths = Counter(text(m.get("mountPath")) for m in mounts)
            faults = [f"no volume {m.get('name')}" for m in mounts if m.get("name") not in volumes]
            faults += [f"{mount} is mounted twice" for mount, count in paths.items() if count > 1]
            faults += [f"{m} belongs to Volcano" for m in paths if m.rstrip("/") == RESERVED_MOUNT]
            if ".containers[" in path and "/dev/shm" not in paths:
                faults.append("no shared memory is mounted; data loaders fail with 64 MB")
            for fault in faults:
                yield Breach(where=f"{job.source.file}: {path}", message=fault, effect="the pods do not run")


def pods_have_no_privilege(view: BundleView) -> Iterator[Breach]:
    """Nothing we write asks for the host; a user's patch that does is told."""
    for job in view.jobs:
        for path, container in job.containers():
            if dig(container, "securityContext", "privileged") is True:
                where = f"{job.source.file}: {path}"
                yield Breach(
                    where=where, message="the container is privileged", effect="it may do anything on its node"
                )


def _number(job: JobView, name: str) -> int:
    value = job.variable(name) or ""
    return int(value) if value.isdigit() else -1


def _breach(job: JobView, message: str, effect: str) -> Breach:
    return Breach(where=job.where, message=message, effect=effect)


RANK_LAWS = (
    ranks_form_one_world,
    rank_zero_is_reachable,
    lost_peers_are_noticed_in_time,
    accelerators_are_whole_and_limited,
    variables_stand_once,
    mounts_are_sound,
    pods_have_no_privilege,
)
