"""The test API server answers as the real one did: api_wire.json, exchange by exchange."""

import http.client
import json
import re
import threading
import time
import urllib.parse
from pathlib import Path

import pytest
import yaml

from tests.api_server.answers import refuse
from tests.api_server.server import TOKEN, ApiServer, Cluster

SHARED = Path(__file__).parents[3] / ".." / "shared"
WIRE = SHARED / "data" / "api_wire.json"
CRDS = SHARED / "third_party" / "crds"
pytestmark = pytest.mark.skipif(not WIRE.exists(), reason="the recorded exchanges are not here")
VOLATILE = ("uid", "resourceVersion", "creationTimestamp", "deletionTimestamp", "managedFields", "continue")
OTHER_GROUPS = "groups of the server that HyperFlow never asks for"
UID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def recorded():
    return json.loads(WIRE.read_text())["exchanges"] if WIRE.exists() else []


def crd(name):
    return yaml.safe_load((CRDS / name).read_text())


def deny_unknown_queue(_verb, kind, new, _old):
    if kind.kind == "Job" and new["spec"].get("queue") != "default":
        queue = new["spec"]["queue"]
        reason = f'unable to find job queue: queue.scheduling.volcano.sh "{queue}" not found;'
        return refuse(400, f'admission webhook "validatejob.volcano.sh" denied the request: {reason}')
    return None


@pytest.fixture(scope="module")
def replay():
    crds = [crd("training.volcano.sh_hyperjobs.yaml"), crd("batch.volcano.sh_jobs.yaml")]
    with ApiServer(Cluster(crds=crds, admit=deny_unknown_queue)) as server:
        yield Replay(server)


class Replay:
    """Sends the recorded requests in order, with our uids and versions in place of the recorded ones."""

    def __init__(self, server):
        self.server = server
        self.ours = {}  # recorded uid or resourceVersion -> ours
        self.answers = {}
        self.template = None

    def answer(self, exchange):
        if exchange["id"] not in self.answers:
            for earlier in recorded():
                if earlier["id"] not in self.answers:
                    self.answers[earlier["id"]] = self.send(earlier)
                if earlier["id"] == exchange["id"]:
                    break
        return self.answers[exchange["id"]]

    def send(self, exchange):
        request = exchange["request"]
        self.prepare(exchange)
        body = self.translated(request["body"])
        if exchange["id"] == "post-not-json":
            body = "{nope"
        elif body is not None:
            body = json.dumps(body)
        query = {k: self.translated(v) for k, v in (request["params"] or {}).items()}
        if "timeoutSeconds" in query:
            query["timeoutSeconds"] = float(query["timeoutSeconds"]) / 10
        path = request["path"] + ("?" + urllib.parse.urlencode(query) if query else "")
        headers = {"Content-Type": request["content_type"], "User-Agent": "python-requests/2"}
        if exchange["id"] not in ("no-token", "bad-token"):
            headers["Authorization"] = f"Bearer {TOKEN}"
        status, kind, text = self.http(request["method"], path, body, headers)
        watch = "watch" in query
        answer = (
            text
            if kind.startswith("text/plain")
            else [json.loads(x) for x in text.splitlines()]
            if watch
            else json.loads(text)
        )
        self.learn(exchange["response"]["body"], answer)
        return status, kind, answer

    def http(self, method, path, body, headers):
        host, port = self.server.http.server_address[:2]
        connection = http.client.HTTPConnection(host, port, timeout=20)
        connection.request(method, path, body=body, headers=headers)
        response = connection.getresponse()
        return response.status, response.headers["Content-Type"], response.read().decode()

    def prepare(self, exchange):
        """What others did between the recorded requests: jobs made and changed, history forgotten."""
        cluster = self.server.plane
        body = exchange["request"]["body"]
        if exchange["id"] == "apply-create":
            self.template = body
        if exchange["id"] == "list-paged":
            self.make("w4")
        if exchange["id"] == "watch-modified-deleted":
            self.ours["76899"] = str(cluster.store.version)
            threading.Timer(0.2, self.change, ("w4",)).start()
        if exchange["id"] == "watch-bookmarks":
            cluster.store.delete(cluster.kind_named("HyperJob"), "default", "w4", {})
        if exchange["id"] == "delete-foreground":
            self.make("w5")
        if exchange["id"] == "get-after-foreground":
            time.sleep(0.4)
        if exchange["id"] == "delete-precondition-wrong-uid":
            self.make("w6")
        if exchange["id"] == "watch-rv-too-old":
            cluster.store.compact()

    def make(self, name):
        body = json.loads(json.dumps(self.template))
        body["metadata"]["name"] = name
        self.server.plane.put(body)

    def change(self, name):
        cluster = self.server.plane
        job = cluster.store.get(cluster.kind_named("HyperJob"), "default", name)
        job = cluster.put({**job, "status": {"splitCount": 1}})
        job["metadata"]["labels"] = {"a": "b"}
        cluster.put({key: value for key, value in job.items() if key != "status"})

    def translated(self, value):
        if isinstance(value, dict):
            return {k: self.translated(v) for k, v in value.items()}
        if isinstance(value, list):
            return [self.translated(v) for v in value]
        return self.ours.get(value, value) if isinstance(value, str) else value

    def learn(self, theirs, ours):
        if isinstance(theirs, dict) and isinstance(ours, dict):
            for name, value in theirs.items():
                if name in ("uid", "resourceVersion") and name in ours:
                    self.ours[value] = ours[name]
                else:
                    self.learn(value, ours.get(name))
        elif isinstance(theirs, list) and isinstance(ours, list):
            for a, b in zip(theirs, ours, strict=False):
                self.learn(a, b)
        elif isinstance(theirs, str) and isinstance(ours, str):
            self.ours |= dict(
                zip((m[0] for m in UID.finditer(theirs)), (m[0] for m in UID.finditer(ours)), strict=False)
            )


def settled(value, watched=False):
    """The value without what differs from run to run; the status of HyperJobs is a controller's, not the server's."""
    if isinstance(value, dict):
        kept = {k: settled(v) for k, v in value.items() if k not in VOLATILE}
        if kept.get("kind") == "HyperJob":
            kept.pop("status", None)
        return kept
    if isinstance(value, list):
        return [settled(item) for item in value]
    return re.sub(r"version: 1 \(\d+\)", "version: 1 (N)", UID.sub("UID", value)) if isinstance(value, str) else value


@pytest.mark.parametrize("exchange", recorded(), ids=lambda exchange: exchange["id"])
def test_the_server_answers_as_the_real_one_did(exchange, replay):
    status, kind, answer = replay.answer(exchange)
    wanted = exchange["response"]
    assert status == wanted["status"]
    assert kind == wanted["headers"]["Content-Type"]
    if exchange["id"] == "discovery-groups":
        served = {group["name"]: group for group in wanted["body"]["groups"]}
        ours = [group for group in answer["groups"] if group["name"] in served]
        assert ours == [served[group["name"]] for group in ours], OTHER_GROUPS
        assert {"training.volcano.sh", "batch", "apps"} <= {group["name"] for group in ours}
        return
    if exchange["id"] == "discovery-hyperjob":
        wanted["body"]["resources"][0].pop("storageVersionHash")
    if exchange["id"] == "version":
        assert {name: wanted["body"][name] for name in answer} == answer
        return
    assert settled(answer) == settled(wanted["body"])
