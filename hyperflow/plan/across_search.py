"""Which clusters run data parallelism across them, and with which degrees: all sets of clusters, best bound first."""

import heapq
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

from hyperflow.ir.plan import Degrees
from hyperflow.plan.across import Across, price_exchange, solve_across
from hyperflow.plan.best import PROOF
from hyperflow.plan.bounds import Bounded
from hyperflow.plan.budget import Budget
from hyperflow.plan.choices import fits_domain
from hyperflow.plan.pricing import Pricer
from hyperflow.plan.search import CHOICE_WORK, Ranked
from hyperflow.plan.single_clusters import SingleClusters, kind_of, shared_batch
from hyperflow.plan.sites import Site, link_between

MOST_SITES = 12
"""Of more sites, only the strongest of each number are tried."""
ACROSS_WORK = 600_000
FRUITLESS = 4
"""So many times the work is spent before a job that fits nowhere is given up."""
TRIAL_WORK = 100_000

Sites = tuple[Site, ...]
_Entry = tuple[tuple[float, int, float], int, Sites, int, bool]


def plan_across(pricer: Pricer, singles: SingleClusters, deadline: float, beat: float) -> Across | None:
    """Give the best plan with data parallelism across clusters found, with a bound; None where there is none.

    Every set of clusters joined by links, and every choice on each, is taken up in order of its bound until none can
    beat the best, or, once one is found, the step `beat` of another shape.
    """
    return _Search(pricer, singles, Budget(deadline=deadline, work=ACROSS_WORK), beat).run()


