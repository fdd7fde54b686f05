"""The outer search: which degrees, how many stages on which clusters, in which order."""

import heapq
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from hyperflow.ir.plan import Degrees
from hyperflow.plan.best import PROOF, search_exact
from hyperflow.plan.bounds import Bounded, bound_choice, sharpen
from hyperflow.plan.budget import Budget
from hyperflow.plan.choices import Choice, list_choices
from hyperflow.plan.preference import hourly_price
from hyperflow.plan.pricing import Pricer
from hyperflow.plan.problem import Objective, Split, SplitProblem
from hyperflow.plan.schedules import broken_rules
from hyperflow.plan.timed import pace_by_time
from hyperflow.plan.warmup import Paced, pace
from hyperflow.simulate.orders import SCHEDULES

CANDIDATE_WORK = 400_000
MOST_PRICED_SITES = 6
MOST_TIMED_CHOICES = 12
"""Choices that are solved and simulated for one schedule."""
CHOICE_WORK = 100
"""What ranking or bounding one choice counts as."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A solved choice: the problem with its order fixed, the split, its pace, the step and what is proven of it.

    `value` is what the search makes small: the step, or its price.
    """

    bounded: Bounded
    problem: SplitProblem
    split: Split
    paced: Paced
    step_seconds: float
    overhead_seconds: float
    bound_seconds: float
    value: float = 0.0

    @property
    def standard_step_seconds(self) -> float:
        """The step with the standard warm-up of 1F1B."""
        return self.paced.standard_seconds + self.overhead_seconds

    @property
    def degrees(self) -> Degrees:
        """The degrees with the number of stages."""
        return replace(self.bounded.choice.degrees, pp=self.bounded.stages)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """The best candidate (None: nothing fits), the bound over all choices, and how many were considered."""

    best: Candidate | None
    bound_seconds: float
    considered: int
    solved: int
    stopped: bool


class Ranked:
    """Choices with rough bounds; a sharper one is made when it is first asked for, and kept.

    `fill` is the share of fill and drain in them (bounds.bound_choice).
    """

    def __init__(self, pricer: Pricer, rough: Sequence[Bounded], fill: float) -> None:
        self._pricer, self.rough, self._fill = pricer, rough, fill
        self._sharp: dict[int, Bounded | None] = {}

    def under(self, pricer: Pricer) -> "Ranked":
        """The same rough bounds under a pricer that differs in memory only."""
        return Ranked(pricer, self.rough, self._fill)

    def sharp(self, number: int) -> Bounded | None:
        """Give the sharper bound of a choice; None when memory rules it out."""
        if number not in self._sharp:
            self._sharp[number] = sharpen(self._pricer, self.rough[number], self._fill)
        return self._sharp[number]


def search_choices(pricer: Pricer, work: float, seconds: float, *, declared_order: bool = False) -> SearchResult:
    """Solve choices in order of their bounds until no open bound can beat the best.

    With `declared_order` the clusters stay in the order in which they were declared.

    A choice is dropped only when its bound, or the proven bound of its search, is no better than the best step found.
    The search ends early when its work is used up, at the same place on every machine; `seconds` is a stop for
    machines far slower than any it was made for.
    """
    return search_ranked(pricer, rank_choices(pricer), work, seconds, declared_order=declared_order)


