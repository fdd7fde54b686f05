"""How the status of a job looks in a terminal: the plan's rows, with phase and reason."""

from collections.abc import Iterable, Mapping
from typing import Any

from hyperflow.cli.output import print_table
from hyperflow.json_tree import dig, text
from hyperflow.submit.states import JobStatus

PlanColumns = Mapping[str, tuple[str, str]]
Plans = Mapping[str, PlanColumns]
"""By the full name of a job, since a fallback has a plan of its own."""
_COLOURS = {"RUNNING": "green", "COMPLETED": "green", "DEGRADED": "red", "FAILED": "red", "UNKNOWN": "magenta"}


def plan_columns(stages: Iterable[object]) -> PlanColumns:
    """Give, by cluster, the layers of its stages (`6+2`) and its nodes, as the plan's table has them."""
    layers: dict[str, list[str]] = {}
    nodes: dict[str, int] = {}
    for stage in stages:
        cluster, count = text(dig(stage, "cluster")), dig(stage, "nodes")
        layers.setdefault(cluster, []).append(str(dig(stage, "layers")))
        nodes[cluster] = nodes.get(cluster, 0) + (count if isinstance(count, int) else 0)
    return {cluster: ("+".join(found), str(nodes[cluster])) for cluster, found in layers.items()}


def header(plan: PlanColumns) -> tuple[str, ...]:
    """The columns of a status; those of the plan only where it is at hand."""
    return ("CHILD", "CLUSTER", *(("LAYERS", "NODES") if plan else ()), "PHASE", "RUNNING", "REASON")


def status_rows(status: JobStatus, plan: PlanColumns) -> list[tuple[str, ...]]:
    """One row a child."""
    return [
        (
            child.name, child.cluster or "-", *(plan.get(child.cluster, ("-", "-")) if plan else ()), child.phase,
            f"{child.running}/{child.total}", child.reason or "-",
        )
        for child in status.children
    ]  # fmt: skip


def print_status(status: JobStatus, plans: Plans) -> None:
    """Print state, reason, children and next commands."""
    plan = plans.get(status.name) or {}
    print_table((f"{status.name}: {status.state}", status.reason), [])
    if status.children:
        print_table(header(plan), status_rows(status, plan))
    for command in status.next:
        print_table((f"  {command}",), [])


def live_table(status: JobStatus, plans: Plans) -> Any:
    """Give the status as a rich table; at most 40 children are shown, those with a reason first."""
    from rich.table import Table
    from rich.text import Text

    plan = plans.get(status.name) or {}
    colour = _COLOURS.get(status.state, "yellow")
    title = Text(f"{status.name}: {status.state}", style=f"bold {colour}")
    table = Table(title=title, caption=Text(status.reason), title_justify="left", caption_justify="left")
    for name in header(plan):
        right = name in ("RUNNING", "LAYERS", "NODES")
        table.add_column(name, justify="right" if right else "left", overflow="fold")
    rows = sorted(status_rows(status, plan), key=lambda row: row[-1] == "-")
    for row in rows[:40]:
        table.add_row(*(Text(cell) for cell in row))
    if len(rows) > 40:
        table.add_row(f"and {len(rows) - 40} more", *([""] * (len(header(plan)) - 1)))
    return table
