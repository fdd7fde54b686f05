"""Values that come when the pipeline runs: bound to the declaration as `--set` does, never by replacing text."""

import json
from collections.abc import Mapping
from typing import Any

import yaml

from hyperflow.dsl.declared_job import DeclaredJob
from hyperflow.errors import Finding, InputError
from hyperflow.json_tree import is_mapping, is_sequence
from hyperflow.spec.fleet import Cluster, Fleet, NodeGroup

ENVIRONMENT = "env."
NODES = "nodes."
_SPEC_OF_ENVIRONMENT = ("env.variables", "env.nccl")


def bind(job: DeclaredJob, values: Mapping[str, object]) -> DeclaredJob:
    """Give the job with each `target: value` bound: a path such as `parallel.tp`, a variable `env.NAME`.

    The result is checked and planned like any declaration. Raises InputError (HF118) for an unknown path, HF112 for
    a value that does not fit when the job is used.
    """
    values = {name: value if isinstance(value, float) else from_struct(value) for name, value in values.items()}
    variables = {name.removeprefix(ENVIRONMENT): value for name, value in values.items() if is_variable(name)}
    settings = [f"{path}={yaml_text(value)}" for path, value in values.items() if not is_variable(path)]
    job = job.with_settings(settings)
    if not variables:
        return job
    declared = job.training_job().env.variables
    bound = {**declared, **{name: variable_text(value) for name, value in variables.items()}}
    return job.with_settings([f"env.variables={yaml_text(bound)}"])


def is_variable(target: str) -> bool:
    """Say whether the target is a variable of the training process."""
    return target.startswith(ENVIRONMENT) and target not in _SPEC_OF_ENVIRONMENT


def from_struct(value: Any) -> Any:
    """Give a value that went through a STRUCT of kfp with its whole numbers as such again; a double has no other.

    >>> from_struct({"parallel.tp": 4.0, "env.RATE": 0.5, "list": [1.0]})
    {'parallel.tp': 4, 'env.RATE': 0.5, 'list': [1]}
    """
    if is_mapping(value):
        return {name: from_struct(item) for name, item in value.items()}
    if is_sequence(value):
        return [from_struct(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def yaml_text(value: object) -> str:
    """Write a value so that YAML reads the same value again, whatever quotes or line ends it holds.

    >>> yaml_text('say "hi": {}'), yaml_text("4"), yaml_text(4)
    ('"say \\\\"hi\\\\": {}"', '"4"', '4')
    """
    style = '"' if isinstance(value, str) else None
    shown: str = yaml.safe_dump(value, default_style=style, default_flow_style=True, width=10**9, sort_keys=False)
    return shown.removesuffix("\n").removesuffix("\n...")


def variable_text(value: object) -> str:
    """Write a value as the text of an environment variable: text as it is, the rest as JSON.

    >>> variable_text(3e-4), variable_text(True), variable_text({"a": "b"})
    ('0.0003', 'true', '{"a":"b"}')
    """
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def limit_nodes(fleet: Fleet, limits: Mapping[str, object]) -> Fleet:
    """Give the fleet with clusters reduced to so many nodes: `cluster name: count`.

    Raises InputError (HF554) for an unknown cluster, more nodes than there are, or a cluster whose topology is known,
    since the nodes to leave out would have to be guessed.
    """
    findings: list[Finding] = []
    clusters = [
        _limited(cluster, limits[cluster.name], findings) if cluster.name in limits else cluster
        for cluster in fleet.clusters
    ]
    known = [cluster.name for cluster in fleet.clusters]
    findings += [
        _bad_limit(name, limits[name], f"there is no cluster {name!r}", f"one of {', '.join(known)}")
        for name in limits
        if name not in known
    ]
    if findings:
        raise InputError(findings)
    return fleet.model_copy(update={"clusters": tuple(clusters)})


def _limited(cluster: Cluster, wanted: object, findings: list[Finding]) -> Cluster:
    available = cluster.nodes_usable
    if cluster.tiers or cluster.hypernodes:
        findings.append(_bad_limit(cluster.name, wanted, "its topology is known", "parallel.dp or a smaller fleet"))
        return cluster
    if not isinstance(wanted, int) or isinstance(wanted, bool) or not 0 < wanted <= available:
        findings.append(_bad_limit(cluster.name, wanted, f"it has {available} nodes", f"1 to {available}"))
        return cluster
    groups: list[NodeGroup] = []
    for group in cluster.groups:
        count = min(group.count, wanted - sum(kept.count for kept in groups))
        names, free = group.node_names[:count], group.free_devices
        update: dict[str, Any] = {"count": count, "node_names": names}
        if free is not None:
            update["free_devices"] = min(free, count * group.devices_per_node)
        groups.append(group.model_copy(update=update))
    return cluster.model_copy(update={"groups": tuple(groups)})


def _bad_limit(name: str, wanted: object, reason: str, expected: str) -> Finding:
    return Finding(
        code="HF554",
        message=f"cannot take {wanted!r} nodes of cluster {name!r}: {reason}",
        where=f"{NODES}{name}",
        got=repr(wanted),
        expected=expected,
        hint="nodes.CLUSTER takes a whole number of the cluster's usable nodes",
    )
