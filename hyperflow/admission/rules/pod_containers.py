"""Containers and init containers: names, images, ports, environment, mounts. Source as in pod_template.py."""

import re
from typing import Any

from hyperflow.admission.names import config_key, dns_label, dns_subdomain, env_name, port_name, qualified_name
from hyperflow.admission.problem import Path
from hyperflow.admission.rules.collector import Collector
from hyperflow.admission.rules.job_view import entries, whole
from hyperflow.admission.rules.pod_probes import check_probes
from hyperflow.admission.rules.pod_resources import DIVISORS, check_resources, is_divisible
from hyperflow.admission.rules.pod_security import check_container_security
from hyperflow.json_tree import is_mapping, mapping, sequence, text

_PROTOCOLS = ("TCP", "UDP", "SCTP")
_ENV_FIELDS = frozenset(
    [
        "metadata.name",
        "metadata.namespace",
        "metadata.uid",
        "spec.nodeName",
        "spec.serviceAccountName",
        "status.hostIP",
        "status.hostIPs",
        "status.podIP",
        "status.podIPs",
    ]
)
_SUBSCRIPT = re.compile(r"metadata\.(annotations|labels)\['(.*)'\]")
_ENV_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")


def check_containers(out: Collector, path: Path, spec: dict[str, Any], volumes: dict[str, str]) -> None:
    """Check all containers of a pod; `volumes` is volume name -> kind of source."""
    names: set[str] = set()
    host_ports: set[tuple[str, str, int]] = set()
    if not sequence(spec.get("containers")):
        out.deny("HF831", "containers", (*path, "containers"), "the pod has no containers", expected="at least one",
                 hint="add a container")  # fmt: skip
    claims = {text(claim.get("name")) for _, claim in entries(spec.get("resourceClaims"))}
    for field in ("initContainers", "containers"):
        for index, container in entries(spec.get(field)):
            where = (*path, field, index)
            _names(out, where, container, names)
            _ports(
                out, where, container, spec.get("hostNetwork") is True, host_ports if field == "containers" else set()
            )
            _environment(out, where, container)
            _mounts(out, where, container, volumes)
            check_resources(out, where, container, claims)
            check_probes(out, where, container, spec, is_init=field == "initContainers")
            check_container_security(out, where, container, spec)


def _names(out: Collector, path: Path, container: dict[str, Any], names: set[str]) -> None:
    name, image = text(container.get("name")), container.get("image")
    if out.need("HF831", "container-name", (*path, "name"), name):
        out.name("HF831", "container-name", (*path, "name"), name, dns_label(name))
        if name in names:
            out.deny("HF831", "container-name", (*path, "name"), "two containers have this name", got=name,
                     hint="rename one")  # fmt: skip
        names.add(name)
    if out.need("HF831", "image", (*path, "image"), image) and isinstance(image, str) and image != image.strip():
        out.deny("HF831", "image", (*path, "image"), "blanks around the image", got=image, hint="take the blanks out")
    pull = ("Always", "IfNotPresent", "Never")
    out.one_of("HF831", "pull-policy", (*path, "imagePullPolicy"), container.get("imagePullPolicy"), pull)
    restarts = ("Always", "Never", "OnFailure")
    out.one_of("HF831", "container-restart", (*path, "restartPolicy"), container.get("restartPolicy"), restarts)
    messages = ("File", "FallbackToLogsOnError")
    out.one_of("HF831", "message-policy", (*path, "terminationMessagePolicy"),
               container.get("terminationMessagePolicy"),
               messages)  # fmt: skip


