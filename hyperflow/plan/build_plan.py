"""The plan record from a solved candidate: stages with ranks and memory, links, predicted step."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from hyperflow.cost.flops import step_flops
from hyperflow.ir.plan import Alternative, Fallback, LinkLoad, Optimality, Plan, Stage
from hyperflow.plan.price import price_split, stage_bytes
from hyperflow.plan.pricing import Pricer, crossing_bytes
from hyperflow.plan.schedules import V_PLACED
from hyperflow.plan.search import Candidate
from hyperflow.plan.sites import Site
from hyperflow.plan.timed import stage_parts
from hyperflow.simulate.orders import SCHEDULES

GRADIENT_BYTES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What a plan says beside its candidate."""

    alternatives: tuple[Alternative, ...]
    fallbacks: tuple[Fallback, ...]
    optimal: Optimality
    why: tuple[str, ...]


def build_plan(pricer: Pricer, candidate: Candidate, context: Context) -> Plan:
    """Lay out a candidate as the plan that later passes read."""
    job, settings = pricer.job, candidate.bounded.settings
    stages = build_stages(pricer, candidate)
    sites = used_sites(candidate)
    error = max(pricer.costs(site, settings).relative_error_80 for site in sites)
    peak = (
        sum(pricer.job.devices[stage.device].peak_flops_bf16 for stage in stages) * candidate.degrees.devices_per_stage
    )
    batch, step = job.job.parallel.global_batch_size, candidate.step_seconds
    return Plan(
        job=job.job.name,
        shape="single" if len({stage.cluster for stage in stages}) == 1 else "pipeline",
        total_parameters=job.model.total_parameters,
        num_layers=job.model.num_layers,
        degrees=candidate.degrees,
        micro_batch_size=settings.micro_batch_size,
        global_batch_size=batch,
        microbatches=settings.microbatches,
        schedule=job.job.parallel.schedule,
        warmup=candidate.paced.depths,
        recompute=settings.recompute,
        zero=settings.zero,
        allreduce=job.job.parallel.allreduce,
        step_seconds=step,
        step_seconds_low=step / (1 + error),
        step_seconds_high=step * (1 + error),
        mfu=step_flops(job.model, batch) / (step * peak),
        tokens_per_second=batch * job.model.sequence_length / step,
        stages=stages,
        links=build_links(pricer, candidate),
        alternatives=context.alternatives,
        fallbacks=context.fallbacks,
        optimal=context.optimal,
        devices_left_over=left_over(pricer, candidate),
        why=context.why,
    )


def used_sites(candidate: Candidate) -> tuple[Site, ...]:
    """The sites in stage order, each once."""
    return tuple(candidate.bounded.choice.sites[place] for place in dict.fromkeys(candidate.split.order))


def build_stages(pricer: Pricer, candidate: Candidate) -> tuple[Stage, ...]:
    """Give the stages with layers, ranks, times and memory."""
    settings, split, problem = candidate.bounded.settings, candidate.split, candidate.problem
    bounds = list(pairwise(accumulate(split.layers, initial=0)))
    stages: list[Stage] = []
    rank = 0
    for i, (place, (start, end)) in enumerate(zip(split.order, bounds, strict=True)):
        site = candidate.bounded.choice.sites[place]
        parts = stage_parts(pricer.costs(site, settings), i, len(bounds), start, end)
        seconds = sum(part.seconds for part in parts)
        nodes = candidate.degrees.devices_per_stage // site.pod_devices(candidate.degrees.devices_per_stage)
        depths = candidate.paced.depths
        more = depths[i] - problem.held(i) if depths else 0.0
        stages.append(
            Stage(
                index=i,
                cluster=site.cluster,
                device=site.device,
                layers=end - start,
                first_layer=start,
                nodes=nodes,
                node_rank_offset=rank,
                forward_seconds=sum(part.forward_seconds for part in parts),
                backward_input_seconds=sum(part.backward_input_seconds for part in parts),
                backward_weight_seconds=sum(part.backward_weight_seconds for part in parts),
                seconds_per_microbatch=seconds,
                idle_fraction=max(0.0, 1 - settings.microbatches * seconds / candidate.step_seconds),
                in_flight=problem.held(i) + max(0.0, more),
                memory_bytes=round(stage_bytes(problem, place, i, start, end, more_held=max(0.0, more))),
                memory_limit_bytes=int(problem.places[place].memory_bytes or 0),
                parameters=sum(part.parameters for part in parts),
            )
        )
        rank += nodes
    return tuple(stages)


