"""The user's wish as one record: what the decorators collect and nothing derived from it."""

import re
from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from hyperflow.errors import Finding, SourceSpan
from hyperflow.spec.fleet import MAX_ROUND_TRIP_MS, Fleet
from hyperflow.spec.launch import Launch
from hyperflow.spec.model import Layer
from hyperflow.spec.record import Number, Record, Whole

Auto = Literal["auto"]
Degree = Annotated[Whole, Field(ge=1, le=1_000_000)] | Auto
Precision = Literal["bf16", "fp16", "fp8"]
Recompute = Literal["none", "selective", "full"]
HEALTH_CHECKS = ("smi", "nvidia-smi", "rocm-smi", "npu-smi", "dcgm", "nccl")
Rendezvous = str  # "mcs", "service-export", "hostnetwork" or "address=HOST:PORT"


class ModelRequest(Record):
    """The model by config file, by preset, or by shape; exactly one of the three."""

    config: str | None = None
    preset: str | None = None
    layers: Whole | tuple[Layer, ...] | None = None
    hidden: Whole | None = Field(default=None, gt=0, le=2**20)
    ffn: Whole | None = Field(default=None, gt=0, le=2**24)
    heads: Whole | None = Field(default=None, gt=0, le=2**20)
    kv_heads: Whole | None = Field(default=None, gt=0, le=2**20)
    head_dim: Whole | None = Field(default=None, gt=0, le=2**20)
    vocab: Whole | None = Field(default=None, gt=0, le=2**30)
    gated: bool = True
    tied: bool = False
    seq: Whole | None = Field(default=None, gt=0, le=2**30)
    precision: Precision = "bf16"


class Data(Record):
    """Where the training data is: `path` is pvc://, s3:// or an absolute host path; `at` names clusters or all."""

    path: str
    at: tuple[str, ...] | Literal["all"] = "all"
    cache: Literal["none", "per-node"] = "none"


class Parallelism(Record):
    """Degrees, batch and schedule; a degree is a number or "auto"."""

    tp: Degree = "auto"
    cp: Degree = 1
    ep: Degree = 1
    pp: Degree = "auto"
    dp: Degree = "auto"
    micro_batch_size: Degree = 1
    global_batch_size: Whole = Field(default=32, gt=0, le=1_000_000)
    schedule: str = "1f1b"
    recompute: Recompute | Auto = "none"
    zero: Literal[0, 1, 2, 3] = 1
    layers: dict[str, Whole | tuple[Whole, ...]] | tuple[Whole, ...] | None = None
    policy: str | Callable[..., Any] | None = None
    allreduce: Literal["flat", "hierarchical"] = "flat"


class TierConstraint(Record):
    """How close ranks must be: hard within a tier (name or number), or soft."""

    mode: Literal["hard", "soft"]
    tier: str | int | None = None


class Topology(Record):
    """Constraints on the whole job and on each stage."""

    job: TierConstraint | None = None
    stage: TierConstraint | None = None


class Placement(Record):
    """Which clusters may be used and how they are joined."""

    fleet: Fleet
    rendezvous: Rendezvous = "mcs"
    prefer: Literal["fastest", "cheapest", "binpack", "idle"] = "fastest"
    max_rtt_ms: Number | None = Field(default=None, gt=0, le=MAX_ROUND_TRIP_MS)


class Checkpoint(Record):
    """Where checkpoints go, how often, and the mean time between failures when known (seconds)."""

    to: str
    every_seconds: Number | None = Field(default=None, gt=0)
    mtbf_seconds: Number | None = Field(default=None, gt=0)


def _known_check(health: str) -> str:
    """Take a built-in check, or an image, which is told from a slip by its registry, tag or digest."""
    if health not in HEALTH_CHECKS and not re.search(r"[/:@]", health):
        raise PydanticCustomError("health", f"{', '.join(HEALTH_CHECKS)}, or an image with its registry or tag")
    return health


class Guard(Record):
    """What happens when a part of the job fails or does not start."""

    on_partial_failure: Literal["abort", "keep"] = "abort"
    rendezvous_timeout_seconds: Number = Field(default=900, gt=0)
    health: Annotated[str, AfterValidator(_known_check)] | None = None


class Environment(Record):
    """Environment of the training process: for all clusters, and NCCL settings by cluster."""

    variables: dict[str, str] = {}
    nccl: dict[str, dict[str, str]] = {}


class Patch(Record):
    """A value set in the lowered objects after everything else."""

    path: str
    value: object


class TrainingJob(Record):
    """The whole declaration.

    `sources` maps a dotted path such as `parallel.tp` to where the user wrote it. `launch` is None until the decorated
    function has been called; one that takes the plan is called after planning. `findings` are warnings
    and notes of what was read.
    """

    name: str = Field(min_length=1)
    image: str = Field(min_length=1)
    queue: str = "default"
    priority: str | None = None
    namespace: str = "default"
    retries: Whole = Field(default=3, ge=0)
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    model: ModelRequest
    data: Data | None = None
    parallel: Parallelism = Parallelism()
    topology: Topology = Topology()
    on: Placement
    fallback: dict[str, tuple[str, ...]] = {}
    checkpoint: Checkpoint | None = None
    guard: Guard = Guard()
    env: Environment = Environment()
    patches: tuple[Patch, ...] = ()
    launch: Launch | None = None
    sources: dict[str, SourceSpan] = Field(default={}, exclude=True, repr=False)
    findings: tuple[Finding, ...] = Field(default=(), exclude=True, repr=False)
