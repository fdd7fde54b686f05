"""Security contexts of a pod and its containers, and what they share with the host. Source as in pod_template.py."""

import re
from typing import Any

from hyperflow.admission.problem import Path
from hyperflow.admission.rules.collector import Collector
from hyperflow.admission.rules.job_view import entries
from hyperflow.json_tree import is_mapping, mapping, sequence, text

_ID_MAX = 2**31 - 1
_SYSCTL = re.compile(r"[a-z0-9]([-_a-z0-9]*[a-z0-9])?([./][a-z0-9]([-_a-z0-9]*[a-z0-9])?)*")
_PROFILES = ("Localhost", "RuntimeDefault", "Unconfined")


def check_pod_security(out: Collector, path: Path, spec: dict[str, Any]) -> None:
    """Check user ids, groups, sysctls, profiles, and host namespaces that exclude each other."""
    if spec.get("hostPID") is True and spec.get("shareProcessNamespace") is True:
        out.deny("HF837", "host-namespaces", (*path, "shareProcessNamespace"), "excludes hostPID", got=True,
                 hint="take one of the two out")  # fmt: skip
    if spec.get("hostUsers") is False:
        for name in ("hostNetwork", "hostPID", "hostIPC"):
            if spec.get(name) is True:
                out.deny("HF837", "host-namespaces", (*path, name), "excludes hostUsers: false", got=True,
                         hint="take one of the two out")  # fmt: skip
    context = mapping(spec.get("securityContext"))
    where = (*path, "securityContext")
    _identities(out, where, context)
    for index, group in enumerate(sequence(context.get("supplementalGroups"))):
        out.between("HF837", "group", (*where, "supplementalGroups", index), group, 0, _ID_MAX)
    out.between("HF837", "group", (*where, "fsGroup"), context.get("fsGroup"), 0, _ID_MAX)
    changes = ("Always", "OnRootMismatch")
    out.one_of("HF837", "fs-group", (*where, "fsGroupChangePolicy"), context.get("fsGroupChangePolicy"), changes)
    seen: set[str] = set()
    for index, entry in entries(context.get("sysctls")):
        place, name = (*where, "sysctls", index, "name"), text(entry.get("name"))
        if not _SYSCTL.fullmatch(name) or len(name) > 253:
            out.deny("HF837", "sysctl", place, "no name of a sysctl", got=name, hint="write it as net.core.somaxconn")
        elif name in seen:
            out.deny("HF837", "sysctl", place, "stands twice", got=name, hint="remove one")
        elif spec.get("hostNetwork") is True and name.replace("/", ".").startswith("net."):
            out.deny("HF837", "sysctl", place, "not with hostNetwork", got=name, hint="take it or hostNetwork out")
        elif spec.get("hostIPC") is True and re.match(r"kernel\.(shm|msg|sem)|fs\.mqueue\.", name.replace("/", ".")):
            out.deny("HF837", "sysctl", place, "not with hostIPC", got=name, hint="take it or hostIPC out")
        seen.add(name)


def check_container_security(out: Collector, path: Path, container: dict[str, Any], spec: dict[str, Any]) -> None:
    """Check a container's user ids, profiles and capabilities."""
    context = mapping(container.get("securityContext"))
    where = (*path, "securityContext")
    _identities(out, where, context)
    out.one_of("HF837", "proc-mount", (*where, "procMount"), context.get("procMount"), ("Default", "Unmasked"))
    if context.get("procMount") == "Unmasked" and spec.get("hostUsers") is not False:
        out.deny("HF837", "proc-mount", (*where, "procMount"), "Unmasked needs hostUsers: false", got="Unmasked",
                 hint="write hostUsers: false, or take procMount out")  # fmt: skip
    added = {text(name) for name in sequence(mapping(context.get("capabilities")).get("add"))}
    if context.get("allowPrivilegeEscalation") is False and "CAP_SYS_ADMIN" in added:
        out.deny("HF837", "escalation", (*where, "allowPrivilegeEscalation"), "excludes the capability CAP_SYS_ADMIN",
                 got=False, hint="take one of the two out")  # fmt: skip


def _identities(out: Collector, path: Path, context: dict[str, Any]) -> None:
    for name in ("runAsUser", "runAsGroup"):
        out.between("HF837", "identity", (*path, name), context.get(name), 0, _ID_MAX)
    for name in ("seccompProfile", "appArmorProfile"):
        profile = context.get(name)
        if not is_mapping(profile):
            continue
        kind, local = text(profile.get("type")), text(profile.get("localhostProfile"))
        if kind not in _PROFILES:
            out.deny("HF837", "profile", (*path, name, "type"), "unsupported value", got=kind,
                     expected="one of " + ", ".join(_PROFILES), hint="write RuntimeDefault")  # fmt: skip
        elif (kind == "Localhost") != bool(local):
            out.deny("HF837", "profile", (*path, name, "localhostProfile"),
                     "goes with the type Localhost, and only with it",
                     got=local or None, hint="write both or neither")  # fmt: skip
