"""How the client gets its credentials: exec plugins are run, verification stays on, nothing is written down."""

import json
from pathlib import Path

import yaml

from hyperflow.submit.plane import connect
from hyperflow.submit.server_kinds import QUEUE
from tests.live_plane import live_plane

SUBMIT = Path(__file__).parents[3] / "hyperflow" / "submit"


def test_an_exec_plugin_gives_the_token(tmp_path, monkeypatch):
    with live_plane(tmp_path, monkeypatch) as live:
        credential = {
            "apiVersion": "client.authentication.k8s.io/v1",
            "kind": "ExecCredential",
            "status": {"token": "test-token"},
        }
        (tmp_path / "credential.json").write_text(json.dumps(credential))
        config = yaml.safe_load(live.server.kubeconfig())
        plugin = {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": "cat",
            "args": [str(tmp_path / "credential.json")],
            "interactiveMode": "Never",
        }
        config["users"][0]["user"] = {"exec": plugin}
        live.kubeconfig.write_text(yaml.safe_dump(config))
        found = connect("plane").get(QUEUE, "llm")
        assert found is not None
        assert found["status"]["state"] == "Open"


def test_verification_of_certificates_is_never_turned_off():
    assert [path.name for path in SUBMIT.glob("*.py") if "verify" in path.read_text().replace("verification", "")] == []
