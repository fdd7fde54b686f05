"""The claim of a data source: volcano-global places the workload where the data is."""

from typing import ClassVar, Literal

from pydantic import Field

from hyperflow.k8s.record import KubernetesObject, KubernetesRecord


class WorkloadRef(KubernetesRecord):
    """The workload that reads the data."""

    api_version: str
    kind: str
    name: str
    namespace: str


class DataSourceClaimSpec(KubernetesRecord):
    """Which data, by the system that holds it, its type and its logical name."""

    system: str = Field(min_length=1)
    data_source_type: str = Field(min_length=1)
    data_source_name: str = Field(min_length=1)
    workload: WorkloadRef


class DataSourceClaim(KubernetesObject):
    """Ties a workload to a data source."""

    plural: ClassVar[str] = "datasourceclaims"

    api_version: Literal["datadependency.volcano.sh/v1alpha1"] = "datadependency.volcano.sh/v1alpha1"
    kind: Literal["DataSourceClaim"] = "DataSourceClaim"
    spec: DataSourceClaimSpec
