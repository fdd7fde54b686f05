"""Choices that the framework does not offer."""

from collections.abc import Sequence

from hyperflow.errors import Finding
from hyperflow.ir.resolved import ResolvedJob


def check_choice(
    framework: str, what: str, chosen: str, offered: Sequence[str], source: str, job: ResolvedJob
) -> list[Finding]:
    """Give an error (HF405) when the framework does not offer the choice; it lists what it offers."""
    if chosen in offered:
        return []
    return [
        Finding(
            code="HF405",
            message=f"{framework} has no {what} {chosen!r}",
            where=source,
            got=chosen,
            expected="one of " + ", ".join(offered),
            hint=f"choose another {what}, or another framework",
            span=job.job.sources.get(source),
        )
    ]
