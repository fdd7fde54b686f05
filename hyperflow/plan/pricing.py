"""From a job and one choice of degrees to a split problem: what each layer costs on each site, and each cut."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, combinations

import numpy as np
import numpy.typing as npt

from hyperflow.catalog.calibration import device_family
from hyperflow.cost.layer_costs import device_costs
from hyperflow.cost.memory import in_flight
from hyperflow.cost.profiled import apply_profile
from hyperflow.cost.rates import Rates
from hyperflow.ir.calibration import Calibration
from hyperflow.ir.costs import CostSettings, DeviceCosts
from hyperflow.ir.plan import Degrees
from hyperflow.ir.profile import Profile
from hyperflow.ir.resolved import ResolvedJob
from hyperflow.plan.problem import Cuts, EndCost, LayerTable, Objective, Place, SplitProblem
from hyperflow.plan.schedules import FILL, STANDARD, framework_of, schedule_name
from hyperflow.plan.sites import Site, link_between, transfer_seconds
from hyperflow.simulate.orders import SCHEDULES

_HELD_LIKE = {
    "1F1B-V": "1f1b-v",
    "DualPipeV": "dualpipe-v",
    "Interleaved1F1B": "interleaved-1f1b",
    "InterleavedZB": "interleaved-zero-bubble",
    "LoopedBFS": "looped-bfs",
    "ZB1P": "zb-1p",
    "ZBVZeroBubble": "zb-v",
    "ZB_auto": "zb-h1",
}
"""The schedule's name where the memory of micro-batches in flight is computed."""


