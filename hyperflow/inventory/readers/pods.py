"""Kubernetes Pod objects: what running pods hold on each node."""

from collections.abc import Mapping
from typing import Any

from hyperflow.json_tree import dig, mapping, sequence, text
from hyperflow.units import parse_quantity

Requests = dict[str, dict[str, float]]
"""Node name -> resource -> sum of requests."""


def add_pod(value: Mapping[str, Any], requests: Requests) -> None:
    """Add one pod's requests to its node; finished pods and those without a node hold nothing."""
    node = text(dig(value, "spec", "nodeName"))
    if not node or dig(value, "status", "phase") in ("Succeeded", "Failed"):
        return
    held = requests.setdefault(node, {})
    for name, amount in pod_requests(value).items():
        held[name] = held.get(name, 0) + amount


def pod_requests(value: Mapping[str, Any]) -> dict[str, float]:
    """Give what a pod holds: containers and restartable init containers, or the largest init container, plus overhead.

    The rule is Kubernetes' own (pod resource accounting). Limits count where requests are left out.
    """
    running: dict[str, float] = {}
    peak: dict[str, float] = {}
    for item in sequence(dig(value, "spec", "initContainers")):
        asked = _container_requests(item)
        if mapping(item).get("restartPolicy") == "Always":
            _add(running, asked)
            _raise(peak, running)
        else:
            _raise(peak, {name: running.get(name, 0) + amount for name, amount in asked.items()})
    for item in sequence(dig(value, "spec", "containers")):
        _add(running, _container_requests(item))
    _raise(running, peak)
    _add(running, _amounts(dig(value, "spec", "overhead")))
    return running


def _container_requests(container: object) -> dict[str, float]:
    resources = mapping(mapping(container).get("resources"))
    return _amounts(resources.get("limits")) | _amounts(resources.get("requests"))


def _amounts(value: object) -> dict[str, float]:
    amounts: dict[str, float] = {}
    for name, quantity in mapping(value).items():
        if isinstance(quantity, str | int | float):
            try:
                amounts[str(name)] = max(0.0, parse_quantity(quantity))
            except ValueError:
                continue  # the API server accepts no such pod
    return amounts


def _add(total: dict[str, float], more: Mapping[str, float]) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, 0) + amount


def _raise(total: dict[str, float], least: Mapping[str, float]) -> None:
    for name, amount in least.items():
        total[name] = max(total.get(name, 0), amount)