class _Search:
    """A heap of (key, number, sites, place in the ranking of their choices, whether the bound is a sharp one).

    The key puts the least bound first. Of those that cannot win it puts one set of sites after the other: there any
    plan of the most promising set will do.
    """

    def __init__(self, pricer: Pricer, singles: SingleClusters, budget: Budget, beat: float) -> None:
        self._pricer, self._singles, self._budget, self._beat = pricer, singles, budget, beat
        self._pushed = 0
        self._heap: list[_Entry] = []
        self._orders: dict[tuple[Sites, int], list[int]] = {}
        self._least: dict[tuple[Sites, int], float] = {}
        self._exchanges: dict[tuple[Sites, int], float] = {}
        able = [site for site in pricer.sites if site.has_data]
        rough = [(self._rough(sites) + self._exchange_seconds(sites, 1), sites) for sites in self._site_sets(able)]
        rough.sort(key=lambda found: found[0])
        self._places = {sites: place for place, (_, sites) in enumerate(rough)}
        for bound, sites in rough:
            self._push(bound, sites, -1)
        counts = range(2, len(able) + 1)
        alone = (self._alone(site, count) for count in counts for site in able)
        self._left_out = float("inf") if len(able) <= MOST_SITES else min(alone, default=float("inf"))

    def run(self) -> Across | None:
        """Open the least bound until it cannot win."""
        best: Across | None = None
        closed = [self._left_out]
        while self._heap and not self._is_done(best):
            _, _, sites, place, is_sharp = heapq.heappop(self._heap)
            self._budget.work -= CHOICE_WORK
            if not is_sharp:
                self._push_choice(sites, place + 1)
                if place >= 0:
                    self._push_sharp(sites, place)
                continue
            bounded = self._bounded(sites, place)
            assert bounded is not None, "only choices that may fit are pushed as sharp"
            share = Budget(deadline=self._budget.deadline, work=TRIAL_WORK)
            found, proven = solve_across(shared_batch(self._pricer, len(sites)), sites, bounded, share)
            self._budget.work -= TRIAL_WORK - max(0.0, share.work)
            closed.append(proven)
            if found is not None and (best is None or found.step_seconds < best.step_seconds):
                best = found
        left = [key[2] for key, *_ in self._heap]
        return None if best is None else replace(best, bound_seconds=min(best.step_seconds, *left, *closed))

    def _is_done(self, best: Across | None) -> bool:
        """Whether the best cannot be beaten, or the work is used up, or only sets are left that cannot win."""
        bound = self._heap[0][0][2]
        if best is None:
            return self._budget.work < -FRUITLESS * ACROSS_WORK
        if bound >= self._beat and (self._budget.work < ACROSS_WORK / 2 or self._heap[0][2] != sites_of(best)):
            return True
        return self._budget.work < 0 or bound >= best.step_seconds * (1 - PROOF)

    def _site_sets(self, sites: list[Site]) -> Iterator[Sites]:
        """Sets of one site from each of two or more clusters, all joined by links."""
        peak = {site: site.devices * self._pricer.job.devices[site.device].peak_flops_bf16 for site in sites}
        strong = sorted(sites, key=lambda site: -peak[site])
        for count in range(2, len(sites) + 1):
            sets = combinations(sites, count) if len(sites) <= MOST_SITES else [tuple(strong[:count])]
            for chosen in sets:
                clusters = [site.cluster for site in chosen]
                if len(set(clusters)) == count and all(
                    link_between(self._pricer.job, a, b) is not None for a, b in combinations(clusters, 2)
                ):
                    yield chosen

    def _alone(self, site: Site, count: int) -> float:
        """A bound on one site's part of the step."""
        parallel = self._pricer.job.job.parallel
        if parallel.global_batch_size % count or (parallel.dp != "auto" and parallel.dp % count):
            return float("inf")
        key = (kind_of((site,)), count)
        if key not in self._least:
            self._least[key] = self._singles.least_seconds((site,), count)
        return self._least[key]

    def _rough(self, sites: Sites) -> float:
        return max(self._alone(site, len(sites)) for site in sites)

    def _exchange_seconds(self, sites: Sites, dp_inside: int) -> float:
        key = (sites, dp_inside)
        if key not in self._exchanges:
            settings = self._pricer.settings(Degrees(dp=dp_inside), 1, "none")
            self._exchanges[key] = price_exchange(self._pricer, sites, settings).seconds
        return self._exchanges[key]

    def _slowest(self, sites: Sites) -> Site:
        return max(sites, key=lambda site: self._alone(site, len(sites)))

    def _ranking(self, sites: Sites) -> tuple[Ranked, list[int]]:
        slow = self._slowest(sites)
        ranked = self._singles.ranked((slow,), len(sites))
        key = (kind_of((slow,)), len(sites))
        if key not in self._orders:
            rough = ranked.rough
            self._orders[key] = sorted(range(len(rough)), key=lambda number: rough[number].bound_seconds)
        return ranked, self._orders[key]

    def _bounded(self, sites: Sites, place: int) -> Bounded | None:
        ranked, order = self._ranking(sites)
        sharp, slow = ranked.sharp(order[place]), self._slowest(sites)
        return None if sharp is None else sharp.on((slow,), sharp.choice.copies)

    def _push_choice(self, sites: Sites, place: int) -> None:
        """Put up the next choice that all of the sites can run."""
        ranked, order = self._ranking(sites)
        while place < len(order):
            rough = ranked.rough[order[place]]
            if all(_can_run(site, rough) for site in sites):
                exchange = self._exchange_seconds(sites, rough.settings.degrees.dp)
                self._push(rough.bound_seconds + exchange, sites, place)
                return
            place += 1

    def _push_sharp(self, sites: Sites, place: int) -> None:
        bounded = self._bounded(sites, place)
        if bounded is not None:
            exchange = self._exchange_seconds(sites, bounded.settings.degrees.dp)
            self._push(bounded.bound_seconds + exchange, sites, place, is_sharp=True)

    def _push(self, bound: float, sites: Sites, place: int, *, is_sharp: bool = False) -> None:
        if bound < float("inf"):
            self._pushed += 1
            key = (bound, 0, bound) if bound < self._beat else (self._beat, self._places[sites], bound)
            heapq.heappush(self._heap, (key, self._pushed, sites, place, is_sharp))


def sites_of(across: Across) -> Sites:
    """The site of each replica."""
    return tuple(replica.bounded.choice.sites[0] for replica in across.replicas)


def _can_run(site: Site, bounded: Bounded) -> bool:
    degrees, named = bounded.choice.degrees, bounded.choice.sites[0]
    devices = degrees.devices_per_stage
    return (
        fits_domain(site, degrees.tp)
        and site.pod_devices(devices) == named.pod_devices(devices)
        and site.stages(devices, degrees.tp) >= bounded.stages
    )
