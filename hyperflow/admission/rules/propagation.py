"""PropagationPolicy and ClusterPropagationPolicy.

Source: karmada pkg/webhook/propagationpolicy and pkg/util/validation at f8fdd02df, as recorded on 2026-11-30.
"""

import dataclasses
from collections.abc import Iterator
from typing import Any

from hyperflow.admission.names import qualified_name
from hyperflow.admission.problem import Mend, Path, Problem, denial, risk
from hyperflow.admission.rules.case import Case
from hyperflow.admission.rules.collector import Collector
from hyperflow.admission.rules.job_view import entries, whole
from hyperflow.admission.rules.member_kinds import odd_operators
from hyperflow.admission.rules.pod_scheduling import check_toleration
from hyperflow.errors import nearest
from hyperflow.json_tree import dig, is_mapping, mapping, sequence, text

_FIELDS = ("provider", "region", "zone")
_PLACEMENT: Path = ("spec", "placement")


def speaker(case: Case) -> str:
    """Name the webhook of the policy's kind."""
    return f"the webhook {case.group_kind.split('/')[1].lower()}.karmada.io"


def selectors(case: Case) -> Iterator[Problem]:
    """Deny selectors of another namespace, and nameless ones with preemption; warn of a selector without a kind."""
    always = case.spec.get("preemption") == "Always"
    namespaced = not case.group_kind.split("/")[1].startswith("Cluster")
    for index, selector in entries(case.spec.get("resourceSelectors")):
        path = ("spec", "resourceSelectors", index)
        namespace = text(selector.get("namespace"))
        if namespaced and namespace and namespace != case.namespace:
            yield denial("HF850", "selector-namespace", (*path, "namespace"), "not the policy's namespace",
                         speaker(case),
                         got=namespace, expected=case.namespace,
                         hint="use a ClusterPropagationPolicy, or one policy each",
                         mend=Mend(path=(*path, "namespace"), value=case.namespace))  # fmt: skip
        if always and not text(selector.get("name")):
            yield denial("HF850", "preemption-name", (*path, "name"),
                         "preemption Always needs the name of each resource",
                         speaker(case), expected="a name", hint="write the name, or preemption: Never")  # fmt: skip
        if not text(selector.get("kind")):
            yield risk("HF872", "selector-kind", (*path, "kind"), "a selector without a kind selects nothing",
                       expected="the kind", hint="write the kind")  # fmt: skip


def affinities(case: Case) -> Iterator[Problem]:
    """Deny clusterAffinity beside clusterAffinities, bad or repeated names, and fields that clusters do not have."""
    placement = mapping(case.spec.get("placement"))
    by = speaker(case)
    single, several = placement.get("clusterAffinity"), placement.get("clusterAffinities")
    if single is not None and several is not None:
        yield denial("HF851", "affinity-twice", (*_PLACEMENT, "clusterAffinities"),
                     "clusterAffinity and clusterAffinities exclude each other", by, got=sequence(several),
                     expected="one of the two", hint="make clusterAffinity the first of clusterAffinities")  # fmt: skip
    if is_mapping(single):
        yield from field_selector((*_PLACEMENT, "clusterAffinity"), single, by)
    seen: set[str] = set()
    for path, term in _terms(placement):
        name = text(term.get("affinityName"))
        if qualified_name(name):
            yield denial("HF851", "affinity-name", (*path, "affinityName"), qualified_name(name), by, got=name,
                         expected="a name such as first", hint="rename it")  # fmt: skip
        if name in seen:
            yield denial("HF851", "affinity-name", (*path, "affinityName"), "two groups have this name", by, got=name,
                         expected="a name of its own", hint="rename one")  # fmt: skip
        seen.add(name)
        yield from field_selector(path, term, by)
    yield from _overflow(placement, by)


def _terms(placement: dict[str, Any]) -> list[tuple[Path, dict[str, Any]]]:
    found: list[tuple[Path, dict[str, Any]]] = []
    for index, term in entries(placement.get("clusterAffinities")):
        path = (*_PLACEMENT, "clusterAffinities", index)
        found.append((path, term))
        found += [((*path, "overflowAffinities", n), t) for n, t in entries(term.get("overflowAffinities"))]
    return found


