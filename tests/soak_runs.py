"""Seeded runs of submit, wait and delete with faults and kills at any request; what must hold after each.

One run: submit and wait (killed at a random request of either, then run again, as people do), then delete (killed and
run again). Every request may meet a fault besides: refusals, lost and torn answers, answers slower than the client
waits or just not, tokens that expire, servers that restart and forget. After the last submit there is exactly one job,
after the last delete nothing, and no state was told that the job never had.
"""

import random
import signal
from dataclasses import dataclass

from hyperflow.errors import HyperFlowError
from hyperflow.submit.delete_job import delete_job
from hyperflow.submit.plane import Plane
from hyperflow.submit.snapshot import JobName
from hyperflow.submit.submit_bundle import apply_bundle
from hyperflow.submit.watch import Limits, Pace, wait_for
from tests.api_server.faults import Fault
from tests.live_plane import CountingTransport

READ_SECONDS = 0.5
FAULTS = [
    Fault(code=409),
    Fault(code=429, retry_after=1),
    Fault(code=500),
    Fault(code=503),
    Fault(drop=True),
    Fault(drop=True, before=False),
] * 4 + [Fault(slow=0.75 * READ_SECONDS), Fault(slow=1.5 * READ_SECONDS)]  # fmt: skip
SHARE, EXPIRY_SHARE, RESTART_SHARE = 0.08, 0.01, 0.01
LONGEST_SECONDS, LONGEST_WALL_SECONDS = 1800.0, 300
LATE_SECONDS = 20.0
KEPT = {
    "customresourcedefinitions", "namespaces", "queues", "priorityclasses", "clusterpropagationpolicies", "events",
}  # fmt: skip


class KilledError(BaseException):
    """The client's process ended here."""


class MortalTransport(CountingTransport):
    """Dies at one request: before it is sent, or after it took effect; a watch also while it is read."""

    def __init__(self, server, dies_at, after):
        super().__init__(server, READ_SECONDS)
        self.left, self.after = dies_at, after

    def send(self, method, path, query, body=None, content_type=""):
        self.left -= 1
        if self.left == 0 and not self.after:
            raise KilledError
        answer = super().send(method, path, query, body, content_type)
        if self.left == 0:
            raise KilledError
        return answer

    def lines(self, path, query, read_seconds):
        self.left -= 1
        if self.left == 0 and not self.after:
            raise KilledError
        for line in super().lines(path, query, read_seconds):
            if self.left == 0:
                raise KilledError
            yield line


@dataclass
class Outcome:
    """What one run came to; `wrong` is empty when all held."""

    seed: int
    requests: int
    kills: int
    expiries: int
    wrong: list


def leftovers(live):
    """What is on the plane and the members beside what bundles share."""
    servers = [live.server.plane, *live.server.members.values()]
    return [key[1:] for server in servers for key in server.store.objects if key[1] not in KEPT]


class Run:
    """One seed on a plane that is empty of jobs."""

    def __init__(self, live, bundle, seed):
        self.live, self.bundle, self.seed = live, bundle, seed
        self.chance = random.Random(seed)
        self.job = JobName(job=bundle.job, name=bundle.name, namespace=bundle.namespace)
        self.kills, self.expiries, self.wrong, self.states = 0, 0, [], []
        self.is_followed = False

    def prepare(self):
        """Set faults, tokens and the children's fate."""
        live, faults = self.live, self.live.server.faults
        faults.rules, faults.requests = [], []
        live.kubeconfig.write_text(live.server.kubeconfig().replace("token: test-token", "tokenFile: token"))
        self._accept("token-0")
        trouble = random.Random(self.seed)
        faults.rules.append(lambda _request: self._disturb(trouble))
        faults.at_random(self.seed, SHARE, FAULTS)
        children = [f"{self.bundle.name}-{group}-0" for group in ("beijing", "shanghai")]
        self.fails = self.chance.random() < 0.3
        for child in children:
            live.controllers.script[child] = ["Pending"] + ["Running"] * self.chance.randrange(1, 40) + ["Completed"]
        if self.fails:
            live.controllers.script[children[self.chance.randrange(2)]] = ["Running", "Failed"]

    def _accept(self, token):
        self.live.server.tokens = {token}
        (self.live.kubeconfig.parent / "token").write_text(token)

    def _disturb(self, trouble):
        """A token expires (its successor may come late while a job is followed), or the server restarts."""
        drawn = trouble.random()
        if drawn < EXPIRY_SHARE:
            self.expiries += 1
            token = f"token-{self.expiries}"
            self.live.server.tokens = {token}
            if self.is_followed and trouble.random() < 0.5:
                moment = self.live.clock.now() + LATE_SECONDS
                self.live.clock.at(moment, lambda: self._accept(f"token-{self.expiries}"))
            else:
                self._accept(token)
        elif drawn < EXPIRY_SHARE + RESTART_SHARE:
            self.live.server.tear_watches()
            self.live.server.plane.store.compact()

    def plane(self, mortal):
        """A new client; a mortal one dies at one of its first requests."""
        transport = CountingTransport(self.live.server, READ_SECONDS)
        if mortal:
            transport = MortalTransport(self.live.server, self.chance.randrange(1, 120), self.chance.random() < 0.5)
        return Plane(transport=transport, clock=self.live.clock, patience=self.live.plane.patience)

    def submit_and_wait(self, mortal):
        """What `submit --wait` does; any exception but a finding is a bug of ours and ends the soak."""
        plane = self.plane(mortal)
        try:
            apply_bundle(plane, self.bundle)
            self.is_followed = True
            wait_for(
                plane,
                self.job,
                limits=Limits(on_partial_failure="keep"),
                pace=Pace(pause_seconds=0.5, quiet_seconds=1),
                on_status=lambda status: self.states.append(status.state),
            )
        except KilledError:
            self.kills += 1
        except HyperFlowError as error:
            self.states.append(error.findings[0].code)
        finally:
            self.is_followed = False
            self.live.clock.sleep(LATE_SECONDS)  # a token that is late has come before the next command

    def delete(self, mortal):
        """What `delete` does."""
        try:
            delete_job(self.plane(mortal), self.job)
        except KilledError:
            self.kills += 1

    def judge_submit(self):
        """Hold the laws of a job that was submitted and followed to its end."""
        jobs = self.live.names("HyperJob")
        if len(jobs) != 1:
            self.wrong.append(f"{jobs} jobs after submit")
        end = "HF516" if self.fails else "COMPLETED"
        strange = {"UNKNOWN", "HF503", "HF504"} | (set() if self.fails else {"FAILED", "DEGRADED", "HF516"})
        if self.states[-1] != end or strange & set(self.states):
            self.wrong.append(f"states {self.states}")


def one_run(live, bundle, seed):
    """Run one seed and say what was wrong."""
    run = Run(live, bundle, seed)
    run.prepare()
    started = live.clock.now()
    signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(TimeoutError(f"seed {seed} hangs")))
    signal.alarm(LONGEST_WALL_SECONDS)
    for mortal in (True, True, False):
        run.submit_and_wait(mortal)
    run.judge_submit()
    for mortal in (True, True, False):
        run.delete(mortal)
    signal.alarm(0)
    live.controllers.step()
    if left := leftovers(live):
        run.wrong.append(f"left behind: {left}")
    if live.clock.now() - started > LONGEST_SECONDS:
        run.wrong.append(f"took {live.clock.now() - started} s")
    for server in (live.server.plane, *live.server.members.values()):
        server.store.compact()
    requests = len(live.server.faults.requests)
    return Outcome(seed=seed, requests=requests, kills=run.kills, expiries=run.expiries, wrong=run.wrong)
