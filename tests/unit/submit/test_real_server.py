"""The client on a real API server, by KUBECONFIG: what the test server is trusted for, asked of the real one."""

import os

import pytest

from hyperflow.submit.plane import connect
from hyperflow.submit.refusals import RefusedError
from hyperflow.submit.server_kinds import CONFIG_MAP, QUEUE

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(not os.environ.get("KUBECONFIG"), reason="KUBECONFIG is not set: no real API server was asked"),
]
DOCUMENT = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "hyperflow-client-test", "namespace": "default"},
    "data": {"a": "1"},
}


def test_an_object_is_asked_for_dryly_made_found_again_and_deleted():
    plane = connect()
    plane.apply(DOCUMENT, dry_run=True)
    assert plane.get(CONFIG_MAP, "hyperflow-client-test", "default") is None
    made = plane.apply(DOCUMENT)
    again = plane.apply(DOCUMENT)
    assert again["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]
    assert plane.delete(CONFIG_MAP, "hyperflow-client-test", "default", "00000000-0000-0000-0000-000000000000") is False
    assert plane.delete(CONFIG_MAP, "hyperflow-client-test", "default", made["metadata"]["uid"])
    assert plane.delete(CONFIG_MAP, "hyperflow-client-test", "default") is False


def test_an_unknown_field_is_a_schema_finding():
    plane = connect()
    with pytest.raises(RefusedError) as caught:
        plane.apply({**DOCUMENT, "nonsense": 1}, dry_run=True)
    assert caught.value.refusal.meaning == "schema"


def test_an_absent_namespace_is_told_as_such():
    plane = connect()
    elsewhere = {**DOCUMENT, "metadata": {"name": "a", "namespace": "hyperflow-nowhere"}}
    with pytest.raises(RefusedError) as caught:
        plane.apply(elsewhere, dry_run=True)
    assert caught.value.refusal.meaning == "no-namespace"


def test_rights_and_absent_kinds_are_told():
    plane = connect()
    assert plane.create_review({"verb": "get", "group": "", "resource": "configmaps", "namespace": "default"})
    try:
        plane.find(QUEUE)
    except RefusedError as error:
        assert error.refusal.meaning in ("no-kind", "forbidden")
