"""What differs on a fallback cluster: devices, selectors, network settings and tiers, as an OverridePolicy."""

from hyperflow.json_tree import dig
from hyperflow.k8s.karmada import (
    ClusterAffinity,
    OverridePolicy,
    Overriders,
    OverrideRule,
    OverrideSpec,
    PlaintextOverrider,
)
from hyperflow.k8s.record import ObjectMeta
from hyperflow.k8s.volcano import JobSpec
from hyperflow.lower.draft import Draft
from hyperflow.lower.propagation import select_child
from hyperflow.lower.stage_groups import StageGroup

FIELDS = ("networkTopology", "tasks/0/partitionPolicy", "tasks/0/template/spec")


def fallback_overrides(
    draft: Draft, group: StageGroup, chosen: JobSpec, others: dict[str, JobSpec]
) -> OverridePolicy | None:
    """Give the policy that turns the chosen cluster's Job into each fallback's; None when nothing differs."""
    rules: list[OverrideRule] = []
    for cluster, spec in others.items():
        changes = [change for field in FIELDS if (change := _change(field, chosen, spec)) is not None]
        if changes:
            target = ClusterAffinity(cluster_names=(cluster,))
            rules.append(OverrideRule(target_cluster=target, overriders=Overriders(plaintext=tuple(changes))))
    if not rules:
        return None
    return OverridePolicy(
        metadata=ObjectMeta(name=f"{draft.child_name(group)}-own", namespace=draft.namespace, labels=draft.labels),
        spec=OverrideSpec(resource_selectors=(select_child(draft, group),), override_rules=tuple(rules)),
    )


def _change(field: str, old: JobSpec, new: JobSpec) -> PlaintextOverrider | None:
    before, after = _at(field, old), _at(field, new)
    if before == after:
        return None
    path = f"/spec/{field}"
    if after is None:
        return PlaintextOverrider(path=path, operator="remove")
    return PlaintextOverrider(path=path, operator="add" if before is None else "replace", value=after)


def _at(field: str, spec: JobSpec) -> object:
    tree = spec.model_dump(by_alias=True, exclude_none=True, mode="json")
    return dig(tree, *(int(step) if step.isdigit() else step for step in field.split("/")))
