"""Data parallelism across clusters: each cluster runs whole pipelines, and gradients cross the links once a step.

All pipelines share one split, since the frameworks give every rank of a stage the same layers; the slowest cluster
sets the pace. Flat all-reduce knows nothing of the link, so that the gradient of every rank of a cluster crosses it;
the hierarchical one reduces inside first and sends each byte once (docs/planner.md).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from hyperflow.cost.collectives import (
    crossing_bytes,
    flat_all_reduce_seconds,
    hierarchical_all_reduce_seconds,
)
from hyperflow.cost.traffic import replica_gradient_bytes
from hyperflow.ir.costs import CostSettings
from hyperflow.ir.plan import Alternative
from hyperflow.plan.best import search_exact
from hyperflow.plan.bounds import Bounded
from hyperflow.plan.budget import Budget
from hyperflow.plan.price import price_split
from hyperflow.plan.pricing import Pricer
from hyperflow.plan.search import Candidate, price_candidate, weigh_period
from hyperflow.plan.sites import Site, link_between
from hyperflow.units import format_bytes, format_seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """What crosses a link one way in a step and how long that takes, flat and reduced inside each cluster first."""

    dp_inside: int
    nested_bytes: float
    flat_bytes: float
    nested_seconds: float
    flat_seconds: float
    is_nested: bool

    @property
    def seconds(self) -> float:
        """Seconds of the way that the job declares."""
        return self.nested_seconds if self.is_nested else self.flat_seconds

    @property
    def bytes(self) -> float:
        """Bytes of the way that the job declares."""
        return self.nested_bytes if self.is_nested else self.flat_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Across:
    """One pipeline plan per cluster, with what the exchange of gradients adds.

    No plan of this shape goes below `bound_seconds`.
    """

    replicas: tuple[Candidate, ...]
    exchange: Exchange
    bound_seconds: float = 0.0

    @property
    def step_seconds(self) -> float:
        """The slowest cluster, and the exchange."""
        return max(replica.step_seconds for replica in self.replicas) + self.exchange.seconds


def solve_across(
    pricer: Pricer, sites: Sequence[Site], bounded: Bounded, budget: Budget
) -> tuple[Across | None, float]:
    """Split one choice for the cluster it is bounded on and run the split on all; gives a bound beside it.

    `pricer` has one cluster's part of the batch. A split that another cluster cannot hold proves nothing.
    """
    settings = bounded.settings
    exchange = price_exchange(pricer, sites, settings)
    slow = pricer.problem(settings, bounded.stages, bounded.choice.sites, bounded.choice.copies)
    answer = search_exact(weigh_period(pricer, slow), budget=budget)
    rough = bounded.bound_seconds + exchange.seconds
    if answer.split is None:
        return None, float("inf") if answer.proven else rough
    replicas: list[Candidate] = []
    for site in sites:
        mine = bounded.on((site,), (bounded.stages,))
        problem = pricer.problem(settings, bounded.stages, (site,), (bounded.stages,))
        if not price_split(problem, answer.split).feasible:
            return None, rough
        replicas.append(price_candidate(pricer, mine, problem, answer.split))
    once = pricer.costs(bounded.choice.sites[0], settings).step_overhead_seconds
    across = Across(replicas=tuple(replicas), exchange=exchange)
    if pricer.is_timed:
        return across, rough
    return across, max(rough, answer.bound_seconds + once + exchange.seconds)


def price_exchange(pricer: Pricer, sites: Sequence[Site], settings: CostSettings) -> Exchange:
    """Price what crosses; what is reduced inside each cluster is in the replicas' steps already."""
    size = replica_gradient_bytes(pricer.job.model, settings)
    ranks, heads = [settings.degrees.dp] * len(sites), [1] * len(sites)
    links = [link_between(pricer.job, a.cluster, b.cluster) for a, b in combinations(sites, 2)]
    known = [link for link in links if link is not None]
    narrowest = min(link.bytes_per_second for link in known)
    across = (float("inf"), 0.0, narrowest, max(link.round_trip_seconds for link in known))
    return Exchange(
        dp_inside=settings.degrees.dp,
        nested_bytes=crossing_bytes(size, heads),
        flat_bytes=crossing_bytes(size, ranks),
        nested_seconds=hierarchical_all_reduce_seconds(size, heads, *across),
        flat_seconds=flat_all_reduce_seconds(size, ranks, *across),
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
    exchange = across.exchange
    kind = "hierarchical" if exchange.is_nested else "flat"
    return Alternative(
        name=f"data parallel across {', '.join(names)}",
        clusters=names,
        layers=first.split.layers,
        step_seconds=across.step_seconds,
        idle_fraction=sum(idle) / len(idle),
        idle_by_cluster=tuple(zip(names, idle, strict=True)),
        feasible=True,
        reason=(
            f"{kind} all-reduce; a link carries {format_bytes(exchange.flat_bytes)} flat "
            f"({format_seconds(exchange.flat_seconds)}), {format_bytes(exchange.nested_bytes)} hierarchical "
            f"({format_seconds(exchange.nested_seconds)})"
        ),
    )
