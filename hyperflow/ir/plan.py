"""The plan: split, placement, schedule, predicted time and memory, and the runners-up.

`as_json` in report/ prints it under the schema `hyperflow.plan/v1`.
"""

from dataclasses import dataclass

from hyperflow.errors import Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class Degrees:
    """Degrees of parallelism; `tp`, `cp`, `dp` are equal on all stages, as the frameworks demand."""

    tp: int = 1
    cp: int = 1
    ep: int = 1
    pp: int = 1
    dp: int = 1

    @property
    def devices_per_stage(self) -> int:
        """Devices that one pipeline stage takes."""
        return self.tp * self.cp * self.dp

    @property
    def world_size(self) -> int:
        """Devices of the whole job."""
        return self.devices_per_stage * self.pp


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One pipeline stage on one cluster.

    `idle_fraction` is the share of the step in which its devices do not compute. `node_rank_offset` is the global
    rank of its first node. A node is what one pod takes: a whole machine, or as much of one as a stage needs where
    that is less. Memory is per device.
    """

    index: int
    cluster: str
    device: str
    layers: int
    first_layer: int
    nodes: int
    node_rank_offset: int
    forward_seconds: float
    backward_input_seconds: float
    backward_weight_seconds: float
    seconds_per_microbatch: float
    idle_fraction: float
    in_flight: float
    memory_bytes: int
    memory_limit_bytes: int
    parameters: int
    replica: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkLoad:
    """What crosses from one cluster to another in a step; `purpose` is `pp` or `dp`."""

    source: str
    target: str
    purpose: str
    bytes_per_step: int
    seconds_per_microbatch: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative:
    """A plan that was considered and not chosen, and why; `stages` and `warmup` let it be drawn."""

    name: str
    clusters: tuple[str, ...]
    layers: tuple[int, ...]
    step_seconds: float | None
    idle_fraction: float | None
    idle_by_cluster: tuple[tuple[str, float], ...] = ()
    feasible: bool
    reason: str
    stages: tuple[Stage, ...] = ()
    warmup: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Fallback:
    """One combination of clusters that Karmada may choose instead, with the split as baked in.

    `resolved_step_seconds` is what a split solved for it would give.
    """

    clusters: tuple[str, ...]
    layers: tuple[int, ...]
    step_seconds: float
    idle_fraction: float
    resolved_layers: tuple[int, ...]
    resolved_step_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstraintPrice:
    """A declared constraint that costs time: the step without it alone, and in `detail` the plan that takes it."""

    name: str
    step_seconds: float
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Optimality:
    """How far the solver proved the plan; `gap` is relative."""

    proven: bool
    bound_seconds: float
    gap: float
    solver: str
    solve_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The chosen plan. `shape` is `single`, `pipeline` (PP across clusters) or `data-parallel` (DP across).

    `warmup` holds the forwards that each stage runs before its first backward; `constraints` are those that cost time,
    the dearest first, `free_constraints` the names of the others; `findings` are warnings and notes.
    """

    job: str
    shape: str
    total_parameters: int
    num_layers: int
    degrees: Degrees
    micro_batch_size: int
    global_batch_size: int
    microbatches: int
    schedule: str
    warmup: tuple[int, ...]
    recompute: str
    zero: int
    allreduce: str
    step_seconds: float
    step_seconds_low: float
    step_seconds_high: float
    mfu: float
    tokens_per_second: float
    stages: tuple[Stage, ...]
    links: tuple[LinkLoad, ...]
    alternatives: tuple[Alternative, ...]
    fallbacks: tuple[Fallback, ...]
    optimal: Optimality
    constraints: tuple[ConstraintPrice, ...] = ()
    free_constraints: tuple[str, ...] = ()
    devices_left_over: tuple[tuple[str, int], ...] = ()
    why: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()

    @property
    def clusters(self) -> tuple[str, ...]:
        """The clusters in stage order, each once."""
        return tuple(dict.fromkeys(stage.cluster for stage in self.stages))
