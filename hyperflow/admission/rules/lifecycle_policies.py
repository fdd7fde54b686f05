"""Lifecycle policies of a vcjob and of its tasks: what is denied, and what is taken and then does nothing.

Source: volcano pkg/webhooks/admission/jobs/validate/util.go at ed72c7c81, as recorded on 2026-11-30.
"""

from collections.abc import Iterator
from typing import Any

from hyperflow.admission.mutations import is_go_duration
from hyperflow.admission.problem import Path, Problem, denial, risk
from hyperflow.admission.rules.job_view import MUTATE_JOB, VALIDATE_JOB, JobView, entries
from hyperflow.errors import nearest
from hyperflow.json_tree import sequence, text

EVENTS = ("*", "JobUpdated", "PodEvicted", "PodFailed", "PodPending", "TaskCompleted", "TaskFailed", "Unknown")
ACTIONS = (
    "AbortJob", "CompleteJob", "RestartJob", "RestartPartition", "RestartPod", "RestartTask", "ResumeJob",
    "TerminateJob",
)  # fmt: skip


def actions_of(server: str) -> tuple[str, ...]:
    """Give the actions that a server knows; the plane's older webhook has no RestartPartition."""
    return ACTIONS if server == "member" else tuple(a for a in ACTIONS if a != "RestartPartition")


def policy_lists(job: JobView) -> list[tuple[Path, list[tuple[int, dict[str, Any]]]]]:
    """Give the policy lists of the job and of its tasks with their paths."""
    lists = [((*job.path, "policies"), entries(job.spec.get("policies")))]
    lists += [((*task.path, "policies"), entries(task.values.get("policies"))) for task in job.tasks]
    return lists


def events_of(policy: dict[str, Any]) -> list[str]:
    """Give the events of a policy, each once."""
    names = [text(event) for event in sequence(policy.get("events"))]
    if text(policy.get("event")):
        names.append(text(policy.get("event")))
    return list(dict.fromkeys(names))


def policies(job: JobView) -> Iterator[Problem]:
    """Deny policies without a cause or with two, unknown events or actions, and causes that stand twice."""
    for path, listed in policy_lists(job):
        causes: dict[str, int] = {}
        for index, policy in listed:
            yield from _policy(job, (*path, index), policy)
            code = policy.get("exitCode")
            for cause in [*events_of(policy), *([f"exit code {code}"] if code is not None else [])]:
                if cause in causes:
                    yield denial("HF822", "policy-twice", (*path, index), f"{cause} is answered twice", VALIDATE_JOB,
                                 got=cause, expected="each event or exit code once",
                                 hint=f"merge it with policy {causes[cause]}")  # fmt: skip
                causes.setdefault(cause, index)
        if "*" in causes and len([cause for cause in causes if not cause.startswith("exit code")]) > 1:
            yield denial("HF822", "policy-any", (*path, causes["*"]), "the event * must be the only one", VALIDATE_JOB,
                         got=sorted(causes), expected="* alone", hint="take * out, or all others")  # fmt: skip


def _policy(job: JobView, path: Path, policy: dict[str, Any]) -> Iterator[Problem]:
    events, code, action = events_of(policy), policy.get("exitCode"), text(policy.get("action"))
    if events and code is not None:
        yield denial("HF822", "policy-cause", path, "a policy answers events or an exit code, not both", VALIDATE_JOB,
                     got=[*events, code], hint="make two policies of it")  # fmt: skip
    elif not events and code is None:
        yield denial("HF822", "policy-cause", path, "the policy answers nothing", VALIDATE_JOB,
                     expected="event, events or exitCode", hint="say what the action answers")  # fmt: skip
    elif events:
        for event in events:
            if event not in EVENTS:
                yield denial("HF822", "policy-event", path, f"{event or 'an empty event'} cannot be answered",
                             VALIDATE_JOB, got=event, expected="one of " + ", ".join(EVENTS),
                             hint=nearest(event, EVENTS))  # fmt: skip
        known = actions_of(job.server)
        if action not in known:
            yield denial("HF822", "policy-action", (*path, "action"),
                         f"the {job.server} knows no action {action or '(none)'}", VALIDATE_JOB, got=action,
                         expected="one of " + ", ".join(known), hint=nearest(action, known))  # fmt: skip
    elif code == 0:
        yield denial("HF822", "policy-exit-code", (*path, "exitCode"), "0 is no failure", VALIDATE_JOB, got=0,
                     expected="an exit code other than 0", hint="use the event TaskCompleted")  # fmt: skip
    if "timeout" in policy and isinstance(policy["timeout"], str) and not is_go_duration(policy["timeout"]):
        yield denial("HF822", "policy-timeout", (*path, "timeout"), "the timeout is no duration", MUTATE_JOB,
                     got=policy["timeout"], expected="a duration such as 10m",
                     hint="write a number and s, m or h")  # fmt: skip


def running_estimate(job: JobView) -> Iterator[Problem]:
    """Deny a runningEstimate that is no duration."""
    value = job.spec.get("runningEstimate")
    if isinstance(value, str) and not is_go_duration(value):
        yield denial("HF822", "running-estimate", (*job.path, "runningEstimate"), "the estimate is no duration",
                     MUTATE_JOB, got=value, expected="a duration such as 2h",
                     hint="write a number and s, m or h")  # fmt: skip


def idle_policies(job: JobView) -> Iterator[Problem]:
    """Warn of policies that the webhook takes and the controller cannot act on."""
    for path, listed in policy_lists(job):
        for index, policy in listed:
            events, action = events_of(policy), text(policy.get("action"))
            where = (*path, index)
            if policy.get("exitCode") is not None and not events and action not in ACTIONS:
                yield risk("HF863", "exit-code-action", (*where, "action"),
                           "an exit code with an unknown action does nothing: the job stays Running with a pod fewer",
                           got=action, expected="one of " + ", ".join(ACTIONS),
                           hint=nearest(action, ACTIONS))  # fmt: skip
            if "PodPending" in events and "timeout" not in policy:
                yield risk("HF863", "pending-timeout", (*where, "timeout"),
                           "PodPending without a timeout is ignored: a job that never starts waits for ever",
                           expected="a duration such as 10m", hint="write timeout")  # fmt: skip
            if "PodFailed" in events and action == "ResumeJob":
                yield risk("HF863", "resume-on-failure", (*where, "action"),
                           "ResumeJob answers an aborted job: after a failed pod it does nothing", got=action,
                           expected="RestartJob, RestartTask or RestartPod", hint="write RestartJob")  # fmt: skip


RULES = (policies, running_estimate)
