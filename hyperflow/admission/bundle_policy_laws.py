"""Laws about Karmada objects: each Job goes to one cluster, and everything its pods name goes there too."""

from collections.abc import Iterator
from typing import Any

from hyperflow.admission.bundle_breach import Breach
from hyperflow.admission.bundle_view import BundleView, JobView, Placed, policy_clusters, selects
from hyperflow.json_tree import dig, mapping, sequence, text

POLICIES = ("PropagationPolicy", "ClusterPropagationPolicy")
PREEXISTING_QUEUES = ("default", "root")
AFFINITY_NAME_LIMIT = 32


def selectors_meet_objects(view: BundleView) -> Iterator[Breach]:
    """A selector that matches nothing has no visible effect (bug reports 18)."""
    served = {(d.kind, text(d.value.get("apiVersion")), d.namespace, d.name) for d in view.documents}
    served |= {("Job", "batch.volcano.sh/v1alpha1", job.namespace, job.name) for job in view.jobs}
    named = {("v1", kind, job.namespace, name) for job in view.jobs for kind, name in named_objects(job)}
    shared = {(kind, name) for job in view.jobs for kind, name in _shared_objects(job)}
    for policy in view.of_kind(*POLICIES, "OverridePolicy"):
        for index, item in enumerate(sequence(dig(policy.value, "spec", "resourceSelectors"))):
            where = f"{policy.file}: spec.resourceSelectors[{index}]"
            kind, version, name = (text(dig(item, field)) for field in ("kind", "apiVersion", "name"))
            space = text(dig(item, "namespace"))
            if not kind or not name:
                yield Breach(
                    where=where, message="a selector without kind or name", effect="it takes other objects too"
                )
            elif policy.kind != "ClusterPropagationPolicy" and space != policy.namespace:
                message = f"the selector's namespace {space!r} is not the policy's"
                yield Breach(where=where, message=message, effect="denied, or it selects nothing")
            elif (
                (kind, version, space, name) not in served
                and (version, kind, space, name) not in named
                and (kind, name) not in shared
            ):
                message = f"nothing in the bundle is {version} {kind} {name}"
                yield Breach(where=where, message=message, effect="the policy does nothing")


def jobs_go_to_one_cluster(view: BundleView) -> Iterator[Breach]:
    """A Job of direct mode has one policy; a child is pinned by clusterNames (facts 5: left out, both go together)."""
    if view.mode == "single":
        return
    for job in view.jobs:
        claims = [p for p in view.of_kind("PropagationPolicy") if selects(p, "Job", job.namespace, job.name)]
        if not job.clusters:
            yield Breach(where=job.where, message="no cluster is named", effect="children may share one cluster")
        if len(claims) > 1 or (not claims and not job.in_hyperjob):
            yield Breach(
                where=job.where, message=f"{len(claims)} policies select it", effect="it is not propagated as planned"
            )


def gangs_are_not_torn(view: BundleView) -> Iterator[Breach]:
    """Divided over several clusters tears a Job apart, and all members deny the parts (rules 6, run)."""
    for policy in view.of_kind("PropagationPolicy"):
        takes_jobs = any(dig(s, "kind") == "Job" for s in sequence(dig(policy.value, "spec", "resourceSelectors")))
        placement = dig(policy.value, "spec", "placement")
        scheduling = mapping(dig(placement, "replicaScheduling"))
        spread = [mapping(item) for item in sequence(dig(placement, "spreadConstraints"))]
        one = [
            s for s in spread if (s.get("spreadByField"), s.get("minGroups"), s.get("maxGroups")) == ("cluster", 1, 1)
        ]
        shape = (scheduling.get("replicaSchedulingType"), scheduling.get("replicaDivisionPreference"))
        if takes_jobs and (shape != ("Divided", "Aggregated") or not one):
            message = "a Job's policy is not Divided and Aggregated over exactly one cluster"
            yield Breach(where=f"{policy.file}: spec.placement", message=message, effect="the Job is torn or copied")
        if any(not isinstance(s.get("maxGroups"), int) or s["maxGroups"] < 1 for s in spread):
            message = "a spread constraint without maxGroups"
            yield Breach(where=f"{policy.file}: spec.placement", message=message, effect="no cluster is ever selected")


def affinities_are_of_one_kind(view: BundleView) -> Iterator[Breach]:
    """clusterAffinity and clusterAffinities exclude each other; names of groups are short and different (rules 6)."""
    for policy in view.of_kind(*POLICIES):
        placement = mapping(dig(policy.value, "spec", "placement"))
        where = f"{policy.file}: spec.placement"
        if "clusterAffinity" in placement and "clusterAffinities" in placement:
            yield Breach(where=where, message="both clusterAffinity and clusterAffinities", effect="denied")
        names = [text(dig(term, "affinityName")) for term in sequence(placement.get("clusterAffinities"))]
        if len(set(names)) != len(names) or any(not 0 < len(name) <= AFFINITY_NAME_LIMIT for name in names):
            message = f"groups of clusters are named {', '.join(names)}"
            yield Breach(where=where, message=message, effect="denied: 1 to 32 characters, each once")


