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


class View:
    """What is shown of the job that runs now; `job` is None while none is known to be there."""

    def __init__(self, format: str, plans: Plans) -> None:
        self.job: JobName | None = None
        self.live: Any = _live() if format == "table" and sys.stdout.isatty() else None
        self._plans = plans
        self.last = ""

    def follow(self, job: JobName | None) -> None:
        """Take another job, such as a fallback."""
        self.job = job

    def show(self, status: JobStatus) -> None:
        """Show a status: in the live table, or as a line where it says something new."""
        before, self.last = self.last, f"{status.state}: {status.reason}"
        if self.live is not None:
            self.live.update(live_table(status, self._plans))
        elif self.last != before:
            self.say(self.last)

    @staticmethod
    def say(step: str) -> None:
        """Tell what happens beside the statuses."""
        sys.stderr.write(step + "\n")


def show_while(view: View, work: Callable[[], JobStatus]) -> JobStatus | None:
    """Run `work`, which shows its statuses in the view; None when the user detached with Ctrl-C.

    Ctrl-C while no job is known to be there is raised.
    """
    scope: AbstractContextManager[Any] = view.live if view.live is not None else nullcontext()
    try:
        with scope:
            return work()
    except KeyboardInterrupt:
        if view.job is None:
            raise
        name = view.job.name
        where = f" --namespace {view.job.namespace}" if view.job.namespace != "default" else ""
        shown = f"{view.last}\n" if view.live is not None else ""
        view.say(
            f"\n{shown}detached; the job goes on. Come back with\n  hyperflow status {name} --watch{where}\n"
            f"or end it with\n  hyperflow delete {name}{where}"
        )
        return None


def _live() -> Any:
    from rich.live import Live

    return Live(refresh_per_second=4, transient=True)


def watch_job(plane: Plane, job: JobName, format: str, plans: Plans) -> int:
    """Follow a job to its end; 5 when it ends degraded, failed or vanished."""

    view = View(format, plans)
    view.follow(job)

    def work() -> JobStatus:
        status = None
        for status in follow(plane, job, on_step=view.say):
            view.show(status)
        assert status is not None
        return status

    status = show_while(view, work)
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
