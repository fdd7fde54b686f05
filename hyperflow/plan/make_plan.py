"""The pass `plan`: from a resolved job to the plan, with its alternatives, proof and reasons."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

from hyperflow.catalog.calibration import default_calibration
from hyperflow.errors import Finding, InfeasibleError, raise_errors
from hyperflow.ir.calibration import Calibration
from hyperflow.ir.plan import Optimality, Plan
from hyperflow.ir.profile import Profile
from hyperflow.ir.resolved import ResolvedJob
from hyperflow.plan.across import Across, describe_across
from hyperflow.plan.across_plan import build_across
from hyperflow.plan.across_search import plan_across
from hyperflow.plan.advice import advise
from hyperflow.plan.alternatives import as_alternative, list_alternatives, list_schedules
from hyperflow.plan.build_plan import Context, build_plan
from hyperflow.plan.checks import check_degrees
from hyperflow.plan.choose import Chosen, Scheduled, choose_schedule, follow_policy, schedule_pricers
from hyperflow.plan.constraint_prices import price_constraints
from hyperflow.plan.explain import explain_plan
from hyperflow.plan.fallbacks import price_fallbacks
from hyperflow.plan.handmade import place_given_split, rank_given, read_given_split
from hyperflow.plan.infeasible import explain_infeasible, given_findings
from hyperflow.plan.policies import Policy, find_policy
from hyperflow.plan.pricing import Pricer
from hyperflow.plan.single_clusters import SingleClusters
from hyperflow.plan.sites import find_sites
from hyperflow.plan.split import AGREEMENT, solve_split
from hyperflow.plan.tier_limits import check_domains, tier_notes

CONFIRM_SECONDS = 5.0
WHOLE_SECONDS = 120.0
"""A stop for machines far slower than any this was made for; the search itself counts work, not time."""


def make_plan(
    job: ResolvedJob,
    calibration: Calibration | None = None,
    profile: Profile | None = None,
    policies: Mapping[str, Policy] | None = None,
) -> Plan:
    """Choose clusters, degrees, stages and layers, or check those given, and say why.

    Raises InputError for degrees, layers or policies that cannot be (HF203-HF206, HF219), InfeasibleError when
    nothing fits (HF207, HF208, HF210, HF211). Warnings and notes are in the plan's `findings`.
    """
    deadline = time.monotonic() + WHOLE_SECONDS
    sites = find_sites(job)
    findings = [*check_degrees(job, sites), *tier_notes(job)]
    pricer = Pricer(job=job, calibration=calibration or default_calibration(), sites=sites, profile=profile)
    asked = job.job.parallel.policy
    name, policy = (None, None) if asked is None else find_policy(job, asked, policies or {})
    if job.job.parallel.layers is not None:
        pricer, chosen = _given(pricer, findings)
        return _finish(pricer, _Ending(chosen=chosen, by="hand", findings=findings, deadline=deadline))
    raise_errors(findings)
    tried = choose_schedule(pricer, deadline)
    pricer, chosen = tried[0].pricer, tried[0].chosen
    singles = SingleClusters(pricer)
    if chosen is None:
        across = plan_across(pricer, singles, deadline, float("inf"))
        if across is None:
            raise InfeasibleError([*findings, *explain_infeasible(pricer)])
        return _only_across(pricer, across, findings)
    ending = _Ending(chosen=chosen, by="solver", findings=findings, deadline=deadline, tried=tried, singles=singles)
    if name is not None and policy is not None:
        chosen = follow_policy(pricer, chosen, name, policy)
        findings += given_findings(pricer, chosen.candidate)
        raise_errors(findings, InfeasibleError)
        ending = replace(ending, chosen=chosen, by=f"the policy {name}", tried=())
    elif job.job.on.prefer in ("fastest", "cheapest"):
        across = plan_across(pricer, singles, deadline, chosen.candidate.step_seconds)
        ending = replace(ending, across=across)
    return _finish(pricer, ending)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ending:
    """All that a plan is made of at last."""

    chosen: Chosen
    by: str
    findings: list[Finding]
    deadline: float
    across: Across | None = None
    tried: tuple[Scheduled, ...] = ()
    singles: SingleClusters | None = None


def _given(pricer: Pricer, findings: list[Finding]) -> tuple[Pricer, Chosen]:
    """Place the given split, under each schedule that an open one may become."""
    given = read_given_split(pricer.job, findings)
    placed = [(mine, place_given_split(mine, given)) for mine in schedule_pricers(pricer)]
    pricer, candidate = min(placed, key=lambda found: rank_given(found[1]))
    findings += given_findings(pricer, candidate)
    raise_errors(findings, InfeasibleError)
    return pricer, Chosen(candidate=candidate, reordered=None, bound_seconds=0.0, proven=False, considered=1)


def _optimality(pricer: Pricer, ending: _Ending, started: float) -> Optimality:
    chosen, step = ending.chosen, ending.chosen.candidate.step_seconds
    if ending.by != "solver":
        return Optimality(proven=False, bound_seconds=0.0, gap=1.0, solver=f"given by {ending.by}", solve_seconds=0.0)
    is_priced = pricer.job.job.on.prefer == "cheapest"
    solver = "exact search and simulation"
    if not pricer.is_timed:
        solver = solve_split(
            chosen.candidate.problem, seconds=CONFIRM_SECONDS, confirmation_seconds=CONFIRM_SECONDS
        ).solver
    others = [one.chosen.bound_seconds for one in ending.tried if one.chosen]
    across = ending.across.bound_seconds if ending.across and not is_priced else step
    bound = min(chosen.bound_seconds, step, across, *([] if is_priced else others))
    proven = chosen.proven and bound >= step * (1 - AGREEMENT)
    return Optimality(
        proven=proven,
        bound_seconds=step if proven else bound,
        gap=0.0 if proven else 1 - bound / step,
        solver=solver if chosen.reordered is None else f"{solver} in the declared order",
        solve_seconds=time.monotonic() - started,
    )


def _finish(pricer: Pricer, ending: _Ending) -> Plan:
    chosen, across = ending.chosen, ending.across
    optimal = _optimality(pricer, ending, ending.deadline - WHOLE_SECONDS)
    fallbacks = price_fallbacks(pricer, chosen.candidate, ending.deadline)
    rows = list_alternatives(
        pricer, chosen.candidate, chosen.reordered, chosen.fastest, ending.singles or SingleClusters(pricer)
    )
    takes_across = (
        across is not None
        and pricer.job.job.on.prefer == "fastest"
        and across.step_seconds < chosen.candidate.step_seconds * (1 - AGREEMENT)
    )
    rows = (*rows, *list_schedules(ending.tried))
    if across is not None and not takes_across:
        rows = (*rows, describe_across(across))
    context = Context(alternatives=rows, fallbacks=fallbacks.rows, optimal=optimal, why=())
    plan = build_plan(pricer, chosen.candidate, context)
    if across is not None and takes_across:
        plan = _across_instead(pricer, across, plan, context)
    check_domains(pricer.job, plan)
    plan = _with_prices(pricer, plan, ending)
    why = explain_plan(
        plan,
        standard_seconds=chosen.candidate.standard_step_seconds,
        considered=chosen.considered,
        by=ending.by,
        keeps_order=chosen.reordered is not None and not takes_across,
        prefer=pricer.job.job.on.prefer,
    )
    found = (*ending.findings, *fallbacks.findings, *advise(pricer, chosen.candidate, plan, across))
    return replace(plan, why=why, findings=found)


def _with_prices(pricer: Pricer, plan: Plan, ending: _Ending) -> Plan:
    """Say what each declared constraint costs; a split that was given has one price, that of the solver's split."""
    if ending.by != "solver":
        return plan
    prices = price_constraints(pricer, ending.chosen, ending.deadline)
    binding = tuple(price for price in prices.binding if price.step_seconds < plan.step_seconds)
    return replace(plan, constraints=binding, free_constraints=prices.free)


