"""vcjob, HyperJob and PodGroup documents to job records, with the defaults that Volcano's webhook fills in."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hyperflow.inventory.documents import Document
from hyperflow.inventory.place_pods import PlaceNotes, amounts, pod_shape, where_of
from hyperflow.json_tree import dig, is_mapping, mapping, sequence, text
from hyperflow.place.records import JobRecord, PartitionRule, PodShape, TaskRecord, TopologyLimit

CLUSTER_LABEL = "hyperflow.io/cluster"
GROUP_ANNOTATION = "scheduling.k8s.io/group-name"
TASK_LABEL = "volcano.sh/task-spec"
ENDED = ("Completed", "Failed", "Terminated", "Aborted")
MOST_PODS = 200_000  # above what Kubernetes supports in one cluster; keeps a mistyped number from filling memory


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    """Where a vcjob spec came from: its name, namespace, clusters, and the place to name in findings."""

    name: str
    namespace: str
    clusters: tuple[str, ...]
    where: str


class JobReader:
    """Reads jobs in document order; needs the other documents for priorities and for a PodGroup's pods."""

    KINDS = ("Job", "PodGroup", "HyperJob")

    def __init__(self, notes: PlaceNotes, by_kind: Mapping[str, list[Document]]) -> None:
        self.notes = notes
        classes = {
            text(dig(d.value, "metadata", "name")): dig(d.value, "value") for d in by_kind.get("PriorityClass", [])
        }
        self.priorities = {name: value for name, value in classes.items() if isinstance(value, int)}
        self.knows_priorities = bool(classes)
        self.given = {
            (text(dig(d.value, "metadata", "namespace"), "default"), text(dig(d.value, "metadata", "name")))
            for d in by_kind.get("Job", [])
        }
        self.pods = [d for d in by_kind.get("Pod", []) if not dig(d.value, "spec", "nodeName")]

    def jobs(self, documents: Sequence[Document]) -> list[JobRecord]:
        """Give all jobs in the order of the documents; a HyperJob gives its children."""
        found: list[JobRecord] = []
        for document in documents:
            kind = text(mapping(document.value).get("kind"))
            if kind == "Job" and not text(mapping(document.value).get("apiVersion")).startswith("batch.volcano.sh"):
                self.notes.note("HF351", where_of(document), "a Job that is not Volcano's is no gang and is not read")
            elif kind in ("Job", "PodGroup") and (ended := self._ended(document)):
                self.notes.note("HF351", where_of(document), f"the {kind} is {ended} and is not placed")
            elif kind == "Job":
                found += self._job(document)
            elif kind == "HyperJob":
                found += self._children(document)
            elif kind == "PodGroup":
                found += self._pod_group(document)
        names: set[tuple[str, str]] = set()
        for job in found:
            if (job.namespace, job.name) in names:
                self.notes.error("HF354", job.where, f"job {job.name} is given twice")
            names.add((job.namespace, job.name))
        return found

    def _ended(self, document: Document) -> str:
        phase = dig(document.value, "status", "state", "phase") or dig(document.value, "status", "phase")
        return phase if phase in ENDED else ""

    def _job(self, document: Document) -> list[JobRecord]:
        value = mapping(document.value)
        label = dig(value, "metadata", "labels", CLUSTER_LABEL)
        source = _Source(
            name=text(dig(value, "metadata", "name")),
            namespace=text(dig(value, "metadata", "namespace"), "default"),
            clusters=(label,) if isinstance(label, str) else (),
            where=where_of(document),
        )
        job = self._read_spec(mapping(value.get("spec")), source)
        return [job] if job else []

    def _children(self, document: Document) -> list[JobRecord]:
        value = mapping(document.value)
        found: list[JobRecord] = []
        for item in map(mapping, sequence(dig(value, "spec", "replicatedJobs"))):
            of = _Source(name="", namespace="", clusters=(), where=where_of(document))
            replicas = self._count(item.get("replicas"), 1, "replicas", of)
            names = tuple(n for n in sequence(item.get("clusterNames")) if isinstance(n, str))
            for index in range(replicas):
                source = _Source(
                    name=f"{text(dig(value, 'metadata', 'name'))}-{text(item.get('name'))}-{index}",
                    namespace=text(dig(value, "metadata", "namespace"), "default"),
                    clusters=names,
                    where=f"{where_of(document)} replicatedJob {text(item.get('name'))}",
                )
                job = self._read_spec(mapping(item.get("templateSpec")), source)
                found += [job] if job else []
        if not found:
            self.notes.error("HF360", where_of(document), "the HyperJob has no replicatedJobs that make a child")
        return found

    def _read_spec(self, spec: Mapping[str, Any], source: _Source) -> JobRecord | None:
        before = len(self.notes.findings)
        if not source.name:
            self.notes.error("HF360", source.where, "the job has no metadata.name")
        tasks = tuple(self._task(at, mapping(item), source) for at, item in enumerate(sequence(spec.get("tasks"))))
        if not tasks:
            self.notes.error("HF360", source.where, f"job {source.name} has no tasks")
        total = sum(task.minimum for task in tasks)
        minimum = self._count(spec.get("minAvailable"), total, "minAvailable", source) or total
        replicas = sum(task.replicas for task in tasks)
        if minimum > replicas:
            message = f"job {source.name}: minAvailable {minimum} is more than its {replicas} pods"
            self.notes.error("HF360", source.where, message, hint="the webhook denies it: lower minAvailable")
        if any(f.severity == "error" for f in self.notes.findings[before:]):
            return None
        return JobRecord(
            name=source.name,
            namespace=source.namespace,
            tasks=tasks,
            minimum=minimum,
            queue=text(spec.get("queue")) or "default",
            priority=self._priority(text(spec.get("priorityClassName")), source),
            topology=self._topology(spec.get("networkTopology"), source),
            clusters=source.clusters,
            where=source.where,
        )

    def _task(self, at: int, item: Mapping[str, Any], source: _Source) -> TaskRecord:
        name = text(item.get("name")) or f"default{at}"
        replicas = self._count(item.get("replicas"), 0, f"tasks[{at}].replicas", source)
        partition = self._partition(item.get("partitionPolicy"), name, replicas, source)
        whole = partition.minimum * partition.size if partition and partition.minimum else replicas
        minimum = self._count(item.get("minAvailable"), whole, f"tasks[{at}].minAvailable", source)
        if minimum > replicas:
            message = f"task {name}: minAvailable {minimum} is more than its {replicas} replicas"
            self.notes.error("HF360", source.where, message, hint="the webhook denies it: lower minAvailable")
        spec = mapping(dig(item, "template", "spec"))
        shape = pod_shape(spec, source.where, self.notes)
        if replicas and not shape.demand:
            message = f"task {name} of {source.name} asks for nothing: its pods go anywhere, outside gang and topology"
            self.notes.warn("HF361", source.where, message, hint="write resources.requests")
        return TaskRecord(
            name=name,
            replicas=replicas,
            minimum=minimum,
            shape=shape,
            partition=partition,
            priority=self.priorities.get(text(spec.get("priorityClassName")), 0),
        )

    def _partition(self, value: object, task: str, replicas: int, source: _Source) -> PartitionRule | None:
        if not is_mapping(value):
            return None
        count = self._count(value.get("totalPartitions"), 0, "totalPartitions", source)
        size = self._count(value.get("partitionSize"), 0, "partitionSize", source)
        minimum = self._count(value.get("minPartitions"), 0, "minPartitions", source)
        if count < 1 or size < 1 or count * size != replicas:
            message = f"task {task}: {count} partitions of {size} are not its {replicas} replicas"
            self.notes.error("HF360", source.where, message, hint="totalPartitions x partitionSize must equal replicas")
            return None
        if minimum > count:
            self.notes.error("HF360", source.where, f"task {task}: minPartitions {minimum} of {count}")
        limit = self._topology(value.get("networkTopology"), source)
        return PartitionRule(count=count, size=size, minimum=minimum, topology=limit)

    def _topology(self, value: object, source: _Source) -> TopologyLimit | None:
        if not is_mapping(value):
            return None
        mode = "soft" if value.get("mode") == "soft" else "hard"
        if value.get("mode") not in (None, "hard", "soft"):
            self.notes.error(
                "HF360", source.where, f"networkTopology.mode {value.get('mode')!r} is neither hard nor soft"
            )
        tier, tier_name = value.get("highestTierAllowed"), value.get("highestTierName")
        if tier is not None and (not isinstance(tier, int) or isinstance(tier, bool) or not 0 <= tier < 2**31):
            self.notes.error("HF360", source.where, f"highestTierAllowed {str(tier)[:40]!r} is no tier number")
            tier = None
        if tier is not None and tier_name:
            message = "highestTierAllowed and highestTierName exclude each other"
            self.notes.error("HF360", source.where, message, hint="keep one of the two")
        return TopologyLimit(mode=mode, tier=tier, tier_name=tier_name if isinstance(tier_name, str) else None)

    def _count(self, value: object, default: int, field: str, source: _Source) -> int:
        if value is None:
            return default
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            self.notes.error("HF360", source.where, f"{field} {str(value)[:40]!r} is not a number of 0 or more")
            return default
        if value > MOST_PODS:
            self.notes.error("HF360", source.where, f"{field} {value} is more than the {MOST_PODS} pods read here")
            return default
        return value

    def _priority(self, name: str, source: _Source) -> int:
        if name and self.knows_priorities and name not in self.priorities:
            message = f"PriorityClass {name} is not among the documents: priority 0 is taken"
            self.notes.warn("HF362", source.where, message)
        return self.priorities.get(name, 0)

    def _pod_group(self, document: Document) -> list[JobRecord]:
        """Take the gang from the PodGroup; its pods are those annotated with its name, else shares of minResources.

        A vcjob's own PodGroup stands for the job, and is passed over where the job itself is given.
        """
        value, where = mapping(document.value), where_of(document)
        spec = mapping(value.get("spec"))
        owners = map(mapping, sequence(dig(value, "metadata", "ownerReferences")))
        owner = next((text(o.get("name")) for o in owners if o.get("kind") == "Job"), "")
        source = _Source(
            name=owner or text(dig(value, "metadata", "name")),
            namespace=text(dig(value, "metadata", "namespace"), "default"),
            clusters=(),
            where=where,
        )
        if owner and (source.namespace, owner) in self.given:
            return []
        group = text(dig(value, "metadata", "name"))
        minimum = self._count(spec.get("minMember"), 1, "minMember", source)
        tasks = self._tasks_of_group(group, source) or (self._assumed_task(spec, minimum, source),)
        tasks = self._with_subgroups(tasks, spec, source)
        if minimum > sum(task.replicas for task in tasks):
            self.notes.error("HF360", where, f"PodGroup {source.name} has fewer pods than its minMember {minimum}")
            return []
        return [
            JobRecord(
                name=source.name,
                namespace=source.namespace,
                tasks=tasks,
                minimum=minimum,
                queue=text(spec.get("queue")) or "default",
                priority=self._priority(text(spec.get("priorityClassName")), source),
                topology=self._topology(spec.get("networkTopology"), source),
                where=where,
            )
        ]

    def _tasks_of_group(self, name: str, source: _Source) -> tuple[TaskRecord, ...]:
        shapes: dict[tuple[str, PodShape], int] = {}
        for document in self.pods:
            pod = mapping(document.value)
            group = dig(pod, "metadata", "annotations", GROUP_ANNOTATION)
            if group != name or text(dig(pod, "metadata", "namespace"), "default") != source.namespace:
                continue
            task = text(dig(pod, "metadata", "labels", TASK_LABEL), "pods")
            shape = pod_shape(mapping(pod.get("spec")), where_of(document), self.notes)
            shapes[task, shape] = shapes.get((task, shape), 0) + 1
        return tuple(
            TaskRecord(name=task, replicas=count, minimum=0, shape=shape) for (task, shape), count in shapes.items()
        )

    def _assumed_task(self, spec: Mapping[str, Any], minimum: int, source: _Source) -> TaskRecord:
        total = amounts(spec.get("minResources"), source.where, self.notes)
        share = tuple(sorted((name, amount / max(minimum, 1)) for name, amount in total.items()))
        message = (
            f"PodGroup {source.name} has no pods among the documents: {minimum} equal shares of minResources taken"
        )
        self.notes.note("HF363", source.where, message, hint="give its pods too, annotated with its name")
        return TaskRecord(name="pods", replicas=minimum, minimum=0, shape=PodShape(requests=share))

    def _with_subgroups(
        self, tasks: tuple[TaskRecord, ...], spec: Mapping[str, Any], source: _Source
    ) -> tuple[TaskRecord, ...]:
        policies = [mapping(item) for item in sequence(spec.get("subGroupPolicy"))]
        changed = list(tasks)
        for policy in policies:
            wanted = dig(policy, "labelSelector", "matchLabels", TASK_LABEL)
            size = self._count(policy.get("subGroupSize"), 1, "subGroupSize", source)
            for at, task in enumerate(changed):
                if (wanted is None or wanted == task.name) and size and task.replicas % size == 0:
                    rule = PartitionRule(
                        count=task.replicas // size,
                        size=size,
                        minimum=self._count(policy.get("minSubGroups"), 0, "minSubGroups", source),
                        topology=self._topology(policy.get("networkTopology"), source),
                    )
                    changed[at] = replace(task, partition=rule)
        return tuple(changed)