def build_links(pricer: Pricer, candidate: Candidate) -> tuple[LinkLoad, ...]:
    """Give what crosses between clusters in a step: activations one way, gradients the other, a tied embedding."""
    settings, sites = candidate.bounded.settings, candidate.bounded.choice.sites
    at = [sites[place] for place in candidate.split.order]
    crossings: dict[tuple[int, int], int] = {}
    for a, b in pairwise(_visits(pricer.schedule, len(at))):
        for one, other in _cuts_between(at, a, b):
            for way in ((one, other), (other, one)):  # activations one way, their gradients the other
                crossings[way] = crossings.get(way, 0) + 1
    loads = [
        LinkLoad(
            source=at[a].cluster,
            target=at[b].cluster,
            purpose="pp",
            bytes_per_step=round(crossing_bytes(pricer.costs(at[min(a, b)], settings)) * settings.microbatches * count),
            seconds_per_microbatch=pricer.hop_seconds(settings, at[min(a, b)], at[max(a, b)]) or 0.0,
        )
        for (a, b), count in crossings.items()
    ]
    return (*loads, *_tied_embedding(pricer, candidate))


def _visits(schedule: str, stages: int) -> list[int]:
    """The stages that a micro-batch passes on its way to the loss: once, or once for each chunk."""
    chunks = SCHEDULES[schedule].min_chunks if stages > 1 else 1
    ahead = list(range(stages))
    return ahead + ahead[::-1] if schedule in V_PLACED and stages > 1 else ahead * chunks


def _cuts_between(at: Sequence[Site], a: int, b: int) -> list[tuple[int, int]]:
    """The cuts between clusters that a hop from stage a to stage b passes; a hop back passes all of them."""
    step = 1 if b > a else -1
    steps = [(stage, stage + step) for stage in range(a, b, step)]
    return [(one, other) for one, other in steps if at[one].cluster != at[other].cluster]


def _tied_embedding(pricer: Pricer, candidate: Candidate) -> list[LinkLoad]:
    """The gradient of a tied embedding goes both ways between first and last stage once a step."""
    sites = candidate.bounded.choice.sites
    first, last = sites[candidate.split.order[0]], sites[candidate.split.order[-1]]
    model = pricer.job.model
    if not model.tied_embeddings or first.cluster == last.cluster:
        return []
    size = model.embedding_parameters * GRADIENT_BYTES
    return [
        LinkLoad(
            source=a.cluster,
            target=b.cluster,
            purpose="tied-embedding",
            bytes_per_step=size,
            seconds_per_microbatch=0.0,
        )
        for a, b in ((first, last), (last, first))
    ]


def left_over(pricer: Pricer, candidate: Candidate) -> tuple[tuple[str, int], ...]:
    """Devices of the used clusters that the plan leaves free, by cluster."""
    taken: dict[str, int] = {}
    for place in candidate.split.order:
        cluster = candidate.bounded.choice.sites[place].cluster
        taken[cluster] = taken.get(cluster, 0) + candidate.degrees.devices_per_stage
    free = {name: sum(site.devices for site in pricer.sites if site.cluster == name) for name in taken}
    return tuple((name, free[name] - count) for name, count in taken.items() if free[name] > count)


def idle_by_cluster(stages: tuple[Stage, ...]) -> tuple[tuple[str, float], ...]:
    """Mean idle share of each cluster's stages, in stage order."""
    shares: dict[str, list[float]] = {}
    for stage in stages:
        shares.setdefault(stage.cluster, []).append(stage.idle_fraction)
    return tuple((cluster, sum(values) / len(values)) for cluster, values in shares.items())


def mean_idle(stages: tuple[Stage, ...]) -> float:
    """Idle share of all devices: stages have equal numbers of them."""
    return sum(stage.idle_fraction for stage in stages) / len(stages)


def violations(candidate: Candidate) -> tuple[str, ...]:
    """What a candidate breaks, by the plain check."""
    return price_split(candidate.problem, candidate.split).violations
