"""Seeded runs of submit, wait and delete with faults and kills at any request; what must hold after each.

One run: submit (killed at a random request, then run again), wait for the end, delete (killed and run again). Every
request may meet a fault besides. After the second submit there is exactly one job; after the second delete nothing.
"""

import random
from dataclasses import dataclass

from hyperflow.errors import HyperFlowError
from hyperflow.submit.delete_job import delete_job
from hyperflow.submit.plane import Plane
from hyperflow.submit.snapshot import JobName
from hyperflow.submit.submit_bundle import apply_bundle
from hyperflow.submit.transport import KubernetesTransport
from hyperflow.submit.watch import Limits, Pace, wait_for
from tests.api_server.faults import Fault

FAULTS = [
    Fault(code=409),
    Fault(code=429, retry_after=1),
    Fault(code=500),
    Fault(code=503),
    Fault(drop=True),
    Fault(drop=True, before=False),
]
SHARE = 0.08
LONGEST_SECONDS = 1800.0


class KilledError(BaseException):
    """The client's process ended here."""


class MortalTransport(KubernetesTransport):
    """Dies at one request: before it is sent, or after it took effect."""

    def __init__(self, dies_at, after):
        super().__init__()
        self.left, self.after = dies_at, after

    def send(self, method, path, query, body=None, content_type=""):
        self.left -= 1
        if self.left == 0 and not self.after:
            raise KilledError
        answer = super().send(method, path, query, body, content_type)
        if self.left == 0:
            raise KilledError
        return answer


@dataclass
class Outcome:
    """What one run came to; `faults` is empty when all held."""

    seed: int
    requests: int
    kills: int
    wrong: list


def leftovers(live):
    """What is on the plane and the members beside what bundles share."""
    kept = {
        "customresourcedefinitions",
        "namespaces",
        "queues",
        "priorityclasses",
        "clusterpropagationpolicies",
        "events",
    }
    servers = [live.server.plane, *live.server.members.values()]
    return [key[1:] for server in servers for key in server.store.objects if key[1] not in kept]


def one_run(live, bundle, seed):
    """Run one seed on a plane that is empty of jobs."""
    chance = random.Random(seed)
    live.server.faults.rules = []
    live.server.faults.requests.clear()
    live.server.faults.at_random(seed, SHARE, FAULTS)
    job = JobName(job=bundle.job, name=bundle.name, namespace=bundle.namespace)
    children = [f"{bundle.name}-{group}-0" for group in ("beijing", "shanghai")]
    fails = chance.random() < 0.3
    for child in children:
        live.controllers.script[child] = ["Pending", "Running", "Running", "Completed"]
    if fails:
        live.controllers.script[children[chance.randrange(2)]] = ["Running", "Failed"]
    started, kills, wrong = live.clock.now(), 0, []

    def plane(mortal):
        transport = MortalTransport(chance.randrange(1, 40), chance.random() < 0.5) if mortal else KubernetesTransport()
        return Plane(transport=transport, clock=live.clock, patience=live.plane.patience)

    for mortal in (True, True, False):
        try:
            apply_bundle(plane(mortal), bundle)
        except KilledError:
            kills += 1
    if len(live.names("HyperJob")) != 1:
        wrong.append(f"{live.names('HyperJob')} jobs after submit")
    states = []
    try:
        wait_for(
            plane(False), job, limits=Limits(on_partial_failure="keep"),
            pace=Pace(pause_seconds=0.5, quiet_seconds=1), on_status=lambda status: states.append(status.state),
        )  # fmt: skip
    except HyperFlowError as error:  # any other exception is a bug of ours and ends the soak with its traceback
        states.append(type(error).__name__)
    ended = {"COMPLETED"} if not fails else {"DegradedError"}
    if states[-1] not in ended or (not fails and {"FAILED", "DEGRADED", "UNKNOWN"} & set(states)):
        wrong.append(f"states {states}")
    for mortal in (True, True, False):
        try:
            delete_job(plane(mortal), job)
        except KilledError:
            kills += 1
    live.controllers.step()
    if leftovers(live):
        wrong.append(f"left behind: {leftovers(live)}")
    if live.clock.now() - started > LONGEST_SECONDS:
        wrong.append(f"took {live.clock.now() - started} s")
    for server in (live.server.plane, *live.server.members.values()):
        server.store.compact()
    return Outcome(seed=seed, requests=len(live.server.faults.requests), kills=kills, wrong=wrong)
