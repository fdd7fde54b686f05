"""Predict one run: costs per stage device, the step through its schedule, memory, and utilisation."""

from hyperflow.catalog.calibration import default_calibration
from hyperflow.cost.flops import step_flops, utilisation
from hyperflow.cost.layer_costs import device_costs, device_rates
from hyperflow.cost.profiled import apply_profile
from hyperflow.cost.step import hop_seconds, once_seconds, peak_stage_bytes, pipeline_seconds, stage_times
from hyperflow.ir.calibration import Calibration
from hyperflow.ir.costs import DeviceCosts
from hyperflow.ir.profile import Profile
from hyperflow.ir.runs import Prediction, Run


def predict_run(run: Run, calibration: Calibration | None = None, profile: Profile | None = None) -> Prediction:
    """Seconds and memory of one step of a run."""
    chosen = calibration or default_calibration()
    by_name = {
        device.name: device_costs(run.model, device, run.settings, chosen)
        for device in dict.fromkeys(run.stage_devices)
    }
    if profile is not None:
        by_name = {name: apply_profile(costs, profile, run.model, chosen) for name, costs in by_name.items()}
    stage_costs = [by_name[device.name] for device in run.stage_devices]
    seconds = _step_seconds(run, stage_costs, chosen)
    settings = run.settings
    peak = sum(device.peak_flops_bf16 for device in run.stage_devices) / len(run.stage_devices)
    flops = step_flops(run.model, run.global_batch_size)
    hardware = step_flops(run.model, run.global_batch_size, convention="hardware-full", recompute=settings.recompute)
    error = max(costs.relative_error_80 for costs in stage_costs)
    return Prediction(
        seconds=seconds,
        seconds_low=seconds / (1 + error),
        seconds_high=seconds * (1 + error),
        memory_bytes=peak_stage_bytes(stage_costs, run.split),
        model_flops=flops,
        mfu=utilisation(flops, seconds, run.num_devices, peak),
        hfu=utilisation(hardware, seconds, run.num_devices, peak),
        tokens_per_second=run.global_batch_size * run.model.sequence_length / seconds,
        calibrated=all(costs.calibrated for costs in stage_costs),
    )


def _step_seconds(run: Run, stage_costs: list[DeviceCosts], calibration: Calibration) -> float:
    stages = len(stage_costs)
    settings = run.settings
    times = [stage_times(costs, run.split, stages, i) for i, costs in enumerate(stage_costs)]
    hops: list[float] = []
    if stages > 1:
        slow = min(run.stage_devices, key=lambda device: device.network_bytes_per_second)
        rates = device_rates(slow, settings, calibration)
        node = settings.devices_per_node or slow.scaleup_domain
        per_stage = settings.degrees.devices_per_stage
        outside, inside = rates.neighbour(per_stage, node + 1), rates.neighbour(per_stage, 2)
        hops = hop_seconds(stage_costs[0], stages, outside, inside, node)
    passed = pipeline_seconds(
        times, hops, settings.microbatches, settings.schedule, settings.chunks, overlap=settings.pipeline_overlap
    )
    once = max(once_seconds(costs, run.split, stages, i) for i, costs in enumerate(stage_costs))
    return passed + once