def _ports(
    out: Collector, path: Path, container: dict[str, Any], host_network: bool, taken: set[tuple[str, str, int]]
) -> None:
    names: set[str] = set()
    for index, port in entries(container.get("ports")):
        where, name = (*path, "ports", index), text(port.get("name"))
        if name:
            out.name("HF831", "port-name", (*where, "name"), name, port_name(name))
            if name in names:
                out.deny(
                    "HF831", "port-name", (*where, "name"), "two ports have this name", got=name, hint="rename one"
                )
            names.add(name)
        number, host = whole(port.get("containerPort")), whole(port.get("hostPort"))
        if not 1 <= number <= 65535:
            out.deny("HF831", "port", (*where, "containerPort"), "out of range", got=port.get("containerPort"),
                     expected="1 to 65535", hint="correct the number")  # fmt: skip
        out.between("HF831", "port", (*where, "hostPort"), port.get("hostPort"), 0, 65535)
        protocol = text(port.get("protocol"), "TCP")
        if protocol not in _PROTOCOLS:
            out.deny("HF831", "port-protocol", (*where, "protocol"), "unsupported value", got=protocol,
                     expected="one of TCP, UDP, SCTP", hint="write TCP, UDP or SCTP")  # fmt: skip
        if host_network:
            if host and host != number:
                out.deny("HF831", "host-port", (*where, "hostPort"), "must equal containerPort with hostNetwork",
                         got=host,
                         expected=f"{number}", hint="take hostPort out")  # fmt: skip
            host = host or number
        if host:
            key = (protocol, text(port.get("hostIP")), host)
            if key in taken:
                out.deny("HF831", "host-port", (*where, "hostPort"), "two containers take this port of the host",
                         got=host,
                         hint="take one of the two out")  # fmt: skip
            taken.add(key)


def _environment(out: Collector, path: Path, container: dict[str, Any]) -> None:
    for index, variable in entries(container.get("env")):
        where, name = (*path, "env", index), text(variable.get("name"))
        if out.need("HF832", "env-name", (*where, "name"), name):
            out.name("HF832", "env-name", (*where, "name"), name, env_name(name))
        if "valueFrom" in variable:
            _env_source(out, where, variable)
    for index, source in entries(container.get("envFrom")):
        where, prefix = (*path, "envFrom", index), text(source.get("prefix"))
        out.name("HF832", "env-from", (*where, "prefix"), prefix, env_name(prefix) if prefix else "")
        given = [key for key in ("configMapRef", "secretRef") if key in source]
        if len(given) != 1:
            out.deny("HF832", "env-from", where, "takes exactly one source", got=given,
                     expected="configMapRef or secretRef", hint="make two entries of it")  # fmt: skip
        for key in given:
            name = text(mapping(source.get(key)).get("name"))
            if out.need("HF832", "env-from", (*where, key, "name"), name):
                out.name("HF832", "env-from", (*where, key, "name"), name, dns_subdomain(name))


def _env_source(out: Collector, path: Path, variable: dict[str, Any]) -> None:
    source = mapping(variable.get("valueFrom"))
    given = [key for key in _ENV_SOURCES if key in source]
    if text(variable.get("value")):
        out.deny("HF832", "env-source", (*path, "valueFrom"), "value and valueFrom exclude each other",
                 got=variable["value"], hint="take one of the two out")  # fmt: skip
    if len(given) != 1:
        out.deny("HF832", "env-source", (*path, "valueFrom"), "takes exactly one source", got=given,
                 expected="one of " + ", ".join(_ENV_SOURCES), hint="name one source")  # fmt: skip
    for key in ("configMapKeyRef", "secretKeyRef"):
        if key in source:
            reference, where = mapping(source[key]), (*path, "valueFrom", key)
            out.need("HF832", "env-source", (*where, "name"), reference.get("name"))
            if out.need("HF832", "env-source", (*where, "key"), reference.get("key")):
                out.name(
                    "HF832", "env-source", (*where, "key"), reference.get("key"), config_key(text(reference.get("key")))
                )
    if is_mapping(source.get("fieldRef")):
        _field_reference(out, (*path, "valueFrom", "fieldRef", "fieldPath"), source["fieldRef"].get("fieldPath"))
    if is_mapping(source.get("resourceFieldRef")):
        check_resource_reference(out, (*path, "valueFrom", "resourceFieldRef"), source["resourceFieldRef"])


