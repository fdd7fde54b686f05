"""HyperJobs: no webhook looks at them, so what would be denied in a child shows as an event, or not at all.

Source: volcano-global pkg/reconciler/hyperjob at 2ae7715, and control-plane recordings of 2026-11-30, section 5.
"""

import copy
import dataclasses
from collections.abc import Iterator

from hyperflow.admission.mutations import mutate_job
from hyperflow.admission.names import cluster_name, dns_subdomain
from hyperflow.admission.problem import Path, Problem, risk
from hyperflow.admission.rules.case import Case
from hyperflow.admission.rules.job_view import JobView, entries, whole
from hyperflow.admission.shapes import Shape
from hyperflow.json_tree import dig, is_mapping, mapping, sequence, text

_MAX_NAME = 63


def replicated_jobs(case: Case) -> Iterator[Problem]:
    """Warn of a HyperJob that makes no child, and of more children needed than made."""
    listed = entries(case.spec.get("replicatedJobs"))
    if not listed:
        yield risk("HF870", "no-jobs", ("spec", "replicatedJobs"), "nothing is made and no condition ever set",
                   expected="at least one replicatedJob", hint="add one")  # fmt: skip
    total = 0
    for index, job in listed:
        replicas = job.get("replicas", 1)
        total += max(whole(replicas), 0)
        if isinstance(replicas, int) and replicas < 1:
            yield risk("HF870", "hyperjob-replicas", ("spec", "replicatedJobs", index, "replicas"),
                       "no child is made; with no other the HyperJob is Completed at once", got=replicas,
                       expected="1 or more", hint="write 1, or take the replicatedJob out")  # fmt: skip
    least = whole(case.spec.get("minAvailable"))
    if least > total:
        yield risk("HF870", "hyperjob-minimum", ("spec", "minAvailable"),
                   f"{least} children are needed and {total} made", got=least, expected=f"at most {total}",
                   hint="lower it; the controller does not read it yet")  # fmt: skip


def cluster_names(case: Case) -> Iterator[Problem]:
    """Warn of cluster names that cannot exist, or do not."""
    known = case.state.knows("cluster.karmada.io", "Cluster")
    for index, job in entries(case.spec.get("replicatedJobs")):
        for number, name in enumerate(sequence(job.get("clusterNames"))):
            path = ("spec", "replicatedJobs", index, "clusterNames", number)
            absent = known and case.state.find("cluster.karmada.io", "Cluster", text(name)) is None
            if cluster_name(text(name)) or absent:
                yield risk("HF870", "hyperjob-cluster", path, "there is no such cluster: the child is never placed",
                           got=name, expected="the name of a member cluster",
                           hint="see kubectl get clusters")  # fmt: skip


def names(case: Case) -> Iterator[Problem]:
    """Warn of names that make a child or a pod that cannot be."""
    for index, job in entries(case.spec.get("replicatedJobs")):
        child = f"{case.name}-{text(job.get('name'))}-{max(whole(job.get('replicas', 1)) - 1, 0)}"
        path: Path = ("spec", "replicatedJobs", index, "name")
        if dns_subdomain(text(job.get("name"))):
            yield risk("HF870", "hyperjob-name", path, "the child's name is denied", got=job.get("name"),
                       expected="lower-case letters, digits and dashes", hint="rename it")  # fmt: skip
            continue
        if "." in child or child[0].isdigit():
            where: Path = path if "." in text(job.get("name")) else ("metadata", "name")
            yield risk("HF870", "hyperjob-name", where, f"no Service can have the child's name {child}", got=child,
                       expected="a letter first, no dots", hint="rename it")  # fmt: skip
        tasks = [mapping(task) for task in sequence(dig(job, "templateSpec", "tasks"))]
        pods = [f"{child}-{_task_name(t, i)}-{max(whole(t.get('replicas')) - 1, i, 0)}" for i, t in enumerate(tasks)]
        longest = max([child, *pods], key=len)
        if len(longest) > _MAX_NAME:
            what = "child" if longest == child else "pod"
            yield risk("HF870", "hyperjob-name", ("metadata", "name"),
                       f"the {what} {_cut(longest)} has {len(longest)} characters and is denied", got=case.name,
                       expected=f"at most {_MAX_NAME}",
                       hint=f"shorten a name by {len(longest) - _MAX_NAME} characters")  # fmt: skip


def _task_name(task: dict[str, object], index: int) -> str:
    return text(task.get("name")) or f"default{index}"


def _cut(name: str) -> str:
    return name if len(name) <= 80 else name[:77] + "..."


def ttl(case: Case) -> Iterator[Problem]:
    """Warn of ttlSecondsAfterFinished: the finished child is deleted, made again, and the training runs twice."""
    for index, job in entries(case.spec.get("replicatedJobs")):
        if dig(job, "templateSpec", "ttlSecondsAfterFinished") is not None:
            yield risk("HF870", "hyperjob-ttl",
                       ("spec", "replicatedJobs", index, "templateSpec", "ttlSecondsAfterFinished"),
                       "the finished child is deleted and made again: the training runs twice",
                       got=dig(job, "templateSpec", "ttlSecondsAfterFinished"), expected="no ttlSecondsAfterFinished",
                       hint="take it out")  # fmt: skip


def tiers(case: Case) -> Iterator[Problem]:
    """Warn of a hard topology without a tier where the CRD's default makes it tier 1."""
    for index, job in entries(case.spec.get("replicatedJobs")):
        posted = dig(case.posted_spec, "replicatedJobs", index, "templateSpec", "networkTopology")
        became = dig(job, "templateSpec", "networkTopology", "highestTierAllowed")
        hard = is_mapping(posted) and text(posted.get("mode"), "hard") == "hard"
        if hard and "highestTierAllowed" not in posted and became is not None:
            yield risk("HF870", "hyperjob-tier",
                       ("spec", "replicatedJobs", index, "templateSpec", "networkTopology", "highestTierAllowed"),
                       f"the HyperJob CRD makes it tier {became}", expected="the tier in figures",
                       hint="write highestTierAllowed")  # fmt: skip


def children(case: Case, job_shape: Shape) -> list[tuple[JobView, Path]]:
    """Give each child vcjob as the plane would see it, after its webhook's mutation."""
    views: list[tuple[JobView, Path]] = []
    for index, job in entries(case.spec.get("replicatedJobs")):
        path: Path = ("spec", "replicatedJobs", index, "templateSpec")
        name = f"{case.name}-{text(job.get('name'))}-{max(whole(job.get('replicas', 1)) - 1, 0)}"
        views.append((template_view(case, name, path, job_shape), path))
    return views


def template_view(case: Case, name: str, path: Path, job_shape: Shape) -> JobView:
    """Give a vcjob that is made from a template inside another document."""
    document = {"spec": copy.deepcopy(mapping(dig(case.document, *path)))}
    mutate_job(document, job_shape, case.server)
    return JobView(
        name=name,
        namespace=case.namespace,
        path=path,
        spec=document["spec"],
        posted=mapping(dig(case.posted, *path)),
        server=case.server,
        state=case.state,
    )


def as_risk(problem: Problem) -> Problem:
    """Turn the denial of a child into the risk that it is in its parent."""
    return dataclasses.replace(
        problem, severity="warning", code="HF871", by="", message=f"the child would be denied: {problem.message}"
    )


RULES = (replicated_jobs, cluster_names, names, ttl, tiers)
