"""The plan for the terminal: the choice table first, then where each stage runs and why."""

from collections.abc import Sequence

from hyperflow.ir.plan import Alternative, ConstraintPrice, Plan
from hyperflow.units import format_bytes, format_gib, format_seconds

GIVEN = "given by "
"""How the solver's name begins in a plan whose layers the user or a policy gave."""


def plan_lines(plan: Plan) -> list[str]:
    """Give the whole table as lines: headline, choices, stages, links, reasons."""
    blocks = [_headline(plan), _choices(plan), _stages(plan), _links(plan), _reasons(plan)]
    lines: list[str] = []
    for block in blocks:
        lines += ([""] if lines and block else []) + block
    return lines


def align(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """Align cells in columns two blanks apart: the first `left` columns flushed left, the others right."""
    widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]
    return [
        "  ".join(
            cell.ljust(width) if column < left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in [header, *rows]
    ]


def idle_by_cluster(plan: Plan) -> dict[str, float]:
    """Mean idle share of each cluster's stages."""
    shares: dict[str, list[float]] = {}
    for stage in plan.stages:
        shares.setdefault(stage.cluster, []).append(stage.idle_fraction)
    return {cluster: sum(values) / len(values) for cluster, values in shares.items()}


def proof(plan: Plan) -> str:
    """Say who made the split and how sure it is that none is better."""
    optimal = plan.optimal
    if optimal.solver.startswith(GIVEN):
        return f"layers {optimal.solver}"
    sure = "proven optimal" if optimal.proven else f"best found, within {optimal.gap:.1%} of the bound"
    return f"{optimal.solver}, {sure}"


def saved_share(plan: Plan, price: ConstraintPrice) -> str:
    """Say what share of the step a constraint costs."""
    return f"{1 - price.step_seconds / plan.step_seconds:.1%}"


def short_number(count: float) -> str:
    """Write a count with three digits and its thousands.

    >>> short_number(70_553_706_496), short_number(231_000)
    ('70.6 B', '231 k')
    """
    for unit, size in (("T", 1e12), ("B", 1e9), ("M", 1e6), ("k", 1e3)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count:g}"


def short_counts(counts: Sequence[int]) -> str:
    """Write layer counts short: `6/2`, or `4x20` for four equal ones in a row among many.

    >>> short_counts((6, 2)), short_counts((20, 20, 20, 20, 10))
    ('6/2', '20x4/10')
    """
    runs: list[tuple[int, int]] = []
    for count in counts:
        if runs and runs[-1][0] == count:
            runs[-1] = (count, runs[-1][1] + 1)
        else:
            runs.append((count, 1))
    if len(counts) <= 4:
        return "/".join(map(str, counts))
    return "/".join(f"{count}x{times}" if times > 1 else str(count) for count, times in runs)


def _headline(plan: Plan) -> list[str]:
    degrees = plan.degrees
    parts = [f"tp{degrees.tp}", f"pp{degrees.pp}", f"dp{degrees.dp}"]
    parts += [f"cp{degrees.cp}"] * (degrees.cp > 1) + [f"ep{degrees.ep}"] * (degrees.ep > 1)
    return [
        f"{plan.job}: {plan.num_layers} layers, {short_number(plan.total_parameters)} parameters, {' '.join(parts)}, "
        f"{plan.microbatches} micro-batches of {plan.micro_batch_size}, {plan.schedule}",
        f"step {format_seconds(plan.step_seconds)} (80 % between {format_seconds(plan.step_seconds_low)} and "
        f"{format_seconds(plan.step_seconds_high)}), MFU {plan.mfu:.1%}, {plan.tokens_per_second:,.0f} tokens/s; "
        f"{proof(plan)}",
    ]


def _choices(plan: Plan) -> list[str]:
    clusters = list(plan.clusters)
    chosen_idle = idle_by_cluster(plan)
    rows = [
        [
            "* chosen",
            short_counts([stage.layers for stage in plan.stages if stage.replica == 0]),
            format_seconds(plan.step_seconds),
            "1.00x",
            *[f"{chosen_idle[name]:.0%}" for name in clusters],
            _placement(plan.clusters),
        ]
    ]
    rows += [_choice(plan, alternative, clusters) for alternative in plan.alternatives]
    header = ["plan", "layers", "step", "vs chosen", *[f"idle {name}" for name in clusters]]
    lines = align(header, [row[:-1] for row in rows], left=2)
    notes = ["note", *[row[-1] for row in rows]]
    width = max(map(len, lines))
    return [f"{line.ljust(width)}  {note}".rstrip() for line, note in zip(lines, notes, strict=True)]


def _choice(plan: Plan, alternative: Alternative, clusters: Sequence[str]) -> list[str]:
    idle = dict(alternative.idle_by_cluster)
    step = alternative.step_seconds
    return [
        f"  {alternative.name}",
        short_counts(alternative.layers) or "-",
        format_seconds(step) if step is not None else "-",
        f"{step / plan.step_seconds:.2f}x" if step is not None else "-",
        *[f"{idle[name]:.0%}" if name in idle else "-" for name in clusters],
        alternative.reason,
    ]


def _placement(clusters: Sequence[str]) -> str:
    return " -> ".join(clusters)


def _stages(plan: Plan) -> list[str]:
    rows = [
        [
            str(stage.index) if stage.replica == 0 else f"{stage.index} (replica {stage.replica})",
            stage.cluster,
            f"{stage.first_layer}-{stage.first_layer + stage.layers - 1}" if stage.layers else "none",
            f"{stage.nodes} x {stage.device}",
            f"{stage.node_rank_offset}-{stage.node_rank_offset + stage.nodes - 1}",
            format_seconds(stage.seconds_per_microbatch),
            f"{stage.idle_fraction:.0%}",
            f"{format_gib(stage.memory_bytes)} of {format_gib(stage.memory_limit_bytes)}",
        ]
        for stage in plan.stages
    ]
    header = ["stage", "cluster (pinned, hard)", "layers", "nodes", "node ranks", "per micro-batch", "idle", "memory"]
    return align(header, rows, left=4)


def _links(plan: Plan) -> list[str]:
    rows = [
        [
            f"{link.source} -> {link.target}",
            link.purpose,
            format_bytes(link.bytes_per_step),
            format_seconds(link.seconds_per_microbatch),
        ]
        for link in plan.links
    ]
    return align(["link", "for", "bytes per step", "each transfer"], rows, left=2) if rows else []


def _reasons(plan: Plan) -> list[str]:
    return [f"why: {reason}" for reason in plan.why]
