"""Volumes of a pod: names, one source each, and the fields of the sources in use. Source as in pod_template.py."""

from collections.abc import Callable
from typing import Any

from hyperflow.admission.amounts import amount
from hyperflow.admission.names import config_key, dns_label, dns_subdomain
from hyperflow.admission.problem import Path
from hyperflow.admission.rules.collector import Collector
from hyperflow.admission.rules.job_view import entries
from hyperflow.admission.rules.pod_containers import check_resource_reference, is_local_path
from hyperflow.json_tree import is_mapping, mapping, sequence, text

_HOST_PATHS = ("BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket")
_ACCESS = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_PROJECTED = ("clusterTrustBundle", "configMap", "downwardAPI", "podCertificate", "secret", "serviceAccountToken")
_DOWNWARD = frozenset(
    ("metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid")
)


def check_volumes(out: Collector, path: Path, spec: dict[str, Any]) -> dict[str, str]:
    """Check the volumes; give volume name -> kind of source (an absent source means emptyDir)."""
    kinds: dict[str, str] = {}
    for index, volume in entries(spec.get("volumes")):
        where, name = (*path, "volumes", index), text(volume.get("name"))
        if out.need("HF833", "volume-name", (*where, "name"), name):
            out.name("HF833", "volume-name", (*where, "name"), name, dns_label(name))
            if name in kinds:
                out.deny("HF833", "volume-name", (*where, "name"), "two volumes have this name", got=name,
                         hint="rename one")  # fmt: skip
        sources = [key for key in volume if key != "name" and volume[key] is not None]
        if len(sources) > 1:
            out.deny("HF833", "volume-source", where, "a volume takes one source", got=sources, expected="one source",
                     hint="make two volumes of it")  # fmt: skip
        kinds[name] = sources[0] if sources else "emptyDir"
        for source in sources:
            check = _SOURCES.get(source)
            if check is not None and is_mapping(volume[source]):
                check(out, (*where, source), volume[source])
    return kinds


def _empty_dir(out: Collector, path: Path, source: dict[str, Any]) -> None:
    medium, size = text(source.get("medium")), amount(source.get("sizeLimit"))
    if medium not in ("", "Memory", "HugePages") and not medium.startswith("HugePages-"):
        out.deny("HF833", "medium", (*path, "medium"), "unsupported value", got=medium,
                 expected="Memory, HugePages or HugePages-SIZE", hint="write Memory for /dev/shm")  # fmt: skip
    if size is not None and size < 0:
        out.deny("HF833", "size-limit", (*path, "sizeLimit"), "must not be negative", got=source["sizeLimit"],
                 expected="0 or more", hint="correct it")  # fmt: skip


def _host_path(out: Collector, path: Path, source: dict[str, Any]) -> None:
    if out.need("HF833", "host-path", (*path, "path"), source.get("path")) and ".." in text(source["path"]).split("/"):
        out.deny("HF833", "host-path", (*path, "path"), "must not contain ..", got=source["path"], hint="resolve it")
    out.one_of("HF833", "host-path", (*path, "type"), source.get("type"), _HOST_PATHS)


def _mode(out: Collector, path: Path, value: object) -> None:
    out.between("HF833", "file-mode", path, value, 0, 0o777)


def _items(out: Collector, path: Path, source: dict[str, Any]) -> None:
    _mode(out, (*path, "defaultMode"), source.get("defaultMode"))
    for index, item in entries(source.get("items")):
        where = (*path, "items", index)
        if out.need("HF833", "volume-key", (*where, "key"), item.get("key")):
            out.name("HF833", "volume-key", (*where, "key"), item["key"], config_key(text(item["key"])))
        _relative(out, (*where, "path"), item.get("path"))
        _mode(out, (*where, "mode"), item.get("mode"))


def _relative(out: Collector, path: Path, value: object) -> None:
    if out.need("HF833", "volume-path", path, value) and not is_local_path(text(value)):
        out.deny(
            "HF833", "volume-path", path, "must be relative and without ..", got=value, hint="write a relative path"
        )


def _secret(out: Collector, path: Path, source: dict[str, Any]) -> None:
    out.need("HF833", "volume-reference", (*path, "secretName"), source.get("secretName"))
    _items(out, path, source)


def _config_map(out: Collector, path: Path, source: dict[str, Any]) -> None:
    out.need("HF833", "volume-reference", (*path, "name"), source.get("name"))
    _items(out, path, source)


def _claim(out: Collector, path: Path, source: dict[str, Any]) -> None:
    out.need("HF833", "volume-reference", (*path, "claimName"), source.get("claimName"))


def _nfs(out: Collector, path: Path, source: dict[str, Any]) -> None:
    out.need("HF833", "nfs", (*path, "server"), source.get("server"))
    if out.need("HF833", "nfs", (*path, "path"), source.get("path")) and not text(source["path"]).startswith("/"):
        out.deny(
            "HF833", "nfs", (*path, "path"), "must be an absolute path", got=source["path"], hint="start it with /"
        )


