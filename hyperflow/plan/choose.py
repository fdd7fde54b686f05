"""Which candidate becomes the plan: the search under the user's preference, or a policy's split."""

import time
from dataclasses import dataclass, replace

from hyperflow.plan.policies import Policy, PolicyStage, ask_policy
from hyperflow.plan.preference import order_subsets, with_sites
from hyperflow.plan.pricing import Pricer
from hyperflow.plan.problem import Split
from hyperflow.plan.schedules import AUTO, STANDARD, offered
from hyperflow.plan.search import (
    Candidate,
    Ranked,
    SearchResult,
    bound_schedule,
    price_candidate,
    rank_choices,
    search_ranked,
)
from hyperflow.plan.split import AGREEMENT
from hyperflow.spec.training_job import Parallelism

SEARCH_WORK = 5_000_000
DEFAULT_SCHEDULE = Parallelism().schedule
ORDER_GAIN = 0.05
"""Share of the step that another order of clusters must gain to be taken instead of the declared one.

Both orders are priced with the same constants, so that most of the prediction's error is common to them and its
interval says little here; below a twentieth the order as written, with its first rank and its data, is worth more.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The candidate with its proof.

    Of a cheapest plan the price is proven: `bound_seconds` is the step that its bound on the price would pay for.
    `reordered` is a better plan with the clusters in another order that gains less than ORDER_GAIN,
    `fastest` the fastest plan where the preference is another.
    """

    candidate: Candidate
    bound_seconds: float
    proven: bool
    considered: int
    ranked: Ranked | None = None
    in_declared_order: bool = True
    reordered: Candidate | None = None
    fastest: Candidate | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheduled:
    """The best found under one schedule; `pricer` prices it."""

    name: str
    pricer: Pricer
    chosen: Chosen | None


def choose_schedule(pricer: Pricer, deadline: float) -> tuple[Scheduled, ...]:
    """Search under the schedule, or under each that an open one may become; the best first."""
    tried = [
        Scheduled(name=mine.schedule, pricer=mine, chosen=choose(mine, deadline)) for mine in schedule_pricers(pricer)
    ]
    return tuple(sorted(tried, key=lambda one: _rank(pricer, one.chosen)))


def schedule_pricers(pricer: Pricer) -> list[Pricer]:
    """The pricer itself, or, for an open schedule, one for each that it may become; then all of them simulate."""
    if pricer.job.job.parallel.schedule != AUTO:
        return [pricer]
    return [replace(with_schedule(pricer, name), timed=True) for name in offered(pricer.job)]


def _rank(pricer: Pricer, chosen: Chosen | None) -> float:
    if chosen is None:
        return float("inf")
    cheapest = pricer.job.job.on.prefer == "cheapest"
    return chosen.candidate.value if cheapest else chosen.candidate.step_seconds


def with_schedule(pricer: Pricer, name: str) -> Pricer:
    """The pricer for the same job with a given schedule, with the costs computed so far."""
    spelled = DEFAULT_SCHEDULE if name == STANDARD else name
    parallel = pricer.job.job.parallel.model_copy(update={"schedule": spelled})
    return replace(pricer, job=replace(pricer.job, job=pricer.job.job.model_copy(update={"parallel": parallel})))


def choose(pricer: Pricer, deadline: float) -> Chosen | None:
    """Search under `prefer=`; None when nothing fits."""
    prefer = pricer.job.job.on.prefer
    if prefer == "fastest":
        return _search_orders(pricer, deadline)
    on = pricer.job.job.on.model_copy(update={"prefer": "fastest"})
    plain = replace(pricer, job=replace(pricer.job, job=pricer.job.job.model_copy(update={"on": on})))
    fastest = _search_orders(plain, deadline)
    if fastest is None or len(pricer.sites) < 2:
        return fastest
    chosen = _search_orders(pricer, deadline) if prefer == "cheapest" else _first_subset(plain, pricer, deadline)
    if chosen is None or chosen.candidate.step_seconds <= fastest.candidate.step_seconds * (1 + AGREEMENT):
        return fastest if chosen is None else chosen
    return replace(chosen, fastest=fastest.candidate)


def _first_subset(plain: Pricer, pricer: Pricer, deadline: float) -> Chosen | None:
    """The fastest plan on the first subset of clusters, in order of preference, that can run the job."""
    for sites in order_subsets(pricer):
        chosen = _search_orders(with_sites(plain, sites), deadline)
        if chosen is not None:
            return chosen
    return None


def _search_orders(pricer: Pricer, deadline: float) -> Chosen | None:
    """Search the declared order of clusters and every other one.

    Another order is taken where it gains more than ORDER_GAIN; a lesser gain is given back beside the declared one, as
    an alternative.
    """
    ranked = rank_choices(pricer)
    seconds = max(1.0, deadline - time.monotonic())
    declared = search_ranked(pricer, ranked, SEARCH_WORK, seconds, declared_order=True)
    if declared.best is None:
        return _as_chosen(pricer, ranked, search_ranked(pricer, ranked, SEARCH_WORK, seconds), None, declared=False)
    if len(pricer.sites) < 2:
        return _as_chosen(pricer, ranked, declared, None)
    free = search_ranked(pricer, ranked, SEARCH_WORK, seconds, known=declared.best)
    assert free.best is not None, "the best in the declared order is one of all orders"
    if free.best.value < declared.best.value * (1 - ORDER_GAIN):
        return _as_chosen(pricer, ranked, free, None, declared=False)
    better = free.best.value < declared.best.value * (1 - AGREEMENT)
    return _as_chosen(pricer, ranked, declared, free.best if better else None)


def _as_chosen(
    pricer: Pricer, ranked: Ranked, result: SearchResult, reordered: Candidate | None, *, declared: bool = True
) -> Chosen | None:
    best = result.best
    if best is None:
        return None
    bound = bound_schedule(pricer, best.step_seconds) if pricer.is_timed else result.bound_seconds
    return Chosen(
        candidate=best,
        bound_seconds=bound,
        proven=pricer.is_timed or not result.stopped,
        considered=result.considered,
        ranked=ranked,
        in_declared_order=declared,
        reordered=reordered,
    )


def follow_policy(pricer: Pricer, chosen: Chosen, name: str, policy: Policy) -> Chosen:
    """Put a policy's split on the chosen clusters, order and degrees."""
    best, settings = chosen.candidate, chosen.candidate.bounded.settings
    stages = [
        PolicyStage(
            cluster=site.cluster,
            device=site.device,
            layer_seconds=tuple(layer.seconds for layer in pricer.costs(site, settings).layers),
            memory_bytes=pricer.costs(site, settings).memory_limit_bytes,
        )
        for site in (best.bounded.choice.sites[place] for place in best.split.order)
    ]
    layers = ask_policy(pricer.job, name, policy, stages)
    split = Split(order=best.split.order, layers=layers)
    candidate = price_candidate(pricer, best.bounded, best.problem, split)
    return replace(chosen, candidate=candidate, proven=False, reordered=None, fastest=None)
