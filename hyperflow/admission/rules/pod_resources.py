"""Requests and limits of a container. Source as in pod_template.py (ValidateContainerResourceRequirements)."""

from fractions import Fraction
from typing import Any

from hyperflow.admission.amounts import amount
from hyperflow.admission.names import qualified_name
from hyperflow.admission.problem import Path, shown
from hyperflow.admission.rules.collector import Collector
from hyperflow.admission.rules.job_view import entries
from hyperflow.json_tree import mapping, text

_STANDARD = ("cpu", "ephemeral-storage", "memory")
_BYTES = tuple(f"1{unit}" for unit in ("", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"))
DIVISORS = {"cpu": ("1m", "1"), "memory": _BYTES, "ephemeral-storage": _BYTES}
"""Resources that a container may be told about, with the divisors of each."""


def is_divisible(resource: str, divisor: object) -> bool:
    """Say whether a divisor suits a resource; 0 and absence mean 1."""
    return divisor in (None, "", "0", 0) or str(divisor) in DIVISORS.get(resource, _BYTES)


def is_extended(resource: str) -> bool:
    """Say whether a resource is an extended one, such as nvidia.com/gpu: it can be neither split nor overcommitted."""
    return "/" in resource and "kubernetes.io/" not in resource and not resource.startswith("requests.")


def check_resources(out: Collector, path: Path, container: dict[str, Any], claims: set[str]) -> None:
    """Check names and amounts of requests and limits, and that they agree."""
    resources = mapping(container.get("resources"))
    requests, limits = mapping(resources.get("requests")), mapping(resources.get("limits"))
    where = (*path, "resources")
    for key, listed in (("limits", limits), ("requests", requests)):
        for name, quantity in listed.items():
            _amount(out, (*where, key, name), str(name), quantity)
    for name, quantity in requests.items():
        asked, limit = amount(quantity), amount(limits.get(name))
        if asked is not None:
            _agreement(out, (*where, "requests", name), str(name), asked, limit, limits.get(name), quantity)
    names = {*requests, *limits}
    if any(str(name).startswith("hugepages-") for name in names) and not names & {"cpu", "memory"}:
        out.deny("HF834", "hugepages", where, "huge pages need cpu or memory beside them", got=sorted(map(str, names)),
                 hint="add cpu or memory")  # fmt: skip
    seen: set[str] = set()
    for index, claim in entries(resources.get("claims")):
        name = text(claim.get("name"))
        if name not in claims or name in seen:
            out.deny("HF834", "resource-claim", (*where, "claims", index, "name"), "must name a claim of the pod, once",
                     got=name, expected="one of spec.resourceClaims", hint="add the claim to the pod")  # fmt: skip
        seen.add(name)


def _amount(out: Collector, path: Path, name: str, quantity: object) -> None:
    number = amount(quantity)
    if qualified_name(name):
        out.name("HF834", "resource-name", path, name, qualified_name(name))
    elif "/" not in name and name not in _STANDARD and not name.startswith("hugepages-"):
        out.deny("HF834", "resource-name", path, "no resource of a container", got=name,
                 expected="cpu, memory, ephemeral-storage, hugepages-SIZE or VENDOR/NAME",
                 hint="write nvidia.com/gpu for GPUs" if "gpu" in name else "write VENDOR/NAME")  # fmt: skip
    elif "/" in name and name.startswith("requests."):
        out.deny("HF834", "resource-name", path, "requests. belongs to quotas", got=name, hint="drop requests.")
    if number is None:
        return
    if number < 0:
        out.deny("HF834", "amount", path, "must not be negative", got=quantity, expected="0 or more", hint="correct it")
    elif is_extended(name) and number.denominator != 1:
        out.deny("HF834", "whole-device", path, "devices are not split: must be an integer", got=quantity,
                 expected="a whole number", hint="write whole devices, or use a shared-GPU resource")  # fmt: skip
    elif name.startswith("hugepages-"):
        size = amount(name.removeprefix("hugepages-"))
        if size is not None and size > 0 and number % size:
            out.deny("HF834", "hugepages", path, "no multiple of the page size", got=quantity,
                     expected=f"a multiple of {name.removeprefix('hugepages-')}", hint="round it")  # fmt: skip


def _agreement(
    out: Collector,
    path: Path,
    name: str,
    asked: Fraction,
    limit: Fraction | None,
    shown_limit: object,
    quantity: object,
) -> None:
    strict = is_extended(name) or name.startswith("hugepages-")
    if strict and limit is None:
        out.deny("HF834", "device-limit", path, f"{name} needs a limit: it cannot be overcommitted", got=quantity,
                 expected="an equal limit", hint=f"add limits: {{{name}: {shown(quantity)}}}")  # fmt: skip
    elif strict and limit is not None and asked != limit:
        out.deny("HF834", "device-limit", path, f"must equal the limit of {name}", got=quantity,
                 expected=f"{shown_limit}", hint="make both equal")  # fmt: skip
    elif limit is not None and asked > limit:
        out.deny("HF834", "request-over-limit", path, f"more than the limit of {name}", got=quantity,
                 expected=f"at most {shown_limit}", hint="raise the limit or lower the request")  # fmt: skip
