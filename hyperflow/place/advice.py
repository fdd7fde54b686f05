"""What in the documents will surprise: broken trees, void constraints, elastic jobs under a topology, odd queues."""

from collections.abc import Iterator, Sequence

from hyperflow.errors import Finding, nearest
from hyperflow.place.cluster_state import job_key, nodes_left_out
from hyperflow.place.domains import DomainTree, build_tree
from hyperflow.place.records import ClusterRecord, JobRecord, TopologyLimit


def judge_input(clusters: Sequence[ClusterRecord], jobs: Sequence[JobRecord]) -> list[Finding]:
    """Give findings about clusters, then about jobs; they do not change any verdict."""
    findings: list[Finding] = []
    for cluster in clusters:
        left_out = nodes_left_out(cluster)
        tree = build_tree(cluster.hypernodes, sorted(n.name for n in cluster.nodes))
        findings += _judge_cluster(cluster, tree, left_out)
        for job in jobs:
            if not job.clusters or cluster.name is None or cluster.name in job.clusters:
                findings += _judge_topology(cluster, tree, job)
                findings += _judge_queue(cluster, job)
    known = {cluster.name for cluster in clusters}
    for job in jobs:
        findings += _judge_job(job, known)
    return list(dict.fromkeys(findings))


def _of(cluster: ClusterRecord) -> str:
    return f"cluster {cluster.name}" if cluster.name else "the cluster"


def _judge_cluster(cluster: ClusterRecord, tree: DomainTree, left_out: dict[str, str]) -> Iterator[Finding]:
    if tree.frozen:
        yield Finding(
            code="HF364",
            message=f"{tree.frozen}: the scheduler places no job with a networkTopology in {_of(cluster)}",
            hint="give every HyperNode one parent and no cycle; plain jobs still run",
        )
    if tree.missing:
        listed = ", ".join(f"{name} lists {member}" for name, member in tree.missing[:5])
        more = f" and {len(tree.missing) - 5} more" if len(tree.missing) > 5 else ""
        yield Finding(
            code="HF365",
            severity="warning",
            message=f"HyperNodes of {_of(cluster)} list members that do not exist: {listed}{more}",
            hint="they are left out; the rest of the tree works",
        )
    if tree.overlapping:
        yield Finding(
            code="HF366",
            severity="warning",
            message=f"nodes of {_of(cluster)} are in several HyperNodes that do not contain each other",
            hint="domain sizes overlap: their sums promise more nodes than there are",
        )
    if left_out:
        listed = ", ".join(f"{name} ({why})" for name, why in sorted(left_out.items())[:5])
        more = f" and {len(left_out) - 5} more" if len(left_out) > 5 else ""
        yield Finding(
            code="HF367", severity="note", message=f"nodes of {_of(cluster)} that take part in nothing: {listed}{more}"
        )
    unlabelled = sorted({p.job for p in cluster.pods if p.job and not p.queue})
    if unlabelled and any(q.capability for q in cluster.queues):
        yield Finding(
            code="HF368",
            severity="note",
            message=f"no queue is stated for running jobs {', '.join(unlabelled[:5])}; "
            "they are counted in every queue that could hold them",
            hint="keep the label volcano.sh/queue-name on the pods",
        )


def _limits(job: JobRecord) -> Iterator[tuple[str, TopologyLimit]]:
    if job.topology:
        yield "the job", job.topology
    for task in job.tasks:
        if task.partition and task.partition.topology:
            yield f"the partitions of task {task.name}", task.partition.topology


def _judge_topology(cluster: ClusterRecord, tree: DomainTree, job: JobRecord) -> Iterator[Finding]:
    name = job_key(job.namespace, job.name)
    for whose, limit in _limits(job):
        void = f"the constraint on {whose} is void in {_of(cluster)}"
        if limit.mode == "soft":
            if limit.tier is not None or limit.tier_name:
                yield _warn("HF369", job, f"{name}: soft ignores the tier given for {whose}", "leave the tier out")
            continue
        if limit.tier is None and limit.tier_name not in tree.tier_names:
            known = ", ".join(sorted(tree.tier_names)) or "none"
            said = f"no HyperNode has tierName {limit.tier_name!r}" if limit.tier_name else "hard without a tier"
            hint = nearest(limit.tier_name or "", tree.tier_names) or f"known tier names: {known}"
            yield _warn("HF369", job, f"{name}: {said}, {void}", hint)
        elif not cluster.hypernodes and limit.tier is not None and limit.tier >= 1:
            said = f"{_of(cluster)} has no HyperNodes, so the constraint on {whose} is void"
            yield _warn("HF369", job, f"{name}: {said}", "add the HyperNodes of the cluster")
        elif limit.tier is not None and limit.tier >= tree.highest_tier:
            highest = tree.highest_tier - 1
            yield _warn("HF369", job, f"{name}: tier {limit.tier} is above the highest, {highest}; {void}", "lower it")
    tiers = [t for t in (job.topology, *(t.partition.topology for t in job.tasks if t.partition)) if t]
    if job.topology and job.topology.tier is not None:
        for limit in tiers[1:]:
            if limit.tier is not None and limit.tier > job.topology.tier:
                said = f"partition tier {limit.tier} is above the job's {job.topology.tier}; the job's holds"
                yield _warn("HF369", job, f"{name}: {said}", "use a partition tier of at most the job's")


def _judge_queue(cluster: ClusterRecord, job: JobRecord) -> Iterator[Finding]:
    if job.queue != "default" and cluster.queues and job.queue not in {q.name for q in cluster.queues}:
        name = job_key(job.namespace, job.name)
        hint = nearest(job.queue, [q.name for q in cluster.queues]) or "give its Queue document"
        yield _warn("HF370", job, f"{name}: queue {job.queue} is not among the Queues of {_of(cluster)}", hint)


def _judge_job(job: JobRecord, known: set[str | None]) -> Iterator[Finding]:
    name = job_key(job.namespace, job.name)
    plain = any(task.partition is None for task in job.tasks)
    if job.topology is not None and plain and job.minimum < job.num_pods:
        message = (
            f"{name}: with a networkTopology a domain must have room for all {job.num_pods} pods, "
            f"not for minAvailable {job.minimum}"
        )
        yield _warn("HF371", job, message, "to be elastic use partitionPolicy with minPartitions")
    absent = [c for c in job.clusters if c not in known]
    if absent and None not in known:
        message = f"{name}: no node of cluster {', '.join(absent)} was given"
        yield _warn("HF372", job, message, f"label nodes hyperflow.io/cluster={absent[0]}")


def _warn(code: str, job: JobRecord, message: str, hint: str) -> Finding:
    return Finding(code=code, severity="warning", message=message, where=job.where, hint=hint)