def _across_instead(pricer: Pricer, across: Across, pipeline: Plan, context: Context) -> Plan:
    """Data parallelism across clusters wins; the best pipeline becomes an alternative."""
    step = across.step_seconds
    bound = min(context.optimal.bound_seconds, across.bound_seconds, step)
    proven = bound >= step * (1 - AGREEMENT)
    optimal = replace(context.optimal, proven=proven, bound_seconds=bound, gap=0.0 if proven else 1 - bound / step)
    rows = (as_alternative(pipeline, "pipeline across clusters"), *context.alternatives)
    return build_across(pricer, across, replace(context, alternatives=rows, optimal=optimal))


def _only_across(pricer: Pricer, across: Across, findings: list[Finding]) -> Plan:
    """No pipeline can hold the degrees, data parallelism across clusters can."""
    step, first = across.step_seconds, across.replicas[0]
    bound = across.bound_seconds
    proven = bound >= step * (1 - AGREEMENT)
    optimal = Optimality(
        proven=proven,
        bound_seconds=step if proven else bound,
        gap=0.0 if proven else 1 - bound / step,
        solver="exact search",
        solve_seconds=0.0,
    )
    plan = build_across(pricer, across, Context(alternatives=(), fallbacks=(), optimal=optimal, why=()))
    why = explain_plan(plan, standard_seconds=plan.step_seconds, considered=1, by="solver", keeps_order=False)
    return replace(plan, why=why, findings=(*findings, *advise(pricer, first, plan, across)))
