"""Names that Kubernetes will accept, with room for what is appended to them."""

import re

from hyperflow.errors import Finding, InputError, nearest
from hyperflow.simulate.orders import SCHEDULES, canonical_name
from hyperflow.spec.training_job import TrainingJob

_DNS_1035 = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_DNS_1123 = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
MAX_JOB_NAME = 30
"""Leaves room for `-{stage group}-{index}-{task}-{pod}` in a 63-character pod name (manifest-rules, section 1)."""

MAX_CLUSTER_NAME = 48
"""Karmada's own limit on the name of a member cluster."""


def check_names(job: TrainingJob) -> list[Finding]:
    """Give HF123 for each name that a server would refuse or that leaves too little room."""
    findings = [
        _bad_name(job, field, value, rule)
        for field, value, pattern, limit, rule in (
            ("name", job.name, _DNS_1035, MAX_JOB_NAME, "a lower-case letter, then letters, digits or -, at most 30"),
            ("namespace", job.namespace, _DNS_1123, 63, "lower-case letters, digits or -, at most 63"),
            ("queue", job.queue, _SUBDOMAIN, 63, "lower-case letters, digits, - or ., at most 63"),
            ("priority", job.priority, _SUBDOMAIN, 253, "lower-case letters, digits, - or ., at most 253"),
        )
        if value is not None and (not pattern.fullmatch(value) or len(value) > limit)
    ]
    if len(job.on.fleet.clusters) > 1:  # one cluster's name stays with us; several are named to Karmada
        findings += [
            _bad_cluster(job, cluster.name)
            for cluster in job.on.fleet.clusters
            if not _DNS_1123.fullmatch(cluster.name) or len(cluster.name) > MAX_CLUSTER_NAME
        ]
    if any(character.isspace() for character in job.image):
        findings.append(_bad_name(job, "image", job.image, "an image reference without blanks"))
    return findings


def check_schedule(job: TrainingJob) -> list[Finding]:
    """Give HF650 for a schedule that is neither known nor `auto`."""
    asked = job.parallel.schedule
    known = ("auto", *SCHEDULES)
    try:
        if asked != "auto":
            canonical_name(asked)
    except InputError:
        near = nearest(asked.lower(), [name.lower() for name in known])
        return [
            Finding(
                code="HF650",
                message=f"unknown schedule {asked!r}",
                where="@hf.parallel(schedule=)",
                span=job.sources.get("parallel.schedule") or job.sources.get("parallel"),
                got=asked,
                expected=f"one of {', '.join(known)}",
                hint=near or "docs/schedules.md says what each of them does",
            )
        ]
    return []


def _bad_name(job: TrainingJob, field: str, value: str, rule: str) -> Finding:
    shown = value if len(value) <= 60 else f"{value[:57]}..."
    cut = re.sub(r"[^a-z0-9-]+", "-", value.lower()).strip("-0123456789")[:MAX_JOB_NAME].rstrip("-")
    return Finding(
        code="HF123",
        message=f"{field} {shown!r} is not a legal name",
        where=f"@hf.job({field}=)",
        span=job.sources.get(f"job.{field}") or job.sources.get("job"),
        got=f"{len(value)} characters",
        expected=rule,
        hint=f'for example "{cut}"' if cut else "choose another name",
    )


def _bad_cluster(job: TrainingJob, name: str) -> Finding:
    shown = name if len(name) <= 60 else f"{name[:57]}..."
    return Finding(
        code="HF123",
        message=f"cluster name {shown!r} is not a legal name",
        where=f"cluster {shown!r}",
        span=job.sources.get("on"),
        got=f"{len(name)} characters",
        expected=f"lower-case letters, digits or -, at most {MAX_CLUSTER_NAME}, as Karmada demands",
        hint="use the name under which the cluster joined Karmada",
    )
