"""Warnings and notes on a plan that stands."""

from hyperflow.errors import Finding
from hyperflow.ir.plan import LinkLoad, Plan
from hyperflow.plan.across import Across
from hyperflow.plan.checks import span_of
from hyperflow.plan.pricing import Pricer
from hyperflow.plan.search import Candidate
from hyperflow.plan.sites import unlinked_pairs
from hyperflow.plan.warmup import can_be_handed_over
from hyperflow.units import format_seconds


def advise(pricer: Pricer, candidate: Candidate, plan: Plan, across: Across | None) -> list[Finding]:
    """Give the findings on a chosen plan."""
    return [
        *_left_over(pricer, plan),
        *(_cut_off(pricer, plan) or _fits_whole(pricer, plan)),
        *_slow_links(pricer, plan),
        *_warmup(pricer, candidate, plan),
        *_labels(pricer, plan),
        *_crossing(pricer, plan, across),
    ]


def _left_over(pricer: Pricer, plan: Plan) -> list[Finding]:
    return [
        Finding(
            code="HF212",
            severity="warning",
            message=f"{count} of the devices of {name} are left over",
            where=f'cluster "{name}"',
            span=span_of(pricer.job, "parallel.dp", "parallel.tp", "parallel"),
            got=f"stages of {plan.degrees.devices_per_stage} devices",
            hint="other degrees may use them; the chosen ones give the best step found",
        )
        for name, count in plan.devices_left_over
    ]


def _fits_whole(pricer: Pricer, plan: Plan) -> list[Finding]:
    """B12: say when no split over clusters was needed."""
    if plan.shape != "single" or len({site.cluster for site in pricer.sites}) < 2:
        return []
    name = plan.stages[0].cluster
    return [
        Finding(
            code="HF213", severity="note", message=f"fits whole in {name}: no split over clusters is needed", where=name
        )
    ]


def _cut_off(pricer: Pricer, plan: Plan) -> list[Finding]:
    """C4: a declared cluster that no link in use reaches is left out for that reason, not for its speed."""
    if pricer.job.job.on.prefer != "fastest":
        return []
    declared = list(dict.fromkeys(site.cluster for site in pricer.sites))
    apart = unlinked_pairs(pricer.job, pricer.job.fleet, declared)
    findings: list[Finding] = []
    for cluster in declared:
        reasons = {a if b == cluster else b: reason for a, b, reason in apart if cluster in (a, b)}
        if cluster not in plan.clusters and all(used in reasons for used in plan.clusters):
            why = "; ".join(f"{used}: {reasons[used]}" for used in plan.clusters)
            findings.append(
                Finding(
                    code="HF221",
                    severity="warning",
                    message=f"{cluster} is not used, since its stages could not be neighbours of those on {why}",
                    where=f'cluster "{cluster}"',
                    span=span_of(pricer.job, "on.max_rtt_ms", "on.links", "on"),
                    hint=f'hf.link("{plan.clusters[0]}", "{cluster}", gbps=..., rtt_ms=...), or a larger max_rtt_ms',
                )
            )
    return findings


def _slow_links(pricer: Pricer, plan: Plan) -> list[Finding]:
    """B7: a link that takes longer than the stages beside it compute."""
    findings: list[Finding] = []
    for link in _slower_ways(plan):
        beside = [s.seconds_per_microbatch for s in plan.stages if s.cluster in (link.source, link.target)]
        taken = format_seconds(link.seconds_per_microbatch)
        if link.seconds_per_microbatch > min(beside):
            findings.append(
                Finding(
                    code="HF214",
                    severity="warning",
                    message=f"the link {link.source} -> {link.target} takes {taken} per micro-batch, longer than a "
                    "stage beside it computes",
                    where=f"{link.source} -> {link.target}",
                    span=span_of(pricer.job, "on.links", "on"),
                    got=f"{taken} per micro-batch",
                    expected=f"less than {format_seconds(min(beside))}",
                    hint="a faster link, larger micro-batches, or more layers on the stages beside it",
                )
            )
    return findings


def _slower_ways(plan: Plan) -> list[LinkLoad]:
    """Of each cut between clusters the slower direction, the forward one where both are alike."""
    slower: dict[frozenset[str], LinkLoad] = {}
    for link in plan.links:
        pair = frozenset((link.source, link.target))
        known = slower.get(pair)
        if link.purpose == "pp" and (known is None or link.seconds_per_microbatch > known.seconds_per_microbatch):
            slower[pair] = link
    return list(slower.values())


def _warmup(pricer: Pricer, candidate: Candidate, plan: Plan) -> list[Finding]:
    """A plan that would be faster with more micro-batches in flight than the order it must keep to has."""
    paced = candidate.paced
    if plan.shape != "pipeline" or paced.hidden_seconds >= paced.seconds * 0.99:
        return []
    launch = pricer.job.job.launch
    if launch is not None and launch.kind == "megatron":
        message = "Megatron keeps the standard 1F1B order and waits for the link with every micro-batch"
        hint = "torchtitan takes the order as a file; a lower round trip or a larger micro-batch also helps"
    elif not can_be_handed_over(candidate.problem):
        message = "the order that hides the link is too long for a file; the standard 1F1B order waits for the link"
        hint = "a larger micro-batch makes fewer of them; a lower round trip also helps"
    else:
        return []
    hidden = format_seconds(paced.hidden_seconds + candidate.overhead_seconds)
    return [
        Finding(
            code="HF215",
            severity="note",
            message=f"{message}: {format_seconds(plan.step_seconds)} a step",
            where="schedule",
            span=span_of(pricer.job, "parallel.schedule", "parallel"),
            got=f"{format_seconds(plan.step_seconds)} a step in that order",
            expected=f"{hidden} with warm-up depths {', '.join(map(str, paced.hidden_depths))}",
            hint=hint,
        )
    ]


def _labels(pricer: Pricer, plan: Plan) -> list[Finding]:
    """F3: the last stage reads the labels, from the same data."""
    data, last = pricer.job.job.data, plan.stages[-1].cluster
    if data is None or data.at == "all" or last in data.at:
        return []
    return [
        Finding(
            code="HF216",
            severity="warning",
            message=f"the last stage is on {last} and reads the labels, but the data is at {', '.join(data.at)}",
            where="@hf.data(at=)",
            span=span_of(pricer.job, "data.at", "data"),
            hint=f"copy the data to {last}, or mount it there",
        )
    ]


def _crossing(pricer: Pricer, plan: Plan, across: Across | None) -> list[Finding]:
    """G2: gradients that cross a link without being reduced inside the clusters first."""
    if plan.shape != "data-parallel" or across is None or across.exchange.is_nested or across.exchange.dp_inside < 2:
        return []
    return [
        Finding(
            code="HF220",
            severity="warning",
            message="data parallelism crosses clusters with a flat all-reduce that keeps the link "
            f"{format_seconds(across.exchange.flat_seconds)} a step",
            where="@hf.parallel(allreduce=)",
            span=span_of(pricer.job, "parallel.allreduce", "parallel.dp", "parallel"),
            got=f"{format_seconds(across.exchange.flat_seconds)} a step on the link",
            expected=f"{format_seconds(across.exchange.nested_seconds)} when reduced inside each cluster first",
            hint='allreduce="hierarchical"',
        )
    ]
