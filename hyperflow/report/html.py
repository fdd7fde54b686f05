"""The plan as HTML: the notebook view and the self-contained page of a bundle."""

import functools
from collections.abc import Sequence
from html import escape
from importlib.resources import files

from hyperflow.errors import Finding
from hyperflow.ir.plan import Plan
from hyperflow.ir.resolved import ResolvedJob
from hyperflow.report.plan_table import idle_by_cluster, proof, saved_share, short_counts
from hyperflow.units import format_bytes, format_gib, format_seconds


@functools.cache
def _style() -> str:
    return files("hyperflow.report").joinpath("style.css").read_text(encoding="utf-8")


def plan_html(plan: Plan, findings: Sequence[Finding] = ()) -> str:
    """Give the plan as an HTML fragment for a notebook."""
    return f'<div class="hf"><style>{_style()}</style>{_plan_body(plan)}{_findings(findings)}</div>'


def error_html(findings: Sequence[Finding]) -> str:
    """Give the findings of a declaration that cannot be planned as an HTML fragment."""
    return f'<div class="hf"><style>{_style()}</style>{_findings(findings)}</div>'


def report_page(resolved: ResolvedJob, plan: Plan, findings: Sequence[Finding], timeline: str = "") -> str:
    """Give one self-contained page: plan, reasons, timeline (SVG), memory, traffic, findings."""
    drawn = f'<h2>Timeline</h2><div class="wide">{timeline}</div>' if timeline else ""
    devices = f'<p class="muted">Devices: {escape(", ".join(resolved.devices))}.</p>'
    return _page(f"{plan.job}: plan", f"{_plan_body(plan)}{drawn}{devices}{_findings(findings)}")


def error_page(job: str, findings: Sequence[Finding]) -> str:
    """Give one self-contained page that says why there is no plan."""
    return _page(f"{job}: no plan", f"<h1>{escape(job)}: no plan</h1>{_findings(findings)}")


def _page(title: str, body: str) -> str:
    return "".join(
        (
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            f'<meta name="viewport" content="width=device-width"><title>{escape(title)}</title>',
            f'<style>{_style()}</style></head><body class="hf page">{body}</body></html>\n',
        )
    )


def _plan_body(plan: Plan) -> str:
    degrees = plan.degrees
    head = (
        f"<h1>{escape(plan.job)}: {short_counts([s.layers for s in plan.stages if s.replica == 0])} layers, "
        f"{format_seconds(plan.step_seconds)} a step</h1>"
        f'<p class="muted">tp {degrees.tp}, pp {degrees.pp}, dp {degrees.dp}, cp {degrees.cp}, ep {degrees.ep}; '
        f"{plan.microbatches} micro-batches of {plan.micro_batch_size}; {escape(plan.schedule)}; MFU {plan.mfu:.1%}; "
        f"{plan.tokens_per_second:,.0f} tokens/s; 80 % of steps between {format_seconds(plan.step_seconds_low)} and "
        f"{format_seconds(plan.step_seconds_high)}; {escape(proof(plan))}</p>"
    )
    why = "".join(f"<li>{escape(reason)}</li>" for reason in plan.why)
    choices = f"<h2>Choices</h2>{_choices(plan)}<ul>{why}</ul>{_constraints(plan)}"
    return f"{head}{choices}<h2>Stages</h2>{_stages(plan)}{_links(plan)}"


def _choices(plan: Plan) -> str:
    clusters = plan.clusters
    idle = idle_by_cluster(plan)
    header = ["<plan", "<layers", "step", "vs chosen", *[f"idle {name}" for name in clusters], "<note"]
    chosen: list[str | float] = [
        "<chosen",
        f"<{short_counts([stage.layers for stage in plan.stages if stage.replica == 0])}",
        format_seconds(plan.step_seconds),
        "1.00x",
        *[f"{idle[name]:.0%}" for name in clusters],
        f"<{' → '.join(clusters)}",
    ]
    rows: list[list[str | float]] = [chosen]
    for other in plan.alternatives:
        shares = dict(other.idle_by_cluster)
        step = other.step_seconds
        rows.append(
            [
                f"<{other.name}",
                f"<{short_counts(other.layers) or '-'}",
                format_seconds(step) if step is not None else "-",
                f"{step / plan.step_seconds:.2f}x" if step is not None else "-",
                *[f"{shares[name]:.0%}" if name in shares else "-" for name in clusters],
                f"<{other.reason}",
            ]
        )
    return _table(header, rows, chosen_row=0)


def _stages(plan: Plan) -> str:
    replicas = any(stage.replica for stage in plan.stages)
    header = ["stage", *["replica"] * replicas, "<cluster (pinned, hard)", "<layers", "<nodes"]
    header += ["per micro-batch", "idle", "memory", "<"]
    rows: list[list[str | float]] = [
        [
            str(stage.index),
            *[str(stage.replica)] * replicas,
            f"<{stage.cluster}",
            f"<{stage.first_layer}-{stage.first_layer + stage.layers - 1}",
            f"<{stage.nodes} x {stage.device}",
            format_seconds(stage.seconds_per_microbatch),
            f"{stage.idle_fraction:.0%}",
            f"{format_gib(stage.memory_bytes)} of {format_gib(stage.memory_limit_bytes)}",
            stage.memory_bytes / stage.memory_limit_bytes,
        ]
        for stage in plan.stages
    ]
    return _table(header, rows)


def _links(plan: Plan) -> str:
    header = ["<link", "<for", "bytes per step", "each transfer"]
    rows: list[list[str | float]] = [
        [
            f"<{link.source} → {link.target}",
            f"<{link.purpose}",
            format_bytes(link.bytes_per_step),
            format_seconds(link.seconds_per_microbatch),
        ]
        for link in plan.links
    ]
    return f"<h2>Between clusters</h2>{_table(header, rows)}" if rows else ""


def _constraints(plan: Plan) -> str:
    rows = [
        [f"<{price.name}", format_seconds(price.step_seconds), saved_share(plan, price), f"<{price.detail}"]
        for price in plan.constraints
    ]
    free = ", ".join(plan.free_constraints)
    table = _table(["<without", "step", "saved", "<plan then"], rows) if rows else ""
    rest = f'<p class="muted">These cost no time: {escape(free)}.</p>' if free else ""
    title = "<h2>Price of each declared constraint</h2><p>The plan without it alone, all else as declared.</p>"
    return f"{title}{table}{rest}" if rows or free else ""


def _table(header: Sequence[str], rows: Sequence[Sequence[str | float]], chosen_row: int | None = None) -> str:
    """Cells that start with `<` are flushed left; a number becomes a bar of that share."""
    head = "".join(_cell("th", text) for text in header)
    body = "".join(
        ("<tr class='chosen'>" if number == chosen_row else "<tr>") + "".join(_cell("td", c) for c in row) + "</tr>"
        for number, row in enumerate(rows)
    )
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _cell(tag: str, cell: str | float) -> str:
    if not isinstance(cell, str):
        return f'<{tag} class="l"><span class="bar"><i style="width:{min(1.0, cell):.1%}"></i></span></{tag}>'
    left = cell.startswith("<")
    opening = f"<{tag} class='l'>" if left else f"<{tag}>"
    return f"{opening}{escape(cell[1:] if left else cell)}</{tag}>"


def _findings(findings: Sequence[Finding]) -> str:
    return "".join(f'<pre class="{finding.severity}">{escape(finding.as_text())}</pre>' for finding in findings)
