"""Laws about names: legal on every server, short enough for the last pod, new whenever the content is new."""

import re
from collections import Counter
from collections.abc import Iterator

from hyperflow.admission.bundle_breach import Breach
from hyperflow.admission.bundle_view import BundleView, policy_clusters
from hyperflow.json_tree import dig, mapping, text

_DNS_1035 = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_DNS_1123 = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")
_HASHED = re.compile(r".+-[0-9a-f]{7}")
LIMIT = 63
CLUSTER_LIMIT = 48
VOLUME_JOB_LIMIT = 50
CREATE_ONCE = ("Job", "HyperJob", "ConfigMap")


def job_names_are_dns_labels(view: BundleView) -> Iterator[Breach]:
    """A Service is named after the Job, so its name starts with a letter and has no dots (rules 1)."""
    for job in view.jobs:
        if not _DNS_1035.fullmatch(job.name):
            effect = "the svc plugin cannot make its Service"
            yield Breach(where=job.source.file, message=f"the Job name {job.name!r} is no DNS label", effect=effect)


def last_pod_name_fits(view: BundleView) -> Iterator[Breach]:
    """The webhook checks the task's index, not the last pod's; a pod's name is its host name (rules 1)."""
    for job in view.jobs:
        for task in job.tasks:
            replicas = task.get("replicas")
            last = replicas - 1 if isinstance(replicas, int) else 0
            pod = f"{job.name}-{text(task.get('name'))}-{last}"
            if len(pod) > LIMIT:
                message = f"the last pod's name {pod} has {len(pod)} characters"
                yield Breach(where=job.where, message=message, effect="the Job is accepted and its last pods fail")


def job_volumes_have_room_for_their_names(view: BundleView) -> Iterator[Breach]:
    """A claim of spec.volumes is named after the Job with 13 characters more (rules 1)."""
    for job in view.jobs:
        if job.spec.get("volumes") and len(job.name) > VOLUME_JOB_LIMIT:
            message = f"the Job name has {len(job.name)} characters, {VOLUME_JOB_LIMIT} with spec.volumes"
            yield Breach(where=job.where, message=message, effect="the claims of the Job cannot be made")


def task_names_are_legal_and_different(view: BundleView) -> Iterator[Breach]:
    """Two tasks of one name are found out in the member only (rules 1, run)."""
    for job in view.jobs:
        names = [text(task.get("name")) for task in job.tasks]
        for name, count in Counter(names).items():
            if count > 1 or not _DNS_1123.fullmatch(name) or len(name) > LIMIT:
                message = f"the task name {name!r} is " + ("used twice" if count > 1 else "not legal")
                yield Breach(where=job.where, message=message, effect="the child is denied, and the HyperJob stops")


def labels_are_legal(view: BundleView) -> Iterator[Breach]:
    """Labels take 63 characters; names that controllers copy into labels too (rules 1)."""
    for document in view.documents:
        for key, value in mapping(dig(document.value, "metadata", "labels")).items():
            if not _LABEL_VALUE.fullmatch(str(value)):
                yield Breach(where=document.file, message=f"the label {key} has an illegal value", effect="denied")
    for job in view.jobs:
        copied = {"volcano.sh/job-name": job.name, "volcano.sh/queue-name": text(job.spec.get("queue"))}
        for key, value in copied.items():
            if not _LABEL_VALUE.fullmatch(value):
                message = f"{value[:80]!r} cannot be the label {key} of a pod"
                yield Breach(where=job.where, message=message, effect="the Job is accepted and its pods fail")


def clusters_can_exist(view: BundleView) -> Iterator[Breach]:
    """Karmada cluster names are DNS labels of at most 48 characters (rules 1); others are accepted and never match."""
    named = [(job.where, job.clusters) for job in view.jobs]
    named += [(p.file, policy_clusters(p)) for p in view.of_kind("PropagationPolicy", "ClusterPropagationPolicy")]
    for where, clusters in named:
        for cluster in clusters:
            if not _DNS_1123.fullmatch(cluster) or len(cluster) > CLUSTER_LIMIT:
                yield Breach(where=where, message=f"no cluster can be named {cluster!r}", effect="waits for ever")


def no_object_stands_twice(view: BundleView) -> Iterator[Breach]:
    """The second of two objects of one name overwrites the first."""
    keys = Counter((d.kind, d.namespace, d.name) for d in view.documents)
    for (kind, _, name), count in keys.items():
        if count > 1:
            yield Breach(where=name, message=f"{kind} {name} stands {count} times", effect="the last one wins")


def create_once_objects_carry_a_content_hash(view: BundleView) -> Iterator[Breach]:
    """A Job allows no change but of replicas, so new content needs a new name (rules 0.10, 2.2)."""
    for document in view.of_kind(*CREATE_ONCE):
        if not any(_HASHED.fullmatch(document.name[:end]) for end in range(8, len(document.name) + 1)):
            message = f"the name {document.name!r} carries no content hash"
            yield Breach(where=document.file, message=message, effect="a changed job of that name is refused for ever")


def services_and_policies_have_legal_names(view: BundleView) -> Iterator[Breach]:
    """A Service is a DNS label with a letter first, everything else a DNS subdomain (rules 1)."""
    for document in view.documents:
        rule = _DNS_1035 if document.kind in ("Service", "MultiClusterService") else _SUBDOMAIN
        limit = LIMIT if rule is _DNS_1035 else 253
        if not rule.fullmatch(document.name) or len(document.name) > limit:
            message = f"{document.kind} cannot be named {document.name[:80]!r}"
            yield Breach(where=document.file, message=message, effect="denied")


NAME_LAWS = (
    job_names_are_dns_labels,
    last_pod_name_fits,
    job_volumes_have_room_for_their_names,
    task_names_are_legal_and_different,
    labels_are_legal,
    clusters_can_exist,
    no_object_stands_twice,
    create_once_objects_carry_a_content_hash,
    services_and_policies_have_legal_names,
)
