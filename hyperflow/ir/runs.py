"""One training run somebody measured: its configuration and what was seen."""

from dataclasses import dataclass

from hyperflow.ir.costs import CostSettings
from hyperflow.ir.device import Device
from hyperflow.spec.model import Model


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A row of a run table that could be read.

    `stage_devices` has one device per pipeline stage. `split` is the number of layers per stage (one number per
    model chunk, rank-minor, where the schedule has chunks). `kind` groups rows in summaries (`dense 16-bit`,
    `moe fp8`). `fit` is false for suspect rows and unknown precisions, which are only reported. `assumptions` says
    what the row left out and what was taken.
    """

    identifier: str
    row: int
    source: str
    model: Model
    stage_devices: tuple[Device, ...]
    settings: CostSettings
    split: tuple[int, ...]
    num_devices: int
    global_batch_size: int
    measured_seconds: float | None
    measured_bytes: float | None
    kind: str
    fit: bool
    assumptions: tuple[str, ...] = ()

    @property
    def is_dense_16_bit(self) -> bool:
        """The class whose errors are held to the tightest target."""
        return self.settings.precision != "fp8" and not any(run.layer.experts for run in self.model.runs)


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedRun:
    """A row that is not evaluated, and why."""

    identifier: str
    row: int
    source: str
    reason: str
    measured_seconds: float | None = None
    measured_bytes: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """What the model says of one run: one step's seconds with its 80 % interval, and the fullest stage's bytes."""

    seconds: float
    seconds_low: float
    seconds_high: float
    memory_bytes: float
    model_flops: float
    mfu: float
    hfu: float
    tokens_per_second: float
    calibrated: bool
