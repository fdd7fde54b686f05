"""Every choice of degrees, micro-batch and recompute that the declaration leaves open, and that frameworks can run."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from hyperflow.ir.plan import Degrees
from hyperflow.ir.resolved import ResolvedJob
from hyperflow.plan.sites import Site
from hyperflow.spec.model import Model
from hyperflow.spec.training_job import TrainingJob

MOST_DEVICES_PER_GROUP = 64
MICRO_BATCHES = (1, 2, 4, 8)
RECOMPUTES = ("none", "full")
"""Selective recompute is left out: with the flash kernels that plans assume it saves and costs nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Degrees without the number of stages, micro-batch size and recompute, with the sites that can take stages.

    `copies[k]` is how many stages site k holds.
    """

    degrees: Degrees
    micro_batch_size: int
    recompute: str
    sites: tuple[Site, ...]
    copies: tuple[int, ...]

    @property
    def most_stages(self) -> int:
        """Stages that all sites hold together."""
        return sum(self.copies)


def list_choices(job: ResolvedJob, sites: Sequence[Site]) -> Iterator[Choice]:
    """Give every choice that some site can take part in, in a fixed order.

    All stages share tp, cp and dp, as the frameworks demand, so that a site gives whole stages of tp*cp*dp devices.
    All pods must have the same number of devices (torchrun), so sites with other nodes form choices of their own.
    """
    model = job.model
    for tp, cp in product(_tensor_degrees(job.job, model, sites), _context_degrees(job.job, model)):
        fitting = [site for site in sites if fits_domain(site, tp)]
        for dp in _data_degrees(job.job, fitting, tp * cp):
            stage_devices = tp * cp * dp
            for pod in sorted({site.pod_devices(stage_devices) for site in fitting}):
                usable = [s for s in fitting if s.pod_devices(stage_devices) == pod and s.stages(stage_devices, tp)]
                if not usable:
                    continue
                copies = tuple(min(site.stages(stage_devices, tp), model.num_layers) for site in usable)
                for ep, size, recompute in product(
                    _expert_degrees(job.job, model, stage_devices), _micro_batches(job.job, dp), _recomputes(job.job)
                ):
                    yield Choice(
                        degrees=Degrees(tp=tp, cp=cp, ep=ep, pp=1, dp=dp),
                        micro_batch_size=size,
                        recompute=recompute,
                        sites=tuple(usable),
                        copies=copies,
                    )


def fits_domain(site: Site, tp: int) -> bool:
    """Say whether tensor-parallel groups stay inside the site's nodes, or inside its declared fast domain."""
    if tp <= site.devices_per_node:
        return site.devices_per_node % tp == 0
    return tp <= site.domain and tp % site.devices_per_node == 0


def divides_heads(model: Model, tp: int) -> bool:
    """Say whether every layer's heads and key-value heads can be shared out over tp ranks."""
    return all(
        run.layer.attention is None
        or (
            run.layer.attention.heads % tp == 0
            and (run.layer.attention.kv_heads % tp == 0 or tp % run.layer.attention.kv_heads == 0)
        )
        for run in model.runs
    )


def _powers(limit: int) -> list[int]:
    return [2**k for k in range(limit.bit_length()) if 2**k <= limit]


def _tensor_degrees(job: TrainingJob, model: Model, sites: Sequence[Site]) -> list[int]:
    if job.parallel.tp != "auto":
        return [job.parallel.tp]
    widest = max((site.domain for site in sites), default=1)
    return [tp for tp in _powers(min(widest, MOST_DEVICES_PER_GROUP)) if divides_heads(model, tp)]


def _context_degrees(job: TrainingJob, model: Model) -> list[int]:
    if job.parallel.cp != "auto":
        return [job.parallel.cp]
    return [cp for cp in _powers(16) if model.sequence_length % (2 * cp) == 0] or [1]


def _data_degrees(job: TrainingJob, sites: Sequence[Site], group: int) -> list[int]:
    batch = job.parallel.global_batch_size
    if job.parallel.dp != "auto":
        return [job.parallel.dp]
    most = max((site.devices for site in sites), default=0) // group
    return [dp for dp in range(1, most + 1) if batch % dp == 0]


def _expert_degrees(job: TrainingJob, model: Model, stage_devices: int) -> list[int]:
    counts = {run.layer.experts.count for run in model.runs if run.layer.experts is not None}
    if job.parallel.ep != "auto":
        return [job.parallel.ep]
    return (
        [ep for ep in _powers(64) if stage_devices % ep == 0 and all(count % ep == 0 for count in counts)]
        if counts
        else [1]
    )


def _micro_batches(job: TrainingJob, dp: int) -> list[int]:
    per_replica, rest = divmod(job.parallel.global_batch_size, dp)
    wanted = MICRO_BATCHES if job.parallel.micro_batch_size == "auto" else (job.parallel.micro_batch_size,)
    return [size for size in wanted if rest == 0 and per_replica % size == 0]


def _recomputes(job: TrainingJob) -> list[str]:
    return list(RECOMPUTES) if job.parallel.recompute == "auto" else [job.parallel.recompute]
