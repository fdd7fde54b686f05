"""The pod template of a task, as deep as Kubernetes validates it.

Source: kubernetes pkg/apis/core/validation (ValidatePodTemplateSpec),
which the webhook validatejob.volcano.sh calls with
its default options after the defaults of the API; recordings of 2026-11-30.
"""

from collections.abc import Iterator
from typing import Any

from hyperflow.admission.names import dns_label, dns_subdomain, label_value, qualified_name
from hyperflow.admission.problem import Path, Problem
from hyperflow.admission.rules.collector import Collector
from hyperflow.admission.rules.job_view import JobView, entries
from hyperflow.admission.rules.pod_containers import check_containers
from hyperflow.admission.rules.pod_scheduling import check_scheduling
from hyperflow.admission.rules.pod_security import check_pod_security
from hyperflow.admission.rules.pod_volumes import check_volumes
from hyperflow.json_tree import is_mapping, is_sequence, mapping, sequence, text

_DNS_POLICIES = ("ClusterFirst", "ClusterFirstWithHostNet", "Default", "None")
_MAX_ANNOTATIONS = 256 * 1024


def pod_templates(job: JobView) -> Iterator[Problem]:
    """Deny what Kubernetes would deny in a pod template."""
    for task in job.tasks:
        template = task.values.get("template")
        if is_mapping(template):
            yield from template_problems(template, (*task.path, "template"))


def template_problems(template: dict[str, Any], path: Path) -> list[Problem]:
    """Check one pod template."""
    out = Collector()
    _metadata(out, (*path, "metadata"), mapping(template.get("metadata")))
    spec, where = template.get("spec"), (*path, "spec")
    if not is_mapping(spec):
        out.deny("HF830", "pod-spec", where, "the template has no pod", hint="write spec.containers")
        return out.problems
    _pod(out, where, spec)
    volumes = check_volumes(out, where, spec)
    check_containers(out, where, spec, volumes)
    check_scheduling(out, where, spec)
    check_pod_security(out, where, spec)
    return out.problems


def _metadata(out: Collector, path: Path, metadata: dict[str, Any]) -> None:
    check_labels(out, (*path, "labels"), metadata.get("labels"))
    annotations = mapping(metadata.get("annotations"))
    for key in annotations:
        out.name("HF830", "pod-annotation", (*path, "annotations", key), key, qualified_name(key.lower()))
    if sum(len(str(key)) + len(str(value)) for key, value in annotations.items()) > _MAX_ANNOTATIONS:
        out.deny("HF830", "pod-annotation", (*path, "annotations"), "too long", expected="at most 256 KiB in all",
                 hint="move the data into a ConfigMap")  # fmt: skip


def check_labels(out: Collector, path: Path, labels: object, code: str = "HF830") -> None:
    """Deny keys and values that are no labels."""
    for key, value in mapping(labels).items():
        out.name(code, "label-key", (*path, key), key, qualified_name(str(key)))
        if isinstance(value, str):
            out.name(code, "label-value", (*path, key), value, label_value(value))


