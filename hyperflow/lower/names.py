"""Names that every server takes: checked with the real highest pod index before anything is written."""

import re

from hyperflow.errors import Finding
from hyperflow.lower.draft import TASK_NAME, Draft

NAME_LIMIT = 63
LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")
LABEL_KEY = re.compile(
    r"([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
)
_DNS_1035 = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_DNS_1123 = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


def check_names(draft: Draft) -> list[Finding]:
    """Find names (HF400) and labels (HF430) that a server would refuse, or take and then fail on."""
    job = draft.job.job
    findings: list[Finding] = []
    if not _DNS_1035.fullmatch(job.name):
        findings.append(_bad(draft, "job.name", job.name, "lower-case letters, digits and -, a letter first"))
    if not _DNS_1123.fullmatch(job.namespace) or len(job.namespace) > NAME_LIMIT:
        findings.append(_bad(draft, "job.namespace", job.namespace, "at most 63 lower-case letters, digits and -"))
    if not _SUBDOMAIN.fullmatch(job.queue) or len(job.queue) > NAME_LIMIT:
        findings.append(_bad(draft, "job.queue", job.queue, "at most 63 lower-case letters, digits, - and ."))
    if job.priority is not None and (not _SUBDOMAIN.fullmatch(job.priority) or len(job.priority) > 253):
        findings.append(_bad(draft, "job.priority", job.priority, "lower-case letters, digits, - and ."))
    return findings or [*_check_lengths(draft), *_check_labels(draft)]


def _check_lengths(draft: Draft) -> list[Finding]:
    names = [f"{draft.child_name(group)}-{TASK_NAME}-{group.nodes - 1}" for group in draft.groups]
    names += [draft.rank_zero_name, draft.launch_name]
    if draft.mode != "single":  # Karmada before 1.11 takes policy names of 63 characters only
        names += [f"{draft.child_name(group)}-own" for group in draft.groups if group.fallbacks]
        names += [f"{draft.rank_zero_name}-export", f"{draft.name}-companions"]
    longest = max(names, key=len)
    over = len(longest) - NAME_LIMIT
    if over <= 0:
        return []
    cut = draft.job.job.name[: max(1, len(draft.job.job.name) - over)].rstrip("-")
    return [
        Finding(
            code="HF400",
            message=f"the name {longest} has {len(longest)} characters, {NAME_LIMIT} are allowed",
            where="job.name",
            got=draft.job.job.name,
            expected=f"at most {len(draft.job.job.name) - over} characters, such as {cut!r}",
            hint="a pod's name is its host name; shorten the job's name",
            span=draft.job.job.sources.get("job.name"),
        )
    ]


def _check_labels(draft: Draft) -> list[Finding]:
    job = draft.job.job
    wrong = [(k, v) for k, v in job.labels.items() if not LABEL_KEY.fullmatch(k) or not LABEL_VALUE.fullmatch(v)]
    wrong += [(k, v) for k, v in job.annotations.items() if not LABEL_KEY.fullmatch(k)]
    reserved = ("hyperflow.io/", "volcano.sh/", "batch.volcano.sh/", "training.volcano.sh/")
    wrong += [(k, v) for k, v in {**job.labels, **job.annotations}.items() if k.startswith(reserved)]
    return [
        Finding(
            code="HF430",
            message=f"the label or annotation {key!r} is not legal or belongs to HyperFlow or Volcano",
            where="job.labels",
            got=f"{key}={value[:100]}",
            expected="a key such as team or example.com/team; a label value of at most 63 letters, digits, -, _ and .",
            span=job.sources.get("job.labels"),
        )
        for key, value in wrong
    ]


def _bad(draft: Draft, source: str, got: str, expected: str) -> Finding:
    return Finding(
        code="HF400",
        message=f"{got!r} is no legal name here",
        where=source,
        got=got[:100],
        expected=expected,
        span=draft.job.job.sources.get(source),
    )
