"""The verbs doctor and diff as people type them."""

import json

import pytest

from hyperflow.cli import main
from tests.live_plane import live_plane, write_bundle
from tests.manifest_cases import two_cities


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return str(write_bundle(tmp_path_factory.mktemp("bundle") / "out"))


@pytest.fixture
def live(tmp_path, monkeypatch):
    with live_plane(tmp_path, monkeypatch) as plane:
        yield plane


def test_doctor_exits_with_3_and_shows_the_table_and_each_fix(live, folder, capsys):
    assert main(["doctor", folder]) == 3
    shown = capsys.readouterr()
    assert shown.out.splitlines()[0].split() == ["CHECK", "plane", "beijing", "shanghai"]
    assert "error[HF523] Karmada dispatch: the server does not serve clusters.cluster.karmada.io" in shown.err
    assert main(["doctor", folder, "--format", "json"]) == 3
    document = json.loads(capsys.readouterr().out)
    assert document["ready"] is False
    assert {c["state"] for c in document["checks"]} == {"ok", "bad", "unknown"}


def test_diff_of_two_bundles_ignores_their_hashes(folder, tmp_path, capsys):
    resolved, plan = two_cities(image="ghcr.io/acme/train:1.5")
    other = write_bundle(tmp_path / "other", job=(resolved, plan))
    assert main(["diff", folder, str(other), "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    changed = {(row["from"], row["to"]) for row in document["changes"] if row["path"].endswith(".image")}
    assert changed == {("ghcr.io/acme/train:1.4", "ghcr.io/acme/train:1.5")}
    assert document["absent"] == []
    assert main(["diff", folder, folder]) == 0
    assert capsys.readouterr().out == "no difference\n"
