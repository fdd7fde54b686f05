"""The HyperJob of volcano-global: one replicated job per child."""

from typing import ClassVar, Literal

from pydantic import Field, field_validator

from hyperflow.k8s.record import KubernetesObject, KubernetesRecord
from hyperflow.k8s.volcano import JobSpec


class ReplicatedJob(KubernetesRecord):
    """One template; copies of it are equal, so a child with its own rank offset has `replicas` 1."""

    name: str
    replicas: Literal[1] = 1
    cluster_names: tuple[str, ...] = Field(min_length=1)
    template_spec: JobSpec

    @field_validator("template_spec")
    @classmethod
    def _keeps_no_finished_child_for_the_collector(cls, spec: JobSpec) -> JobSpec:
        if spec.ttl_seconds_after_finished is not None:
            raise ValueError("ttlSecondsAfterFinished in a HyperJob runs the training twice")
        return spec


class HyperJobSpec(KubernetesRecord):
    """All children. `min_available` is read by no controller; it is written for people."""

    min_available: int
    replicated_jobs: tuple[ReplicatedJob, ...] = Field(min_length=1)

    @field_validator("replicated_jobs")
    @classmethod
    def _have_different_names(cls, jobs: tuple[ReplicatedJob, ...]) -> tuple[ReplicatedJob, ...]:
        if len({job.name for job in jobs}) != len(jobs):
            raise ValueError("two replicatedJobs have one name")
        return jobs


class HyperJob(KubernetesObject):
    """A job over several clusters."""

    plural: ClassVar[str] = "hyperjobs"

    api_version: Literal["training.volcano.sh/v1alpha1"] = "training.volcano.sh/v1alpha1"
    kind: Literal["HyperJob"] = "HyperJob"
    spec: HyperJobSpec
