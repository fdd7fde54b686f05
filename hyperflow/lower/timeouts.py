"""How long pods wait for each other, so that a lost peer ends in a restart of all and not in a hang.

After a failure one child restarts and waits at the start barrier. Its peers must notice the loss, fail and restart
before that barrier gives up, so the communication timeout is shorter than the rendezvous timeout.
"""

from hyperflow.errors import Finding
from hyperflow.ir.resolved import ResolvedJob

COMM_SHARE = 2 / 3
LEAST_COMM_SECONDS = 60


def rendezvous_seconds(job: ResolvedJob) -> int:
    """How long the start barrier waits for all nodes."""
    return max(1, round(job.job.guard.rendezvous_timeout_seconds))


def comm_seconds(job: ResolvedJob) -> int:
    """How long a collective may take before the process ends: whole minutes, as Megatron counts."""
    minutes = int(rendezvous_seconds(job) * COMM_SHARE) // 60
    return max(LEAST_COMM_SECONDS, minutes * 60)


def check_timeouts(job: ResolvedJob) -> tuple[Finding, ...]:
    """Warn (HF425) where the rendezvous timeout leaves peers no time to notice a loss."""
    if comm_seconds(job) < rendezvous_seconds(job):
        return ()
    return (
        Finding(
            code="HF425",
            severity="warning",
            message="children that restart at different moments will miss each other",
            where="guard.rendezvous_timeout",
            got=f"{rendezvous_seconds(job)} s",
            expected=f"more than {LEAST_COMM_SECONDS} s, the shortest communication timeout",
            hint="set hf.guard(rendezvous_timeout=...) to several minutes",
            span=job.job.sources.get("guard.rendezvous_timeout"),
        ),
    )
