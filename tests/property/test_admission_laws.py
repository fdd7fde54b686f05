"""Laws of the judge: order does not matter, junk never crashes it, required fields are required, mends mend."""

import copy
import json
import random
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from hyperflow.admission.judge import judge, servers_of
from hyperflow.admission.shapes import Shape
from hyperflow.admission.state import ServerState
from hyperflow.admission.tables import catalogue_table

VALID = json.loads((Path(__file__).parents[1] / "unit" / "admission" / "valid_documents.json").read_text())
EMPTY = ServerState()
RICH = {
    "restartPolicy": "Never",
    "hostNetwork": True,
    "nodeSelector": {"gpu": "a100"},
    "tolerations": [{"key": "gpu", "operator": "Exists"}],
    "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [{"matchExpressions": [{"key": "gpu", "operator": "In", "values": ["a"]}]}]}}},
    "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}],
    "volumes": [{"name": "shm", "emptyDir": {"medium": "Memory"}}, {"name": "cfg", "configMap": {"name": "c"}}],
    "securityContext": {"runAsUser": 1000, "seccompProfile": {"type": "RuntimeDefault"}},
    "initContainers": [{"name": "i", "image": "a"}],
    "containers": [{
        "name": "main", "image": "a", "ports": [{"name": "p", "containerPort": 80}],
        "env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
        "envFrom": [{"configMapRef": {"name": "c"}}],
        "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}, {"name": "cfg", "mountPath": "/cfg"}],
        "livenessProbe": {"httpGet": {"path": "/", "port": 80}},
        "lifecycle": {"preStop": {"exec": {"command": ["x"]}}},
        "resources": {"requests": {"cpu": 1, "nvidia.com/gpu": 8}, "limits": {"cpu": 1, "nvidia.com/gpu": 8}},
    }],
}  # fmt: skip
JUNK = st.sampled_from(
    [None, True, 0, -1, 2**70, 1.5, "", "x y", "\x00", [], [None], {}, {"": 1}, {"a": {}}, [[]], ["a"]]
)


def rich(kind):
    tree = copy.deepcopy(VALID[kind])
    for job in _job_specs(tree):
        for task in job["tasks"]:
            task["template"]["spec"] = copy.deepcopy(RICH)
            task["dependsOn"] = {"name": []}
            task["partitionPolicy"] = {"totalPartitions": 2, "partitionSize": 4}
        job["plugins"] = {"svc": [], "pytorch": []}
        job["volumes"] = [{"mountPath": "/d", "volumeClaimName": "c"}]
        job["networkTopology"] = {"mode": "hard", "highestTierAllowed": 1}
    return tree


def _job_specs(tree):
    if isinstance(tree, dict):
        if "tasks" in tree:
            yield tree
        for child in tree.values():
            yield from _job_specs(child)
    elif isinstance(tree, list):
        for child in tree:
            yield from _job_specs(child)


def _paths(value, path=()):
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, child in items:
        yield from _paths(child, (*path, step))


def _put(tree, path, value):
    for step in path[:-1]:
        tree = tree[step]
    tree[path[-1]] = value


def judged(value):
    return [judge(value, server, EMPTY, catalogue_table()) for server in servers_of(value)]


@settings(max_examples=300, deadline=None, derandomize=True)
@given(kind=st.sampled_from(sorted(VALID)), seed=st.integers(0, 10_000), junk=JUNK, update=st.booleans())
def test_junk_anywhere_gets_a_verdict_and_never_a_crash(kind, seed, junk, update):
    value = rich(kind)
    paths = [path for path in _paths(value) if path and path not in (("apiVersion",), ("kind",))]
    _put(value, random.Random(seed).choice(paths), junk)
    for server in servers_of(value):
        for old in (None, VALID[kind]) if update else (None,):
            before = copy.deepcopy(value)
            found = judge(value, server, EMPTY, catalogue_table(), old)
            assert found.verdict in ("accepted", "risky", "denied")
            assert value == before, "the document was changed in place"
            json.dumps([problem.finding("f").as_json() for problem in found.problems])


@settings(max_examples=60, deadline=None, derandomize=True)
@given(kind=st.sampled_from(sorted(VALID)), seed=st.integers(0, 1000))
def test_the_order_of_keys_does_not_matter(kind, seed):
    def shuffled(value):
        if isinstance(value, dict):
            keys = list(value)
            random.Random(seed).shuffle(keys)
            return {key: shuffled(value[key]) for key in keys}
        return [shuffled(child) for child in value] if isinstance(value, list) else value

    value = rich(kind)
    assert [(j.verdict, j.problems, j.added) for j in judged(value)] == [
        (j.verdict, j.problems, j.added) for j in judged(shuffled(value))
    ]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(kind=st.sampled_from(sorted(VALID)), seed=st.integers(0, 1000))
def test_what_a_server_stored_is_accepted_unchanged(kind, seed):
    for found in judged(VALID[kind]):
        again = judge(found.stored, found.server, EMPTY, catalogue_table())
        assert (again.verdict, again.added) == (found.verdict, {})


def _required(value, shape: Shape, path=()):
    if isinstance(value, dict):
        for name in shape.required:
            if name in value and shape.fields[name].type in ("array", "object"):
                yield (*path, name)
        for name, child in value.items():
            known = shape.fields.get(name) or shape.values
            if known and (path or name not in ("metadata",)):
                yield from _required(child, known, (*path, name))
    elif isinstance(value, list) and shape.items:
        for index, child in enumerate(value):
            yield from _required(child, shape.items, (*path, index))


def test_removing_a_required_list_or_mapping_is_always_denied():
    removed = 0
    for kind in VALID:
        value = rich(kind)
        name = f"{value['apiVersion']}/{kind}"
        for path in _required(value, catalogue_table().find(name).shape):
            if path[-1] in ("overriders", "targetCluster", "preference", "decisionConditions", "placement"):
                continue  # Karmada's webhook writes these back as empty structs
            broken = copy.deepcopy(value)
            _put(broken, path, None)
            assert [j.verdict for j in judged(broken)] == ["denied"] * len(servers_of(value)), (kind, path)
            removed += 1
    assert removed > 15