def _csi(out: Collector, path: Path, source: dict[str, Any]) -> None:
    out.need("HF833", "csi", (*path, "driver"), source.get("driver"))


def _git(out: Collector, path: Path, source: dict[str, Any]) -> None:
    out.need("HF833", "git", (*path, "repository"), source.get("repository"))


def _downward(out: Collector, path: Path, source: dict[str, Any]) -> None:
    _mode(out, (*path, "defaultMode"), source.get("defaultMode"))
    for index, item in entries(source.get("items")):
        where = (*path, "items", index)
        _relative(out, (*where, "path"), item.get("path"))
        _mode(out, (*where, "mode"), item.get("mode"))
        given = [key for key in ("fieldRef", "resourceFieldRef") if key in item]
        if len(given) != 1:
            out.deny("HF833", "downward", where, "takes exactly one source", got=given,
                     expected="fieldRef or resourceFieldRef", hint="name one source")  # fmt: skip
        field = text(mapping(item.get("fieldRef")).get("fieldPath"))
        if "fieldRef" in item and field not in _DOWNWARD and "['" not in field:
            out.deny("HF833", "downward", (*where, "fieldRef", "fieldPath"), "no such field can be a file", got=field,
                     expected="one of " + ", ".join(sorted(_DOWNWARD)),
                     hint="for a label write metadata.labels['KEY']")  # fmt: skip
        if is_mapping(item.get("resourceFieldRef")):
            reference, place = item["resourceFieldRef"], (*where, "resourceFieldRef")
            out.need("HF833", "downward", (*place, "containerName"), reference.get("containerName"))
            check_resource_reference(out, place, reference)


def _projected(out: Collector, path: Path, source: dict[str, Any]) -> None:
    _mode(out, (*path, "defaultMode"), source.get("defaultMode"))
    for index, part in entries(source.get("sources")):
        where = (*path, "sources", index)
        given = [key for key in _PROJECTED if key in part]
        if len(given) != 1:
            out.deny("HF833", "projected", where, "takes exactly one source", got=given,
                     expected="one of " + ", ".join(_PROJECTED), hint="make two entries of it")  # fmt: skip
        for key in ("secret", "configMap"):
            if is_mapping(part.get(key)):
                out.need("HF833", "projected", (*where, key, "name"), part[key].get("name"))
                _items(out, (*where, key), part[key])
        if is_mapping(part.get("downwardAPI")):
            _downward(out, (*where, "downwardAPI"), part["downwardAPI"])
        token = part.get("serviceAccountToken")
        if is_mapping(token):
            _relative(out, (*where, "serviceAccountToken", "path"), token.get("path"))
            seconds = token.get("expirationSeconds")
            out.between("HF833", "token", (*where, "serviceAccountToken", "expirationSeconds"), seconds, 600, 2**32)


def _ephemeral(out: Collector, path: Path, source: dict[str, Any]) -> None:
    template = source.get("volumeClaimTemplate")
    where = (*path, "volumeClaimTemplate")
    if not is_mapping(template):
        out.deny("HF833", "claim-template", where, "required value is missing", expected="a claim", hint="write it")
        return
    check_claim(out, (*where, "spec"), mapping(template.get("spec")))


def check_claim(out: Collector, path: Path, spec: dict[str, Any]) -> None:
    """Check the spec of a PersistentVolumeClaim: access modes and a positive size."""
    modes = sequence(spec.get("accessModes"))
    if not modes:
        out.deny("HF833", "claim-access", (*path, "accessModes"), "required value is missing",
                 expected="an access mode",
                 hint="write ReadWriteOnce")  # fmt: skip
    for index, mode in enumerate(modes):
        out.one_of("HF833", "claim-access", (*path, "accessModes", index), mode, _ACCESS)
    storage = mapping(mapping(spec.get("resources")).get("requests")).get("storage")
    if storage is None:
        out.deny("HF833", "claim-size", (*path, "resources", "requests", "storage"), "required value is missing",
                 expected="a size", hint="write the size")  # fmt: skip
    elif (amount(storage) or 0) <= 0:
        out.deny("HF833", "claim-size", (*path, "resources", "requests", "storage"), "must be more than 0", got=storage,
                 hint="write the size")  # fmt: skip
    name = text(spec.get("storageClassName"))
    out.name("HF833", "claim-class", (*path, "storageClassName"), name, dns_subdomain(name) if name else "")


_SOURCES: dict[str, Callable[[Collector, Path, dict[str, Any]], None]] = {
    "emptyDir": _empty_dir,
    "hostPath": _host_path,
    "secret": _secret,
    "configMap": _config_map,
    "persistentVolumeClaim": _claim,
    "nfs": _nfs,
    "csi": _csi,
    "gitRepo": _git,
    "downwardAPI": _downward,
    "projected": _projected,
    "ephemeral": _ephemeral,
}
