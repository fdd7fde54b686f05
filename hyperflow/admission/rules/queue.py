"""Queues: amounts, hierarchy, weights.

Source: volcano pkg/webhooks/admission/queues/validate at ed72c7c81, as recorded on 2026-11-30.
"""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from hyperflow.admission.amounts import amounts
from hyperflow.admission.problem import Problem, denial, risk
from hyperflow.admission.rules.case import Case
from hyperflow.json_tree import dig, mapping, text

BY = "the webhook validatequeue.volcano.sh"
MAX_DEPTH = 5
_KINDS = (("capability",), ("deserved",), ("guarantee", "resource"))


def missing_spec(case: Case) -> Iterator[Problem]:
    """Deny a queue without a spec: the mutating webhook writes into it and fails."""
    if "spec" not in case.document and case.old is None:
        yield denial("HF840", "queue-spec", ("spec",), "the webhook's patch has nothing to write into",
                     "the webhook mutatequeue.volcano.sh", expected="a spec, even an empty one",
                     hint="write spec: {}")  # fmt: skip


def queue_amounts(case: Case) -> Iterator[Problem]:
    """Deny negative amounts, and amounts that are not guarantee <= deserved <= capability."""
    listed = {kind[0]: amounts(dig(case.spec, *kind)) for kind in _KINDS}
    for kind in _KINDS:
        for name, number in listed[kind[0]].items():
            if number < 0:
                yield denial("HF840", "queue-amount", ("spec", *kind, name), "must not be negative", BY,
                             got=dig(case.spec, *kind, name), expected="0 or more", hint="correct it")  # fmt: skip
    capability, deserved, guarantee = listed["capability"], listed["deserved"], listed["guarantee"]
    for name, number in deserved.items():
        if name in capability and number > capability[name]:
            yield denial("HF840", "deserved-over-capability", ("spec", "deserved", name),
                         f"more {name} than the capability",
                         BY, got=dig(case.spec, "deserved", name),
                         expected=f"at most {dig(case.spec, 'capability', name)}",
                         hint="raise the capability")  # fmt: skip
    for name, number in guarantee.items():
        if number > deserved.get(name, Fraction(0)):
            yield denial("HF840", "guarantee-over-deserved", ("spec", "deserved", name),
                         f"less {name} than the guarantee",
                         BY, got=dig(case.spec, "deserved", name),
                         expected=f"at least {dig(case.spec, 'guarantee', 'resource', name)}",
                         hint="raise deserved to the guarantee")  # fmt: skip
        if name in capability and number > capability[name]:
            yield denial("HF840", "guarantee-over-capability", ("spec", "capability", name),
                         f"less {name} than the guarantee", BY, got=dig(case.spec, "capability", name),
                         expected=f"at least {dig(case.spec, 'guarantee', 'resource', name)}",
                         hint="raise it")  # fmt: skip


def hierarchy(case: Case) -> Iterator[Problem]:
    """Deny a parent that is the queue itself, absent, full of pods or too deep."""
    parent = text(case.spec.get("parent"))
    path = ("spec", "parent")
    if not parent or parent == "root" or case.name == "root":
        return
    if parent == case.name:
        yield denial("HF841", "own-parent", path, "a queue cannot be its own parent", BY, got=parent, hint="use root")
        return
    found = case.state.queue(parent)
    if found is None:
        if case.state.knows("scheduling.volcano.sh", "Queue"):
            yield denial("HF841", "parent-missing", path, f"there is no queue {parent}", BY, got=parent,
                         expected="a queue that exists", hint="create the parent first")  # fmt: skip
        return
    pods = amounts(dig(found, "status", "allocated")).get("pods")
    if pods and not case.state.child_queues(parent):
        yield denial("HF841", "parent-in-use", path,
                     f"the queue {parent} has running pods and cannot become a parent", BY,
                     got=parent, hint="drain it, or use another parent")  # fmt: skip
    line = _ancestors(case, parent)
    if len(line) + 1 > MAX_DEPTH:
        yield denial("HF841", "queue-depth", path, f"the queue would be {len(line) + 1} deep", BY, got=parent,
                     expected=f"at most {MAX_DEPTH}", hint="hang it higher")  # fmt: skip
    yield from _against_parent(case, found, line)


def _ancestors(case: Case, parent: str) -> list[str]:
    """Give the parent and its parents up to, not including, the root; a circle ends the walk."""
    line: list[str] = []
    while parent and parent != "root" and parent not in line:
        line.append(parent)
        parent = text(dig(case.state.queue(parent), "spec", "parent"))
    return line


