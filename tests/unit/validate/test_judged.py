"""The judge on our own bundles: nothing denied, nothing risky, and nothing that a webhook would add."""

import copy

import pytest
import yaml

from hyperflow.admission.judge import judge
from hyperflow.admission.state import ServerState
from hyperflow.lower.lower_job import lower
from hyperflow.render.render_bundle import render
from hyperflow.validate.check_bundle import check
from hyperflow.validate.judged import children_of, judge_documents, server_tables
from hyperflow.validate.round_trip import parse_bundle
from tests.crd_schemas import CRDS
from tests.manifest_golden import CASES

MEANINGLESS = {"metadata.labels", "metadata.annotations"}


def documents_of(name):
    build, mode = CASES[name]
    manifests = lower(*build(), mode)
    return manifests, parse_bundle(render(manifests))[0]


@pytest.mark.parametrize("name", CASES)
def test_no_server_denies_or_doubts_a_bundle_of_ours(name):
    assert [finding.as_text() for finding in judge_documents(*documents_of(name))] == []


@pytest.mark.parametrize("name", CASES)
def test_a_webhook_has_nothing_to_add_to_our_jobs(name):
    manifests, documents = documents_of(name)
    tables = server_tables(manifests.hyperjob_crd, ())
    jobs = [document for _, document in documents if document["kind"] == "Job"]
    jobs += [child for _, document in documents for _, child in children_of(document)]
    assert jobs
    for job in jobs:
        for server in ("member", "plane"):
            assert judge(job, server, ServerState(), tables[server]).added == {}


def test_judge_names_file_and_field_of_a_template_that_breaks_a_rule():
    manifests, documents = documents_of("two_clusters")
    broken = copy.deepcopy(documents)
    broken[-1][1]["spec"]["replicatedJobs"][0]["templateSpec"]["policies"][1]["event"] = "PodRunning"
    found = [finding for finding in judge_documents(manifests, broken) if finding.severity == "error"]
    assert found
    assert all(f.code.startswith("HF8") and f.where.startswith("06-hyperjob.yaml") for f in found)


def test_given_crds_replace_the_catalogue():
    if not CRDS.is_dir():
        pytest.skip("the CRD files are not beside the checkout: judging by given CRDs was not tested")
    build, mode = CASES["two_clusters"]
    manifests = lower(*build(), mode)
    bundle = render(manifests)
    crds = [yaml.load(path.read_text(), Loader=yaml.CSafeLoader) for path in sorted(CRDS.glob("*.yaml"))]
    assert check(manifests, bundle, crds) == ()
    hyperjob = next(crd for crd in crds if crd["spec"]["names"]["kind"] == "HyperJob")
    older = copy.deepcopy(hyperjob)
    fields = older["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    del fields["replicatedJobs"]["items"]["properties"]["templateSpec"]["properties"]["priorityClassName"]
    messages = [finding.message for finding in check(manifests, bundle, [older])]
    assert any("priorityClassName" in message for message in messages)
