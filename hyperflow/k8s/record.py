"""The base of all Kubernetes records: camelCase outside, snake_case inside, nothing unknown."""

from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel


class KubernetesRecord(BaseModel):
    """A frozen part of a Kubernetes object; fields are read and written under their Kubernetes spelling."""

    model_config = ConfigDict(extra="forbid", alias_generator=to_camel, populate_by_name=True, allow_inf_nan=False)


class ObjectMeta(KubernetesRecord):
    """Name, namespace, labels and annotations."""

    name: str
    namespace: str | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class KubernetesObject(KubernetesRecord):
    """A whole object; subclasses fix `api_version` and `kind`. `plural` is the name of the kind in API paths."""

    plural: ClassVar[str] = ""

    metadata: ObjectMeta

    @property
    def kind_name(self) -> str:
        """The object's kind."""
        return str(self.__class__.model_fields["kind"].default)

    @property
    def group_version(self) -> str:
        """The object's API group and version."""
        return str(self.__class__.model_fields["api_version"].default)

    def document(self) -> dict[str, Any]:
        """Give the object as the tree that the API server reads; absent fields are left out."""
        head = {"apiVersion": self.group_version, "kind": self.kind_name}
        return head | self.model_dump(by_alias=True, exclude_none=True, mode="json")


class LabelSelector(KubernetesRecord):
    """Labels that must all be present."""

    match_labels: dict[str, str] = Field(min_length=1)
