"""What each declared constraint costs: the step without it alone, searched anew with the plan itself as one to beat."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

from hyperflow.ir.plan import ConstraintPrice
from hyperflow.ir.resolved import ResolvedJob
from hyperflow.plan.choose import Chosen, schedule_pricers
from hyperflow.plan.pricing import Pricer
from hyperflow.plan.schedules import AUTO, offered
from hyperflow.plan.search import Candidate, SearchResult, price_candidate, rank_choices, search_ranked
from hyperflow.plan.sites import fallbacks_of, find_sites
from hyperflow.spec.fleet import Cluster
from hyperflow.units import format_seconds

LIFT_WORK = 300_000
WORTH_SAYING = 0.002
"""A constraint that costs less than this share of the step is not shown."""
DEGREES = ("tp", "cp", "ep", "pp", "dp", "micro_batch_size", "recompute")


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """The constraints that cost time, dearest first, and the names of those that do not."""

    binding: tuple[ConstraintPrice, ...]
    free: tuple[str, ...]


def price_constraints(pricer: Pricer, chosen: Chosen, deadline: float) -> Prices:
    """Search once more without each declared constraint alone; the clusters stay in the plan's order of search."""
    binding: list[ConstraintPrice] = []
    free: list[str] = []
    for name, lifted in _lifts(pricer, chosen.candidate):
        price = _priced(name, _without(lifted, chosen, deadline), chosen.candidate)
        if price is None:
            free.append(name)
        else:
            binding.append(price)
    binding += [*_schedule(pricer, chosen, deadline), *_preferences(pricer, chosen)]
    binding.sort(key=lambda price: (price.step_seconds, price.name))
    return Prices(binding=tuple(binding), free=tuple(free))


def _without(lifted: Pricer, chosen: Chosen, deadline: float) -> SearchResult:
    """The best without a constraint; what is possible with it stays possible, so the plan is the one to beat."""
    ranked = chosen.ranked.under(lifted) if lifted.unlimited and chosen.ranked else rank_choices(lifted)
    return search_ranked(
        lifted,
        ranked,
        LIFT_WORK,
        max(1.0, deadline - time.monotonic()),
        declared_order=chosen.in_declared_order,
        known=chosen.candidate,
    )


def _schedule(pricer: Pricer, chosen: Chosen, deadline: float) -> Iterator[ConstraintPrice]:
    """A declared schedule against the others at the same degrees, all simulated."""
    parallel, candidate = pricer.job.job.parallel, chosen.candidate
    if pricer.timed or "parallel.schedule" not in pricer.job.job.sources or len(offered(pricer.job)) < 2:
        return
    degrees, settings = candidate.degrees, candidate.bounded.settings
    same = {name: getattr(degrees, name) for name in ("tp", "cp", "ep", "pp", "dp")}
    same |= {"micro_batch_size": settings.micro_batch_size, "recompute": settings.recompute, "schedule": AUTO}
    timed = replace(pricer, timed=True)
    now = price_candidate(timed, candidate.bounded, candidate.problem, candidate.split).step_seconds
    best = now
    found: ConstraintPrice | None = None
    for mine in schedule_pricers(_with_parallel(pricer, same)):
        seconds = max(1.0, deadline - time.monotonic())
        declared = chosen.in_declared_order
        other = search_ranked(mine, rank_choices(mine), LIFT_WORK, seconds, declared_order=declared).best
        if other is not None and other.step_seconds < best * (1 - WORTH_SAYING) and mine.schedule != pricer.schedule:
            best = other.step_seconds
            timed_now = f"{pricer.schedule} simulated takes {format_seconds(now)}"
            detail = f"{mine.schedule} at the same degrees, simulated; {timed_now}"
            found = ConstraintPrice(name=f'schedule="{parallel.schedule}"', step_seconds=best, detail=detail)
    if found is not None:
        yield found


def _preferences(pricer: Pricer, chosen: Chosen) -> Iterator[ConstraintPrice]:
    """The order in which clusters were declared, and a preference for something else than speed."""
    if chosen.fastest is not None:
        name = f'prefer="{pricer.job.job.on.prefer}"'
        yield ConstraintPrice(name=name, step_seconds=chosen.fastest.step_seconds, detail=_described(chosen.fastest))
    if chosen.reordered is not None:
        detail = _described(chosen.reordered)
        step = chosen.reordered.step_seconds
        yield ConstraintPrice(name="the declared order of clusters", step_seconds=step, detail=detail)


