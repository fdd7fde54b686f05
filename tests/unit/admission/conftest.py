"""One valid and harmless document of each kind (valid_documents.json), changed by path and judged."""

import copy
import json
from pathlib import Path

import pytest

from hyperflow.admission.judge import judge, servers_of
from hyperflow.admission.state import ServerState
from hyperflow.admission.tables import catalogue_table

VALID = json.loads(Path(__file__).with_name("valid_documents.json").read_text())
REMOVE = "<remove>"
PRESENT = [
    {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "default"}},
    {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "parent"},
     "spec": {"capability": {"cpu": "100"}, "deserved": {"cpu": "50"}}},
    {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "child"},
     "spec": {"parent": "parent", "deserved": {"cpu": "20"}}},
    {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "shut"},
     "spec": {}, "status": {"state": "Closed"}},
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}},
    {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1},
    {"apiVersion": "topology.volcano.sh/v1alpha1", "kind": "HyperNode", "metadata": {"name": "s0"},
     "spec": {"tier": 1, "tierName": "rack", "members": []}},
    {"apiVersion": "topology.volcano.sh/v1alpha1", "kind": "HyperNode", "metadata": {"name": "s1"},
     "spec": {"tier": 2, "tierName": "row", "members": []}},
    {"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": "m1"}, "spec": {}},
]  # fmt: skip


def changed(kind, changes):
    """Copy the kind's document with fields set by path: steps are joined by dots, or by | where a step has one."""
    tree = copy.deepcopy(VALID[kind])
    for path, value in changes.items():
        *parents, last = path.split("|" if "|" in path else ".")
        place = tree
        for step in parents:
            place = place[int(step)] if isinstance(place, list) else place.setdefault(step, {})
        key = int(last) if isinstance(place, list) else last
        if value == REMOVE:
            del place[key]
        else:
            place[key] = copy.deepcopy(value)
    return tree


@pytest.fixture
def document():
    """Give a changed copy of a kind's valid document."""
    return lambda kind, **changes: changed(kind, changes.get("changes", changes))


@pytest.fixture
def verdict_on():
    """Judge a changed document on one server that holds PRESENT."""

    def ask(kind, changes=None, *, server=None, old=None, present=None, table=None):
        value = changed(kind, changes or {})
        asked = server or servers_of(value)[0]
        before = changed(kind, old) if old is not None else None
        state = ServerState(PRESENT if present is None else present)
        return judge(value, asked, state, table or catalogue_table(), before)

    return ask
