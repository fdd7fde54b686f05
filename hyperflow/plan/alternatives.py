"""The plans beside the chosen one: the even split, one layer moved, each cluster alone."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from hyperflow.ir.plan import Alternative, Plan
from hyperflow.plan.build_plan import build_stages, idle_by_cluster, mean_idle, violations
from hyperflow.plan.choose import Scheduled
from hyperflow.plan.pricing import Pricer
from hyperflow.plan.problem import Split
from hyperflow.plan.search import Candidate, SearchResult, price_candidate, search_ranked, step_price
from hyperflow.plan.single_clusters import SingleClusters, kind_of
from hyperflow.plan.sites import Site
from hyperflow.units import format_gib

SINGLE_WORK = 3_000_000
MOST_NEIGHBOURS = 4
MOVE = "one layer from "
"""How the name of a row begins that moves one layer between clusters."""
WORTH_SAYING = 0.01
SINGLE_SECONDS = 20.0


def list_alternatives(
    pricer: Pricer,
    best: Candidate,
    reordered: Candidate | None,
    fastest: Candidate | None,
    singles: SingleClusters,
) -> tuple[Alternative, ...]:
    """Give the alternatives, each priced like the chosen plan and each at most once.

    `reordered` is a plan with the clusters in another order that gains too little to be taken, `fastest`
    the fastest one where something else was preferred.
    """
    seen = {best.split.layers}
    found: list[Alternative] = []
    for name, split in [("even split", even_split(best)), *_neighbours(best)]:
        if split.layers not in seen:
            seen.add(split.layers)
            found.append(_priced(pricer, best, name, split))
    moved = sorted(found[1:], key=lambda other: (not other.feasible, other.step_seconds or 0.0, other.name))
    found = [*found[:1], *moved[:MOST_NEIGHBOURS]]
    if fastest is not None:
        reason = f"what prefer={pricer.job.job.on.prefer} gives up"
        if pricer.job.job.on.prefer == "cheapest":
            reason += f", at {step_price(fastest) / step_price(best):.2f} times the price"
        found.append(describe(pricer, fastest, "fastest", reason))
    if reordered is not None:
        reason = "another order of clusters; declare them so to take it"
        names = list(dict.fromkeys(reordered.bounded.choice.sites[place].name for place in reordered.split.order))
        found.append(describe(pricer, reordered, f"order {', '.join(names)}", reason))
    clusters = list(dict.fromkeys(site.cluster for site in pricer.sites))
    used = {best.bounded.choice.sites[place].cluster for place in best.split.order}
    if len(clusters) > 1:
        known: dict[tuple[Site, ...], SearchResult] = {}
        found += [_alone(singles, cluster, known) for cluster in clusters if used != {cluster}]
    return tuple(found)


def list_schedules(tried: Sequence[Scheduled]) -> tuple[Alternative, ...]:
    """Give the best plan of each schedule that was tried for an open one, but for the first, which was taken."""
    return tuple(_scheduled(one) for one in tried[1:])


def _scheduled(one: Scheduled) -> Alternative:
    name = f"schedule {one.name}"
    if one.chosen is not None:
        degrees = one.chosen.candidate.degrees
        reason = f"simulated; tp{degrees.tp} pp{degrees.pp} dp{degrees.dp}"
        return describe(one.pricer, one.chosen.candidate, name, reason)
    reason = "its rules or its memory leave no choice"
    return Alternative(
        name=name, clusters=(), layers=(), step_seconds=None, idle_fraction=None, feasible=False, reason=reason
    )


def even_split(best: Candidate) -> Split:
    """The same stages with the layers dealt out evenly, the earlier stages getting one more."""
    stages = len(best.split.order)
    each, rest = divmod(sum(best.split.layers), stages)
    return Split(order=best.split.order, layers=tuple(each + (i < rest) for i in range(stages)))


def _neighbours(best: Candidate) -> list[tuple[str, Split]]:
    """One layer moved across each boundary between clusters, both ways."""
    sites = best.bounded.choice.sites
    found: list[tuple[str, Split]] = []
    for i, (a, b) in enumerate(pairwise(best.split.order)):
        if sites[a].cluster == sites[b].cluster:
            continue
        for giver, taker in ((i, i + 1), (i + 1, i)):
            layers = list(best.split.layers)
            layers[giver] -= 1
            layers[taker] += 1
            if layers[giver] >= 1:
                name = f"{MOVE}{sites[best.split.order[giver]].name} to {sites[best.split.order[taker]].name}"
                found.append((name, replace(best.split, layers=tuple(layers))))
    return found


def _priced(pricer: Pricer, best: Candidate, name: str, split: Split) -> Alternative:
    return describe(pricer, price_candidate(pricer, best.bounded, best.problem, split), name, "")


def describe(pricer: Pricer, candidate: Candidate, name: str, reason: str) -> Alternative:
    """Give a candidate as a row of the choice table."""
    stages = build_stages(pricer, candidate)
    over = [stage for stage in stages if stage.memory_bytes > stage.memory_limit_bytes]
    broken = violations(candidate)
    if over:
        worst = max(over, key=lambda stage: stage.memory_bytes - stage.memory_limit_bytes)
        needed, limit = format_gib(worst.memory_bytes), format_gib(worst.memory_limit_bytes)
        reason = f"stage {worst.index} on {worst.cluster} needs {needed} of {limit}"
    elif broken:
        reason = broken[0]
    return Alternative(
        name=name,
        clusters=tuple(dict.fromkeys(stage.cluster for stage in stages)),
        layers=candidate.split.layers,
        step_seconds=candidate.step_seconds,
        idle_fraction=mean_idle(stages),
        idle_by_cluster=idle_by_cluster(stages),
        feasible=not broken,
        reason=reason,
        stages=tuple(stages),
        warmup=candidate.paced.depths,
    )


def as_alternative(plan: Plan, name: str) -> Alternative:
    """Give a plan that was built and not taken as a row of the choice table."""
    return Alternative(
        name=name,
        clusters=plan.clusters,
        layers=tuple(stage.layers for stage in plan.stages),
        step_seconds=plan.step_seconds,
        idle_fraction=mean_idle(plan.stages),
        idle_by_cluster=idle_by_cluster(plan.stages),
        feasible=True,
        reason="",
    )


def _alone(singles: SingleClusters, cluster: str, known: dict[tuple[Site, ...], SearchResult]) -> Alternative:
    """The best plan that uses one cluster only, the open degrees chosen for it; equal clusters are searched once."""
    alone = singles.pricer(cluster)
    kind = kind_of(alone.sites)
    if kind not in known:
        known[kind] = search_ranked(alone, singles.ranked(alone.sites), SINGLE_WORK, SINGLE_SECONDS)
    result = known[kind]
    name = f"{cluster} alone"
    if result.best is not None:
        degrees = result.best.degrees
        best = replace(result.best, bounded=result.best.bounded.on(alone.sites, result.best.bounded.choice.copies))
        gap = 1 - result.bound_seconds / result.best.step_seconds
        doubt = f"; perhaps {gap:.0%} quicker, the search was cut off" if result.stopped and gap >= WORTH_SAYING else ""
        return describe(alone, best, name, f"tp{degrees.tp} pp{degrees.pp} dp{degrees.dp}{doubt}")
    if not any(site.has_data for site in alone.sites):
        reason = "it does not hold the data, which the first stage reads"
    else:
        reason = "too few devices for the degrees" if not result.considered else "no split fits its memory"
    return Alternative(
        name=name, clusters=(cluster,), layers=(), step_seconds=None, idle_fraction=None, feasible=False, reason=reason
    )
