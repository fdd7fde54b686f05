"""What the controllers of a plane do, one step after each request: HyperJob, Karmada, dispatcher, member vcjob.

Told as data/control_plane_runs.json tells it. A test drives it by `script`: a child's name -> the phases it takes after
it runs, such as ["Running", "Failed"]; without a script a child runs on.
"""

import copy
from dataclasses import dataclass, field
from typing import Any

from tests.api_server.answers import Refusal
from tests.api_server.server import ApiServer, Cluster
from tests.api_server.store import now

Json = dict[str, Any]
ENDED = ("Completed", "Failed", "Aborted", "Terminated")


@dataclass
class Controllers:
    """Moves the objects of one plane. `hold` names children that the dispatcher or the member keeps waiting."""

    api: ApiServer
    script: dict[str, list[str]] = field(default_factory=dict)
    hold_queue: set[str] = field(default_factory=set)
    hold_member: set[str] = field(default_factory=set)
    orphan_children: bool = False

    def step(self) -> None:
        """Let every controller do its next deed."""
        plane = self.api.plane
        with plane.store.lock:
            for hyperjob in plane.store.find(plane.kind_named("HyperJob")):
                if not hyperjob["metadata"].get("deletionTimestamp"):
                    self._children(hyperjob)
            for job in plane.store.find(self._job(plane)):
                self._bind(job)
            for binding in plane.store.find(plane.kind_named("ResourceBinding")):
                self._advance(binding)
            for hyperjob in plane.store.find(plane.kind_named("HyperJob")):
                self._aggregate(hyperjob)
            self._collect_members()

    @staticmethod
    def _job(cluster: Cluster) -> Any:
        return next(k for k in cluster.kinds if k.resource == "jobs.batch.volcano.sh")

    def _children(self, hyperjob: Json) -> None:
        plane, meta = self.api.plane, hyperjob["metadata"]
        for item in hyperjob["spec"].get("replicatedJobs", []):
            for i in range(item.get("replicas", 1)):
                name = f"{meta['name']}-{item['name']}-{i}"
                if plane.store.objects.get(plane.store.key(self._job(plane), meta["namespace"], name)):
                    continue
                child = {
                    "apiVersion": "batch.volcano.sh/v1alpha1",
                    "kind": "Job",
                    "metadata": {
                        "name": name,
                        "namespace": meta["namespace"],
                        "labels": {"volcano.sh/hyperjob-name": meta["name"]},
                    },
                    "spec": copy.deepcopy(item["templateSpec"]),
                }
                if not self.orphan_children:
                    child["metadata"]["ownerReferences"] = [_owner(hyperjob)]
                denial = plane.admit("create", self._job(plane), child, None)
                if denial is not None:
                    self._event(hyperjob, "FailedCreateVCJob", f"Failed to create VCJob {name}: {_said(denial)}")
                    return
                plane.put(child)
                policy = {
                    "apiVersion": "policy.karmada.io/v1alpha1",
                    "kind": "PropagationPolicy",
                    "metadata": {"name": name, "namespace": meta["namespace"]},
                    "spec": {
                        "resourceSelectors": [{"apiVersion": child["apiVersion"], "kind": "Job", "name": name}],
                        "placement": {"clusterAffinity": {"clusterNames": item.get("clusterNames", [])}},
                    },
                }
                if not self.orphan_children:
                    policy["metadata"]["ownerReferences"] = [_owner(hyperjob)]
                plane.put(policy)

    def _event(self, obj: Json, reason: str, message: str) -> None:
        meta = obj["metadata"]
        self.api.plane.put(
            {
                "apiVersion": "v1",
                "kind": "Event",
                "metadata": {"name": f"{meta['name']}.{reason.lower()}", "namespace": meta["namespace"]},
                "involvedObject": {"kind": obj["kind"], "name": meta["name"], "namespace": meta["namespace"]},
                "reason": reason,
                "message": message,
                "type": "Warning",
                "lastTimestamp": now(),
            }
        )

    def _bind(self, job: Json) -> None:
        plane, meta = self.api.plane, job["metadata"]
        kind = plane.kind_named("ResourceBinding")
        if plane.store.objects.get(plane.store.key(kind, meta["namespace"], f"{meta['name']}-job")):
            return
        binding = {
            "apiVersion": "work.karmada.io/v1alpha2",
            "kind": "ResourceBinding",
            "metadata": {
                "name": f"{meta['name']}-job",
                "namespace": meta["namespace"],
                "ownerReferences": [_owner(job)],
            },
            "spec": {
                "resource": {"apiVersion": job["apiVersion"], "kind": "Job", "name": meta["name"]},
                "suspension": {"scheduling": True},
            },
        }
        plane.put(binding)

    def _clusters(self, job: Json) -> list[str]:
        plane, meta = self.api.plane, job["metadata"]
        for policy in plane.store.find(plane.kind_named("PropagationPolicy"), meta["namespace"]):
            selectors = policy["spec"]["resourceSelectors"]
            if any(s["kind"] == "Job" and s.get("name") == meta["name"] for s in selectors):
                placement = policy["spec"]["placement"]
                groups = placement.get("clusterAffinities") or [placement.get("clusterAffinity", {})]
                return [name for group in groups for name in group.get("clusterNames", [])]
        return []

    def _advance(self, binding: Json) -> None:
        plane = self.api.plane
        name, namespace = binding["spec"]["resource"]["name"], binding["metadata"]["namespace"]
        job = plane.store.get(self._job(plane), namespace, name)
        if name in self.hold_queue:
            return
        if binding["spec"].get("suspension", {}).get("scheduling"):
            plane.put({**binding, "spec": {**binding["spec"], "suspension": {}}})
            return
        if not binding["spec"].get("clusters"):
            chosen = next((c for c in self._clusters(job) if c in self.api.members), None)
            if chosen:
                total = sum(task["replicas"] for task in job["spec"]["tasks"])
                plane.put({**binding, "spec": {**binding["spec"], "clusters": [{"name": chosen, "replicas": total}]}})
            return
        self._run(job, self.api.members[binding["spec"]["clusters"][0]["name"]])

    def _run(self, job: Json, member: Cluster) -> None:
        """Give the job in the member and on the plane its next phase; pods come with Running."""
        name = job["metadata"]["name"]
        phase = job.get("status", {}).get("state", {}).get("phase")
        following = self.script.get(name)
        if name in self.hold_member or phase is None:
            following = ["Pending"]
        elif following is None:
            following = ["Running"]
        if not following or phase in ENDED:
            return
        phase = following.pop(0)
        total = sum(task["replicas"] for task in job["spec"]["tasks"])
        status = {"state": {"phase": phase}, "running": total if phase == "Running" else 0}
        if job.get("status") == status:
            return
        self.api.plane.put({**job, "status": status})
        copied = {k: copy.deepcopy(v) for k, v in job.items()}
        copied["metadata"] = {k: v for k, v in job["metadata"].items() if k in ("name", "namespace", "labels")}
        member.put({**copied, "status": status})
        for task in job["spec"]["tasks"]:
            for i in range(task["replicas"] if phase == "Running" else 0):
                member.put(self._pod(job, task, i))

    @staticmethod
    def _pod(job: Json, task: Json, index: int) -> Json:
        labels = {
            **task["template"].get("metadata", {}).get("labels", {}),
            "volcano.sh/job-name": job["metadata"]["name"],
            "volcano.sh/task-index": str(index),
            "volcano.sh/task-spec": task["name"],
        }
        name = f"{job['metadata']['name']}-{task['name']}-{index}"
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": job["metadata"]["namespace"], "labels": labels},
            "spec": {"nodeName": f"n{index}", "containers": task["template"]["spec"]["containers"]},
            "status": {"phase": "Running"},
        }

    def _aggregate(self, hyperjob: Json) -> None:
        plane, meta = self.api.plane, hyperjob["metadata"]
        rows, phases = [], []
        for item in hyperjob["spec"].get("replicatedJobs", []):
            states, running = {}, 0
            for i in range(item.get("replicas", 1)):
                name = f"{meta['name']}-{item['name']}-{i}"
                try:
                    job = plane.store.get(self._job(plane), meta["namespace"], name)
                except Refusal:
                    return  # no status at all while a child is missing, as recorded
                phase = job.get("status", {}).get("state", {}).get("phase")
                states[name] = {"phase": phase} if phase else {}
                phases.append(phase)
                running += job.get("status", {}).get("running", 0)
            rows.append({"name": item["name"], "jobStates": states} | ({"running": running} if running else {}))
        status: Json = {"replicatedJobsStatus": rows, "splitCount": len(phases)}
        if all(phase in ENDED for phase in phases):
            done = phases.count("Completed")
            kind = "Completed" if done == len(phases) else "Failed"
            reason = "AllChildVCJobsCompleted" if kind == "Completed" else "SomeChildVCJobsUnsuccessful"
            condition = {"type": kind, "status": "True", "reason": reason, "message": _ended(phases)}
            if hyperjob.get("status", {}).get("conditions"):
                return  # set once, never judged again, as recorded
            status["conditions"] = [{**condition, "lastTransitionTime": now()}]
        if hyperjob.get("status") != status:
            plane.put({**hyperjob, "status": status})

    def _collect_members(self) -> None:
        """Karmada takes away in the members what is gone on the plane."""
        plane = self.api.plane
        live = {job["metadata"]["name"] for job in plane.store.find(self._job(plane))}
        for member in self.api.members.values():
            for job in member.store.find(self._job(member)):
                if job["metadata"]["name"] not in live:
                    member.store.delete(self._job(member), job["metadata"]["namespace"], job["metadata"]["name"], {})
            for pod in member.store.find(member.kind_named("Pod")):
                if pod["metadata"]["labels"]["volcano.sh/job-name"] not in live:
                    kind = member.kind_named("Pod")
                    member.store.delete(kind, pod["metadata"]["namespace"], pod["metadata"]["name"], {})


def _owner(obj: Json) -> Json:
    meta = obj["metadata"]
    return {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "name": meta["name"], "uid": meta["uid"]}


def _said(denial: Refusal) -> str:
    return denial.body["message"] if isinstance(denial.body, dict) else str(denial.body)


def _ended(phases: list[str]) -> str:
    if set(phases) == {"Completed"}:
        return f"All {len(phases)} child vcJobs completed"
    counts = [f"{phases.count(phase)} {phase.lower()}" for phase in ENDED]
    return f"HyperJob failed: {', '.join(counts)}"
