"""The verb lint as a user calls it: verdicts, exit codes, state, updates, mends, formats."""

import json
from pathlib import Path

import pytest
import yaml

from hyperflow.cli import main

VALID = json.loads((Path(__file__).parents[1] / "admission" / "valid_documents.json").read_text())


def put(tmp_path, name, *documents):
    path = tmp_path / name
    path.write_text("---\n".join(yaml.safe_dump(document, sort_keys=False) for document in documents))
    return str(path)


@pytest.fixture
def lint(capsys):
    def run(*arguments):
        code = main(["lint", *map(str, arguments), "--format", "json"])
        shown = capsys.readouterr()
        return code, json.loads(shown.out), shown.err

    return run


def job(**spec):
    return {**VALID["Job"], "spec": {**VALID["Job"]["spec"], **spec}}


def test_a_sound_job_is_accepted_by_both_servers_with_what_each_adds(tmp_path, lint):
    code, answer, _ = lint(put(tmp_path, "job.yaml", job()))
    (row,) = answer["documents"]
    assert (code, row["verdict"], row["denied_by"], row["kind"], row["name"], row["index"]) == (
        0, "accepted", [], "Job", "it", 0,
    )  # fmt: skip
    assert row["added"]["member"] == row["added"]["plane"]
    assert row["added"]["member"]["spec.minAvailable"] == 8


def test_a_denial_names_the_server_the_field_and_its_place(tmp_path, lint):
    path = put(tmp_path, "job.yaml", job(policies=[{"event": "PodFailed", "action": "RestartPartition"}]))
    code, answer, _ = lint(path)
    (row,) = answer["documents"]
    assert (code, row["verdict"], row["denied_by"]) == (1, "denied", ["plane"])
    line = Path(path).read_text().splitlines().index("    action: RestartPartition") + 1
    assert row["findings"][0]["where"] == f"{path}:{line}:5"
    assert row["findings"][0]["rule"] == "policy-action"
    assert [f["message"] for f in answer["findings"]] == [f["message"] for f in row["findings"]]


def test_risky_is_exit_0_and_with_strict_4(tmp_path, lint):
    path = put(tmp_path, "job.yaml", job(networkTopology={"mode": "hard"}))
    assert lint(path)[0] == 0
    code, answer, _ = lint(path, "--strict")
    assert (code, answer["documents"][0]["verdict"]) == (4, "risky")


def test_what_was_given_decides_and_what_was_not_is_said(tmp_path, lint):
    path = put(tmp_path, "job.yaml", job(queue="research"))
    code, answer, _ = lint(path, "--server", "member")
    notes = [f["message"] for f in answer["documents"][0]["findings"] if f["code"] == "HF805"]
    assert (code, notes) == (0, ["not judged on the member, for want of queues"])
    queue = {**VALID["Queue"], "metadata": {"name": "research"}, "status": {"state": "Open"}}
    assert lint(path, "--with", put(tmp_path, "queues.yaml", queue))[0] == 0
    assert lint(path, "--with", put(tmp_path, "other.yaml", VALID["Queue"]))[0] == 1
    held = lint(path, "--with", put(tmp_path, "other.yaml", VALID["Queue"]), "--with-plane", tmp_path / "queues.yaml")
    assert held[1]["documents"][0]["denied_by"] == ["member"]


def test_earlier_documents_count_as_applied(tmp_path, lint):
    queue = {**VALID["Queue"], "metadata": {"name": "research"}}
    held = put(tmp_path, "held.yaml", VALID["Queue"])
    both = put(tmp_path, "both.yaml", queue, job(queue="research"))
    code, answer, _ = lint(both, "--with", held)
    assert (code, [row["verdict"] for row in answer["documents"]]) == (0, ["accepted", "accepted"])
    assert lint(put(tmp_path, "late.yaml", job(queue="research"), queue), "--with", held)[0] == 1


def test_items_of_a_list_are_judged_one_by_one(tmp_path, lint):
    path = put(tmp_path, "list.yaml", {"apiVersion": "v1", "kind": "List", "items": [job(), VALID["Queue"]]})
    _, answer, _ = lint(path)
    assert [(row["index"], row["kind"]) for row in answer["documents"]] == [(0, "Job"), (1, "Queue")]


def test_old_makes_it_an_update(tmp_path, lint):
    live = job(
        minAvailable=8, maxRetry=3, tasks=[{**VALID["Job"]["spec"]["tasks"][0], "minAvailable": 8, "maxRetry": 3}]
    )
    old = put(tmp_path, "old.yaml", live)
    new = {**live, "spec": {**live["spec"], "priorityClassName": "high"}}
    assert lint(put(tmp_path, "new.yaml", new), "--old", old)[0] == 0
    other = {**live, "spec": {**live["spec"], "ttlSecondsAfterFinished": 5}}
    code, answer, _ = lint(put(tmp_path, "other.yaml", other), "--old", old)
    assert (code, answer["documents"][0]["findings"][0]["code"]) == (1, "HF829")


