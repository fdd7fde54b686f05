"""An hour in the life of a HyperJob with many children, as deeds at moments: what its servers would show.

Children leave the queue one by one, get their pods, run, are counted anew, restart now and then, and complete; pods,
PodGroups and events change all the time. The plane forgets its history every ten minutes and
is down for 20 s every seven.
"""

import copy
import random

from tests.api_server.faults import Fault
from tests.api_server.store import now

HOUR = 3600.0
NAME = "wide"
DISPATCHED, ENDING = 300.0, 3400.0
RESTART_EVERY, DOWN_EVERY, FORGET_EVERY, DOWN_SECONDS = 60.0, 420.0, 600.0, 20.0
EVENT_EVERY, EVENT_LIFE = 6.0, 600.0


class WideJob:
    """The job on a server with members, whose flying clock does the deeds; counters change every `churn_seconds`."""

    def __init__(self, server, children, churn_seconds=0.5, seed=0):
        self.server, self.clock = server, server.plane.store.clock
        self.members = sorted(server.members)
        self.churn_seconds = churn_seconds
        self.chance = random.Random(seed)
        self.children = [f"{NAME}-{m}-{i}" for m in self.members for i in range(children // len(self.members))]
        self.phases = {name: [(0.0, "Queued")] for name in self.children}
        self.told = dict.fromkeys(self.children, ("Queued", 0))
        self.retries = dict.fromkeys(self.children, 0)
        self.down_until = -1.0
        self.news = 0
        self.deeds = []
        self.is_stale = False
        server.faults.rules.append(lambda _request: Fault(drop=True) if self.clock.now() < self.down_until else None)
        self._found()
        self._plan()
        for moment, deed in self.deeds:
            self.clock.at(moment, deed)

    def was(self, child, phase, begin, end):
        """Whether a child was in a phase at some moment between two."""
        spans = self.phases[child]
        ends = [moment for moment, _ in spans[1:]] + [2 * HOUR]
        return any(p == phase and b <= end and e >= begin for (b, p), e in zip(spans, ends, strict=True))

    def _kind(self, cluster, name):
        return next(k for k in cluster.kinds if k.resource == "jobs.batch.volcano.sh") if name == "Job" else (
            cluster.kind_named(name)
        )  # fmt: skip

    def _member(self, child):
        return self.server.members[child.removeprefix(f"{NAME}-").rpartition("-")[0]]

    def _found(self):
        """What the HyperJob controller makes at once: all children, each with its suspended binding."""
        spec = {"tasks": [_task()], "queue": "llm", "minAvailable": 2, "maxRetry": 3}
        count = len(self.children) // len(self.members)
        rows = [{"name": m, "replicas": count, "clusterNames": [m], "templateSpec": spec} for m in self.members]
        labels = {"hyperflow.io/bundle": NAME, "hyperflow.io/job": NAME}
        self.hyperjob = self.server.plane.put(
            _object("training.volcano.sh/v1alpha1", "HyperJob", NAME, {"replicatedJobs": rows}, labels)
        )
        for child in self.children:
            job = _object("batch.volcano.sh/v1alpha1", "Job", child, spec, {"volcano.sh/hyperjob-name": NAME})
            self.server.plane.put(job)
            ref = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": child}
            bound = {"resource": ref, "suspension": {"scheduling": True}}
            self.server.plane.put(_object("work.karmada.io/v1alpha2", "ResourceBinding", f"{child}-job", bound))

    def _plan(self):
        at, chance = self.deeds.append, self.chance
        for number, child in enumerate(self.children):
            moment = 1 + DISPATCHED * number / len(self.children)
            at((moment, lambda c=child: self._dispatch(c)))
            moment += chance.uniform(20, 60)
            at((moment, lambda c=child: self._group(c, "Inqueue")))
            for pod in range(2):
                moment += chance.uniform(5, 40)
                at((moment, lambda c=child, p=pod: self._pod(c, p)))
            at((moment + 1, lambda c=child: self._group(c, "Running")))
            end = ENDING + chance.uniform(0, 150)
            at((end, lambda c=child: self._set(c, "Completed", 0)))
        for moment in _every(self.churn_seconds, 600, ENDING):
            at((moment, self._churn))
        for moment in _every(RESTART_EVERY, 600, ENDING - RESTART_EVERY):
            child = chance.choice(self.children)
            at((moment, lambda c=child: self._restart(c)))
            at((moment + 10, lambda c=child: self._set(c, "Pending", 0)))
            at((moment + 30, lambda c=child: self._set(c, "Running", 2)))
        for number, moment in enumerate(_every(EVENT_EVERY, 2, HOUR)):
            at((moment, lambda n=number: self._event(n)))
            at((moment + EVENT_LIFE, lambda n=number: self._delete(self.server.plane, "Event", f"{NAME}.{n}")))
        for moment in _every(FORGET_EVERY, FORGET_EVERY, HOUR):
            at((moment, self.server.plane.store.compact))
        for moment in _every(DOWN_EVERY, DOWN_EVERY, ENDING):
            at((moment, self._go_down))
        for moment in _every(5.0, 5.0, HOUR):
            at((moment, self._aggregate))

    def _dispatch(self, child):
        plane = self.server.plane
        binding = plane.store.get(self._kind(plane, "ResourceBinding"), "default", f"{child}-job")
        member = child.removeprefix(f"{NAME}-").rpartition("-")[0]
        clusters = [{"name": member, "replicas": 2}]
        plane.put({**binding, "spec": {"resource": binding["spec"]["resource"], "clusters": clusters}})
        job = plane.store.get(self._kind(plane, "Job"), "default", child)
        copied = _object(job["apiVersion"], "Job", child, job["spec"], job["metadata"]["labels"])
        self._member(child).put(copied)
        self._member(child).put(
            _object("scheduling.volcano.sh/v1beta1", "PodGroup", f"{child}-0", {"minMember": 2, "queue": "llm"})
        )
        self._set(child, "Pending", 0)

    def _group(self, child, phase):
        member = self._member(child)
        group = member.store.get(self._kind(member, "PodGroup"), "default", f"{child}-0")
        member.put({**group, "status": {"phase": phase}})

    def _pod(self, child, index):
        labels = {"volcano.sh/job-name": child, "hyperflow.io/bundle": NAME}
        pod = _object("v1", "Pod", f"{child}-node-{index}", copy.deepcopy(_task()["template"]["spec"]), labels)
        self._member(child).put({**pod, "status": {"phase": "Running"}})
        self._set(child, "Pending" if index == 0 else "Running", index + 1)

    def _set(self, child, phase, running, heard=0):
        """Give a child its status, first in its member, then on the plane."""
        if self.phases[child][-1][1] != phase:
            self.phases[child].append((self.clock.now(), phase))
        self.news += (phase, running) != self.told[child]
        self.told[child] = (phase, running)
        self.is_stale = True
        status = {"state": {"phase": phase}, "running": running, "retryCount": self.retries[child], "minAvailable": 2}
        status |= {"terminating": heard} if heard else {}
        for cluster in (self._member(child), self.server.plane):
            job = cluster.store.get(self._kind(cluster, "Job"), "default", child)
            cluster.put({**job, "status": status})

    def _restart(self, child):
        self.retries[child] += 1
        self._set(child, "Restarting", 1)

    def _churn(self):
        """A pod says it lives; a counter of a job changes without a new phase."""
        child = self.chance.choice(self.children)
        member = self._member(child)
        pod = member.store.get(self._kind(member, "Pod"), "default", f"{child}-node-0")
        member.put({**pod, "status": {"phase": "Running", "message": f"seen at {self.clock.now():.0f}"}})
        if self.phases[child][-1][1] == "Running":
            self._set(child, "Running", 2, heard=round(self.clock.now()))

    def _event(self, number):
        child = self.chance.choice(self.children)
        about = {"kind": "Job", "name": child, "namespace": "default"}
        event = _object("v1", "Event", f"{NAME}.{number}", None)
        said = {"reason": "FailedScheduling", "message": f"note {number}", "type": "Warning", "lastTimestamp": now()}
        self.server.plane.put({**event, "involvedObject": about, **said})

    def _delete(self, cluster, kind, name):
        cluster.store.delete(self._kind(cluster, kind), "default", name, {})

    def _go_down(self):
        self.down_until = self.clock.now() + DOWN_SECONDS
        self.server.tear_watches()

    def _aggregate(self):
        """The HyperJob's status, every few seconds where a child has changed."""
        if not self.is_stale:
            return
        self.is_stale = False
        rows, ended = [], True
        for member in self.members:
            mine = [child for child in self.children if child.startswith(f"{NAME}-{member}-")]
            states = {child: {"phase": self.phases[child][-1][1]} for child in mine}
            rows.append({"name": member, "jobStates": states, "running": sum(self.told[child][1] for child in mine)})
            ended = ended and all(state["phase"] == "Completed" for state in states.values())
        status = {"replicatedJobsStatus": rows, "splitCount": len(self.children)}
        if ended:
            done = {"type": "Completed", "status": "True", "reason": "AllChildVCJobsCompleted", "message": "all done"}
            status["conditions"] = [{**done, "lastTransitionTime": now()}]
        self.server.plane.put({**self.hyperjob, "status": status})


def most_requests(members, news):
    """How many requests following the job may take in its hour.

    A round lists nine times of the plane and seven of each member (four for the line of its queue), and watches once;
    there are four a minute at most, and one more where the news changed the state. News ends a watch and is gathered
    by a second one, after each of which five lists may be asked for again. A server that is down is asked again with
    doubled pauses up to 8 s, in each of which a round may begin; what it forgot costs one watch and one list.
    """
    rounds = 4 * HOUR / 60 + HOUR / RESTART_EVERY
    outages = (HOUR / DOWN_EVERY) * (DOWN_SECONDS / 2.0) + HOUR / FORGET_EVERY
    return (rounds + outages) * (9 + 7 * members + 1) + news * 2 * (1 + 5)


def _every(seconds, begin, end):
    return [begin + seconds * i for i in range(int((end - begin) / seconds))]


def _object(api_version, kind, name, spec, labels=None):
    meta = {"name": name, "namespace": "default"} | ({"labels": labels} if labels else {})
    return {"apiVersion": api_version, "kind": kind, "metadata": meta} | ({"spec": spec} if spec is not None else {})


def _task():
    """A task whose template is as long as a rendered one."""
    env = [{"name": f"SETTING_{i}", "value": "x" * 40} for i in range(20)]
    limits = {"cpu": "8", "memory": "64Gi", "nvidia.com/gpu": "8"}
    container = {"name": "train", "image": "registry.example/train:1", "env": env, "resources": {"limits": limits}}
    container["command"] = ["bash", "-c", "exec torchrun train.py\n" * 20]
    return {"name": "node", "replicas": 2, "template": {"spec": {"containers": [container]}}}
