"""Fallback clusters: each combination with the split as baked in, next to the split that would suit it."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, product

from hyperflow.errors import Finding
from hyperflow.ir.plan import Fallback
from hyperflow.plan.best import search_exact
from hyperflow.plan.budget import Budget
from hyperflow.plan.build_plan import build_stages, mean_idle
from hyperflow.plan.checks import span_of
from hyperflow.plan.choices import fits_domain
from hyperflow.plan.pricing import Pricer
from hyperflow.plan.search import Candidate, price_candidate
from hyperflow.plan.sites import Site, all_sites, fallbacks_of
from hyperflow.units import format_seconds

MOST_COMBINATIONS = 16
RESOLVE_WORK = 300_000
TOLERATED = 1.05
"""A baked-in split this much slower than the best one is warned about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FallbackRows:
    """The combinations that can run, and warnings on those that cannot or that run badly."""

    rows: tuple[Fallback, ...]
    findings: tuple[Finding, ...]


def price_fallbacks(pricer: Pricer, best: Candidate, deadline: float) -> FallbackRows:
    """Price every combination of the used clusters' fallbacks, in the order Karmada would try them."""
    rows: list[Fallback] = []
    findings: list[Finding] = []
    sites = {site.name: site for site in all_sites(pricer.job)}
    for names in islice(_combinations(pricer, best), MOST_COMBINATIONS):
        swapped = tuple(sites.get(name) for name in names)
        shown = ", ".join(
            name for name, site in zip(names, best.bounded.choice.sites, strict=True) if name != site.name
        )
        reason = _unusable(best, swapped)
        candidate = None if reason else _swapped(pricer, best, tuple(site for site in swapped if site is not None))
        if candidate is None:
            findings.append(_finding(pricer, "HF218", f"fallback {shown} cannot take the stages: {reason}", ""))
            continue
        broken = [s for s in build_stages(pricer, candidate) if s.memory_bytes > s.memory_limit_bytes]
        if broken:
            message = f"fallback {shown} cannot take the stages: stage {broken[0].index} does not fit its memory"
            findings.append(_finding(pricer, "HF218", message, "another fallback, or layers= that fit both"))
            continue
        row = _row(pricer, candidate, deadline)
        rows.append(row)
        if row.step_seconds > TOLERATED * row.resolved_step_seconds:
            ratio = row.step_seconds / row.resolved_step_seconds
            message = (
                f"fallback {shown} keeps a split made for other devices: {format_seconds(row.step_seconds)}, "
                f"{ratio:.2f} times what the split {'/'.join(map(str, row.resolved_layers))} would take"
            )
            findings.append(_finding(pricer, "HF217", message, "drop it, or compile a bundle of its own for it"))
    return FallbackRows(rows=tuple(rows), findings=tuple(findings))


def _combinations(pricer: Pricer, best: Candidate) -> Iterator[tuple[str, ...]]:
    """Names of sites in place of the choice's; used clusters change, the others stay."""
    used = set(best.split.order)
    choices = [
        (site.name, *fallbacks_of(pricer.job, site.cluster)) if place in used else (site.name,)
        for place, site in enumerate(best.bounded.choice.sites)
    ]
    first = tuple(names[0] for names in choices)
    return (names for names in product(*choices) if names != first)


def _unusable(best: Candidate, swapped: tuple[Site | None, ...]) -> str:
    """Why the stages cannot stand there: unknown cluster, other pods, too few nodes; empty when they can."""
    degrees = best.bounded.choice.degrees
    devices = degrees.devices_per_stage
    for place, site in enumerate(swapped):
        needed = best.split.order.count(place)
        if site is None:
            return "the fleet has no usable cluster of that name"
        if not needed:
            continue
        if site.pod_devices(devices) != best.bounded.choice.sites[place].pod_devices(devices):
            return f"its nodes have {site.devices_per_node} devices"
        if not fits_domain(site, degrees.tp):
            return f"tp={degrees.tp} does not fit its nodes"
        if site.stages(devices, degrees.tp) < needed:
            return f"it holds {site.stages(devices, degrees.tp)} of {needed} stages"
    return ""


def _swapped(pricer: Pricer, best: Candidate, sites: tuple[Site, ...]) -> Candidate:
    """The same split with other sites under it."""
    bounded = best.bounded.on(sites, best.bounded.choice.copies)
    copies = [max(1, best.split.order.count(place)) for place in range(len(sites))]
    problem = pricer.problem(bounded.settings, bounded.stages, sites, copies, ascending=False)
    return price_candidate(pricer, bounded, problem, best.split)


def _row(pricer: Pricer, candidate: Candidate, deadline: float) -> Fallback:
    answer = search_exact(candidate.problem, budget=Budget(deadline=deadline, work=RESOLVE_WORK))
    resolved = candidate
    if answer.split is not None:
        resolved = price_candidate(pricer, candidate.bounded, candidate.problem, answer.split)
    if resolved.step_seconds > candidate.step_seconds:
        resolved = candidate
    stages = build_stages(pricer, candidate)
    return Fallback(
        clusters=tuple(dict.fromkeys(stage.cluster for stage in stages)),
        layers=candidate.split.layers,
        step_seconds=candidate.step_seconds,
        idle_fraction=mean_idle(stages),
        resolved_layers=resolved.split.layers,
        resolved_step_seconds=resolved.step_seconds,
    )


def _finding(pricer: Pricer, code: str, message: str, hint: str) -> Finding:
    return Finding(
        code=code,
        severity="warning",
        message=message,
        where="@hf.fallback",
        span=span_of(pricer.job, "fallback"),
        hint=hint,
    )
