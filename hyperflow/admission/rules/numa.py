"""NUMA policies of a task ask for guaranteed pods with whole CPUs.

Source: volcano pkg/webhooks/admission/jobs/validate (validateTaskTopoPolicy) at ed72c7c81, as recorded on 2026-11-30.
"""

from collections.abc import Iterator
from typing import Any

from hyperflow.admission.amounts import amounts
from hyperflow.admission.problem import Problem, denial
from hyperflow.admission.rules.job_view import VALIDATE_JOB, JobView, TaskView, entries
from hyperflow.json_tree import dig, mapping, text


def numa_policies(job: JobView) -> Iterator[Problem]:
    """Deny a NUMA policy whose pods are not guaranteed or ask for parts of a CPU."""
    for task in job.tasks:
        if text(task.values.get("topologyPolicy")) not in ("", "none"):
            yield from _task(task)


def _task(task: TaskView) -> Iterator[Problem]:
    for field in ("containers", "initContainers"):
        for index, container in entries(dig(task.values, "template", "spec", field)):
            path = (*task.path, "template", "spec", field, index, "resources")
            resources = mapping(container.get("resources"))
            requests, limits = _requests(resources), amounts(resources.get("limits"))
            for name in ("cpu", "memory"):
                if not limits.get(name) or requests.get(name, limits[name]) != limits[name]:
                    yield denial("HF828", "numa-guaranteed", (*path, "limits"),
                                 f"{task.values['topologyPolicy']} needs {name} requests equal to limits",
                                 VALIDATE_JOB, got=mapping(resources.get("limits")).get(name),
                                 expected="equal requests and limits of cpu and memory",
                                 hint=f"set both for {name}")  # fmt: skip
            cpu = requests.get("cpu")
            if cpu is None or cpu.denominator != 1:
                shown = mapping(resources.get("requests") or resources.get("limits")).get("cpu")
                yield denial("HF828", "numa-cpu", (*path, "requests"), "the cpu request is no integer", VALIDATE_JOB,
                             got=shown, expected="whole CPUs", hint="round it up")  # fmt: skip


def _requests(resources: dict[str, Any]) -> dict[str, Any]:
    given = mapping(resources.get("requests"))
    return amounts(given) if given else {k: v for k, v in amounts(resources.get("limits")).items() if v}


RULES = (numa_policies,)
