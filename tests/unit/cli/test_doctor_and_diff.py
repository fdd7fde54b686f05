"""The verbs doctor and diff as people type them."""

import json

import pytest
import yaml

from hyperflow.cli import main
from hyperflow.spec.training_job import Environment
from hyperflow.submit.plane import WallClock
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


def test_diff_shows_each_value_in_one_short_line_and_gives_all_of_it_as_json(tmp_path, capsys):
    long = "first line\n" + "b" * 200
    bundles = [
        str(write_bundle(tmp_path / name, job=two_cities(env=Environment(variables={"NOTE": value}))))
        for name, value in (("a", "short"), ("b", long))
    ]
    assert main(["diff", *bundles]) == 0
    header, *rows = capsys.readouterr().out.splitlines()
    assert header.split() == ["OBJECT", "FIELD", "FROM", "TO", "IMMUTABLE"]
    assert {row.partition(".env[NOTE].value")[2].split(maxsplit=1)[1] for row in rows} == {
        f"first line {'b' * 46}...  yes"
    }
    assert main(["diff", *bundles, "--format", "json"]) == 0
    assert {row["to"] for row in json.loads(capsys.readouterr().out)["changes"]} == {long}


def test_diff_says_once_which_bundle_lacks_an_object(folder, tmp_path, capsys):
    resolved, plan = two_cities(priority=None)
    other = write_bundle(tmp_path / "other", job=(resolved, plan))
    assert main(["diff", folder, str(other)]) == 0
    assert capsys.readouterr().out == f"ClusterPropagationPolicy hyperflow-priorityclass-high is not in {other}\n"


@pytest.mark.parametrize("verb", ["status", "diff", "doctor", "logs", "delete", "report"])
def test_an_unreachable_server_is_told_at_once_and_tried_the_longer_the_more_is_at_stake(
    live, folder, monkeypatch, capsys, verb
):
    monkeypatch.setattr(WallClock, "now", lambda _: live.clock.now())
    monkeypatch.setattr(WallClock, "sleep", lambda _, seconds: live.clock.sleep(seconds))
    config = yaml.safe_load(live.kubeconfig.read_text())
    config["clusters"][0]["cluster"] = {"server": "http://127.0.0.1:1"}
    live.kubeconfig.write_text(yaml.safe_dump(config))
    started = live.clock.now()
    target = "toy8" if verb in ("status", "logs", "delete") else folder
    assert main([verb, target, *(["--live"] if verb == "report" else [])]) == 1
    first, second, *_ = capsys.readouterr().err.splitlines()
    tried = 60 if verb == "delete" else 3
    assert first == f"context plane: connection refused; trying again for {tried} s"
    assert second.startswith("error[HF503] the server kept failing to ")
    assert 0 < live.clock.now() - started <= tried