def search_ranked(
    pricer: Pricer,
    ranked: Ranked,
    work: float,
    seconds: float,
    *,
    declared_order: bool = False,
    known: Candidate | None = None,
) -> SearchResult:
    """Search choices that are bounded already; `known` is a candidate to beat."""
    deadline = time.monotonic() + seconds
    budget = Budget(deadline=deadline, work=work)
    worth = _worth(pricer)
    heap = [(worth(bounded, bounded.bound_seconds), number, False) for number, bounded in enumerate(ranked.rough)]
    heapq.heapify(heap)
    considered, solved, best = len(heap), 0, known
    closed: list[float] = []
    while heap and not (best is not None and heap[0][0] >= best.value * (1 - PROOF)):
        if budget.work < 0 and best is not None:
            break
        _, number, is_sharp = heapq.heappop(heap)
        budget.work -= CHOICE_WORK
        bounded = ranked.sharp(number)
        if bounded is None:
            continue
        if not is_sharp:
            heapq.heappush(heap, (worth(bounded, bounded.bound_seconds), number, True))
            continue
        solved += 1
        if pricer.is_timed and best is not None and solved > MOST_TIMED_CHOICES:
            break
        share = Budget(deadline=deadline, work=CANDIDATE_WORK)
        candidate, bound = solve_choice(pricer, bounded, share, declared_order)
        budget.work -= CANDIDATE_WORK - max(0.0, share.work)
        closed.append(worth(bounded, bound))
        if candidate is not None:
            candidate = replace(candidate, value=_value(pricer, candidate))
            if best is None or candidate.value < best.value * (1 - PROOF):
                best = candidate
    bounds = [*closed, *([heap[0][0]] if heap else []), *([best.value] if best else [])]
    return SearchResult(
        best=best,
        bound_seconds=min(bounds, default=float("inf")) / (best.value / best.step_seconds if best else 1.0),
        considered=considered,
        solved=solved,
        stopped=bool(heap) and best is not None and heap[0][0] < best.value * (1 - PROOF),
    )


def _worth(pricer: Pricer) -> Callable[[Bounded, float], float]:
    """From a bound on the step to a bound on what the search makes small."""
    if pricer.job.job.on.prefer != "cheapest":
        return lambda _, seconds: seconds
    every = len(pricer.sites) <= MOST_PRICED_SITES
    return lambda bounded, seconds: (
        seconds * bounded.choice.degrees.devices_per_stage * _least_price(bounded, uses_all=every)
    )


def _least_price(bounded: Bounded, *, uses_all: bool) -> float:
    """Hourly price of one device of each stage, at least: the cheapest sites are filled first.

    With `uses_all` every site has a stage: plans on fewer sites are choices of their own, and infinity leaves to them
    what has too few stages for that.
    """
    priced = sorted(zip(map(hourly_price, bounded.choice.sites), bounded.choice.copies, strict=True))
    left, total = bounded.stages, 0.0
    if uses_all:
        left -= len(priced)
        total = sum(price for price, _ in priced)
        priced = [(price, copies - 1) for price, copies in priced]
    for price, copies in priced:
        taken = min(max(0, left), copies)
        total += taken * price
        left -= taken
    return total if left == 0 else float("inf")


def _value(pricer: Pricer, candidate: Candidate) -> float:
    if pricer.job.job.on.prefer != "cheapest":
        return candidate.step_seconds
    return step_price(candidate)


def step_price(candidate: Candidate) -> float:
    """Price of a step: its seconds times the hourly prices of all devices."""
    sites, devices = candidate.bounded.choice.sites, candidate.bounded.choice.degrees.devices_per_stage
    return candidate.step_seconds * devices * sum(hourly_price(sites[place]) for place in candidate.split.order)


def rank_choices(pricer: Pricer, fill: float | None = None) -> Ranked:
    """Give every choice with every number of stages that the schedule can run, and a rough bound.

    For timed schedules the bound is a guess that guides the search, unless `fill` is 0.
    """
    fill = pricer.fill if fill is None else fill
    job = pricer.job
    fixed = job.job.parallel.pp
    ranked: list[Bounded] = []
    for choice in _choices(pricer):
        most = min(choice.most_stages, job.model.num_layers)
        counts = list(range(1, most + 1)) if fixed == "auto" else [fixed] * (fixed <= most)
        microbatches = choice_microbatches(pricer, choice)
        chunks = SCHEDULES[pricer.schedule].min_chunks
        counts = [
            count
            for count in counts
            if (count == 1 or count * chunks <= job.model.num_layers)
            and not broken_rules(pricer.schedule, count, microbatches, pricer.framework)
        ]
        if counts:
            ranked += bound_choice(pricer, choice, counts, fill)
    return Ranked(pricer, ranked, fill)


def choice_microbatches(pricer: Pricer, choice: Choice) -> int:
    """Micro-batches of a step."""
    return pricer.job.job.parallel.global_batch_size // (choice.micro_batch_size * choice.degrees.dp)


