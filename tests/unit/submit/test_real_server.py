"""What the test server is trusted for, asked of any server: dry runs, uids, schemas, refusals, rights."""

import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from hyperflow.submit.plane import connect
from hyperflow.submit.refusals import RefusedError
from hyperflow.submit.server_kinds import CONFIG_MAP, CRD, NAMESPACE, PRIORITY_CLASS, ServerKind

ROOT = Path(__file__).parents[3]


def document(server, **more):
    """A ConfigMap of the tests."""
    meta = {"name": "hyperflow-client-test", "namespace": server.namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"a": "1"}, **more}


def test_an_object_is_asked_for_dryly_made_found_again_and_deleted(any_server):
    plane, where = connect(), any_server.namespace
    plane.apply(document(any_server), dry_run=True)
    assert plane.get(CONFIG_MAP, "hyperflow-client-test", where) is None
    made = plane.apply(document(any_server))
    again = plane.apply(document(any_server))
    assert again["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]
    assert plane.delete(CONFIG_MAP, "hyperflow-client-test", where, "00000000-0000-0000-0000-000000000000") is False
    assert plane.delete(CONFIG_MAP, "hyperflow-client-test", where, made["metadata"]["uid"])
    assert plane.delete(CONFIG_MAP, "hyperflow-client-test", where) is False


def test_an_unknown_field_is_a_schema_finding(any_server):
    plane = connect()
    hyperjob = {
        "apiVersion": "training.volcano.sh/v1alpha1", "kind": "HyperJob",
        "metadata": {"name": "a", "namespace": any_server.namespace}, "spec": {"nonsense": 1},
    }  # fmt: skip
    with pytest.raises(RefusedError) as caught:
        plane.apply(hyperjob, dry_run=True)
    assert caught.value.refusal.meaning == "schema"


def test_an_absent_namespace_is_told_as_such(any_server):
    elsewhere = {**document(any_server), "metadata": {"name": "a", "namespace": f"{any_server.name}-nowhere"}}
    with pytest.raises(RefusedError) as caught:
        connect().apply(elsewhere, dry_run=True)
    assert caught.value.refusal.meaning == "no-namespace"


def test_rights_and_absent_kinds_are_told(any_server):
    plane = connect()
    asked = {"verb": "get", "group": "", "resource": "configmaps", "namespace": any_server.namespace}
    assert plane.create_review(asked)
    absent = ServerKind(api_version="nowhere.example/v1", kind="None", plural="nones", namespaced=False)
    with pytest.raises(RefusedError) as caught:
        plane.find(absent)
    assert caught.value.refusal.meaning == "no-kind"


def test_the_same_tests_run_on_a_server_of_another_process_and_leave_it_as_they_found_it(tmp_path, monkeypatch):
    """The proof of the fixture: KUBECONFIG names a server that the tests did not start, without any CRD."""
    kubeconfig = tmp_path / "kubeconfig"
    serving = [sys.executable, "-m", "tests.api_server", str(kubeconfig)]
    other = subprocess.Popen(serving, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    guard = threading.Timer(300, other.kill)
    guard.start()
    try:
        assert other.stdout is not None
        assert other.stdout.readline().startswith("serving http://127.0.0.1:")
        monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
        plane = connect()
        before = [plane.find(kind)[0] for kind in (CRD, NAMESPACE, PRIORITY_CLASS)]
        file, itself = "tests/unit/cli/test_verbs_on_any_server.py", Path(__file__).relative_to(ROOT)
        settings = ["-m", "cluster", "-p", "no:cacheprovider", "-o", "addopts=--import-mode=importlib"]
        command = [sys.executable, "-m", "pytest", *settings, file, str(itself)]
        done = subprocess.run(command, cwd=ROOT, env=dict(os.environ), capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-3000:]
        passed = re.search(r"(\d+) passed, \d+ deselected", done.stdout)
        assert passed and int(passed[1]) > 10 and "skipped" not in done.stdout, done.stdout[-500:]
        assert [plane.find(kind)[0] for kind in (CRD, NAMESPACE, PRIORITY_CLASS)] == before
    finally:
        guard.cancel()
        other.terminate()
        other.wait()