def own_policies_come_first(view: BundleView) -> Iterator[Breach]:
    """A policy that exists before the object claims it; a later one never does (C2, facts 5)."""
    starts = [document.order for document in view.of_kind("HyperJob", "Job")]
    for document in view.documents:
        if document.kind not in ("HyperJob", "Job") and starts and document.order > min(starts):
            message = f"{document.kind} {document.name} comes after what starts pods"
            yield Breach(where=document.file, message=message, effect="it comes too late")
    for policy in view.of_kind("PropagationPolicy"):
        groups = sequence(dig(policy.value, "spec", "placement", "clusterAffinities"))
        priority = dig(policy.value, "spec", "priority")
        if groups and not (isinstance(priority, int) and priority > 0):
            message = "ordered groups without a priority"
            yield Breach(where=policy.file, message=message, effect="the controller's own policy may win")


def companions_are_carried(view: BundleView) -> Iterator[Breach]:
    """propagateDeps does nothing for a vcjob: what pods name needs a policy to all its clusters (T3)."""
    if view.mode == "single":
        return
    for job in view.jobs:
        needed = set(_candidate_clusters(view, job))
        for kind, name in named_objects(job):
            policies = [p for p in view.of_kind("PropagationPolicy") if selects(p, kind, job.namespace, name)]
            reached = {cluster for policy in policies for cluster in policy_clusters(policy)}
            if not needed <= reached:
                missing = ", ".join(sorted(needed - reached))
                message = f"{kind} {name} is not carried to {missing}"
                yield Breach(where=job.where, message=message, effect="the pods wait for it for ever")


def shared_objects_are_carried(view: BundleView) -> Iterator[Breach]:
    """The priority class and the queue must be known where the Job runs (rules 0.6, 0.7)."""
    if view.mode == "single":
        return
    for job in view.jobs:
        for kind, name in _shared_objects(job):
            if not any(selects(p, kind, "", name) for p in view.of_kind("ClusterPropagationPolicy")):
                message = f"no ClusterPropagationPolicy carries {kind} {name}"
                yield Breach(where=job.where, message=message, effect="the Job waits without an event")


def overrides_change_something(view: BundleView) -> Iterator[Breach]:
    """Paths without a leading slash and values left out are accepted and do nothing (facts 2)."""
    for policy in view.of_kind("OverridePolicy"):
        for index, rule in enumerate(sequence(dig(policy.value, "spec", "overrideRules"))):
            where = f"{policy.file}: spec.overrideRules[{index}]"
            for change in sequence(dig(rule, "overriders", "plaintext")):
                if not text(dig(change, "path")).startswith("/"):
                    message = f"the path {dig(change, 'path')!r} has no leading slash"
                    yield Breach(where=where, message=message, effect="it is accepted and does nothing")
                if dig(change, "operator") != "remove" and dig(change, "value") is None:
                    yield Breach(where=where, message="a change without a value", effect="it fails late")


def services_over_clusters_are_whole(view: BundleView) -> Iterator[Breach]:
    """A MultiClusterService has one type, a Service of its name, and that Service no policy of its own (rules 6)."""
    for document in view.of_kind("MultiClusterService"):
        if dig(document.value, "spec", "types") != ["CrossCluster"]:
            yield Breach(where=document.file, message="types is not [CrossCluster]", effect="it does nothing")
        if view.find("Service", document.namespace, document.name) is None:
            yield Breach(where=document.file, message="there is no Service of its name", effect="it does nothing")
        for policy in view.of_kind("PropagationPolicy"):
            if selects(policy, "Service", document.namespace, document.name):
                yield Breach(
                    where=policy.file, message="the Service is carried twice", effect="two owners fight over it"
                )


def named_objects(job: JobView) -> list[tuple[str, str]]:
    """ConfigMaps, Secrets, claims and service accounts that a Job's pods name, each once."""
    found: list[tuple[str, Any]] = []
    for _, pod in job.pods():
        for volume in sequence(pod.get("volumes")):
            found.append(("ConfigMap", dig(volume, "configMap", "name")))
            found.append(("Secret", dig(volume, "secret", "secretName")))
            found.append(("PersistentVolumeClaim", dig(volume, "persistentVolumeClaim", "claimName")))
        found += [("Secret", dig(item, "name")) for item in sequence(pod.get("imagePullSecrets"))]
        account = pod.get("serviceAccountName")
        found += [("ServiceAccount", account)] if account != "default" else []
    for _, container in job.containers():
        for item in sequence(container.get("envFrom")):
            found += [("ConfigMap", dig(item, "configMapRef", "name")), ("Secret", dig(item, "secretRef", "name"))]
        for item in sequence(container.get("env")):
            found.append(("ConfigMap", dig(item, "valueFrom", "configMapKeyRef", "name")))
            found.append(("Secret", dig(item, "valueFrom", "secretKeyRef", "name")))
    return list(dict.fromkeys((kind, text(name)) for kind, name in found if text(name)))


def _shared_objects(job: JobView) -> list[tuple[str, str]]:
    queue, priority = text(job.spec.get("queue")), text(job.spec.get("priorityClassName"))
    shared = [("Queue", queue)] if queue and queue not in PREEXISTING_QUEUES else []
    return shared + ([("PriorityClass", priority)] if priority and not priority.startswith("system-") else [])


def _candidate_clusters(view: BundleView, job: JobView) -> list[str]:
    own: list[Placed] = [p for p in view.of_kind("PropagationPolicy") if selects(p, "Job", job.namespace, job.name)]
    return [*job.clusters, *(cluster for policy in own for cluster in policy_clusters(policy))]


POLICY_LAWS = (
    selectors_meet_objects,
    jobs_go_to_one_cluster,
    gangs_are_not_torn,
    affinities_are_of_one_kind,
    own_policies_come_first,
    companions_are_carried,
    shared_objects_are_carried,
    overrides_change_something,
    services_over_clusters_are_whole,
)