def _pod(out: Collector, path: Path, spec: dict[str, Any]) -> None:
    code = "HF830"
    out.one_of(
        code, "restart-policy", (*path, "restartPolicy"), spec.get("restartPolicy"), ("Always", "OnFailure", "Never")
    )
    out.one_of(code, "dns-policy", (*path, "dnsPolicy"), spec.get("dnsPolicy"), _DNS_POLICIES)
    _dns(out, path, spec)
    for name in ("serviceAccountName", "nodeName", "runtimeClassName", "priorityClassName"):
        value = text(spec.get(name))
        out.name(code, "pod-reference", (*path, name), value, dns_subdomain(value) if value else "")
    for name in ("hostname", "subdomain"):
        value = text(spec.get(name))
        out.name(code, "pod-hostname", (*path, name), value, dns_label(value) if value else "")
    out.between(code, "deadline", (*path, "activeDeadlineSeconds"), spec.get("activeDeadlineSeconds"), 1, 2**31 - 1)
    policies = ("Never", "PreemptLowerPriority")
    out.one_of(code, "preemption", (*path, "preemptionPolicy"), spec.get("preemptionPolicy"), policies)
    out.one_of(code, "os", (*path, "os", "name"), mapping(spec.get("os")).get("name"), ("linux", "windows"))
    if is_sequence(spec.get("ephemeralContainers")) and spec["ephemeralContainers"]:
        out.deny(code, "ephemeral", (*path, "ephemeralContainers"), "a template may have no ephemeral containers",
                 hint="make them init containers or containers")  # fmt: skip
    gates: set[str] = set()
    for index, gate in entries(spec.get("schedulingGates")):
        where, name = (*path, "schedulingGates", index, "name"), text(gate.get("name"))
        out.name(code, "scheduling-gate", where, name, qualified_name(name))
        if name in gates:
            out.deny(code, "scheduling-gate", where, "the gate stands twice", got=name, hint="remove one")
        gates.add(name)
    if gates and spec.get("nodeName"):
        out.deny(code, "scheduling-gate", (*path, "nodeName"), "a pod with scheduling gates may have no node yet",
                 got=spec["nodeName"], hint="take one of the two out")  # fmt: skip
    for index, gate in entries(spec.get("readinessGates")):
        name = text(gate.get("conditionType"))
        out.name(code, "readiness-gate", (*path, "readinessGates", index, "conditionType"), name, qualified_name(name))
    _claims(out, path, spec)


def _claims(out: Collector, path: Path, spec: dict[str, Any]) -> None:
    seen: set[str] = set()
    for index, claim in entries(spec.get("resourceClaims")):
        where, name = (*path, "resourceClaims", index), text(claim.get("name"))
        out.name("HF834", "resource-claim", (*where, "name"), name, dns_label(name))
        if name in seen:
            out.deny("HF834", "resource-claim", (*where, "name"), "the claim stands twice", got=name, hint="rename one")
        seen.add(name)
        sources = [key for key in ("resourceClaimName", "resourceClaimTemplateName") if claim.get(key)]
        if len(sources) != 1:
            out.deny("HF834", "resource-claim", where, "a claim takes one source", got=sources,
                     expected="resourceClaimName or resourceClaimTemplateName",
                     hint="write one of the two")  # fmt: skip


def _dns(out: Collector, path: Path, spec: dict[str, Any]) -> None:
    config = mapping(spec.get("dnsConfig"))
    servers = sequence(config.get("nameservers"))
    where = (*path, "dnsConfig", "nameservers")
    if spec.get("dnsPolicy") == "None" and not servers:
        out.deny("HF830", "dns-config", where, "dnsPolicy None needs a name server", expected="1 to 3 addresses",
                 hint="write dnsConfig.nameservers")  # fmt: skip
    if len(servers) > 3:
        out.deny("HF830", "dns-config", where, "too many name servers", got=len(servers), expected="at most 3",
                 hint="keep three")  # fmt: skip
    for index, server in enumerate(servers):
        if not is_address(server):
            out.deny("HF830", "dns-config", (*where, index), "no IP address", got=server, hint="write an address")
    if len(sequence(config.get("searches"))) > 32:
        out.deny("HF830", "dns-config", (*path, "dnsConfig", "searches"), "too many search paths",
                 expected="at most 32",
                 hint="keep 32")  # fmt: skip
    for index, option in entries(config.get("options")):
        out.need("HF830", "dns-config", (*path, "dnsConfig", "options", index, "name"), option.get("name"))
    for index, alias in entries(spec.get("hostAliases")):
        if not is_address(alias.get("ip")):
            out.deny("HF830", "host-alias", (*path, "hostAliases", index, "ip"), "no IP address", got=alias.get("ip"),
                     hint="write an address")  # fmt: skip
        for number, name in enumerate(sequence(alias.get("hostnames"))):
            where = (*path, "hostAliases", index, "hostnames", number)
            out.name("HF830", "host-alias", where, name, dns_subdomain(text(name)))


def is_address(value: object) -> bool:
    """Say whether the value is an IP address in text."""
    import ipaddress

    try:
        ipaddress.ip_address(text(value))
    except ValueError:
        return False
    return True


RULES = (pod_templates,)
