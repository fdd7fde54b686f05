"""What a member accepts in a vcjob and what then waits for ever, starves or is dropped without a word.

Source: control-plane recordings of 2026-11-30 (section "Accepted, yet harmful").
"""

from collections.abc import Iterator

from hyperflow.admission.names import dns_label_1035
from hyperflow.admission.problem import Mend, Problem, note, risk
from hyperflow.admission.rules.job_view import JobView, whole
from hyperflow.admission.rules.lifecycle_policies import events_of, policy_lists
from hyperflow.json_tree import dig, mapping, text

SVC_FLAGS = ("publish-not-ready-addresses", "disable-network-policy", "inject-hosts-env")
_BOOLEANS = frozenset(["1", "t", "T", "true", "TRUE", "True", "0", "f", "F", "false", "FALSE", "False"])
_MAX_NAME = 63


def job_name(job: JobView) -> Iterator[Problem]:
    """Warn of a name that cannot be a Service's: it starts with a digit or holds a dot."""
    if job.name and len(job.name) <= _MAX_NAME and ("." in job.name or job.name[0].isdigit()):
        yield risk("HF861", "job-name", ("metadata", "name"),
                   "the svc and ray plugins make a Service of this name, which the API server denies", got=job.name,
                   expected="a letter first, then letters, digits and dashes",
                   hint="rename the job" if dns_label_1035(job.name) else "")  # fmt: skip


def real_pod_names(job: JobView) -> Iterator[Problem]:
    """Warn of pods whose real highest index makes their name longer than 63 characters."""
    for task in job.tasks:
        checked = f"{job.name}-{task.name}-{task.index}"
        last = f"{job.name}-{task.name}-{max(task.replicas - 1, 0)}"
        if len(checked) <= _MAX_NAME < len(last):
            yield risk("HF861", "real-pod-name", ("metadata", "name"),
                       f"the webhook checks {checked} alone; the pod {last} has {len(last)} characters",
                       got=job.name, expected="{job}-{task}-{replicas - 1} of at most 63 characters",
                       hint=f"shorten the job's name by {len(last) - _MAX_NAME} characters")  # fmt: skip


def priority_class(job: JobView) -> Iterator[Problem]:
    """Warn of a PriorityClass that does not exist, in the job or in a pod template."""
    places = [((*job.path, "priorityClassName"), job.spec.get("priorityClassName"), "its binding or PodGroup waits")]
    places += [
        ((*t.path, "template", "spec", "priorityClassName"), dig(t.values, "template", "spec", "priorityClassName"),
         "its pods are denied") for t in job.tasks
    ]  # fmt: skip
    if not job.state.knows("scheduling.k8s.io", "PriorityClass"):
        return
    for path, name, effect in places:
        if text(name) and job.state.find("scheduling.k8s.io", "PriorityClass", text(name)) is None:
            yield risk("HF862", "priority-class", path, f"there is no PriorityClass {name}: {effect} for ever",
                       got=name,
                       expected="a PriorityClass that exists",
                       hint="create it first, or take the field out")  # fmt: skip


def svc_flags(job: JobView) -> Iterator[Problem]:
    """Warn of arguments that the svc plugin does not know; it then drops the others too."""
    for index, argument in enumerate(job.plugins.get("svc", [])):
        name, equals, value = argument.lstrip("-").partition("=")
        known = argument.startswith("-") and name in SVC_FLAGS and (not equals or value in _BOOLEANS)
        if not known:
            yield risk("HF864", "svc-flag", (*job.path, "plugins", "svc", index),
                       "the svc plugin does not know this argument and reads none after it", got=argument,
                       expected="--" + ", --".join(SVC_FLAGS) + ", each with =true or =false",
                       hint="correct the argument")  # fmt: skip


def dropped_plugins(job: JobView) -> Iterator[Problem]:
    """Warn of a plugin with null arguments: the API server drops it."""
    for name, arguments in mapping(job.posted.get("plugins")).items():
        if arguments is None:
            path = (*job.path, "plugins", name)
            yield risk("HF864", "plugin-null", path, f"null arguments drop the plugin {name} without a word",
                       got=None, expected="[]", hint=f"write {name}: []", mend=Mend(path=path, value=[]))  # fmt: skip


def pytorch_master(job: JobView) -> Iterator[Problem]:
    """Warn of the pytorch plugin without exactly one master pod."""
    if "pytorch" not in job.plugins:
        return
    name = job.plugin_flag("pytorch", "master", "master")
    master = job.task(name)
    if master is None or master.replicas != 1:
        count = master.replicas if master else 0
        effect = "it sets no environment at all" if count == 0 else "every master pod is rank 0"
        yield risk("HF864", "pytorch-master", (*job.path, "plugins", "pytorch"),
                   f"the pytorch plugin finds {count} pods of its master task {name}: {effect}", got=count,
                   expected="one master pod", hint=f"give one task the name {name} and 1 replica")  # fmt: skip


def mpi_workers(job: JobView) -> Iterator[Problem]:
    """Warn of the mpi plugin without workers."""
    if "mpi" not in job.plugins:
        return
    name = job.plugin_flag("mpi", "worker", "worker")
    worker = job.task(name)
    if worker is None or worker.replicas == 0:
        yield risk("HF864", "mpi-workers", (*job.path, "plugins", "mpi"),
                   f"the mpi plugin finds no pods of its worker task {name}: MPI_HOST stays empty",
                   got=worker.replicas if worker else None, expected="at least one worker pod",
                   hint=f"name the task {name}, or write --worker=NAME in the plugin's arguments")  # fmt: skip


