"""How the status of a job looks in a terminal: the plan's rows, with phase and reason."""

from typing import Any

from hyperflow.cli.output import print_table
from hyperflow.submit.states import JobStatus

HEADER = ("CHILD", "CLUSTER", "PHASE", "RUNNING", "REASON")
_COLOURS = {"RUNNING": "green", "COMPLETED": "green", "DEGRADED": "red", "FAILED": "red", "UNKNOWN": "magenta"}


def status_rows(status: JobStatus) -> list[tuple[str, ...]]:
    """One row a child."""
    return [(c.name, c.cluster or "-", c.phase, f"{c.running}/{c.total}", c.reason or "-") for c in status.children]


def print_status(status: JobStatus) -> None:
    """Print state, reason, children and next commands."""
    print_table((f"{status.name}: {status.state}", status.reason), [])
    if status.children:
        print_table(HEADER, status_rows(status))
    for command in status.next:
        print_table((f"  {command}",), [])


def live_table(status: JobStatus) -> Any:
    """Give the status as a rich table; at most 40 children are shown, those with a reason first."""
    from rich.table import Table
    from rich.text import Text

    colour = _COLOURS.get(status.state, "yellow")
    title = Text(f"{status.name}: {status.state}", style=f"bold {colour}")
    table = Table(title=title, caption=Text(status.reason), title_justify="left", caption_justify="left")
    for name in HEADER:
        table.add_column(name, justify="right" if name == "RUNNING" else "left", overflow="fold")
    rows = sorted(status_rows(status), key=lambda row: row[4] == "-")
    for row in rows[:40]:
        table.add_row(*(Text(cell) for cell in row))
    if len(rows) > 40:
        table.add_row(f"and {len(rows) - 40} more", "", "", "", "")
    return table