def bound_schedule(pricer: Pricer, beat: float) -> float:
    """Bound the step of every choice under a timed schedule: the slowest stage works through all micro-batches.

    What is above `beat` is not sharpened further.
    """
    ranked = rank_choices(pricer, 0.0)
    heap = [(bounded.bound_seconds, number, False) for number, bounded in enumerate(ranked.rough)]
    heapq.heapify(heap)
    while heap and not heap[0][2] and heap[0][0] < beat:
        _, number, _ = heapq.heappop(heap)
        sharp = ranked.sharp(number)
        if sharp is not None:
            heapq.heappush(heap, (sharp.bound_seconds, number, True))
    return heap[0][0] if heap else float("inf")


def _choices(pricer: Pricer) -> Iterator[Choice]:
    """The choices; where price counts, each also over fewer sites, since the fastest sites need not be the cheapest."""
    for choice in list_choices(pricer.job, pricer.sites):
        yield choice
        if pricer.job.job.on.prefer == "cheapest" and len(pricer.sites) <= MOST_PRICED_SITES:
            for count in range(1, len(choice.sites)):
                for places in combinations(range(len(choice.sites)), count):
                    sites = tuple(choice.sites[place] for place in places)
                    yield replace(choice, sites=sites, copies=tuple(choice.copies[place] for place in places))


def solve_choice(
    pricer: Pricer, bounded: Bounded, budget: Budget, declared_order: bool
) -> tuple[Candidate | None, float]:
    """Split one choice over its sites; gives the candidate and a bound (infinite: proven impossible).

    First as if every link could be hidden, which is also a bound; where memory or the framework does not allow that,
    once more with the exact period of the standard order, which is the bound of a framework that knows no other.
    """
    if pricer.is_timed:
        candidate, _ = _solve_as(pricer, bounded, budget, "1f1b-hidden", declared_order)
        return candidate, bounded.bound_seconds
    best: Candidate | None = None
    bound = bounded.bound_seconds
    objectives: tuple[Objective, ...] = ("1f1b-hidden", "1f1b-links")
    for objective in objectives:
        candidate, found = _solve_as(pricer, bounded, budget, objective, declared_order)
        if objective == "1f1b-hidden" or not pricer.takes_warmup:
            bound = max(bound, found)
        if candidate is not None and (best is None or candidate.step_seconds < best.step_seconds):
            best = candidate
        if best is None or best.step_seconds <= bound * (1 + 1e-6):
            break
    return best, bound


def _solve_as(
    pricer: Pricer, bounded: Bounded, budget: Budget, objective: Objective, declared_order: bool
) -> tuple[Candidate | None, float]:
    choice, settings = bounded.choice, bounded.settings
    problem = pricer.problem(
        settings, bounded.stages, choice.sites, choice.copies, objective=objective, ascending=declared_order
    )
    answer = search_exact(weigh_period(pricer, problem), budget=budget)
    if answer.split is None:
        return None, float("inf") if answer.proven else bounded.bound_seconds
    candidate = price_candidate(pricer, bounded, problem, answer.split)
    least = min(pricer.costs(site, settings).step_overhead_seconds for site in choice.sites)
    return candidate, answer.bound_seconds + (candidate.overhead_seconds if answer.proven else least)


def weigh_period(pricer: Pricer, problem: SplitProblem) -> SplitProblem:
    """The problem with as many micro-batches as make its period weigh what it does where less fill is paid."""
    return replace(problem, microbatches=max(1, round(problem.microbatches / pricer.fill)))


def price_candidate(
    pricer: Pricer, bounded: Bounded, problem: SplitProblem, split: Split, *, by_form: bool = False
) -> Candidate:
    """Price a split of a choice: pace, once-a-step work, and the problem with its order fixed.

    With `by_form` the closed form of 1F1B stands in for a schedule that is simulated, to rank many splits.
    """
    fixed = replace(problem, order=split.order, grouped=False, ascending=False, objective="1f1b-hidden")
    paced = pace(fixed, split, takes_warmup=pricer.takes_warmup)
    if pricer.is_timed and not by_form:
        paced = pace_by_time(pricer, bounded, fixed, split, paced)
    sites = [bounded.choice.sites[place] for place in sorted(set(split.order))]
    overhead = max(pricer.costs(site, bounded.settings).step_overhead_seconds for site in sites)
    return Candidate(
        bounded=bounded,
        problem=fixed,
        split=split,
        paced=paced,
        step_seconds=paced.seconds + overhead,
        overhead_seconds=overhead,
        bound_seconds=bounded.bound_seconds,
    )
