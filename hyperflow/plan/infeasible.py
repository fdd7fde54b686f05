"""Why no plan fits: which stage, how many bytes, and the smallest change that does, tried out."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

from hyperflow.errors import Finding
from hyperflow.plan.best import search_exact
from hyperflow.plan.budget import Budget
from hyperflow.plan.build_plan import build_stages
from hyperflow.plan.checks import span_of
from hyperflow.plan.choices import Choice, list_choices
from hyperflow.plan.price import price_split
from hyperflow.plan.pricing import Pricer
from hyperflow.plan.problem import Split, SplitProblem
from hyperflow.plan.schedules import broken_rules
from hyperflow.plan.search import Candidate, choice_microbatches, search_choices
from hyperflow.plan.sites import unlinked_pairs
from hyperflow.units import format_gib

TRIAL_WORK = 300_000
TRIAL_SECONDS = 10.0
MOST_MEMORY = 4096.0


def given_findings(pricer: Pricer, candidate: Candidate) -> list[Finding]:
    """Give HF207 for each stage of a given split that exceeds its memory, HF208 for a missing link, HF210 for data."""
    findings = [
        Finding(
            code="HF207",
            message=f"stage {stage.index} on {stage.cluster} with {stage.layers} layers needs "
            f"{format_gib(stage.memory_bytes)} per device",
            where=f"stage {stage.index}",
            span=span_of(pricer.job, "parallel.layers", "parallel"),
            got=f"{format_gib(stage.memory_bytes)} needed per device",
            expected=f"at most {format_gib(stage.memory_limit_bytes)}",
            hint='fewer layers there, recompute="full", a smaller micro-batch, or more tp',
        )
        for stage in build_stages(pricer, candidate)
        if stage.memory_bytes > stage.memory_limit_bytes
    ]
    findings += rule_findings(pricer, candidate.bounded.stages, candidate.bounded.settings.microbatches)
    clusters = list(dict.fromkeys(candidate.bounded.choice.sites[p].cluster for p in candidate.split.order))
    neighbours = set(pairwise(clusters))
    if not candidate.bounded.choice.sites[candidate.split.order[0]].has_data:
        findings.append(
            _no_data(pricer, f"the first stage is on {clusters[0]}, which does not hold the data", clusters[0])
        )
    return findings + [
        _no_link(pricer, a, b, reason)
        for a, b, reason in unlinked_pairs(pricer.job, pricer.job.fleet, clusters)
        if (a, b) in neighbours or (b, a) in neighbours
    ]


def rule_findings(pricer: Pricer, stages: int, microbatches: int) -> list[Finding]:
    """Give HF653 for each rule of the schedule that so many stages and micro-batches break."""
    span = span_of(pricer.job, "parallel.schedule", "parallel.pp", "parallel")
    broken = broken_rules(pricer.schedule, stages, microbatches, pricer.framework)
    return [replace(finding, where="@hf.parallel(schedule=)", span=span) for finding in broken]


def explain_infeasible(pricer: Pricer) -> list[Finding]:
    """Give the findings for a job that no choice fits."""
    clusters = [cluster.name for cluster in pricer.job.clusters]
    findings = [
        _no_link(pricer, a, b, reason) for a, b, reason in unlinked_pairs(pricer.job, pricer.job.fleet, clusters)
    ]
    if not any(site.has_data for site in pricer.sites):
        message = "no usable cluster holds the data, which the first stage reads"
        findings.append(_no_data(pricer, message, ", ".join(clusters)))
        return findings
    if not any(True for _ in _thin_choices(pricer)):
        return [*findings, _nothing_to_choose(pricer)]
    rules = [
        rule_findings(pricer, stages, choice_microbatches(pricer, choice))
        for _, choice, stages in _thin_choices(pricer)
    ]
    if all(rules):
        return [*findings, *rules[0]]
    if findings and min(share for share, _, _ in _thin_choices(pricer)) <= 1:
        return findings  # memory is not what is short: the clusters would hold the job if they were linked
    return [*findings, _no_memory(pricer)]


def _no_data(pricer: Pricer, message: str, got: str) -> Finding:
    data = pricer.job.job.data
    at = "anywhere" if data is None or data.at == "all" else ", ".join(data.at)
    return Finding(
        code="HF210",
        message=message,
        where="@hf.data(at=)",
        span=span_of(pricer.job, "data.at", "data"),
        got=got,
        expected=f"a cluster with the data: {at}",
        hint="copy the data, name another cluster in at=, or start the pipeline there",
    )


def _no_link(pricer: Pricer, a: str, b: str, reason: str) -> Finding:
    return Finding(
        code="HF208",
        message=f'stages on "{a}" and "{b}" cannot be neighbours: {reason}',
        where="@hf.on(links=)",
        span=span_of(pricer.job, "on.links", "on"),
        hint=f'hf.link("{a}", "{b}", gbps=..., rtt_ms=...)',
    )


def _nothing_to_choose(pricer: Pricer) -> Finding:
    parallel = pricer.job.job.parallel
    shown = ", ".join(
        f"{name}={getattr(parallel, name)}" for name in ("tp", "cp", "ep", "pp", "dp", "micro_batch_size")
    )
    have = ", ".join(f"{site.name} {site.nodes} x {site.devices_per_node}" for site in pricer.sites) or "no usable node"
    return Finding(
        code="HF211",
        message="no choice of degrees can be placed on the clusters",
        where="@hf.parallel",
        span=span_of(pricer.job, "parallel"),
        got=shown,
        expected=f"whole stages on {have}",
        hint="leave degrees open, or make tp x cp x dp fill whole nodes",
    )


def _no_memory(pricer: Pricer) -> Finding:
    """HF207 for the choice that comes closest, with a change that was solved and fits."""
    closest = _closest(pricer)
    change = next(
        (words for words, trial in _changes(pricer) if search_choices(trial, TRIAL_WORK, TRIAL_SECONDS).best), None
    )
    return Finding(
        code="HF207",
        message=f"no plan fits the memory of the devices: the split that comes closest needs {closest.needed}"
        if closest
        else "no plan fits the memory of the devices",
        where="@hf.parallel",
        span=span_of(pricer.job, "parallel"),
        got=closest and closest.needed,
        expected=closest and closest.limit,
        hint=f"{change} fits (tried)" if change else "more nodes, or devices with more memory",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Closest:
    """What the split that comes closest to fitting needs per device of its worst stage, and what there is."""

    needed: str
    limit: str


def _closest(pricer: Pricer) -> _Closest | None:
    """Find the split that comes closest to fitting; None where none was found with any memory."""
    choice, stages = min(_thin_choices(pricer), key=lambda found: found[0])[1:]
    settings = pricer.settings(choice.degrees, choice.micro_batch_size, choice.recompute)
    problem = replace(pricer.problem(settings, stages, choice.sites, choice.copies), objective="bottleneck")
    low, high = 1.0, 2.0
    while (split := _split_with(problem, high)) is None and high < MOST_MEMORY:
        low, high = high, 2 * high
    if split is None:
        return None
    while high - low > 1e-3 * high:
        middle = (low + high) / 2
        found = _split_with(problem, middle)
        if found is None:
            low = middle
        else:
            split, high = found, middle
    needed = price_split(problem, split).memory_bytes
    limits = [problem.places[place].memory_bytes or 1.0 for place in split.order]
    worst = max(range(len(needed)), key=lambda i: needed[i] / limits[i])
    where = f"stage {worst} of {stages} on {choice.sites[split.order[worst]].name}"
    return _Closest(
        needed=f"{format_gib(needed[worst])} per device of {where}", limit=f"at most {format_gib(limits[worst])}"
    )


def _thin_choices(pricer: Pricer) -> Iterator[tuple[float, Choice, int]]:
    """Give choices with as many stages as can be, and the share of memory that an even spread would take."""
    num_layers, fixed = pricer.job.model.num_layers, pricer.job.job.parallel.pp
    for choice in list_choices(pricer.job, pricer.sites):
        settings = pricer.settings(choice.degrees, choice.micro_batch_size, choice.recompute)
        stages = min(choice.most_stages, num_layers) if fixed == "auto" else fixed
        if stages > choice.most_stages:
            continue
        costs = pricer.costs(choice.sites[0], settings)
        held = sum(pricer.held(settings, stages)) / stages
        layers = sum(layer.state_bytes + held * layer.activation_bytes for layer in costs.layers) / stages
        yield (layers + costs.fixed_bytes + costs.working_bytes) / costs.memory_limit_bytes, choice, stages


def _split_with(problem: SplitProblem, factor: float) -> Split | None:
    """A split when every place has `factor` times its memory."""
    places = tuple(replace(place, memory_bytes=(place.memory_bytes or 0.0) * factor) for place in problem.places)
    budget = Budget(deadline=time.monotonic() + TRIAL_SECONDS, work=TRIAL_WORK)
    return search_exact(replace(problem, places=places), budget=budget).split


def _changes(pricer: Pricer) -> Iterator[tuple[str, Pricer]]:
    """Changes from the least to the largest, as pricers of the changed job."""
    parallel = pricer.job.job.parallel
    trials: list[tuple[str, dict[str, object]]] = []
    if parallel.recompute == "none":
        trials.append(('recompute="selective"', {"recompute": "selective"}))
    if parallel.recompute in ("none", "selective"):
        trials.append(('recompute="full"', {"recompute": "full"}))
    if parallel.micro_batch_size not in (1, "auto"):
        trials.append(("micro_batch_size=1", {"micro_batch_size": 1}))
    if parallel.zero < 2:
        trials.append(("zero=2", {"zero": 2}))
    set_by_hand = [name for name in ("pp", "tp", "dp") if getattr(parallel, name) != "auto"]
    trials.extend((f'{name}="auto"', {name: "auto"}) for name in set_by_hand)
    trials.append(
        (
            'all of recompute="auto", pp="auto", tp="auto", dp="auto"',
            dict.fromkeys(("recompute", "pp", "tp", "dp"), "auto"),
        )
    )
    for words, update in trials:
        job = pricer.job.job.model_copy(update={"parallel": parallel.model_copy(update=update)})
        yield words, replace(pricer, job=replace(pricer.job, job=job))
    for more in (1, 2, 4, 8, 16, 32):
        sites = tuple(replace(site, nodes=site.nodes + more) for site in pricer.sites)
        yield f"{more} more node{'s' * (more > 1)} in each cluster", replace(pricer, sites=sites)
