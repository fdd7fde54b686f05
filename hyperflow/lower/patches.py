"""User patches: `hf.patch(path, value)` sets a field of the lowered Jobs after everything else.

A path begins with `job` (a Job's spec), `pod` (the pod template of its task) or `container` (the training container),
for one cluster `job[beijing]`; then field names with dots, `[0]` for list items, `["a.b/c"]` for keys with dots.
"""

import copy
import re
from collections.abc import Sequence
from typing import Any

from hyperflow.errors import Finding, InputError
from hyperflow.json_tree import is_mapping, is_sequence
from hyperflow.lower.draft import Draft
from hyperflow.spec.training_job import Patch

_HEAD = re.compile(r"(job|pod|container)(?:\[([a-z0-9]([-a-z0-9]*[a-z0-9])?)\])?(?=\.)")
_STEP = re.compile(r'\.([A-Za-z][A-Za-z0-9_-]*)|\[(\d+)\]|\["([^"]+)"\]')
_ROOTS: dict[str, tuple[str | int, ...]] = {
    "job": (),
    "pod": ("tasks", 0, "template"),
    "container": ("tasks", 0, "template", "spec", "containers", 0),
}


def apply_patches(draft: Draft, cluster: str, spec: dict[str, Any]) -> dict[str, Any]:
    """Give the Job spec with all patches for the cluster applied, in order.

    Raises InputError (HF410) for a path that cannot be followed.
    """
    if not draft.job.job.patches:
        return spec
    patched = copy.deepcopy(spec)
    for index, patch in enumerate(draft.job.job.patches):
        root, only, steps = parse_path(draft, patch, index)
        if only is None or only == cluster:
            _set(draft, patch, index, patched, (*_ROOTS[root], *steps))
    return patched


def parse_path(draft: Draft, patch: Patch, index: int) -> tuple[str, str | None, tuple[str | int, ...]]:
    """Give root, cluster (None: all) and the steps of a patch's path."""
    head = _HEAD.match(patch.path)
    if head is None:
        raise _fault(draft, patch, index, "it begins with none of job., pod. and container.")
    only = head[2]
    if only is not None and only not in draft.all_clusters:
        raise _fault(draft, patch, index, f"the job does not run on {only}; it runs on {', '.join(draft.all_clusters)}")
    steps: list[str | int] = []
    position = head.end()
    while position < len(patch.path):
        step = _STEP.match(patch.path, position)
        if step is None:
            raise _fault(draft, patch, index, f"{patch.path[position:]!r} is no step")
        steps.append(int(step[2]) if step[2] is not None else step[1] or step[3])
        position = step.end()
    return head[1], only, tuple(steps)


def _set(draft: Draft, patch: Patch, index: int, tree: Any, steps: Sequence[str | int]) -> None:
    """Set the value; missing mappings are made, a list may grow by one item at its end."""
    for position, step in enumerate(steps):
        last = position == len(steps) - 1
        if isinstance(step, int):
            if not is_sequence(tree) or step > len(tree):
                raise _fault(draft, patch, index, f"there is no item [{step}]")
            if step == len(tree):
                tree.append({})
            if last:
                tree[step] = patch.value
            else:
                tree = tree[step]
        else:
            if not is_mapping(tree):
                raise _fault(draft, patch, index, f"{step!r} is no field of a plain value or a list")
            if last:
                tree[step] = patch.value
            else:
                tree = tree.setdefault(step, [] if isinstance(steps[position + 1], int) else {})


def patch_story(draft: Draft) -> tuple[str, ...]:
    """Say for explain what the user changed."""
    return tuple(f"user patch: {patch.path} = {patch.value!r}" for patch in draft.job.job.patches)


def guilty_patch(draft: Draft, message: str) -> Patch | None:
    """The patch that a message speaks of: the one whose last field it names, else the only one."""
    patches = draft.job.job.patches
    named = [patch for patch in patches if re.split(r"[.\[]", patch.path.rstrip(']"'))[-1] in message]
    return named[0] if named else patches[0] if len(patches) == 1 else None


def _fault(draft: Draft, patch: Patch, index: int, reason: str) -> InputError:
    return InputError(
        Finding(
            code="HF410",
            message=f"hf.patch({patch.path!r}) leads nowhere: {reason}",
            where=f"patch[{index}]",
            got=patch.path,
            expected='a path such as pod.spec.serviceAccountName or job[beijing].plugins["env"]',
            span=draft.job.job.sources.get(f"patch.{patch.path}"),
        )
    )
