"""A compiled bundle read back from its folder: the manifests in apply order, the plan, the index."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hyperflow.errors import Finding, InputError
from hyperflow.inventory.documents import UnreadDocument, scan_documents
from hyperflow.json_tree import dig, is_mapping, mapping, sequence, text

INDEX = "bundle.json"
_STARTS_PODS = ("HyperJob", "Job")


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleDocument:
    """One manifest of a bundle and the file it stands in."""

    file: str
    value: dict[str, Any]

    @property
    def kind(self) -> str:
        """The kind of the object."""
        return text(self.value.get("kind"))

    @property
    def name(self) -> str:
        """The name of the object."""
        return text(dig(self.value, "metadata", "name"))

    @property
    def starts_pods(self) -> bool:
        """Whether the object is a job, not a companion of one."""
        return self.kind in _STARTS_PODS

    @property
    def is_shared(self) -> bool:
        """Whether other bundles use the object too, so that deleting this job must leave it."""
        return text(dig(self.value, "metadata", "annotations", "hyperflow.io/shared")) != ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredBundle:
    """A bundle on disk; `index` is bundle.json, `plan` is plan.json (empty where there is none)."""

    folder: str
    job: str
    name: str
    namespace: str
    mode: str
    documents: tuple[BundleDocument, ...]
    index: dict[str, Any]
    plan: dict[str, Any]

    @property
    def jobs(self) -> tuple[BundleDocument, ...]:
        """The documents that start pods: one HyperJob, or one Job per child."""
        return tuple(document for document in self.documents if document.starts_pods)

    @property
    def job_specs(self) -> tuple[tuple[str, tuple[str, ...], dict[str, Any]], ...]:
        """Each child's name, its clusters (empty where a policy chooses) and its vcjob spec."""
        found: list[tuple[str, tuple[str, ...], dict[str, Any]]] = []
        for document in self.jobs:
            spec = mapping(document.value.get("spec"))
            if document.kind == "Job":
                found.append((document.name, (), spec))
            for item in sequence(spec.get("replicatedJobs")):
                replicas = dig(item, "replicas")
                names = tuple(map(str, sequence(dig(item, "clusterNames"))))
                found += [
                    (f"{document.name}-{text(dig(item, 'name'))}-{i}", names, mapping(dig(item, "templateSpec")))
                    for i in range(replicas if isinstance(replicas, int) else 1)
                ]
        return tuple(found)


def read_bundle(folder: Path) -> StoredBundle:
    """Read a bundle; raises InputError (HF500) for a folder that is none, or whose files are not those compiled."""
    index = mapping(_json(folder / INDEX, folder))
    files = [mapping(item) for item in sequence(index.get("files"))]
    _check_digests(folder, files)
    manifests = sorted(
        text(f.get("path")) for f in files if text(f.get("path")).endswith((".yaml", ".yml")) and "/" not in f["path"]
    )
    documents = tuple(document for file in manifests for document in _documents(folder, file))
    plan = mapping(_json(folder / "plan.json", folder)) if (folder / "plan.json").exists() else {}
    bundle = StoredBundle(
        folder=str(folder),
        job=text(index.get("job")),
        name=text(index.get("name")),
        namespace=text(index.get("namespace"), "default"),
        mode=text(index.get("mode")),
        documents=documents,
        index=index,
        plan=plan,
    )
    if not bundle.jobs or not bundle.name:
        raise _no_bundle(folder, "it names no HyperJob and no Job")
    return bundle


def bundle_text(bundle: StoredBundle) -> str:
    """Give the manifests as one stream of YAML documents, byte for byte as they stand in the files."""
    files = dict.fromkeys(document.file for document in bundle.documents)
    return "".join("---\n" + (Path(bundle.folder) / file).read_text(encoding="utf-8") for file in files)


def _documents(folder: Path, file: str) -> list[BundleDocument]:
    found: list[BundleDocument] = []
    for document in scan_documents(str(folder / file)):
        if isinstance(document, UnreadDocument) or not is_mapping(document.value):
            raise _no_bundle(folder, f"{file} cannot be read")
        found.append(BundleDocument(file=file, value=document.value))
    return found


def _check_digests(folder: Path, files: list[dict[str, Any]]) -> None:
    changed: list[str] = []
    for item in files:
        path, wanted = text(item.get("path")), text(item.get("sha256"))
        try:
            digest = hashlib.sha256((folder / path).read_bytes()).hexdigest()
        except OSError:
            raise _no_bundle(folder, f"{path} of {INDEX} is missing") from None
        if wanted and digest != wanted:
            changed.append(path)
    if changed:
        raise InputError(
            Finding(
                code="HF500",
                message=f"the bundle was changed after it was compiled: {', '.join(changed)}",
                where=str(folder),
                hint="compile it again; use hf.patch(...) for changes, so that the plan and the files agree",
            )
        )


def _json(path: Path, folder: Path) -> object:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        if not folder.exists():
            raise _no_bundle(folder, "it does not exist") from None
        raise _no_bundle(folder, f"it has no {path.name}") from None
    except (OSError, ValueError) as error:
        raise _no_bundle(folder, f"{path.name} cannot be read: {str(error).splitlines()[0]}") from None


def _no_bundle(folder: Path, reason: str) -> InputError:
    return InputError(
        Finding(
            code="HF500",
            message=f"{folder} is no bundle: {reason}",
            where=str(folder),
            hint="hyperflow compile FILE -o DIR writes one",
        )
    )
