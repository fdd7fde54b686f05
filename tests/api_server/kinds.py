"""The kinds that the server serves: a few built in, the rest from the CRDs given to it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from hyperflow.admission.shapes import Shape, shape_of

Json = dict[str, Any]
VERBS = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"]


@dataclass(frozen=True, kw_only=True)
class Kind:
    """One served version of a kind; `shape` None means that fields are not checked."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool = True
    status: bool = True
    short_names: tuple[str, ...] = ()
    shape: Shape | None = None

    @property
    def resource(self) -> str:
        """The plural with its group, as messages name it."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def api_version(self) -> str:
        """Group and version as objects state them."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def prefix(self) -> str:
        """The path below which the kind is served."""
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"


BUILT_IN = (
    Kind(group="", version="v1", kind="Namespace", plural="namespaces", namespaced=False, status=False),
    Kind(group="", version="v1", kind="Node", plural="nodes", namespaced=False),
    Kind(group="", version="v1", kind="Pod", plural="pods"),
    Kind(group="", version="v1", kind="Service", plural="services"),
    Kind(group="", version="v1", kind="ConfigMap", plural="configmaps", status=False),
    Kind(group="", version="v1", kind="Secret", plural="secrets", status=False),
    Kind(group="", version="v1", kind="ServiceAccount", plural="serviceaccounts", status=False),
    Kind(group="", version="v1", kind="PersistentVolumeClaim", plural="persistentvolumeclaims"),
    Kind(group="", version="v1", kind="Event", plural="events", status=False),
    Kind(group="apps", version="v1", kind="Deployment", plural="deployments"),
    Kind(group="batch", version="v1", kind="Job", plural="jobs"),
    Kind(
        group="scheduling.k8s.io",
        version="v1",
        kind="PriorityClass",
        plural="priorityclasses",
        namespaced=False,
        status=False,
    ),
    Kind(
        group="apiextensions.k8s.io",
        version="v1",
        kind="CustomResourceDefinition",
        plural="customresourcedefinitions",
        namespaced=False,
    ),
)


def kinds_of_crd(crd: Json) -> list[Kind]:
    """Give the served versions of a CustomResourceDefinition."""
    spec = crd["spec"]
    names = spec["names"]
    return [
        Kind(
            group=spec["group"],
            version=version["name"],
            kind=names["kind"],
            plural=names["plural"],
            namespaced=spec["scope"] == "Namespaced",
            status="status" in version.get("subresources", {}),
            short_names=tuple(names.get("shortNames", ())),
            shape=shape_of(version["schema"]["openAPIV3Schema"]),
        )
        for version in spec["versions"]
        if version.get("served", True)
    ]


def group_list(kinds: Iterable[Kind]) -> Json:
    """Answer GET /apis."""
    versions: dict[str, list[str]] = {}
    for kind in kinds:
        if kind.group:
            listed = versions.setdefault(kind.group, [])
            if kind.version not in listed:
                listed.append(kind.version)
    groups = [
        {
            "name": group,
            "versions": [{"groupVersion": f"{group}/{v}", "version": v} for v in listed],
            "preferredVersion": {"groupVersion": f"{group}/{listed[0]}", "version": listed[0]},
        }
        for group, listed in sorted(versions.items())
    ]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def resource_list(kinds: Iterable[Kind], group_version: str) -> Json:
    """Answer GET of a group and version."""
    resources: list[Json] = []
    for kind in kinds:
        row: Json = {
            "name": kind.plural,
            "singularName": kind.kind.lower(),
            "namespaced": kind.namespaced,
            "kind": kind.kind,
            "verbs": VERBS,
        }
        if kind.short_names:
            row["shortNames"] = list(kind.short_names)
        resources.append(row)
        if kind.status:
            resources.append(
                {
                    "name": f"{kind.plural}/status",
                    "singularName": "",
                    "namespaced": kind.namespaced,
                    "kind": kind.kind,
                    "verbs": ["get", "patch", "update"],
                }
            )
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": resources}