def _overflow(placement: dict[str, Any], by: str) -> Iterator[Problem]:
    scheduling = mapping(placement.get("replicaScheduling"))
    weighted = scheduling.get("replicaDivisionPreference") == "Weighted"
    dynamic = text(dig(scheduling, "weightPreference", "dynamicWeight"))
    divides = scheduling.get("replicaSchedulingType") == "Divided" and (
        scheduling.get("replicaDivisionPreference") == "Aggregated" or (weighted and bool(dynamic))
    )
    for index, term in entries(placement.get("clusterAffinities")):
        path = (*_PLACEMENT, "clusterAffinities", index, "overflowAffinities")
        if not sequence(term.get("overflowAffinities")):
            continue
        if not divides:
            yield denial("HF851", "overflow", path, "only replicas that are divided can overflow", by,
                         expected="Divided with Aggregated or dynamic weights", hint="take it out")  # fmt: skip
        if not any(term.get(key) for key in ("clusterNames", "exclude", "labelSelector", "fieldSelector")):
            yield denial("HF851", "overflow", path, "the group itself names no clusters", by,
                         expected="clusters to overflow from", hint="write clusterNames")  # fmt: skip


def field_selector(path: Path, affinity: dict[str, Any], by: str) -> Iterator[Problem]:
    """Deny field selectors other than provider, region and zone with In or NotIn."""
    for index, rule in entries(dig(affinity, "fieldSelector", "matchExpressions")):
        where = (*path, "fieldSelector", "matchExpressions", index)
        key, operator = text(rule.get("key")), text(rule.get("operator"))
        if key not in _FIELDS:
            yield denial("HF851", "field-key", (*where, "key"), "clusters have no such field", by, got=key,
                         expected="provider, region or zone",
                         hint=nearest(key, _FIELDS) or "use a label instead")  # fmt: skip
        elif operator not in ("In", "NotIn"):
            yield denial("HF851", "field-operator", (*where, "operator"), "unsupported operator", by, got=operator,
                         expected="In or NotIn", hint="write In, with values")  # fmt: skip


def spread(case: Case) -> Iterator[Problem]:
    """Deny spread constraints that contradict each other or leave the clusters out; warn of maxGroups 0."""
    by, fields = speaker(case), set[str]()
    base = (*_PLACEMENT, "spreadConstraints")
    listed = entries(dig(case.spec, "placement", "spreadConstraints"))
    for index, rule in listed:
        path, field = (*base, index), text(rule.get("spreadByField"))
        least, most = whole(rule.get("minGroups")), whole(rule.get("maxGroups"))
        if field and text(rule.get("spreadByLabel")):
            yield denial("HF852", "spread-twice", (*path, "spreadByLabel"),
                         "spreadByField and spreadByLabel exclude each other",
                         by, got=rule["spreadByLabel"], expected="one of the two", hint="take one out")  # fmt: skip
        for name, number in (("minGroups", least), ("maxGroups", most)):
            if number < 0:
                yield denial("HF852", "spread-groups", (*path, name), "must not be negative", by, got=number,
                             expected="1 or more", hint="write 1")  # fmt: skip
        if 0 < most < least:
            yield denial("HF852", "spread-groups", (*path, "maxGroups"), "less than minGroups", by, got=most,
                         expected=f"at least {least}", hint="raise it")  # fmt: skip
        if field and field in fields:
            yield denial("HF852", "spread-field", (*path, "spreadByField"), f"{field} stands twice", by, got=field,
                         expected="each field once", hint="merge the two")  # fmt: skip
        fields.add(field)
        if dig(case.posted_spec, "placement", "spreadConstraints", index, "maxGroups") == 0:
            yield risk("HF872", "max-groups-zero", (*path, "maxGroups"),
                       "0 is no limit: replicas may land in every cluster",
                       got=0, expected="1 or more", hint="write maxGroups: 1 for one cluster")  # fmt: skip
    if fields - {""} and "cluster" not in fields:
        yield denial("HF852", "spread-cluster", base, "spreading by a field needs a constraint by cluster too", by,
                     got=sorted(fields - {""}), expected="spreadByField: cluster", hint="add one")  # fmt: skip


def tolerations(case: Case) -> Iterator[Problem]:
    """Deny tolerations that Kubernetes would deny."""
    out = Collector()
    for index, toleration in entries(dig(case.spec, "placement", "clusterTolerations")):
        check_toleration(out, (*_PLACEMENT, "clusterTolerations", index), toleration, "HF853")
    for problem in out.problems:
        yield dataclasses.replace(problem, by=speaker(case))