def _field_reference(out: Collector, path: Path, value: object) -> None:
    field = text(value)
    subscript = _SUBSCRIPT.fullmatch(field)
    if not out.need("HF832", "env-field", path, field):
        return
    if subscript:
        out.name("HF832", "env-field", path, field, qualified_name(subscript[2].lower()))
    elif field not in _ENV_FIELDS:
        out.deny("HF832", "env-field", path, "no such field can be an environment variable", got=field,
                 expected=", ".join(sorted(_ENV_FIELDS)) + ", metadata.labels['x'] or annotations['x']",
                 hint="for a label write metadata.labels['KEY']")  # fmt: skip


def check_resource_reference(out: Collector, path: Path, reference: dict[str, Any]) -> None:
    """Check a resourceFieldRef: the resource must be one of those the kubelet can tell."""
    resource = text(reference.get("resource"))
    if not out.need("HF832", "env-resource", (*path, "resource"), resource):
        return
    bound, _, name = resource.partition(".")
    if bound not in ("limits", "requests") or not (name in DIVISORS or name.startswith("hugepages-")):
        known = [f"{b}.{n}" for b in ("limits", "requests") for n in sorted(DIVISORS)]
        out.deny("HF832", "env-resource", (*path, "resource"), "unsupported value", got=resource,
                 expected="one of " + ", ".join(known), hint="write the number itself")  # fmt: skip
    elif not is_divisible(name, reference.get("divisor")):
        out.deny("HF832", "env-resource", (*path, "divisor"), "no such divisor", got=reference.get("divisor"),
                 expected="1, or 1m for cpu, or 1Ki, 1Mi, 1Gi for memory", hint="take it out")  # fmt: skip


def _mounts(out: Collector, path: Path, container: dict[str, Any], volumes: dict[str, str]) -> None:
    points: set[str] = set()
    for index, mount in entries(container.get("volumeMounts")):
        where, name, point = (*path, "volumeMounts", index), text(mount.get("name")), text(mount.get("mountPath"))
        if out.need("HF833", "mount-name", (*where, "name"), name) and name not in volumes:
            known = ", ".join(sorted(volumes)) or "no volume at all"
            out.deny("HF833", "mount-name", (*where, "name"), "there is no such volume in the pod", got=name,
                     expected=f"a volume of the pod: {known}", hint="add the volume to spec.volumes")  # fmt: skip
        if out.need("HF833", "mount-path", (*where, "mountPath"), point) and point in points:
            out.deny(
                "HF833", "mount-path", (*where, "mountPath"), "mounted twice", got=point, hint="mount one elsewhere"
            )
        points.add(point)
        if mount.get("subPath") and mount.get("subPathExpr"):
            out.deny("HF833", "sub-path", (*where, "subPathExpr"), "subPath and subPathExpr exclude each other",
                     got=mount["subPathExpr"], hint="take one of the two out")  # fmt: skip
        for key in ("subPath", "subPathExpr"):
            if not is_local_path(text(mount.get(key))):
                out.deny("HF833", "sub-path", (*where, key), "must be relative and without ..", got=mount.get(key),
                         hint="write a path inside the volume")  # fmt: skip
        propagation = ("None", "HostToContainer", "Bidirectional")
        out.one_of("HF833", "propagation", (*where, "mountPropagation"), mount.get("mountPropagation"), propagation)
    for index, device in entries(container.get("volumeDevices")):
        where, name, point = (*path, "volumeDevices", index), text(device.get("name")), text(device.get("devicePath"))
        if out.need("HF833", "device", (*where, "name"), name) and volumes.get(name) not in (
            "persistentVolumeClaim", "ephemeral",
        ):  # fmt: skip
            out.deny("HF833", "device", (*where, "name"), "a block device needs a claim of the pod", got=name,
                     hint="use a volume with persistentVolumeClaim")  # fmt: skip
        if out.need("HF833", "device", (*where, "devicePath"), point) and point in points:
            out.deny("HF833", "device", (*where, "devicePath"), "already mounted", got=point, hint="use another path")


def is_local_path(path: str) -> bool:
    """Say whether a path is relative and stays inside its volume."""
    return not path.startswith("/") and ".." not in path.split("/")