_Key = tuple[str, int, Degrees, int, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What bounds need of a site: seconds of each run of equal layers, bytes of the least and of all, the room."""

    seconds: npt.NDArray[np.float64]
    least_state: float
    least_kept: float
    all_state: float
    all_kept: float
    room: float
    embedding_seconds: float
    head_seconds: float
    overhead_seconds: float


@dataclass(slots=True, kw_only=True)
class Pricer:
    """Prices choices for one job; what does not differ between two choices is computed once for both.

    With `timed` 1F1B is simulated like all other schedules, so that an open schedule is chosen with one ruler. With
    `unlimited` no device runs out of memory.
    """

    job: ResolvedJob
    calibration: Calibration
    sites: tuple[Site, ...]
    profile: Profile | None = None
    timed: bool = False
    unlimited: bool = False
    _costs: dict[_Key, DeviceCosts] = field(default_factory=dict[_Key, DeviceCosts])
    _summaries: dict[tuple[_Key, int], Summary] = field(default_factory=dict[tuple[_Key, int], Summary])
    _tables: dict[tuple[_Key, int], LayerTable] = field(default_factory=dict[tuple[_Key, int], LayerTable])
    _hops: dict[tuple[float, Degrees | None, tuple[str, ...]], tuple[float, ...]] = field(
        default_factory=dict[tuple[float, Degrees | None, tuple[str, ...]], tuple[float, ...]]
    )
    _held: dict[tuple[str, int, int, int], tuple[float, ...]] = field(
        default_factory=dict[tuple[str, int, int, int], tuple[float, ...]]
    )

    @property
    def takes_warmup(self) -> bool:
        """Whether the framework runs 1F1B with other warm-up depths: all but Megatron take the order as a file.

        A function that takes the plan names its framework only after planning, so the standard order holds for it.
        """
        launch = self.job.job.launch
        return launch is not None and launch.kind != "megatron"

    @property
    def schedule(self) -> str:
        """The schedule as the simulator spells it."""
        return schedule_name(self.job)

    @property
    def is_timed(self) -> bool:
        """Whether steps are simulated; else they follow from the closed form of 1F1B, whose bounds hold."""
        return self.timed or self.schedule != STANDARD

    @property
    def fill(self) -> float:
        """The share of fill and drain that guides the search."""
        return FILL[self.schedule]

    @property
    def framework(self) -> str | None:
        """Whose rules the schedule has to keep."""
        return framework_of(self.job)

    @property
    def runs(self) -> tuple[tuple[int, int], ...]:
        """First layer and count of each run of layers that cost the same; measured layers differ one by one."""
        if self.profile is not None:
            return tuple((index, 1) for index in range(self.job.model.num_layers))
        counts = [run.count for run in self.job.model.runs]
        return tuple(zip(accumulate(counts[:-1], initial=0), counts, strict=True))

    def settings(self, degrees: Degrees, micro_batch_size: int, recompute: str) -> CostSettings:
        """Give the cost settings of one choice; the number of stages does not change the cost of a layer."""
        parallel = self.job.job.parallel
        name = self.schedule
        return CostSettings(
            degrees=degrees,
            micro_batch_size=micro_batch_size,
            microbatches=parallel.global_batch_size // (micro_batch_size * degrees.dp),
            schedule=_HELD_LIKE.get(name, name.lower()),
            recompute=recompute,
            zero=parallel.zero,
            precision=self.job.job.model.precision,
            sequence_parallel=degrees.tp > 1,
            chunks=SCHEDULES[name].min_chunks,
        )

    def without_memory(self) -> "Pricer":
        """The pricer for the same job on devices whose memory never runs out."""
        return replace(self, unlimited=True)

    def costs(self, site: Site, settings: CostSettings) -> DeviceCosts:
        """Give the costs on a site's device, measured where the profile has them.

        A layer costs the same whatever the number of micro-batches and the schedule.
        """
        key = _key(site, settings)
        if key not in self._costs:
            plain = replace(settings, degrees=replace(settings.degrees, pp=1), devices_per_node=site.domain)
            plain = replace(plain, microbatches=1, schedule="1f1b", chunks=1)
            costs = device_costs(self.job.model, self.job.devices[site.device], plain, self.calibration)
            self._costs[key] = (
                costs if self.profile is None else apply_profile(costs, self.profile, self.job.model, self.calibration)
            )
        return self._costs[key]

    def table(self, site: Site, settings: CostSettings) -> LayerTable:
        """Give the layers on a site's device as plain numbers."""
        key = (_key(site, settings), settings.microbatches)
        if key not in self._tables:
            self._tables[key] = layer_table(self.costs(site, settings), settings.microbatches)
        return self._tables[key]

    def summary(self, site: Site, settings: CostSettings) -> Summary:
        """Give what bounds need of a site."""
        key = (_key(site, settings), settings.microbatches)
        if key not in self._summaries:
            costs = self.costs(site, settings)
            kinds = [costs.layers[first] for first, _ in self.runs]
            counts = [count for _, count in self.runs]
            once = [costs.step_seconds_per_layer[first] / settings.microbatches for first, _ in self.runs]
            self._summaries[key] = Summary(
                seconds=np.array([layer.seconds + more for layer, more in zip(kinds, once, strict=True)]),
                least_state=min(layer.state_bytes for layer in kinds),
                least_kept=min(layer.activation_bytes for layer in kinds),
                all_state=sum(layer.state_bytes * count for layer, count in zip(kinds, counts, strict=True)),
                all_kept=sum(layer.activation_bytes * count for layer, count in zip(kinds, counts, strict=True)),
                room=max(0.0, costs.memory_limit_bytes - costs.fixed_bytes - costs.working_bytes),
                embedding_seconds=costs.embedding.seconds,
                head_seconds=costs.head.seconds,
                overhead_seconds=costs.step_overhead_seconds,
            )
        return self._summaries[key]

    def held(self, settings: CostSettings, stages: int) -> tuple[float, ...]:
        """Micro-batches in flight on each stage; one stage alone is no pipeline and holds one."""
        if stages == 1:
            return (1.0,)
        key = (settings.schedule, stages, settings.microbatches, settings.chunks)
        if key not in self._held:
            self._held[key] = tuple(
                in_flight(settings.schedule, i, stages, settings.microbatches, chunks=settings.chunks)
                for i in range(stages)
            )
        return self._held[key]

    def problem(
        self,
        settings: CostSettings,
        stages: int,
        sites: Sequence[Site],
        copies: Sequence[int],
        *,
        order: tuple[int, ...] | None = None,
        objective: Objective = "1f1b-hidden",
        ascending: bool = False,
    ) -> SplitProblem:
        """Give the split problem of one choice over sites with so many stages each."""
        first = tuple(i for i, site in enumerate(sites) if site.has_data)
        return SplitProblem(
            places=tuple(
                Place(
                    name=site.name,
                    device=site.name,
                    memory_bytes=None if self.unlimited else self.costs(site, settings).memory_limit_bytes,
                    copies=count,
                )
                for site, count in zip(sites, copies, strict=True)
            ),
            tables={site.name: self.table(site, settings) for site in sites},
            num_stages=stages,
            microbatches=settings.microbatches,
            min_layers=settings.chunks if stages > 1 else 1,
            objective=objective,
            order=order,
            grouped=order is None,
            in_flight=self.held(settings, stages),
            cuts=Cuts(by_pair=self.pairs(settings, sites)),
            ascending=ascending,
            first_places=None if len(first) == len(sites) else first,
        )

    def pairs(self, settings: CostSettings, sites: Sequence[Site]) -> dict[tuple[str, str], float]:
        """One-way seconds of a micro-batch's activations from one site to another."""
        pairs: dict[tuple[str, str], float] = {}
        for a in sites:
            for b in sites:
                seconds = self.hop_seconds(settings, a, b)
                if seconds is not None:
                    pairs[a.name, b.name] = seconds
        return pairs

    def shortest_hops(self, settings: CostSettings, sites: Sequence[Site]) -> tuple[float, ...]:
        """One-way seconds between every two sites that may be neighbours, shortest first."""
        size = crossing_bytes(self.costs(sites[0], settings))
        apart = len({site.cluster for site in sites}) == len(sites)  # then the bytes alone decide
        key = (size, None if apart else settings.degrees, tuple(site.name for site in sites))
        if key not in self._hops:
            both = (
                (self.hop_seconds(settings, a, b), self.hop_seconds(settings, b, a)) for a, b in combinations(sites, 2)
            )
            self._hops[key] = tuple(sorted(min(a, b) for a, b in both if a is not None and b is not None))
        return self._hops[key]

    def hop_seconds(self, settings: CostSettings, a: Site, b: Site) -> float | None:
        """One-way seconds between neighbouring stages on two sites; None without a usable link.

        Inside a cluster each rank sends its share over its own port. A link between clusters is shared by all
        pipelines, dp * cp of them.
        """
        costs = self.costs(a, settings)
        if a.cluster == b.cluster:
            device = costs.device
            if a.network_bytes_per_second is not None:
                device = replace(device, network_bytes_per_second=a.network_bytes_per_second)
            constants = self.calibration.of(device.name, device_family(device)).constants
            stage_devices = settings.degrees.devices_per_stage
            neighbour = Rates(device, constants, costs.settings).neighbour(
                stage_devices, max(a.domain + 1, stage_devices)
            )
            return neighbour.p2p(costs.boundary_bytes / settings.degrees.tp)
        link = link_between(self.job, a.cluster, b.cluster)
        return None if link is None else transfer_seconds(link, crossing_bytes(costs))


def _key(site: Site, settings: CostSettings) -> _Key:
    """What the costs of a layer depend on in one job."""
    return site.device, site.domain, settings.degrees, settings.micro_batch_size, settings.recompute


def crossing_bytes(costs: DeviceCosts) -> float:
    """Bytes that cross a stage boundary per micro-batch one way, over all pipelines."""
    degrees = costs.settings.degrees
    return costs.boundary_bytes * degrees.dp * degrees.cp


def layer_table(costs: DeviceCosts, microbatches: int) -> LayerTable:
    """Give the layers as plain numbers.

    What a layer adds once a step (optimizer, exposed data-parallel traffic) is spread over the micro-batches: stage i
    is busy for microbatches * T_i + U_i seconds a step. The head's logits are held for one micro-batch only.
    """
    once = (seconds / microbatches for seconds in costs.step_seconds_per_layer)
    head = costs.head
    return LayerTable(
        seconds=tuple(layer.seconds + more for layer, more in zip(costs.layers, once, strict=True)),
        state_bytes=tuple(layer.state_bytes for layer in costs.layers),
        held_bytes=tuple(layer.activation_bytes for layer in costs.layers),
        first=EndCost(
            seconds=costs.embedding.seconds,
            state_bytes=costs.embedding.state_bytes,
            held_bytes=costs.embedding.activation_bytes,
        ),
        last=EndCost(seconds=head.seconds, state_bytes=head.state_bytes + head.activation_bytes),
        fixed_bytes=costs.fixed_bytes + costs.working_bytes,
    )