def test_the_patched_target_takes_partitions_in_a_hyperjob(tmp_path, lint):
    document = json.loads(json.dumps(VALID["HyperJob"]))
    task = document["spec"]["replicatedJobs"][0]["templateSpec"]["tasks"][0]
    task["partitionPolicy"] = {"totalPartitions": 2, "partitionSize": 4, "minPartitions": 2}
    path = put(tmp_path, "hyperjob.yaml", document)
    assert lint(path)[0] == 1
    code, answer, _ = lint(path, "--target", "patched")
    assert (code, answer["documents"][0]["verdict"]) == (0, "accepted")


def test_a_kind_that_is_not_judged_is_said_so(tmp_path, lint):
    path = put(tmp_path, "map.yaml", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}})
    code, answer, _ = lint(path)
    (row,) = answer["documents"]
    assert (code, row["verdict"], row["findings"][0]["code"]) == (0, "unjudged", "HF804")
    assert row["findings"][0]["message"] == "v1 ConfigMap is not a kind that is judged"


def test_what_is_no_object_is_denied_and_the_rest_is_judged(tmp_path, lint):
    path = put(tmp_path, "some.yaml", {"kind": "Job", "spec": {}}, job())
    code, answer, _ = lint(path, tmp_path / "gone.yaml")
    rows = answer["documents"]
    assert (code, [row["verdict"] for row in rows]) == (1, ["denied", "accepted", "denied"])
    assert [row["findings"][0]["code"] for row in rows if row["findings"]][:1] == ["HF807"]
    assert rows[0]["findings"][0]["message"] == "no Kubernetes object: apiVersion and kind are needed"
    assert rows[2]["findings"][0]["code"] == "HF101"


def test_values_and_settings_are_left_alone(tmp_path, lint):
    code, answer, _ = lint(put(tmp_path, "values.yaml", {"replicas": 1, "image": "a"}))
    (row,) = answer["documents"]
    assert (code, row["verdict"], row["findings"][0]["message"]) == (0, "unjudged", "no Kubernetes object: not judged")


def test_a_crd_among_the_objects_decides_about_its_kind(tmp_path, lint):
    rules = [{"rule": "self.tier.matches('x')", "message": "odd"}, {"rule": "self.tier < 5", "message": "too high"}]
    schema = {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {"tier": {"type": "integer"}, "mine": {"type": "string", "default": "x"}},
                "x-kubernetes-validations": rules,
            }
        },
    }
    version = {"name": "v1alpha1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"kind": "HyperNode", "plural": "hypernodes"}
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "hypernodes.topology.volcano.sh"},
        "spec": {"group": "topology.volcano.sh", "names": names, "scope": "Cluster", "versions": [version]},
    }
    held = put(tmp_path, "crd.yaml", crd)
    code, answer, _ = lint(put(tmp_path, "hypernode.yaml", VALID["HyperNode"]), "--with", held)
    codes = {finding["code"]: finding for finding in answer["documents"][0]["findings"]}
    assert code == 1
    assert "HF810" in codes, "this CRD has no members"
    assert codes["HF809"]["message"] == "spec: the CEL rule \"self.tier.matches('x')\" was not evaluated"
    assert "HF815" not in codes


def test_fix_prints_the_mended_documents_and_writes_nothing(tmp_path, capsys):
    task = {"name": "w", "replicas": 2, "template": {"spec": {"containers": [{"name": "c", "image": "a"}]}}}
    task["template"]["spec"]["containers"][0]["env"] = [{"name": "A", "value": 1}]
    path = put(tmp_path, "job.yaml", job(tasks=[task], networkTopology={"mode": "soft", "highestTierAllowed": 1}))
    before = Path(path).read_text()
    assert main(["lint", path, "--fix"]) == 1
    (fixed,) = yaml.safe_load_all(capsys.readouterr().out)
    assert Path(path).read_text() == before
    assert fixed["spec"]["networkTopology"] == {"mode": "soft"}
    pod = fixed["spec"]["tasks"][0]["template"]["spec"]
    assert (pod["restartPolicy"], pod["containers"][0]["env"]) == ("Never", [{"name": "A", "value": "1"}])
    assert main(["lint", path, "--fix", "--format", "json"]) == 1
    assert json.loads(capsys.readouterr().out)["items"] == [fixed]
    mended = tmp_path / "mended.yaml"
    mended.write_text(yaml.safe_dump(fixed))
    assert main(["lint", str(mended), "--strict"]) == 0


def test_sarif_is_one_log_with_every_finding(tmp_path, capsys):
    path = put(tmp_path, "job.yaml", job(queue="root", networkTopology={}))
    assert main(["lint", path, "--format", "sarif", "--server", "member"]) == 1
    log = json.loads(capsys.readouterr().out)
    levels = {result["ruleId"]: result["level"] for result in log["runs"][0]["results"]}
    assert levels["HF826"] == "error"
    assert levels["HF860"] == "warning"


def test_the_table_is_for_people(tmp_path, capsys):
    path = put(tmp_path, "job.yaml", job(queue="root"), VALID["Queue"])
    assert main(["lint", path]) == 1
    shown = capsys.readouterr()
    assert shown.out == (
        f"{'file':<{len(path)}}  document  kind   name  verdict   denied by\n"
        f"{path}         0  Job    it    denied    member, plane\n"
        f"{path}         1  Queue  it    accepted  -\n"
        "2 documents: 1 accepted, 0 risky, 1 denied, 0 unjudged\n"
    )
    assert "error[HF826] spec.queue: no job may go to the root queue" in shown.err
