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
    """Give the status for a terminal of any width: a table of the children, and below it why they wait, once each.

    At most 40 children are shown, those with a reason first, and at most 8 reasons.
    """
    from rich.box import SIMPLE_HEAD
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    plan = plans.get(status.name) or {}
    title = Text(f"{status.name}: {status.state}", style=f"bold {_COLOURS.get(status.state, 'yellow')}")
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    names = header(plan)[:-1]
    for name in names:
        right = name in ("RUNNING", "LAYERS", "NODES")
        table.add_column(name, justify="right" if right else "left", overflow="fold")
    rows = sorted(status_rows(status, plan), key=lambda row: row[-1] == "-")
    for row in rows[:40]:
        table.add_row(*(Text(cell) for cell in (_short(status, row[0]), *row[1:-1])))
    if len(rows) > 40:
        table.add_row(f"and {len(rows) - 40} more", *([""] * (len(names) - 1)))
    return Group(title, Text(status.reason), table, *(Text(line) for line in _reasons(status)))


def _reasons(status: JobStatus) -> list[str]:
    """Say each reason once, with those it holds for, where the job's own reason does not say it."""
    holders: dict[str, list[str]] = {}
    for child in status.children:
        if child.reason and child.reason not in status.reason:
            holders.setdefault(child.reason, []).append(_short(status, child.name))
    lines = [
        f"{names[0] if len(names) == 1 else f'{names[0]} and {len(names) - 1} more'}: {reason}"
        for reason, names in holders.items()
    ]
    return lines if len(lines) <= 8 else [*lines[:8], f"and {len(lines) - 8} more reasons"]


def _short(status: JobStatus, child: str) -> str:
    return child.removeprefix(f"{status.name}-")
