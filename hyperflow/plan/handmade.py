"""`layers=` by hand: no solver runs, but the split is checked and priced like any other."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from hyperflow.errors import Finding, InputError, nearest, raise_errors
from hyperflow.ir.resolved import ResolvedJob
from hyperflow.plan.bounds import bound_choice
from hyperflow.plan.build_plan import violations
from hyperflow.plan.checks import span_of
from hyperflow.plan.choices import Choice, list_choices
from hyperflow.plan.pricing import Pricer
from hyperflow.plan.problem import Split
from hyperflow.plan.schedules import broken_rules
from hyperflow.plan.search import Candidate, price_candidate

MOST_ASSIGNMENTS = 5000


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenSplit:
    """Layers per stage as the user gave them; `clusters` names each stage's cluster where that was said."""

    layers: tuple[int, ...]
    clusters: tuple[str, ...] | None


def read_given_split(job: ResolvedJob, earlier: Sequence[Finding]) -> GivenSplit:
    """Check `layers=` against model, clusters and pp; raises InputError (HF204) with every fault."""
    parallel = job.job.parallel
    given = parallel.layers
    assert given is not None, "called for a split by hand only"
    findings = list[Finding]()
    if isinstance(given, dict):
        split = _from_mapping(job, given, findings)
    else:
        split = GivenSplit(layers=tuple(given), clusters=None)
    total, wanted = sum(split.layers), job.model.num_layers
    shown = _shown(given)
    if total != wanted:
        findings.append(
            _fault(
                job, f"layers={shown} adds up to {total}, the model has {wanted}", f"{total} layers", f"{wanted} layers"
            )
        )
    if any(count < 1 for count in split.layers):
        findings.append(_fault(job, f"layers={shown} leaves a stage without layers", None, "at least 1 layer a stage"))
    if parallel.pp != "auto" and parallel.pp != len(split.layers) and not findings:
        findings.append(
            _fault(
                job,
                f"layers={shown} has {len(split.layers)} stages, pp={parallel.pp}",
                f"{len(split.layers)} stages",
                f"pp={len(split.layers)}",
            )
        )
    raise_errors([*earlier, *findings])
    return split


def _from_mapping(job: ResolvedJob, given: dict[str, int | tuple[int, ...]], findings: list[Finding]) -> GivenSplit:
    """A number is one stage, or an equal share of the stages that pp leaves; a list has a number for each stage."""
    known = [cluster.name for cluster in job.clusters]
    findings += [
        _fault(job, f'layers= names the unknown cluster "{name}"', name, None, nearest(name, known))
        for name in given
        if name not in known
    ]
    listed = sum(len(value) for value in given.values() if not isinstance(value, int))
    single = sum(isinstance(value, int) for value in given.values())
    pp = job.job.parallel.pp
    each = (
        (pp - listed) // single
        if pp != "auto" and single and pp > listed + single and (pp - listed) % single == 0
        else 1
    )
    layers: list[int] = []
    clusters: list[str] = []
    for name, value in given.items():
        counts = tuple(value) if not isinstance(value, int) else _shares(value, each)
        layers += counts
        clusters += [name] * len(counts)
    return GivenSplit(layers=tuple(layers), clusters=tuple(clusters))


def _shares(total: int, stages: int) -> tuple[int, ...]:
    each, rest = divmod(total, stages)
    return tuple(each + (i < rest) for i in range(stages))


def _shown(given: object) -> str:
    return str(given).replace("'", '"')


def _fault(job: ResolvedJob, message: str, got: str | None, expected: str | None, hint: str = "") -> Finding:
    return Finding(
        code="HF204",
        message=message,
        where="@hf.parallel(layers=)",
        span=span_of(job, "parallel.layers", "parallel"),
        got=got,
        expected=expected,
        hint=hint or "leave layers= out to have them chosen",
    )


def place_given_split(pricer: Pricer, given: GivenSplit) -> Candidate:
    """Give the cheapest choice of open degrees and, where no cluster was named, of clusters in the user's order.

    A split that fits no memory is given too; the caller reports it. Raises InputError (HF204) when the stages cannot
    be placed at all.
    """
    best: Candidate | None = None
    for choice in list_choices(pricer.job, pricer.sites):
        for order in _assignments(choice, given):
            bounded = bound_choice(pricer, choice, [len(given.layers)])
            if not bounded:
                continue
            problem = pricer.problem(bounded[0].settings, len(given.layers), choice.sites, choice.copies)
            split = Split(order=order, layers=given.layers)
            candidate = price_candidate(pricer, bounded[0], problem, split, by_form=True)
            if best is None or rank_given(candidate) < rank_given(best):
                best = candidate
    if best is None:
        message = f"{len(given.layers)} stages cannot be placed on {', '.join(site.name for site in pricer.sites)}"
        raise InputError(
            _fault(pricer.job, message, None, "whole stages of tp x cp x dp devices", "lower tp, cp or dp")
        )
    if broken_rules(pricer.schedule, best.bounded.stages, best.bounded.settings.microbatches, pricer.framework):
        return best  # the caller tells the rule
    return price_candidate(pricer, best.bounded, best.problem, best.split)


def rank_given(candidate: Candidate) -> tuple[int, float]:
    """What makes one candidate for a given split better than another: fewer faults, then the step."""
    return len(violations(candidate)), candidate.step_seconds


def _assignments(choice: Choice, given: GivenSplit) -> Iterator[tuple[int, ...]]:
    if given.clusters is None:
        for counts in islice(_compositions(len(given.layers), choice.copies), MOST_ASSIGNMENTS):
            yield tuple(place for place, count in enumerate(counts) for _ in range(count))
        return
    order: list[int] = []
    for name in given.clusters:
        place = next(
            (i for i, site in enumerate(choice.sites) if site.cluster == name and order.count(i) < choice.copies[i]),
            None,
        )
        if place is None:
            return
        order.append(place)
    yield tuple(order)


def _compositions(total: int, limits: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Give all ways to deal `total` stages to places, each at most its limit; the first places filled last."""
    if not limits:
        if total == 0:
            yield ()
        return
    for count in range(min(total, limits[0]) + 1):
        for rest in _compositions(total - count, limits[1:]):
            yield (count, *rest)
