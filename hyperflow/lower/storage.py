"""Training data, checkpoints and caches: volumes, mounts, variables and the paths the pods see."""

import re
from dataclasses import dataclass
from typing import Any

from hyperflow.errors import Finding, InputError
from hyperflow.ir.manifests import StoragePath
from hyperflow.ir.resolved import ResolvedJob

DATA_MOUNT = "/hyperflow/data"
CHECKPOINT_MOUNT = "/hyperflow/checkpoint"
CACHE_MOUNT = "/hyperflow/cache"

_CLAIM = re.compile(r"pvc://([a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?)(?:/(.*))?")
DATA_SOURCE = re.compile(r"datasource://([^/]+)/([^/]+)/(.+)")
_URI = re.compile(r"[a-z][a-z0-9+.-]*://[^/].*")
WRITABLE = ("s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "hdfs", "oss", "obs", "cos", "tos", "swift", "oci", "msc")
"""Stores that frameworks save to, by fsspec or by the Multi-Storage Client (msc); a page of the web is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Location:
    """Where something is stored: a claim, a host path or a URI; `inner` is the path that the process sees."""

    inner: str
    mount: str | None
    volume: dict[str, Any] | None
    claim: str | None = None


def locate(path: str, mount: str, where: str, *, read_only: bool) -> Location:
    """Read pvc://CLAIM/PATH, an absolute host path, or a URI such as s3:// or datasource://SYSTEM/TYPE/NAME.

    Raises InputError (HF426) for anything else, a path that climbs out with `..` and a store that nothing saves to
    included.
    """
    claim = _CLAIM.fullmatch(path)
    if ".." in path.split("/") or "\0" in path:
        raise InputError(_bad_path(path, where))
    if claim:
        source = {"claimName": claim[1], **({"readOnly": True} if read_only else {})}
        inner = f"{mount}/{claim[2]}".rstrip("/") if claim[2] else mount
        return Location(inner=inner, mount=mount, volume={"persistentVolumeClaim": source}, claim=claim[1])
    if path.startswith("/") and path.strip("/"):
        return Location(inner=mount, mount=mount, volume={"hostPath": {"path": path, "type": "Directory"}})
    if DATA_SOURCE.fullmatch(path) and read_only:
        return Location(inner=path, mount=None, volume=None)
    scheme = path.partition(":")[0]
    if _URI.fullmatch(path) and scheme not in ("pvc", "datasource") and (read_only or scheme in WRITABLE):
        return Location(inner=path, mount=None, volume=None)
    raise InputError(_bad_path(path, where, read_only=read_only))


def data_location(job: ResolvedJob) -> Location | None:
    """Where the training data is, None when the job names none."""
    return locate(job.job.data.path, DATA_MOUNT, "data.path", read_only=True) if job.job.data else None


def checkpoint_location(job: ResolvedJob) -> Location | None:
    """Where checkpoints go, None when the job makes none."""
    checkpoint = job.job.checkpoint
    return locate(checkpoint.to, CHECKPOINT_MOUNT, "checkpoint.to", read_only=False) if checkpoint else None


def keeps_cache(job: ResolvedJob) -> bool:
    """Say whether each node keeps a cache of the data."""
    return job.job.data is not None and job.job.data.cache == "per-node"


def storage_paths(job: ResolvedJob, clusters: tuple[str, ...]) -> tuple[StoragePath, ...]:
    """All paths for the communication contract."""
    paths: list[StoragePath] = []
    data, checkpoint = data_location(job), checkpoint_location(job)
    if job.job.data and data:
        paths.append(
            StoragePath(purpose="data", path=job.job.data.path, mount=data.mount, clusters=clusters, access="read")
        )
    if job.job.checkpoint and checkpoint:
        to, mount = job.job.checkpoint.to, checkpoint.mount
        paths.append(StoragePath(purpose="checkpoint", path=to, mount=mount, clusters=clusters, access="read-write"))
    if keeps_cache(job):
        node = "emptyDir"
        paths.append(StoragePath(purpose="cache", path=node, mount=CACHE_MOUNT, clusters=clusters, access="read-write"))
    return tuple(paths)


def _bad_path(path: str, where: str, *, read_only: bool = True) -> Finding:
    stores = "" if read_only else f"; the stores are {', '.join(WRITABLE)}"
    return Finding(
        code="HF426",
        message=f"{where} is no place that pods can reach",
        where=where,
        got=repr(path[:200]),
        expected="pvc://CLAIM/PATH, an absolute path on the nodes, or a URI such as s3://bucket/path" + stores,
        hint="name the claim or bucket that holds it",
    )
