"""What one layer costs on one device type under one configuration."""

from dataclasses import dataclass
from typing import Literal

from hyperflow.ir.device import Device
from hyperflow.ir.plan import Degrees


@dataclass(frozen=True, slots=True, kw_only=True)
class CostSettings:
    """The configuration that layer costs depend on, the device apart.

    `attention_kernel` flash-1 is the first generation of flash kernels. `fused_elementwise` is false for eager
    frameworks, whose bias, activation, dropout and residual kernels each stream through memory on their own.
    `chunks` is the number of model chunks per stage (interleaved schedules). `recompute` is none, selective (the
    attention core), operations (every second matrix product and all elementwise work, torchtitan's selective mode)
    or full. `gradient_bytes` is the width of the gradient buffer. `expert_imbalance` is the load of the busiest
    expert rank over the mean. `overlap` says that data-parallel communication hides behind the backward pass where
    it can; ZeRO 3 always overlaps. `tensor_overlap` backward hides the input gradient's reduction over TP behind the
    weight gradient (Megatron's default since 2022), all hides every exchange behind its product (asynchronous TP).
    `pipeline_overlap` hides the exchanges between chunks of interleaved schedules (Megatron's default).
    `fused_loss` keeps no 32-bit copy of the logits. `fused_gradients` (Megatron's default) adds weight gradients in
    place and keeps one dummy gradient per distinct weight shape. `devices_per_node` is the scale-up domain where the
    fleet states one (None: the catalogue's).
    """

    degrees: Degrees
    micro_batch_size: int
    microbatches: int
    schedule: str
    recompute: str
    zero: int
    precision: str
    sequence_parallel: bool = True
    attention_kernel: Literal["flash", "flash-1", "unfused"] = "flash"
    fused_elementwise: bool = True
    dropout: bool = False
    chunks: int = 1
    gradient_bytes: int = 4
    expert_imbalance: float = 1.0
    overlap: bool = False
    pipeline_overlap: bool = True
    tensor_overlap: Literal["none", "backward", "all"] = "backward"
    fused_loss: bool = True
    fused_gradients: bool = True
    devices_per_node: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerCost:
    """One layer (or pseudo-layer) on one device of its tensor-parallel group, per micro-batch.

    Times in seconds, communication that is not hidden included. `state_bytes` are weights, gradients and optimizer
    state; `activation_bytes` are held per micro-batch in flight. `parameters` are those of the whole layer,
    `model_flops` the forward and backward work of the whole layer for one micro-batch, without recompute.
    """

    forward_seconds: float
    backward_input_seconds: float
    backward_weight_seconds: float
    state_bytes: float
    activation_bytes: float
    parameters: int
    model_flops: float

    @property
    def seconds(self) -> float:
        """Forward and whole backward."""
        return self.forward_seconds + self.backward_input_seconds + self.backward_weight_seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceCosts:
    """All costs of a model on one device type.

    `layers` has one record per layer in order. `fixed_bytes` is what the runtime takes, `working_bytes` the largest
    transient need, `memory_limit_bytes` what a plan may use. `boundary_bytes` crosses a stage boundary per
    micro-batch one way, summed over the devices of one tensor-parallel group. `step_overhead_seconds` is paid once a
    step whatever the layers (optimizer and data-parallel communication that is not hidden);
    `step_seconds_per_layer` is what each layer adds to it. The head's activations (the logits) are held for one
    micro-batch only, whatever the schedule. `tied_bytes`, part of the head's state, is its copy of a tied embedding,
    which a stage that holds both ends does not need.
    """

    device: Device
    settings: CostSettings
    layers: tuple[LayerCost, ...]
    embedding: LayerCost
    head: LayerCost
    fixed_bytes: float
    working_bytes: float
    memory_limit_bytes: float
    boundary_bytes: float
    step_overhead_seconds: float
    step_seconds_per_layer: tuple[float, ...]
    calibrated: bool
    relative_error_80: float
    tied_bytes: float = 0.0