def failover(case: Case) -> Iterator[Problem]:
    """Deny application failover without propagateDeps or with clashing periods; warn of the purge mode it gets."""
    application = dig(case.spec, "failover", "application")
    if not is_mapping(application):
        return
    by, path = speaker(case), ("spec", "failover", "application")
    if case.spec.get("propagateDeps") is not True:
        yield denial("HF853", "failover-deps", ("spec", "propagateDeps"), "application failover needs it", by,
                     got=case.spec.get("propagateDeps", False), expected="true", hint="write propagateDeps: true",
                     mend=Mend(path=("spec", "propagateDeps"), value=True))  # fmt: skip
    seconds = dig(application, "decisionConditions", "tolerationSeconds")
    if whole(seconds) < 0:
        yield denial("HF853", "failover-toleration", (*path, "decisionConditions", "tolerationSeconds"),
                     "must not be negative", by, got=seconds, expected="0 or more", hint="write 300")  # fmt: skip
    mode, grace = text(application.get("purgeMode")), application.get("gracePeriodSeconds")
    graceful = mode in ("Gracefully", "Graciously")
    if grace is not None and not graceful:
        yield denial("HF853", "failover-grace", (*path, "gracePeriodSeconds"), "goes with purgeMode Gracefully alone",
                     by,
                     got=grace, hint="take it out")  # fmt: skip
    if grace is not None and whole(grace) <= 0:
        yield denial("HF853", "failover-grace", (*path, "gracePeriodSeconds"), "must be more than 0", by, got=grace,
                     expected="1 or more", hint="write 600")  # fmt: skip
    if "purgeMode" not in mapping(dig(case.posted_spec, "failover", "application")):
        yield risk("HF872", "purge-mode", (*path, "purgeMode"),
                   f"becomes Gracefully: the old pods keep running for {grace} s beside the new ones",
                   expected="purgeMode in words", hint="write Directly, Gracefully or Never")  # fmt: skip


def suspension(case: Case) -> Iterator[Problem]:
    """Deny a suspension of all and of some clusters at once."""
    tree = mapping(case.spec.get("suspension"))
    if tree.get("dispatching") is True and sequence(dig(tree, "dispatchingOnClusters", "clusterNames")):
        yield denial("HF853", "suspension", ("spec", "suspension", "dispatchingOnClusters"),
                     "dispatching: true suspends all clusters already", speaker(case),
                     got=dig(tree, "dispatchingOnClusters", "clusterNames"), expected="one of the two",
                     hint="take one out")  # fmt: skip


def scheduler_change(case: Case) -> Iterator[Problem]:
    """Deny another schedulerName for an existing policy."""
    before = text(dig(case.old, "spec", "schedulerName"), "default-scheduler")
    if case.old is not None and text(case.spec.get("schedulerName"), "default-scheduler") != before:
        yield denial("HF853", "scheduler-name", ("spec", "schedulerName"), "cannot be changed", speaker(case),
                     got=case.spec.get("schedulerName"), expected=before, hint="make a new policy")  # fmt: skip


def cluster_choice(case: Case) -> Iterator[Problem]:
    """Warn of cluster names that do not exist and of label selectors that match nothing."""
    placement = mapping(case.spec.get("placement"))
    groups = [((*_PLACEMENT, "clusterAffinity"), mapping(placement.get("clusterAffinity"))), *_terms(placement)]
    for path, group in groups:
        yield from cluster_risks(case, path, group)


def cluster_risks(case: Case, path: Path, group: dict[str, Any]) -> Iterator[Problem]:
    """Warn of one group of clusters."""
    if case.state.knows("cluster.karmada.io", "Cluster"):
        for index, name in enumerate(sequence(group.get("clusterNames"))):
            if case.state.find("cluster.karmada.io", "Cluster", text(name)) is None:
                known = [text(dig(c, "metadata", "name")) for c in case.state.all("cluster.karmada.io", "Cluster")]
                yield risk("HF872", "cluster-unknown", (*path, "clusterNames", index), "there is no such cluster",
                           got=name,
                           expected="one of " + ", ".join(known), hint=nearest(text(name), known))  # fmt: skip
    rules = entries(dig(group, "labelSelector", "matchExpressions"))
    yield from odd_operators((*path, "labelSelector"), rules, "HF872")


def division(case: Case) -> Iterator[Problem]:
    """Warn of Divided without a preference: it becomes Weighted and may tear one vcjob over clusters."""
    tree = dig(case.posted_spec, "placement", "replicaScheduling")
    divided = is_mapping(tree) and text(tree.get("replicaSchedulingType"), "Divided") == "Divided"
    if divided and not text(tree.get("replicaDivisionPreference")):
        path = (*_PLACEMENT, "replicaScheduling", "replicaDivisionPreference")
        yield risk("HF872", "division", path,
                   "becomes Weighted: one vcjob is torn over several clusters, whose webhooks deny the parts",
                   expected="Aggregated, with spread by cluster 1 to 1", hint="write Aggregated",
                   mend=Mend(path=path, value="Aggregated"))  # fmt: skip


RULES = (
    selectors, affinities, spread, tolerations, failover, suspension, scheduler_change, cluster_choice, division,
)  # fmt: skip
