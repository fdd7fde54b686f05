"""`--explain`: the plan table, and all that a careful reader wants to know before the job runs."""

from collections.abc import Sequence

from hyperflow.errors import Finding
from hyperflow.ir.manifests import Manifests
from hyperflow.ir.plan import Plan
from hyperflow.ir.resolved import ResolvedJob
from hyperflow.report.plan_table import align, plan_lines, saved_share, short_counts
from hyperflow.units import format_seconds


def explain_lines(
    resolved: ResolvedJob, plan: Plan, manifests: Manifests | None, findings: Sequence[Finding]
) -> list[str]:
    """Give the explanation as lines; findings other than errors stand at its end."""
    lines = plan_lines(plan)
    lines += _block("price of each declared constraint (the plan without it alone)", _constraints(plan))
    lines += _block("fallbacks", _fallbacks(plan))
    lines += _block("devices", _devices(resolved))
    if manifests is not None:
        lines += _block("manifests", [f"mode {manifests.mode}: {manifests.mode_reason}", *manifests.story])
    lines += _block("patches", [f"user patch: {patch.path} = {patch.value!r}" for patch in resolved.job.patches])
    lines += _block("findings", [line for finding in findings for line in finding.as_text().splitlines()])
    return lines


def _block(title: str, lines: Sequence[str]) -> list[str]:
    return ["", f"{title}:", *[f"  {line}" for line in lines]] if lines else []


def _constraints(plan: Plan) -> list[str]:
    rows = [
        [price.name, price.detail, format_seconds(price.step_seconds), saved_share(plan, price)]
        for price in plan.constraints
    ]
    lines = align(["without", "plan then", "step", "saved"], rows, left=2) if rows else []
    return lines + [f"these cost no time: {', '.join(plan.free_constraints)}"] * bool(plan.free_constraints)


def _fallbacks(plan: Plan) -> list[str]:
    rows = [
        [
            " -> ".join(fallback.clusters),
            short_counts(fallback.layers),
            format_seconds(fallback.step_seconds),
            f"{fallback.idle_fraction:.0%}",
            f"{short_counts(fallback.resolved_layers)} at {format_seconds(fallback.resolved_step_seconds)}",
        ]
        for fallback in plan.fallbacks
    ]
    return align(["clusters", "layers", "step", "idle", "solved for it"], rows, left=2) if rows else []


def _devices(resolved: ResolvedJob) -> list[str]:
    lines: list[str] = []
    for name, device in resolved.devices.items():
        weak = f"; uncertain: {', '.join(device.uncertain)}" if device.uncertain else ""
        lines.append(f"{name}: {device.peak_flops_bf16 / 1e12:g} TFLOP/s dense bf16{weak}")
    return lines
