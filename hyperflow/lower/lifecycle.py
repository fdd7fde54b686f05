"""What a Job does when a pod fails: restart the whole gang, bounded, or end at once."""

from hyperflow.ir.resolved import ResolvedJob
from hyperflow.k8s.volcano import Action, LifecyclePolicy
from hyperflow.lower.health import HEALTH_EXIT_CODE

SETUP_EXIT_CODE = 78


def job_policies(job: ResolvedJob) -> tuple[LifecyclePolicy, ...]:
    """Give the policies, exit codes first: the controller takes the first that matches.

    A wrong set-up (exit code 78) ends the job: no retry mends it. Every other failure or eviction restarts all pods,
    since a collective job cannot go on without one of its ranks.
    """
    action: Action = "RestartJob" if job.job.retries > 0 else "TerminateJob"
    codes = [LifecyclePolicy(exit_code=SETUP_EXIT_CODE, action="TerminateJob")]
    if job.job.guard.health:
        codes.append(LifecyclePolicy(exit_code=HEALTH_EXIT_CODE, action=action))
    return (
        *codes,
        LifecyclePolicy(event="PodFailed", action=action),
        LifecyclePolicy(event="PodEvicted", action=action),
    )


def max_retry(job: ResolvedJob) -> int:
    """Restarts of one child; 0 would become 3 on the server, and is expressed by TerminateJob instead."""
    return max(1, job.job.retries)


def failure_story(job: ResolvedJob, children: int) -> str:
    """Tell what happens when a pod fails."""
    if job.job.retries == 0:
        return "a failed or evicted pod ends its child at once (no retries)"
    if children == 1:
        return f"a failed or evicted pod restarts all pods, at most {job.job.retries} times"
    return (
        f"a failed or evicted pod restarts its own child, at most {job.job.retries} times; the other children lose "
        "their peer, end by their communication timeout, restart too and meet it at the start barrier"
    )
