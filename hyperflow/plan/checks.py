"""Checks of the declared degrees that need no solver, all told at once with the keyword at fault."""

from collections.abc import Sequence

from hyperflow.errors import Finding, SourceSpan
from hyperflow.ir.resolved import ResolvedJob
from hyperflow.plan.choices import divides_heads, fits_domain
from hyperflow.plan.sites import Site


def span_of(job: ResolvedJob, *keys: str) -> SourceSpan | None:
    """Where the user wrote the first of these keywords that is there."""
    return next((job.job.sources[key] for key in keys if key in job.job.sources), None)


def check_degrees(job: ResolvedJob, sites: Sequence[Site]) -> list[Finding]:
    """Give HF203, HF205, HF206, HF207 and HF208 for degrees that no plan can satisfy."""
    findings = _wide_tensor_groups(job, sites)
    findings += _undivided(job)
    if not any(finding.severity == "error" for finding in findings):
        findings += _too_many_devices(job, sites)
    return findings


def _wide_tensor_groups(job: ResolvedJob, sites: Sequence[Site]) -> list[Finding]:
    tp = job.job.parallel.tp
    if tp == "auto":
        return []
    narrow = [site for site in sites if not fits_domain(site, tp)]
    severity = "error" if len(narrow) == len(sites) else "warning"
    return [_wide_tensor_group(job, site, tp, severity) for site in narrow]


def _wide_tensor_group(job: ResolvedJob, site: Site, tp: int, severity: str) -> Finding:
    declared = site.domain > site.devices_per_node
    domain = f"NVLink domain of {site.domain}" if declared else "no NVLink domain declared"
    smaller = max(d for d in range(1, min(tp, site.domain) + 1) if fits_domain(site, d))
    wide = tp > site.domain
    what = (
        f"needs {tp} GPUs in one domain, largest is {site.domain}"
        if wide
        else f"whole nodes, or a divisor of {site.devices_per_node}"
    )
    rest = f", or declare the rack as one domain: nvlink_domain: {_next_domain(tp)}" if wide else ""
    return Finding(
        code="HF203",
        severity="error" if severity == "error" else "warning",
        message=f'tp={tp} does not fit the fastest domain of cluster "{site.cluster}" '
        f"({site.devices_per_node} GPUs per node, {domain})",
        where="@hf.parallel(tp=)",
        span=span_of(job, "parallel.tp", "parallel"),
        got=f"tp={tp}",
        expected=what,
        hint=f"tp={smaller}{rest}" + ("" if severity == "error" else f'; the plan leaves "{site.cluster}" out'),
    )


def _next_domain(tp: int) -> int:
    return 72 if tp <= 72 else tp


def _undivided(job: ResolvedJob) -> list[Finding]:
    """Heads that tp does not divide, experts that ep does not divide, a batch that dp and micro-batch do not divide."""
    parallel, model = job.job.parallel, job.model
    findings: list[Finding] = []
    if parallel.tp != "auto" and not divides_heads(model, parallel.tp):
        heads = sorted({(a.heads, a.kv_heads) for run in model.runs if (a := run.layer.attention) is not None})
        shown = ", ".join(f"{h} heads with {k} key-value heads" for h, k in heads)
        findings.append(_indivisible(job, "tp", f"tp={parallel.tp} does not divide the attention heads", shown))
    experts = sorted({run.layer.experts.count for run in model.runs if run.layer.experts is not None})
    if parallel.ep != "auto" and parallel.ep > 1 and (not experts or any(count % parallel.ep for count in experts)):
        shown = f"{experts} experts" if experts else "no experts"
        findings.append(_indivisible(job, "ep", f"ep={parallel.ep} does not divide the experts of the model", shown))
    dp = 1 if parallel.dp == "auto" else parallel.dp
    size = 1 if parallel.micro_batch_size == "auto" else parallel.micro_batch_size
    if parallel.global_batch_size % (dp * size):
        message = f"global_batch_size={parallel.global_batch_size} is no multiple of dp x micro_batch_size"
        findings.append(_indivisible(job, "global_batch_size", message, f"dp={dp}, micro_batch_size={size}"))
    if parallel.cp != "auto" and parallel.cp > 1 and model.sequence_length % (2 * parallel.cp):
        message = f"cp={parallel.cp} does not divide the sequence into pairs of chunks"
        findings.append(_indivisible(job, "cp", message, f"sequence length {model.sequence_length}"))
    return findings


def _indivisible(job: ResolvedJob, keyword: str, message: str, got: str) -> Finding:
    return Finding(
        code="HF206",
        message=message,
        where=f"@hf.parallel({keyword}=)",
        span=span_of(job, f"parallel.{keyword}", "parallel"),
        got=got,
        hint=f'change {keyword}, or let it be chosen: {keyword}="auto"' if keyword != "global_batch_size" else "",
    )


def _divides_over_clusters(job: ResolvedJob, sites: Sequence[Site]) -> bool:
    """Say whether data parallelism across clusters may place what no pipeline can."""
    parallel = job.job.parallel
    tp, cp, pp, dp = (1 if d == "auto" else d for d in (parallel.tp, parallel.cp, parallel.pp, parallel.dp))
    return any(
        dp % count == 0 and sum(site.stages(tp * cp * dp // count, tp) >= pp for site in sites) >= count
        for count in range(2, len(sites) + 1)
    )


def _too_many_devices(job: ResolvedJob, sites: Sequence[Site]) -> list[Finding]:
    """HF205: the product of the degrees exceeds what the clusters have in whole stages."""
    parallel = job.job.parallel
    tp, cp, pp, dp = (1 if d == "auto" else d for d in (parallel.tp, parallel.cp, parallel.pp, parallel.dp))
    needed, have = tp * cp * pp * dp, sum(site.devices for site in sites)
    stages = sum(site.stages(tp * cp * dp, tp) for site in sites if fits_domain(site, tp))
    if needed <= have and (pp <= stages or _divides_over_clusters(job, sites)):
        return []
    shown = ", ".join(f"{site.name} {site.devices}" for site in sites)
    product = f"tp={tp} x cp={cp} x pp={pp} x dp={dp} = {needed} devices"
    if needed > have:
        message = f"{product}, the clusters have {have}"
    else:
        message = f"pp={pp} stages of {tp * cp * dp} devices each, the clusters hold {stages} of them whole"
    keyword = next((k for k in ("pp", "dp", "tp", "cp") if getattr(parallel, k) not in ("auto", 1)), "pp")
    return [
        Finding(
            code="HF205",
            message=message,
            where="@hf.parallel",
            span=span_of(job, f"parallel.{keyword}", "parallel"),
            got=shown,
            expected=f"at most {have} devices" if needed > have else f"at most {stages} stages",
            hint='lower a degree, or leave it open: dp="auto", pp="auto"',
        )
    ]