def _against_parent(case: Case, parent: dict[str, Any], line: list[str]) -> Iterator[Problem]:
    for name, number in amounts(case.spec.get("capability")).items():
        limits = [amounts(dig(case.state.queue(queue), "spec", "capability")).get(name) for queue in line]
        limit = next((limit for limit in limits if limit is not None), None)
        if limit is not None and number > limit:
            yield denial("HF841", "capability-over-ancestor", ("spec", "capability", name),
                         f"more {name} than its ancestor has", BY, got=dig(case.spec, "capability", name),
                         expected=f"at most {_plain(limit)}", hint="lower it")  # fmt: skip
    siblings = [case.state.queue(q) for q in case.state.child_queues(line[0]) if q != case.name]
    for kind in (("deserved",), ("guarantee", "resource")):
        limits = amounts(dig(parent, "spec", *kind))
        for name, number in amounts(dig(case.spec, *kind)).items():
            taken = sum((amounts(dig(q, "spec", *kind)).get(name, Fraction(0)) for q in siblings), Fraction(0))
            limit = limits.get(name, Fraction(0))
            if number + taken > limit:
                yield denial("HF841", "children-over-parent", ("spec", *kind, name),
                             f"{line[0]} has {_plain(limit)} {name}, its children {_plain(number + taken)}",
                             BY, got=dig(case.spec, *kind, name),
                             expected=f"at most {_plain(max(limit - taken, Fraction(0)))}",
                             hint=f"lower it, or raise {'.'.join(kind)} of {line[0]}")  # fmt: skip


def _plain(number: Fraction) -> str:
    return f"{float(number):.10g}"


def against_children(case: Case) -> Iterator[Problem]:
    """Deny a change that leaves children with more than their parent."""
    if case.old is None or case.name == "root":
        return
    children = [case.state.queue(name) for name in case.state.child_queues(case.name)]
    for name, limit in amounts(case.spec.get("capability")).items():
        for child in children:
            number = amounts(dig(child, "spec", "capability")).get(name)
            if number is not None and number > limit:
                yield denial("HF841", "capability-under-child", ("spec", "capability", name),
                             f"less {name} than the child {text(dig(child, 'metadata', 'name'))} has", BY,
                             got=dig(case.spec, "capability", name), expected=f"at least {_plain(number)}",
                             hint="lower the child first")  # fmt: skip


def root_queue(case: Case) -> Iterator[Problem]:
    """Deny a change of the root queue's spec."""
    if case.old is not None and case.name == "root" and mapping(case.old.get("spec")) != case.posted_spec:
        yield denial("HF841", "root-queue", ("spec",), "the root queue cannot be changed", BY, got="root",
                     hint="use a queue below it")  # fmt: skip


def hierarchy_annotations(case: Case) -> Iterator[Problem]:
    """Deny a hierarchy annotation whose weights do not fit it, or that stands above another queue's."""
    annotations = mapping(dig(case.document, "metadata", "annotations"))
    key = "volcano.sh/hierarchy"
    steps, weights = text(annotations.get(key)), text(annotations.get(f"{key}-weights"))
    path = ("metadata", "annotations", f"{key}-weights")
    if not steps and not weights:
        return
    if len(steps.split("/")) != len(weights.split("/")):
        yield denial("HF842", "hierarchy-weights", path, f"the hierarchy {steps} has another number of steps", BY,
                     got=weights, expected=f"{len(steps.split('/'))} weights",
                     hint="write one weight a step")  # fmt: skip
        return
    for weight in weights.split("/"):
        if not _is_positive(weight):
            yield denial("HF842", "hierarchy-weights", path, "a weight must be a number above 0", BY, got=weight,
                         expected="a number above 0", hint="correct the weight")  # fmt: skip
    for queue in case.state.all("scheduling.volcano.sh", "Queue"):
        other = text(dig(queue, "metadata", "annotations", key))
        if text(dig(queue, "metadata", "name")) != case.name and other.startswith(f"{steps}/"):
            yield denial("HF842", "hierarchy-path", path[:2], f"{steps} lies above {other} of another queue", BY,
                         got=steps,
                         expected="a path of its own", hint="choose another path")  # fmt: skip


def _is_positive(weight: str) -> bool:
    try:
        return float(weight) > 0
    except ValueError:
        return False


def queue_weight(case: Case) -> Iterator[Problem]:
    """Warn of weight 0, which becomes 1."""
    weight = case.posted_spec.get("weight")
    if weight == 0:
        yield risk("HF869", "queue-weight", ("spec", "weight"), "0 becomes 1: the queue takes its share all the same",
                   got=0, expected="1 to 65535", hint="close the queue to give it nothing")  # fmt: skip


def parent_with_jobs(case: Case) -> Iterator[Problem]:
    """Warn of a parent that jobs use: it stops being a leaf, so its jobs are denied."""
    parent = text(case.spec.get("parent"))
    jobs = [job for job in case.state.all("batch.volcano.sh", "Job")
            if text(dig(job, "spec", "queue"), "default") == parent]  # fmt: skip
    if parent == "default" or (parent and parent != "root" and jobs):
        yield risk("HF869", "parent-with-jobs", ("spec", "parent"),
                   f"{parent} is then no leaf: every job that goes to {parent} is denied", got=parent,
                   expected="a queue that no job uses", hint="hang it under root")  # fmt: skip


RULES = (
    missing_spec, queue_amounts, hierarchy, against_children, root_queue, hierarchy_annotations, queue_weight,
    parent_with_jobs,
)  # fmt: skip