def _priced(name: str, found: SearchResult, candidate: Candidate) -> ConstraintPrice | None:
    best = found.best
    if best is None or best.step_seconds >= candidate.step_seconds * (1 - WORTH_SAYING):
        return None
    detail = _described(best)
    if found.stopped:
        detail += "; perhaps quicker still, the search was cut off"
    return ConstraintPrice(name=name, step_seconds=best.step_seconds, detail=detail)


def _described(best: Candidate) -> str:
    """Degrees and clusters of a plan in a few words."""
    degrees, settings = best.degrees, best.bounded.settings
    where = ", ".join(dict.fromkeys(best.bounded.choice.sites[place].name for place in best.split.order))
    text = f"tp{degrees.tp} pp{degrees.pp} dp{degrees.dp}"
    text += f" cp{degrees.cp}" * (degrees.cp > 1) + f" ep{degrees.ep}" * (degrees.ep > 1)
    text += f", micro-batches of {settings.micro_batch_size}"
    text += f", {settings.recompute} recompute" * (settings.recompute != "none")
    return f"{text}, on {where}"


def _lifts(pricer: Pricer, candidate: Candidate) -> Iterator[tuple[str, Pricer]]:
    """Each declared constraint with the pricer of the job without it."""
    job = pricer.job
    for key in DEGREES:
        value = getattr(job.job.parallel, key)
        if value != "auto" and f"parallel.{key}" in job.job.sources:
            shown = f'"{value}"' if isinstance(value, str) else value
            yield f"{key}={shown}", _with_parallel(pricer, {key: "auto"})
    on, data = job.job.on, job.job.data
    if on.max_rtt_ms is not None:
        lifted = job.job.model_copy(update={"on": on.model_copy(update={"max_rtt_ms": None})})
        yield f"max_rtt_ms={on.max_rtt_ms:g}", replace(pricer, job=replace(job, job=lifted))
    if data is not None and data.at != "all":
        lifted = job.job.model_copy(update={"data": data.model_copy(update={"at": "all"})})
        yield f"data only at {', '.join(data.at)}", _with_sites(pricer, replace(job, job=lifted))
    yield from _site_lifts(pricer)
    yield "the memory of the devices", pricer.without_memory()


def _with_parallel(pricer: Pricer, update: dict[str, object]) -> Pricer:
    parallel = pricer.job.job.parallel.model_copy(update=update)
    return replace(pricer, job=replace(pricer.job, job=pricer.job.job.model_copy(update={"parallel": parallel})))


def _site_lifts(pricer: Pricer) -> Iterator[tuple[str, Pricer]]:
    """Constraints on which nodes may be taken."""
    job = pricer.job
    if job.job_tier is not None and job.job_tier.mode == "hard":
        yield f'the hard tier "{job.job_tier.name}" of the job', _with_sites(pricer, replace(job, job_tier=None))
    queue = job.job.queue
    if any(_quota(job, cluster) for cluster in job.clusters):
        open_clusters = tuple(cluster.model_copy(update={"quotas": {}}) for cluster in job.clusters)
        yield f'the quota of queue "{queue}"', _with_sites(pricer, replace(job, clusters=open_clusters))
    spare = [name for cluster in job.clusters for name in fallbacks_of(job, cluster.name)]
    if spare:
        lifted = job.job.model_copy(update={"fallback": {}})
        shown = ", ".join(dict.fromkeys(spare))
        yield f"{shown} kept as fallback", _with_sites(pricer, replace(job, job=lifted))


def _quota(job: ResolvedJob, cluster: Cluster) -> bool:
    return bool(cluster.quotas.get(job.job.queue))


def _with_sites(pricer: Pricer, job: ResolvedJob) -> Pricer:
    """The pricer of another job over its sites; a plan that was chosen among fewer clusters stays on these."""
    known = {site.cluster for site in pricer.sites}
    left_out = {site.cluster for site in find_sites(pricer.job)} - known
    return replace(pricer, job=job, sites=tuple(site for site in find_sites(job) if site.cluster not in left_out))
