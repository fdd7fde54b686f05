"""What the pods of a live object ask for, as plain sums by resource."""

from collections.abc import Mapping
from typing import Any

from hyperflow.json_tree import dig, mapping, sequence
from hyperflow.units import parse_quantity

_REPEATED = ("requests.", "limits.", "count/")  # a PodGroup's minResources says each resource several times


def requests_of(spec: Mapping[str, Any]) -> dict[str, float]:
    """Sum the requests of all pods of a vcjob; limits count where a request is left out."""
    total: dict[str, float] = {}
    for task in sequence(spec.get("tasks")):
        replicas = dig(task, "replicas")
        for container in sequence(dig(task, "template", "spec", "containers")):
            asked = {
                **mapping(dig(container, "resources", "limits")),
                **mapping(dig(container, "resources", "requests")),
            }
            for name, value in amounts_of(asked).items():
                total[name] = total.get(name, 0.0) + value * (replicas if isinstance(replicas, int) else 1)
    return total


def amounts_of(resources: object) -> dict[str, float]:
    """Read a resource list; what is no quantity is left out, and so are pods and what minResources says twice."""
    found: dict[str, float] = {}
    for name, value in mapping(resources).items():
        if name == "pods" or name.startswith(_REPEATED) or not isinstance(value, str | int | float):
            continue
        try:
            found[name] = parse_quantity(value)
        except ValueError:
            continue
    return found
