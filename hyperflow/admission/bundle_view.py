"""A bundle as its laws see it: the documents in apply order, and every Job that will exist, with its place."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hyperflow.json_tree import dig, mapping, sequence, text


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """One document with its file and its number in apply order."""

    file: str
    order: int
    value: dict[str, Any]

    @property
    def kind(self) -> str:
        """The document's kind."""
        return text(self.value.get("kind"))

    @property
    def name(self) -> str:
        """The object's name."""
        return text(dig(self.value, "metadata", "name"))

    @property
    def namespace(self) -> str:
        """The object's namespace, empty for cluster-scoped objects."""
        return text(dig(self.value, "metadata", "namespace"))


@dataclass(frozen=True, slots=True, kw_only=True)
class JobView:
    """One VolcanoJob that the bundle makes, itself or by a HyperJob; `path` leads to its spec in the document."""

    source: Placed
    path: str
    name: str
    namespace: str
    spec: dict[str, Any]
    clusters: tuple[str, ...]
    in_hyperjob: bool

    @property
    def tasks(self) -> list[dict[str, Any]]:
        """The tasks in order."""
        return [mapping(task) for task in sequence(self.spec.get("tasks"))]

    @property
    def where(self) -> str:
        """File and path for a finding."""
        return f"{self.source.file}: {self.path}"

    def containers(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Path and container for each container and init container."""
        for index, task in enumerate(self.tasks):
            for field in ("initContainers", "containers"):
                for number, container in enumerate(sequence(dig(task, "template", "spec", field))):
                    yield f"{self.path}.tasks[{index}].template.spec.{field}[{number}]", mapping(container)

    def pods(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Path and pod spec for each task."""
        for index, task in enumerate(self.tasks):
            yield f"{self.path}.tasks[{index}].template.spec", mapping(dig(task, "template", "spec"))

    def variable(self, name: str) -> str | None:
        """The value of a variable in the first container of the first task."""
        for item in sequence(dig(self.tasks[0] if self.tasks else {}, "template", "spec", "containers", 0, "env")):
            if dig(item, "name") == name:
                return text(dig(item, "value"))
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleView:
    """All of a bundle. `mode` is hyperjob, direct or single; `hyperjob_crd` is shipped or patched."""

    mode: str
    documents: tuple[Placed, ...]
    jobs: tuple[JobView, ...]
    hyperjob_crd: str

    def of_kind(self, *kinds: str) -> list[Placed]:
        """The documents of some kinds in apply order."""
        return [document for document in self.documents if document.kind in kinds]

    def find(self, kind: str, namespace: str, name: str) -> Placed | None:
        """One document by kind, namespace and name."""
        found = (d for d in self.of_kind(kind) if (d.namespace, d.name) == (namespace, name))
        return next(found, None)


def view_bundle(mode: str, documents: Sequence[tuple[str, Any]], hyperjob_crd: str) -> BundleView:
    """Arrange parsed documents, given as (file, document) in apply order."""
    placed = tuple(
        Placed(file=file, order=order, value=mapping(value)) for order, (file, value) in enumerate(documents)
    )
    jobs: list[JobView] = []
    for document in placed:
        if document.kind == "Job":
            jobs.append(_plain_job(document, placed))
        elif document.kind == "HyperJob":
            jobs += _children(document)
    return BundleView(mode=mode, documents=placed, jobs=tuple(jobs), hyperjob_crd=hyperjob_crd)


def policy_clusters(policy: Placed) -> tuple[str, ...]:
    """The clusters that a policy names, in order of preference; empty means all."""
    placement = dig(policy.value, "spec", "placement")
    names = sequence(dig(placement, "clusterAffinity", "clusterNames"))
    for term in sequence(dig(placement, "clusterAffinities")):
        names = [*names, *sequence(dig(term, "clusterNames"))]
    return tuple(dict.fromkeys(text(name) for name in names))


def selects(policy: Placed, kind: str, namespace: str, name: str) -> bool:
    """Say whether a policy selects the object by name."""
    wanted = (kind, namespace, name)
    return any(
        (dig(s, "kind"), text(dig(s, "namespace")), dig(s, "name")) == wanted
        for s in sequence(dig(policy.value, "spec", "resourceSelectors"))
    )


def _plain_job(document: Placed, placed: Sequence[Placed]) -> JobView:
    policies = [
        p for p in placed if p.kind == "PropagationPolicy" and selects(p, "Job", document.namespace, document.name)
    ]
    return JobView(
        source=document,
        path="spec",
        name=document.name,
        namespace=document.namespace,
        spec=mapping(document.value.get("spec")),
        clusters=policy_clusters(policies[0]) if policies else (),
        in_hyperjob=False,
    )


def _children(document: Placed) -> list[JobView]:
    return [
        JobView(
            source=document,
            path=f"spec.replicatedJobs[{index}].templateSpec",
            name=f"{document.name}-{text(dig(item, 'name'))}-{copy}",
            namespace=document.namespace,
            spec=mapping(dig(item, "templateSpec")),
            clusters=tuple(text(name) for name in sequence(dig(item, "clusterNames"))),
            in_hyperjob=True,
        )
        for index, item in enumerate(sequence(dig(document.value, "spec", "replicatedJobs")))
        for copy in range(_copies(item))
    ]


def _copies(item: object) -> int:
    count = dig(item, "replicas")
    return count if isinstance(count, int) and not isinstance(count, bool) and 0 <= count <= 1000 else 1