def restart_policies(job: JobView) -> Iterator[Problem]:
    """Warn of pods that the kubelet restarts for ever: restartPolicy Always, which is also what absence means."""
    for task in job.tasks:
        pod = mapping(dig(task.values, "template", "spec"))
        policy = pod.get("restartPolicy")
        if pod and policy in (None, "", "Always"):
            path = (*task.path, "template", "spec", "restartPolicy")
            yield risk("HF865", "restart-policy", path,
                       "containers restart for ever: the task never completes and no policy sees the failure",
                       got=policy, expected="Never or OnFailure", hint="write restartPolicy: Never",
                       mend=Mend(path=path, value="Never"))  # fmt: skip


def grace_periods(job: JobView) -> Iterator[Problem]:
    """Warn of a negative terminationGracePeriodSeconds."""
    for task in job.tasks:
        seconds = dig(task.values, "template", "spec", "terminationGracePeriodSeconds")
        if whole(seconds) < 0:
            yield risk("HF865", "grace-period",
                       (*task.path, "template", "spec", "terminationGracePeriodSeconds"),
                       "a negative grace period is taken here and denied when the pod is made", got=seconds,
                       expected="0 or more", hint="write 30, the default")  # fmt: skip


def retries(job: JobView) -> Iterator[Problem]:
    """Warn of maxRetry 0, which becomes 3."""
    places = [((*job.path, "maxRetry"), job.posted)] + [((*t.path, "maxRetry"), t.posted) for t in job.tasks]
    for path, parent in places:
        if parent.get("maxRetry") == 0 and not isinstance(parent.get("maxRetry"), bool):
            yield risk("HF866", "max-retry", path, "0 becomes 3: the job is tried again all the same", got=0,
                       expected="1 or more", hint="write 1 for a single retry; none cannot be asked")  # fmt: skip


def minimums(job: JobView) -> Iterator[Problem]:
    """Warn of minimums that contradict each other; note the zero that is rewritten."""
    least = job.posted.get("minAvailable")
    needed = sum(task.min_available for task in job.tasks)
    full = all(task.min_available == task.replicas for task in job.tasks)
    path = (*job.path, "minAvailable")
    if least == 1 and needed > 1 and full:
        yield risk("HF866", "job-minimum-one", path,
                   f"one pod is enough to start, while the tasks need all {needed}: the job starts torn", got=1,
                   expected=f"{needed}", hint=f"write minAvailable: {needed}",
                   mend=Mend(path=path, value=needed))  # fmt: skip
    if least == 0 and needed:
        yield note("HF880", "job-minimum-zero", path, f"0 becomes the sum of the tasks' minimums, {needed}")
    success = job.spec.get("minSuccess")
    if isinstance(success, int) and 1 <= success < job.min_available:
        yield risk("HF866", "min-success", (*job.path, "minSuccess"),
                   f"the job counts as done after {success} pods, though it needs {job.min_available} to run",
                   got=success, expected=f"at least {job.min_available}",
                   hint="raise minSuccess or take it out")  # fmt: skip


def partition_minimum(job: JobView) -> Iterator[Problem]:
    """Warn of a minAvailable that cuts a partition."""
    for task in job.tasks:
        policy = mapping(task.values.get("partitionPolicy"))
        size = whole(policy.get("partitionSize"))
        if size > 0 and not whole(policy.get("minPartitions")) and task.min_available % size:
            yield risk("HF867", "partition-cut", (*task.path, "minAvailable"),
                       f"{task.min_available} pods are no whole number of partitions of {size}: the gang cannot be met",
                       got=task.min_available, expected=f"a multiple of {size}",
                       hint=f"write {task.min_available - task.min_available % size} and minPartitions")  # fmt: skip


def iterations(job: JobView) -> Iterator[Problem]:
    """Warn of a dependsOn.iteration that is neither any nor all."""
    for task in job.tasks:
        value = dig(task.values, "dependsOn", "iteration")
        if text(value) and value not in ("any", "all"):
            yield risk("HF867", "iteration", (*task.path, "dependsOn", "iteration"),
                       "an unknown word is read as all", got=value, expected="any or all",
                       hint="write all")  # fmt: skip


def unanswered_failures(job: JobView) -> Iterator[Problem]:
    """Note that no policy answers a failed or evicted pod."""
    answered = {event for _, listed in policy_lists(job) for _, policy in listed for event in events_of(policy)}
    missing = [event for event in ("PodFailed", "PodEvicted") if event not in answered and "*" not in answered]
    if missing and job.tasks:
        yield note("HF880", "no-failure-policy", (*job.path, "policies"),
                   f"no policy answers {' and '.join(missing)}: the job stays Running with a pod fewer",
                   hint="add {event: PodFailed, action: RestartJob}")  # fmt: skip


RULES = (
    job_name, real_pod_names, priority_class, svc_flags, dropped_plugins, pytorch_master, mpi_workers, restart_policies,
    grace_periods, retries, minimums, partition_minimum, iterations, unanswered_failures,
)  # fmt: skip
