"""Volcano objects: Job (vcjob) and its parts. Laws within one object are validators; versions are not known here."""

from typing import Any, ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from hyperflow.k8s.pod_fields import check_pod_template
from hyperflow.k8s.record import KubernetesObject, KubernetesRecord

Event = Literal["*", "PodPending", "PodFailed", "PodEvicted", "Unknown", "TaskCompleted", "TaskFailed", "JobUpdated"]
Action = Literal[
    "AbortJob", "RestartJob", "RestartTask", "RestartPod", "RestartPartition",
    "TerminateJob", "CompleteJob", "ResumeJob",
]  # fmt: skip


class NetworkTopology(KubernetesRecord):
    """How close the pods must be: hard within a tier, or soft, which takes no tier."""

    mode: Literal["hard", "soft"]
    highest_tier_allowed: int | None = Field(default=None, ge=1)
    highest_tier_name: str | None = Field(default=None, min_length=1, max_length=253)

    @model_validator(mode="after")
    def _has_the_tier_its_mode_needs(self) -> "NetworkTopology":
        tiers = [tier for tier in (self.highest_tier_allowed, self.highest_tier_name) if tier is not None]
        if self.mode == "hard" and len(tiers) != 1:
            raise ValueError("hard needs exactly one of highestTierAllowed and highestTierName")
        if self.mode == "soft" and tiers:
            raise ValueError("soft takes no tier: the scheduler ignores it")
        return self


class PartitionPolicy(KubernetesRecord):
    """Groups of consecutive pods of one task that are placed together."""

    total_partitions: int = Field(ge=1)
    partition_size: int = Field(ge=1)
    min_partitions: int = Field(ge=1)
    network_topology: NetworkTopology | None = None

    @model_validator(mode="after")
    def _needs_no_more_partitions_than_there_are(self) -> "PartitionPolicy":
        if self.min_partitions > self.total_partitions:
            raise ValueError("minPartitions is above totalPartitions")
        return self


class LifecyclePolicy(KubernetesRecord):
    """What the controller does on an event or on the exit code of a pod; exactly one of the two."""

    action: Action
    event: Event | None = None
    events: tuple[Event, ...] | None = None
    exit_code: int | None = None
    timeout: str | None = None

    @model_validator(mode="after")
    def _has_one_trigger(self) -> "LifecyclePolicy":
        triggers = [t for t in (self.event or self.events, self.exit_code) if t is not None]
        if len(triggers) != 1 or (self.event and self.events):
            raise ValueError("a policy needs exactly one of event, events and exitCode")
        if self.exit_code == 0:
            raise ValueError("exit code 0 is no failure")
        pending = self.event == "PodPending" or "PodPending" in (self.events or ())
        if pending and self.timeout is None:
            raise ValueError("PodPending without a timeout is ignored")
        if self.action == "ResumeJob" and (self.event or self.events or self.exit_code) != "JobUpdated":
            raise ValueError("ResumeJob answers no failure")
        return self


class PodTemplate(KubernetesRecord):
    """A pod template; the pod's own fields pass through, checked against the table of known fields."""

    metadata: "PodTemplateMeta"
    spec: dict[str, Any]

    @model_validator(mode="after")
    def _has_known_fields_only(self) -> "PodTemplate":
        faults = check_pod_template(self.model_dump(by_alias=True, exclude_none=True))
        if faults:
            raise ValueError("; ".join(faults))
        return self


class PodTemplateMeta(KubernetesRecord):
    """Labels and annotations that every pod of a task gets."""

    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class DependsOn(KubernetesRecord):
    """Tasks that must be there before this one."""

    name: tuple[str, ...]
    iteration: Literal["any", "all"] | None = None


class Task(KubernetesRecord):
    """Equal pods of a Job."""

    name: str
    replicas: int = Field(ge=1)
    min_available: int = Field(ge=0)
    max_retry: int = Field(ge=1)
    partition_policy: PartitionPolicy | None = None
    policies: tuple[LifecyclePolicy, ...] | None = None
    topology_policy: Literal["none", "best-effort", "restricted", "single-numa-node"] | None = None
    depends_on: DependsOn | None = None
    template: PodTemplate

    @model_validator(mode="after")
    def _adds_up(self) -> "Task":
        if self.min_available > self.replicas:
            raise ValueError("minAvailable is above replicas")
        policy = self.partition_policy
        if policy and policy.total_partitions * policy.partition_size != self.replicas:
            raise ValueError("replicas is not totalPartitions x partitionSize")
        if policy and policy.min_partitions * policy.partition_size != self.min_available:
            raise ValueError("minAvailable is not minPartitions x partitionSize")
        return self


class JobVolume(KubernetesRecord):
    """A claim that Volcano mounts into every pod of the Job."""

    mount_path: str = Field(pattern="^[^:]+$")
    volume_claim_name: str | None = None
    volume_claim: dict[str, Any] | None = None


class JobSpec(KubernetesRecord):
    """A Job's spec with everything that the webhook would add written out."""

    scheduler_name: str
    queue: str = Field(min_length=1)
    priority_class_name: str | None = None
    min_available: int = Field(ge=1)
    min_success: int | None = Field(default=None, ge=1)
    max_retry: int = Field(ge=1)
    running_estimate: str | None = None
    ttl_seconds_after_finished: int | None = Field(default=None, ge=0)
    network_topology: NetworkTopology | None = None
    plugins: dict[str, tuple[str, ...]] | None = None
    policies: tuple[LifecyclePolicy, ...] | None = None
    volumes: tuple[JobVolume, ...] | None = None
    tasks: tuple[Task, ...] = Field(min_length=1)

    @field_validator("tasks")
    @classmethod
    def _have_different_names(cls, tasks: tuple[Task, ...]) -> tuple[Task, ...]:
        if len({task.name for task in tasks}) != len(tasks):
            raise ValueError("two tasks have one name")
        return tasks

    @model_validator(mode="after")
    def _gang_is_no_larger_than_the_job(self) -> "JobSpec":
        if self.min_available > sum(task.replicas for task in self.tasks):
            raise ValueError("minAvailable is above the sum of replicas")
        return self


class VolcanoJob(KubernetesObject):
    """A Job of Volcano (vcjob)."""

    plural: ClassVar[str] = "jobs"

    api_version: Literal["batch.volcano.sh/v1alpha1"] = "batch.volcano.sh/v1alpha1"
    kind: Literal["Job"] = "Job"
    spec: JobSpec
