"""What a mutating webhook makes of a value when it reads it into Go types and writes it out again.

Fields that Go always writes appear with their zero value, optional ones that hold a zero value vanish,
quantities become
text. Source: k8s.io/api types and the `added` of recorded admissions of 2026-11-30.
"""

import math
import re
from typing import Any

from hyperflow.admission.shapes import Shape
from hyperflow.json_tree import is_mapping, is_sequence

_ALWAYS_STRUCTS = {
    "metadata": "spec",
    "spec": "metadata",
    "resources": "volumeMounts",
    "template": "replicas",
    "placement": "resourceSelectors",
    "overriders": "overrideRules",
    "range": "types",
}
"""Structs that Go writes even when empty, each with a sibling field that tells the right parent."""

_POINTER_STRINGS = frozenset(
    [
        "runtimeClassName",
        "storageClassName",
        "volumeMode",
        "volumeAttributesClassName",
        "procMount",
        "mountPropagation",
        "recursiveReadOnly",
        "preemptionPolicy",
        "hostnameOverride",
        "resourceClaimName",
        "resourceClaimTemplateName",
        "nodeTaintsPolicy",
        "nodeAffinityPolicy",
        "supplementalGroupsPolicy",
        "fsGroupChangePolicy",
        "gmsaCredentialSpec",
        "gmsaCredentialSpecName",
        "runAsUserName",
        "service",
        "localhostProfile",
        "initiatorName",
        "apiGroup",
        "stopSignal",
        "timeZone",
    ]
)
_PLAIN_INTEGERS = frozenset(
    [
        "hostPort",
        "initialDelaySeconds",
        "timeoutSeconds",
        "periodSeconds",
        "successThreshold",
        "failureThreshold",
        "replicas",
        "maxRetry",
        "partition",
        "minGroups",
        "maxGroups",
        "minPartitions",
    ]
)
_PLAIN_BOOLEANS = frozenset(
    [
        "hostNetwork",
        "hostPID",
        "hostIPC",
        "stdin",
        "stdinOnce",
        "tty",
        "readOnly",
        "propagateDeps",
        "runAsGroupHost",
        "sslEnabled",
    ]
)
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_FRACTION_OF_BINARY = re.compile(r"([+-]?)([0-9]*)\.([0-9]*)([KMGTPE]i)")


def round_trip(value: Any, shape: Shape) -> Any:
    """Give the value as Go types would write it; values of a wrong type are left as they are."""
    if shape.is_quantity:
        return quantity_text(value)
    if is_mapping(value) and (shape.fields or shape.values):
        if shape.values is not None and not shape.fields:
            return {name: round_trip(child, shape.values) for name, child in value.items()}
        return _struct(value, shape)
    if is_sequence(value) and shape.items is not None:
        return [round_trip(child, shape.items) for child in value]
    return value


def _struct(value: dict[str, Any], shape: Shape) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, child in value.items():
        known = shape.fields.get(name)
        if known is None:
            out[name] = child
            continue
        written = round_trip(child, known)
        if name in shape.required or not _vanishes(name, written, known, shape):
            out[name] = written
    for name in shape.required:
        if name not in out:
            out[name] = _zero(shape.fields[name])
    for name, sibling in _ALWAYS_STRUCTS.items():
        if name in shape.fields and sibling in shape.fields and name not in out:
            out[name] = _zero(shape.fields[name], always=True)
    if "divisor" in shape.fields and "resource" in shape.fields and "divisor" not in out:
        out["divisor"] = "0"
    return out


def _vanishes(name: str, value: object, known: Shape, parent: Shape) -> bool:
    if value == "" and isinstance(value, str):
        return name not in _POINTER_STRINGS and not (name == "restartPolicy" and "volumeMounts" in parent.fields)
    if value is False:
        return name in _PLAIN_BOOLEANS
    if value == 0 and isinstance(value, int):
        return name in _PLAIN_INTEGERS
    if value == [] and is_sequence(value):
        return True
    return value == {} and is_mapping(value) and known.values is not None and not known.fields


def _zero(known: Shape, always: bool = False) -> Any:
    if known.is_quantity:
        return "0"
    if known.int_or_string or known.type in ("integer", "number"):
        return 0
    if known.type == "string":
        return ""
    if known.type == "boolean":
        return False
    if known.type == "object" and (known.fields or always):
        return _struct({}, known)
    return None


def quantity_text(value: Any) -> Any:
    """Write a quantity as Go does: numbers become text, a fraction of a binary unit a whole number of a smaller one.

    >>> quantity_text(8), quantity_text("1.5Gi"), quantity_text("500m")
    ('8', '1536Mi', '500m')
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return value
    content = str(value).strip()
    match = _FRACTION_OF_BINARY.fullmatch(content)
    if match is None:
        return content
    sign, whole, fraction, unit = match.groups()
    scaled = int((whole or "0") + fraction) << _BINARY[unit]
    amount = math.ceil(scaled / 10 ** len(fraction))
    for name, power in reversed(_BINARY.items()):
        if amount and amount % (1 << power) == 0:
            return f"{sign}{amount >> power}{name}"
    return f"{sign}{amount}"
