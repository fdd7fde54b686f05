"""Core objects: ConfigMap and Service."""

from typing import ClassVar, Literal

from pydantic import Field

from hyperflow.k8s.record import KubernetesObject, KubernetesRecord


class ConfigMap(KubernetesObject):
    """Files for pods."""

    plural: ClassVar[str] = "configmaps"

    api_version: Literal["v1"] = "v1"
    kind: Literal["ConfigMap"] = "ConfigMap"
    data: dict[str, str]
    immutable: bool | None = None


class ServicePort(KubernetesRecord):
    """One port of a Service."""

    name: str
    port: int = Field(ge=1, le=65535)
    target_port: int = Field(ge=1, le=65535)
    protocol: Literal["TCP"] = "TCP"


class ServiceSpec(KubernetesRecord):
    """Which pods a Service reaches; `publish_not_ready_addresses` makes them reachable while they start."""

    type: Literal["ClusterIP"] = "ClusterIP"
    selector: dict[str, str]
    ports: tuple[ServicePort, ...] = Field(min_length=1)
    publish_not_ready_addresses: bool


class Service(KubernetesObject):
    """A stable name and address for pods."""

    plural: ClassVar[str] = "services"

    api_version: Literal["v1"] = "v1"
    kind: Literal["Service"] = "Service"
    spec: ServiceSpec
