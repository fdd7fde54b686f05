"""Which rules look at which kind."""

from collections.abc import Callable, Iterable, Iterator

from hyperflow.admission.problem import Problem, note
from hyperflow.admission.rules import (
    hyperjob,
    job_risks,
    lifecycle_policies,
    member_kinds,
    numa,
    plane_kinds,
    pod_template,
    propagation,
    queue,
    topology_risks,
    vcjob,
)
from hyperflow.admission.rules.case import Case
from hyperflow.admission.rules.job_update import job_update
from hyperflow.admission.rules.job_view import JobView, entries
from hyperflow.admission.tables import VCJOB, Kind, KindTable
from hyperflow.json_tree import dig, mapping, text

CaseRule = Callable[[Case], Iterable[Problem]]
JobRule = Callable[[JobView], Iterable[Problem]]

JOB_DENIALS: tuple[JobRule, ...] = (*vcjob.RULES, *lifecycle_policies.RULES, *pod_template.RULES, *numa.RULES)
JOB_RISKS: tuple[JobRule, ...] = (*job_risks.RULES, lifecycle_policies.idle_policies, *topology_risks.RULES)
_NAME_RULES = (vcjob.pod_names, job_risks.job_name, job_risks.real_pod_names)

CASE_RULES: dict[str, tuple[CaseRule, ...]] = {
    "scheduling.volcano.sh/Queue": queue.RULES,
    "scheduling.volcano.sh/PodGroup": member_kinds.POD_GROUP_RULES,
    "topology.volcano.sh/HyperNode": member_kinds.HYPERNODE_RULES,
    "flow.volcano.sh/JobFlow": member_kinds.JOB_FLOW_RULES,
    "batch.volcano.sh/CronJob": member_kinds.CRON_JOB_RULES,
    "training.volcano.sh/HyperJob": hyperjob.RULES,
    "policy.karmada.io/PropagationPolicy": propagation.RULES,
    "policy.karmada.io/ClusterPropagationPolicy": propagation.RULES,
    "policy.karmada.io/OverridePolicy": plane_kinds.OVERRIDE_RULES,
    "policy.karmada.io/ClusterOverridePolicy": plane_kinds.OVERRIDE_RULES,
    "networking.karmada.io/MultiClusterService": plane_kinds.SERVICE_RULES,
    "policy.karmada.io/FederatedResourceQuota": plane_kinds.QUOTA_RULES,
    "cluster.karmada.io/Cluster": plane_kinds.CLUSTER_RULES,
}
"""The rules of each kind but the vcjob, by group and kind."""


def kind_problems(case: Case, kind: Kind, table: KindTable) -> Iterator[Problem]:
    """Apply the rules of the case's kind, and say what could not be looked up."""
    if case.group_kind == "batch.volcano.sh/Job":
        job = case.job()
        if case.old is None:
            yield from _apply(JOB_DENIALS, job)
        else:
            yield from job_update(job, mapping(case.old.get("spec")), kind.shape.fields["spec"])
        yield from _apply(JOB_RISKS, job)
    for rule in CASE_RULES.get(case.group_kind, ()):
        yield from rule(case)
    yield from _templates(case, table)
    yield from _not_looked_up(case)


def _apply(rules: Iterable[JobRule], job: JobView) -> Iterator[Problem]:
    for rule in rules:
        yield from rule(job)


def _templates(case: Case, table: KindTable) -> Iterator[Problem]:
    """Judge the vcjobs that a document would make: risks in a HyperJob, notes elsewhere."""
    vcjob_kind = table.find(VCJOB)
    if vcjob_kind is None:
        return
    if case.group_kind == "training.volcano.sh/HyperJob":
        for job, _ in hyperjob.children(case, vcjob_kind.shape):
            for problem in _apply([rule for rule in JOB_DENIALS if rule not in _NAME_RULES], job):
                yield hyperjob.as_risk(problem)
            for problem in _apply([rule for rule in JOB_RISKS if rule not in _NAME_RULES], job):
                if problem.rule != "no-tier":
                    yield problem
        return
    paths = {"batch.volcano.sh/CronJob": ("spec", "jobTemplate", "spec"), "flow.volcano.sh/JobTemplate": ("spec",)}
    if case.group_kind in paths:
        job = hyperjob.template_view(case, case.name, paths[case.group_kind], vcjob_kind.shape)
        for problem in _apply([rule for rule in (*JOB_DENIALS, *JOB_RISKS) if rule not in _NAME_RULES], job):
            if problem.severity != "note":
                verb = "would be denied" if problem.severity == "error" else "would be at risk"
                yield note("HF871", problem.rule, problem.path, f"a job made of it {verb}: {problem.message}",
                           hint=problem.hint)  # fmt: skip


def _not_looked_up(case: Case) -> Iterator[Problem]:
    """Note which objects were not given, so that what depends on them was not judged."""
    missing: list[str] = []
    for what, group, kind in (
        ("queues", "scheduling.volcano.sh", "Queue"),
        ("PriorityClasses", "scheduling.k8s.io", "PriorityClass"),
        ("HyperNodes", "topology.volcano.sh", "HyperNode"),
        ("clusters", "cluster.karmada.io", "Cluster"),
    ):
        if not case.state.knows(group, kind) and _mentions(case, kind):
            missing.append(what)
    if missing:
        option = "--with" if case.server == "member" else "--with-plane"
        yield note("HF805", "not-looked-up", (),
                   f"not judged on the {case.server}, for want of {' and '.join(missing)}",
                   hint=f"give them with {option}")  # fmt: skip


def _mentions(case: Case, kind: str) -> bool:
    templates = [mapping(job.get("templateSpec")) for _, job in entries(case.spec.get("replicatedJobs"))]
    is_job = case.group_kind == "batch.volcano.sh/Job"
    jobs = [case.spec] if is_job else templates
    if kind == "Queue":
        names = [text(job.get("queue"), "default") for job in jobs]
        named = text(case.spec.get("parent" if case.group_kind.endswith("/Queue") else "queue"))
        return any(name not in ("default", "root") for name in [*names, named] if name)
    if kind == "PriorityClass":
        pods = [mapping(dig(task, "template", "spec")) for job in jobs for _, task in entries(job.get("tasks"))]
        return any(tree.get("priorityClassName") for tree in [*jobs, *pods])
    if kind == "HyperNode":
        trees = [job.get("networkTopology") for job in jobs] + [
            dig(task, "partitionPolicy", "networkTopology") for job in jobs for _, task in entries(job.get("tasks"))
        ]
        return case.server == "member" and any(
            key in mapping(tree) for tree in trees for key in ("highestTierAllowed", "highestTierName")
        )
    return any(job.get("clusterNames") for _, job in entries(case.spec.get("replicatedJobs"))) or bool(
        dig(case.spec, "placement", "clusterAffinity", "clusterNames")
        or dig(case.spec, "placement", "clusterAffinities")
    )
