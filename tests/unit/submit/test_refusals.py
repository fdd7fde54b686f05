"""Refusals mean what the recorded server meant, and each has its words."""

import json

import pytest

from hyperflow.submit.refusals import read_refusal, refused
from hyperflow.submit.server_kinds import HYPERJOB, JOB, kind_of
from tests.unit.submit.test_api_wire import WIRE, recorded

MEANINGS = {
    "no-token": "unauthorized",
    "get-absent": "absent",
    "apply-conflict": "owned",
    "apply-no-field-manager": "invalid",
    "apply-name-mismatch": "broken",
    "apply-unknown-strict": "schema",
    "apply-unknown-ignore": "schema",
    "post-unknown-strict": "schema",
    "post-namespace-missing": "no-namespace",
    "put-stale": "changed",
    "webhook-denied": "denied",
    "crd-not-served": "no-kind",
    "delete-precondition-wrong-uid": "changed",
    "list-bad-continue": "broken",
}


@pytest.mark.skipif(not WIRE.exists(), reason="the recorded exchanges are not here")
@pytest.mark.parametrize(("exchange", "meaning"), MEANINGS.items())
def test_a_recorded_refusal_is_understood(exchange, meaning):
    response = next(e["response"] for e in recorded() if e["id"] == exchange)
    body = response["body"] if isinstance(response["body"], str) else json.dumps(response["body"])
    assert read_refusal(response["status"], body).meaning == meaning


@pytest.mark.skipif(not WIRE.exists(), reason="the recorded exchanges are not here")
def test_a_watch_from_nonsense_is_our_fault_and_never_retried():
    body = next(e["response"]["body"][0] for e in recorded() if e["id"] == "watch-rv-bad")
    assert read_refusal(500, json.dumps(body)).meaning == "broken"


def status(code, message, reason=None, details=None):
    return json.dumps({"kind": "Status", "code": code, "message": message, "reason": reason, "details": details or {}})


def told(code, body, kind=HYPERJOB, verb="patch", headers=None):
    return str(refused(read_refusal(code, body, headers), verb, kind, "ml/toy8", "plane"))


CASES = [
    (
        500,
        status(500, "failed to create typed patch object (ml/toy8; v1): .spec.a[0].b: field not declared in schema"),
        """error[HF506] the server's HyperJob CRD does not know spec.a[0].b
  --> HyperJob ml/toy8
  expected a CRD hyperjobs.training.volcano.sh that keeps the field
  hint: hyperflow crd --context CONTEXT prints the CRD that keeps every field; see hyperflow doctor""",
    ),
    (
        404,
        "404 page not found\n",
        """error[HF507] the server does not serve hyperjobs.training.volcano.sh (training.volcano.sh/v1alpha1)
  --> HyperJob ml/toy8
  hint: install the CRD hyperjobs.training.volcano.sh, or choose another --context (now plane)""",
    ),
    (
        403,
        status(403, 'admission webhook "p.karmada.io" denied the request: no clusters', "Forbidden"),
        """error[HF508] p.karmada.io denied to patch hyperjobs.training.volcano.sh: no clusters
  --> HyperJob ml/toy8
  hint: hyperflow lint judges the file as this webhook does, without a server""",
    ),
    (
        422,
        status(422, "spec.a: Required value", "Invalid"),
        """error[HF509] the server refused to patch hyperjobs.training.volcano.sh: spec.a: Required value
  --> HyperJob ml/toy8""",
    ),
    (
        409,
        status(
            409, "conflict with kubectl", "Conflict", {"causes": [{"reason": "FieldManagerConflict", "field": "a"}]}
        ),
        """error[HF510] another manager owns fields that the bundle sets
  --> HyperJob ml/toy8
  got conflict with kubectl, expected objects that only HyperFlow writes
  hint: hyperflow diff BUNDLE shows the fields; submit --replace makes the job anew""",
    ),
    (
        401,
        status(401, "Unauthorized", "Unauthorized"),
        """error[HF504] the server does not accept these credentials (401 Unauthorized)
  --> context plane
  hint: log in again, or choose another --context""",
    ),
    (
        403,
        status(403, "User u cannot patch", "Forbidden"),
        """error[HF505] you may not patch hyperjobs.training.volcano.sh: User u cannot patch
  --> HyperJob ml/toy8
  expected the right to patch hyperjobs.training.volcano.sh
  hint: ask for a Role with verbs [patch] on hyperjobs.training.volcano.sh; see hyperflow doctor""",
    ),
    (
        404,
        status(404, 'namespaces "ml" not found', "NotFound", {"kind": "namespaces"}),
        """error[HF525] the namespace does not exist: namespaces "ml" not found
  --> HyperJob ml/toy8
  hint: kubectl create namespace NAME, on the plane and on each member""",
    ),
    (
        503,
        status(503, "etcd is away", "ServiceUnavailable"),
        """error[HF503] the server kept failing to patch hyperjobs.training.volcano.sh: etcd is away
  --> HyperJob ml/toy8
  hint: nothing is lost: run the same command again, it continues where it stopped""",
    ),
]


@pytest.mark.parametrize(("code", "body", "text"), CASES)
def test_a_refusal_says_who_refused_what_and_what_to_do(code, body, text):
    assert told(code, body) == text


def test_a_failing_webhook_call_is_no_denial_but_worth_a_retry():
    body = status(500, 'Internal error occurred: failed calling webhook "v.volcano.sh": timeout', "InternalError")
    assert read_refusal(500, body).meaning == "busy"


def test_retry_after_is_read_in_seconds():
    assert read_refusal(429, status(429, "slow down"), {"Retry-After": "7"}).retry_after_seconds == 7


def test_a_token_in_an_answer_is_never_shown():
    assert "abc.def" not in told(400, status(400, "bad header: Bearer abc.def"))


def test_schema_findings_end_with_exit_code_3_and_others_with_1():
    assert refused(read_refusal(404, "404 page not found"), "get", JOB, "a", "plane").exit_code == 3
    assert refused(read_refusal(401, status(401, "Unauthorized")), "get", JOB, "a", "plane").exit_code == 1


def test_a_kind_that_hyperflow_never_writes_is_refused():
    from hyperflow.errors import InputError

    with pytest.raises(InputError) as caught:
        kind_of({"apiVersion": "v1", "kind": "ReplicationController"})
    shown = str(caught.value).splitlines()
    assert shown[0] == "error[HF501] HyperFlow does not submit objects of kind ReplicationController (v1)"
    assert shown[2] == "  hint: apply the object yourself, before the bundle"
