"""The pass `plan`: from a resolved job to the plan, with its alternatives, proof and reasons."""

import time
from dataclasses import replace

from hyperflow.catalog.calibration import default_calibration
from hyperflow.errors import Finding, InfeasibleError, raise_errors
from hyperflow.ir.calibration import Calibration
from hyperflow.ir.plan import Optimality, Plan
from hyperflow.ir.profile import Profile
from hyperflow.ir.resolved import ResolvedJob
from hyperflow.plan.advice import advise
from hyperflow.plan.alternatives import list_alternatives
from hyperflow.plan.build_plan import Context, build_plan, used_sites
from hyperflow.plan.checks import check_degrees
from hyperflow.plan.explain import explain_plan
from hyperflow.plan.handmade import place_given_split, read_given_split
from hyperflow.plan.infeasible import explain_infeasible, given_findings
from hyperflow.plan.pricing import Pricer
from hyperflow.plan.search import Candidate, SearchResult, rank_choices, search_ranked
from hyperflow.plan.sites import find_sites
from hyperflow.plan.split import AGREEMENT, solve_split

SEARCH_WORK = 1_500_000
SEARCH_SECONDS = 60.0
CONFIRM_SECONDS = 5.0


def make_plan(job: ResolvedJob, calibration: Calibration | None = None, profile: Profile | None = None) -> Plan:
    """Choose clusters, degrees, stages and layers, or check those given, and say why.

    Raises InputError for degrees or layers that cannot be (HF203-HF206), InfeasibleError when nothing fits (HF207,
    HF208). Warnings and notes are in the plan's `findings`.
    """
    start = time.monotonic()
    sites = find_sites(job)
    findings = check_degrees(job, sites)
    pricer = Pricer(job=job, calibration=calibration or default_calibration(), sites=sites, profile=profile)
    if job.job.parallel.layers is not None:
        given = read_given_split(job, findings)
        candidate = place_given_split(pricer, given)
        findings += given_findings(pricer, candidate)
        raise_errors(findings, InfeasibleError)
        optimal = Optimality(proven=False, bound_seconds=0.0, gap=1.0, solver="given by hand", solve_seconds=0.0)
        return _finish(pricer, candidate, optimal, findings, considered=1, by="hand")
    raise_errors(findings)
    result, reordered = _search_orders(pricer)
    if result.best is None:
        raise InfeasibleError([*findings, *explain_infeasible(pricer, result.considered)])
    candidate, solver = (
        result.best,
        solve_split(result.best.problem, seconds=SEARCH_SECONDS, confirmation_seconds=CONFIRM_SECONDS).solver,
    )
    bound = min(result.bound_seconds, candidate.step_seconds)
    proven = not result.stopped and bound >= candidate.step_seconds * (1 - AGREEMENT)
    optimal = Optimality(
        proven=proven,
        bound_seconds=candidate.step_seconds if proven else bound,
        gap=0.0 if proven else 1 - bound / candidate.step_seconds,
        solver=solver,
        solve_seconds=time.monotonic() - start,
    )
    return _finish(pricer, candidate, optimal, findings, considered=result.considered, by="solver", reordered=reordered)


def _search_orders(pricer: Pricer) -> tuple[SearchResult, Candidate | None]:
    """Search the declared order of clusters and every other one.

    Another order is taken where it beats the declared one by more than the prediction's own error; a lesser gain is
    given back beside it, as an alternative.
    """
    ranked = rank_choices(pricer)
    declared = search_ranked(pricer, ranked, SEARCH_WORK, SEARCH_SECONDS, declared_order=True)
    if len(pricer.sites) < 2:
        return declared, None
    free = search_ranked(pricer, ranked, SEARCH_WORK, SEARCH_SECONDS)
    if declared.best is None or free.best is None:
        return (declared if free.best is None else free), None
    error = max(pricer.costs(site, free.best.bounded.settings).relative_error_80 for site in used_sites(free.best))
    if free.best.step_seconds * (1 + error) < declared.best.step_seconds:
        return free, None
    better = free.best.step_seconds < declared.best.step_seconds * (1 - AGREEMENT)
    return declared, free.best if better else None


def _finish(
    pricer: Pricer,
    candidate: Candidate,
    optimal: Optimality,
    findings: list[Finding],
    *,
    considered: int,
    by: str,
    reordered: Candidate | None = None,
) -> Plan:
    alternatives = list_alternatives(pricer, candidate, reordered)
    context = Context(alternatives=alternatives, fallbacks=(), optimal=optimal, why=())
    plan = build_plan(pricer, candidate, context)
    why = explain_plan(plan, standard_seconds=candidate.standard_step_seconds, considered=considered, by=by)
    found = (*findings, *advise(pricer, candidate, plan))
    return replace(plan, why=why, findings=found)
