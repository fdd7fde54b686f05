"""Following a job in a terminal: a live table where there is one, lines where there is none; Ctrl-C only detaches."""

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from hyperflow.cli.output import print_json
from hyperflow.cli.status_view import Plans, live_table, print_status
from hyperflow.submit.plane import Plane
from hyperflow.submit.snapshot import JobName
from hyperflow.submit.states import JobStatus
from hyperflow.submit.watch import follow, is_gone


def show_while(
    format: str, work: Callable[[Callable[[JobStatus], None]], JobStatus], job: JobName, plans: Plans
) -> JobStatus | None:
    """Run `work` with a view of the statuses it reports; None when the user detached with Ctrl-C.

    Ctrl-C before the first status is raised, since then the job may not be there.
    """
    live: Any = _live() if format == "table" and sys.stdout.isatty() else None
    last = name = ""

    def show(status: JobStatus) -> None:
        nonlocal last, name
        name, before, last = status.name, last, f"{status.state}: {status.reason}"  # a fallback has another name
        if live is not None:
            live.update(live_table(status, plans))
        elif last != before:
            sys.stderr.write(last + "\n")

    scope: AbstractContextManager[Any] = live if live is not None else nullcontext()
    try:
        with scope:
            return work(show)
    except KeyboardInterrupt:
        if not name:
            raise  # nothing was followed yet
        where = f" --namespace {job.namespace}" if job.namespace != "default" else ""
        shown = f"{last}\n" if live is not None else ""
        sys.stderr.write(
            f"\n{shown}detached; the job goes on. Come back with\n  hyperflow status {name} --watch{where}\n"
            f"or end it with\n  hyperflow delete {name}{where}\n"
        )
        return None


def _live() -> Any:
    from rich.live import Live

    return Live(refresh_per_second=4, transient=True)


def watch_job(plane: Plane, job: JobName, format: str, plans: Plans) -> int:
    """Follow a job to its end; 5 when it ends degraded, failed or vanished."""

    def work(show: Callable[[JobStatus], None]) -> JobStatus:
        status = None
        for status in follow(plane, job):
            show(status)
        assert status is not None
        return status

    status = show_while(format, work, job, plans)
    if status is None:
        return 0
    print_final(status, format, plans)
    return 5 if status.state in ("DEGRADED", "FAILED") or is_gone(status) else 0


def print_final(status: JobStatus, format: str, plans: Plans) -> None:
    """Print the last status."""
    if format == "json":
        print_json(status.as_json())
    else:
        print_status(status, plans)
