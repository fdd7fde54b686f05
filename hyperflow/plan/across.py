"""Data parallelism across clusters: each cluster runs whole pipelines, and gradients cross the links once a step.

All pipelines share one split, since the frameworks give every rank of a stage the same layers; the slowest cluster
sets the pace. Flat all-reduce knows nothing of the link, so that the gradient of every rank of a cluster crosses it;
the hierarchical one reduces inside first and sends each byte once (docs/planner.md).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations

from hyperflow.ir.costs import CostSettings
from hyperflow.ir.plan import Alternative
from hyperflow.plan.best import search_exact
from hyperflow.plan.bounds import Bounded, bound_choice, sharpen
from hyperflow.plan.choices import Choice, list_choices
from hyperflow.plan.exact import Budget
from hyperflow.plan.price import price_split
from hyperflow.plan.pricing import Pricer
from hyperflow.plan.search import Candidate, price_candidate
from hyperflow.plan.sites import Site, link_between
from hyperflow.units import format_bytes, format_seconds

MOST_TRIED = 6
TRIAL_WORK = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Across:
    """One pipeline plan per cluster, with what the exchange of gradients adds.

    `crossing_bytes` go over a link one way in a step; `flat_*` and `nested_*` are those of both ways to reduce.
    """

    replicas: tuple[Candidate, ...]
    dp_inside: int
    nested_bytes: float
    flat_bytes: float
    nested_seconds: float
    flat_seconds: float
    is_nested: bool

    @property
    def exchange_seconds(self) -> float:
        """Seconds of the exchange between clusters."""
        return self.nested_seconds if self.is_nested else self.flat_seconds

    @property
    def crossing_bytes(self) -> float:
        """Bytes over a link one way in a step."""
        return self.nested_bytes if self.is_nested else self.flat_bytes

    @property
    def step_seconds(self) -> float:
        """The slowest cluster, and the exchange."""
        return max(replica.step_seconds for replica in self.replicas) + self.exchange_seconds


def plan_across(pricer: Pricer, deadline: float) -> Across | None:
    """Give the fastest plan with data parallelism across clusters; None where there is none."""
    best: Across | None = None
    for sites in _site_sets(pricer):
        ranked = sorted(_bounded(pricer, sites), key=lambda found: found.bound_seconds)
        for bounded in ranked[:MOST_TRIED]:
            if best is not None and bounded.bound_seconds >= best.step_seconds:
                break
            found = _solved(pricer, sites, bounded, deadline)
            if found is not None and (best is None or found.step_seconds < best.step_seconds):
                best = found
    return best


def _site_sets(pricer: Pricer) -> Iterator[tuple[Site, ...]]:
    """All clusters, and the pair with the most compute, where all are joined by links and hold the data."""
    sites = [site for site in pricer.sites if site.has_data]
    peak = {site.name: site.devices * pricer.job.devices[site.device].peak_flops_bf16 for site in sites}
    pair = sorted(sites, key=lambda site: (-peak[site.name], sites.index(site)))[:2]
    sets = [pair] + [sites] * (len(sites) > 2)
    for chosen in sets if len(sites) > 1 else []:
        clusters = [site.cluster for site in chosen]
        if len(set(clusters)) == len(clusters) and all(
            link_between(pricer.job, a, b) is not None for a, b in combinations(clusters, 2)
        ):
            yield tuple(chosen)


def _bounded(pricer: Pricer, sites: tuple[Site, ...]) -> Iterator[Bounded]:
    """Choices of one cluster's pipelines, the batch divided over the clusters, bounded on the slowest of them."""
    count, parallel = len(sites), pricer.job.job.parallel
    if parallel.global_batch_size % count or (parallel.dp != "auto" and parallel.dp % count):
        return
    inside = "auto" if parallel.dp == "auto" else parallel.dp // count
    update = {"dp": inside, "global_batch_size": parallel.global_batch_size // count}
    job = replace(pricer.job, job=pricer.job.job.model_copy(update={"parallel": parallel.model_copy(update=update)}))
    local = replace(pricer, job=job)
    for choice in list_choices(job, sites):
        if len(choice.sites) != count:
            continue
        most = min(*choice.copies, job.model.num_layers)
        stages = [most] if parallel.pp == "auto" else [parallel.pp] * (parallel.pp <= most)
        stages += [s for s in (1, 2, 4, 8, 16) if s < most and parallel.pp == "auto"]
        slowest = max(
            (_alone(choice, k) for k in range(count)),
            key=lambda one: local.summary(one.sites[0], _settings(local, one)).seconds.sum(),
        )
        for bounded in bound_choice(local, slowest, sorted(set(stages))):
            sharper = sharpen(local, bounded)
            if sharper is not None:
                yield sharper


def _alone(choice: Choice, place: int) -> Choice:
    return replace(choice, sites=(choice.sites[place],), copies=(choice.copies[place],))


def _settings(pricer: Pricer, choice: Choice) -> CostSettings:
    return pricer.settings(choice.degrees, choice.micro_batch_size, choice.recompute)


def _solved(pricer: Pricer, sites: tuple[Site, ...], bounded: Bounded, deadline: float) -> Across | None:
    """Split for the slowest cluster and run the same split on all."""
    slow = pricer.problem(bounded.settings, bounded.stages, bounded.choice.sites, bounded.choice.copies)
    split = search_exact(slow, budget=Budget(deadline=deadline, work=TRIAL_WORK)).split
    if split is None:
        return None
    replicas: list[Candidate] = []
    for site in sites:
        choice = replace(bounded.choice, sites=(site,), copies=(bounded.stages,))
        mine = replace(bounded, fluid=replace(bounded.fluid, choice=choice))
        problem = pricer.problem(bounded.settings, bounded.stages, (site,), (bounded.stages,))
        if not price_split(problem, split).feasible:
            return None
        replicas.append(price_candidate(pricer, mine, problem, split))
    return _with_exchange(pricer, tuple(replicas), sites, bounded.choice.degrees.dp)


def _with_exchange(pricer: Pricer, replicas: tuple[Candidate, ...], sites: tuple[Site, ...], dp_inside: int) -> Across:
    """Add what crosses: 2 (J-1)/J of the gradient with J clusters, times the ranks inside when flat."""
    links = [link_between(pricer.job, a.cluster, b.cluster) for a, b in combinations(sites, 2)]
    bandwidth = min(link.bytes_per_second for link in links if link is not None)
    round_trip = max(link.round_trip_seconds for link in links if link is not None)
    count, settings = len(sites), replicas[0].bounded.settings
    size = 2 * (count - 1) / count * settings.gradient_bytes * pricer.job.model.total_parameters
    turns = 2 * (count - 1) * round_trip
    return Across(
        replicas=replicas,
        dp_inside=dp_inside,
        nested_bytes=size,
        flat_bytes=size * dp_inside,
        nested_seconds=size / bandwidth + turns,
        flat_seconds=size * dp_inside / bandwidth + turns,
        is_nested=pricer.job.job.parallel.allreduce == "hierarchical",
    )


def describe_across(across: Across) -> Alternative:
    """Give the plan as a row of the choice table, both ways to reduce in its reason."""
    first = across.replicas[0]
    settings = first.bounded.settings
    seconds = [
        settings.microbatches * sum(price_split(r.problem, r.split).stage_seconds) / len(r.split.layers)
        for r in across.replicas
    ]
    idle = [max(0.0, 1 - busy / across.step_seconds) for busy in seconds]
    names = tuple(replica.bounded.choice.sites[0].cluster for replica in across.replicas)
    kind = "hierarchical" if across.is_nested else "flat"
    return Alternative(
        name=f"data parallel across {', '.join(names)}",
        clusters=names,
        layers=first.split.layers,
        step_seconds=across.step_seconds,
        idle_fraction=sum(idle) / len(idle),
        idle_by_cluster=tuple(zip(names, idle, strict=True)),
        feasible=True,
        reason=(
            f"{kind} all-reduce; a link carries {format_bytes(across.flat_bytes)} flat "
            f"({format_seconds(across.flat_seconds)}), {format_bytes(across.nested_bytes)} hierarchical "
            f"({format_seconds(across.nested_seconds)})"
        ),
    )
