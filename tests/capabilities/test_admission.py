"""The judge's rows of the capabilities: T9 (the patched CRD) and T15 (lint)."""

import json
from pathlib import Path

import pytest
import yaml

from hyperflow.cli import main

SHARED = Path(__file__).parents[2] / ".." / "shared"
CRDS = SHARED / "third_party" / "crds"
pytestmark = pytest.mark.skipif(not CRDS.is_dir(), reason="no third-party CRDs: T9 and T15 were not tried on them")


def test_t9_the_patched_crd_keeps_names_status_and_printer_columns_and_unlocks_partitions(tmp_path, capsys):
    files = str(CRDS / "training.volcano.sh_hyperjobs.yaml"), str(CRDS / "batch.volcano.sh_jobs.yaml")
    assert main(["crd", "--hyperjob", files[0], "--vcjob", files[1]]) == 0
    patched = yaml.safe_load(capsys.readouterr().out)
    shipped = next(d for d in yaml.safe_load_all(Path(files[0]).read_text()) if d)
    old, new = (crd["spec"]["versions"][0] for crd in (shipped, patched))
    assert patched["spec"]["names"] == shipped["spec"]["names"]
    assert {k: v for k, v in new.items() if k != "schema"} == {k: v for k, v in old.items() if k != "schema"}
    job = yaml.safe_load(
        """
        apiVersion: training.volcano.sh/v1alpha1
        kind: HyperJob
        metadata: {name: train}
        spec:
          replicatedJobs:
            - name: stage
              templateSpec:
                networkTopology: {mode: hard, highestTierName: row}
                policies: [{events: [PodFailed, PodEvicted], action: RestartJob}]
                tasks:
                  - name: worker
                    replicas: 8
                    partitionPolicy: {totalPartitions: 2, partitionSize: 4, minPartitions: 2}
                    template: {spec: {restartPolicy: Never, containers: [{name: main, image: busybox}]}}
        """
    )
    (tmp_path / "job.yaml").write_text(yaml.safe_dump(job))
    (tmp_path / "crd.yaml").write_text(yaml.safe_dump(patched))
    assert main(["lint", str(tmp_path / "job.yaml")]) == 1
    dropped = capsys.readouterr().err
    assert "partitionPolicy: unknown field" in dropped
    assert "highestTierName: unknown field" in dropped
    assert main(["lint", str(tmp_path / "job.yaml"), "--with-plane", str(tmp_path / "crd.yaml"), "--strict"]) == 0


def test_t15_lint_says_denied_by_whom_or_accepted_but_harmful(tmp_path, capsys):
    cases = json.loads((SHARED / "data" / "admission_verdicts.json").read_text())["cases"]
    by_id = {case["id"]: case["object"] for case in cases}
    names = ("partition-tier-and-name", "plane-vcjob-restartpartition", "topo-hard-0", "job-plain", "task-name-dup")
    path = tmp_path / "jobs.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [by_id[name] for name in names]}))
    assert main(["lint", str(path), "--format", "json"]) == 1
    rows = json.loads(capsys.readouterr().out)["documents"]
    assert [(row["verdict"], row["denied_by"]) for row in rows] == [
        ("denied", ["member"]),
        ("denied", ["plane"]),
        ("risky", []),
        ("accepted", []),
        ("denied", ["member", "plane"]),
    ]
    (same,) = [finding for finding in rows[3]["findings"] if finding["rule"] == "same-name"]
    assert same["message"] == "metadata.name: an earlier document is the Job train: this one replaces it"
