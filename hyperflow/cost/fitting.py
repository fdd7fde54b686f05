"""Fit the efficiency constants to measured runs, and say honestly how well they predict runs that were left out.

The fit is Gauss-Newton on the logarithms of the constants, with robust weights (a run that misses by more than 5 %
counts by its share) and a pull towards the prior. Families of devices are fitted first; each device then starts from
its family and may leave it only as far as its own runs pull. Dense 16-bit runs decide all constants but those of
grouped and 8-bit products, which the other runs decide. There are eight constants per device, none per run and
none per source.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hyperflow.catalog.calibration import device_family
from hyperflow.cost.predict import predict_run
from hyperflow.ir.calibration import Calibration, DeviceCalibration, DeviceConstants
from hyperflow.ir.runs import Run

SPREAD = {
    "gemm": 0.3, "grouped_gemm": 0.3, "fp8_gemm": 0.3, "attention": 0.4, "memory": 0.2, "scaleup": 0.2,
    "network": 0.2, "kernel_seconds": 0.7,
}  # fmt: skip
"""How far (in natural logarithm) a constant is expected from its prior before any run is seen."""
OTHER_CONSTANTS = ("grouped_gemm", "fp8_gemm")
CAUTION = 0.5
"""Without dense 16-bit runs, constants stay half as far from the prior: other runs tell less of them."""
NOISE = 0.05
HIGHEST_SHARE = 0.95
MAX_ROUNDS = 12
FEWEST_RUNS = 4
UNCALIBRATED_FACTOR = 2.0
LEAST_ERROR = 0.03

PRIOR = DeviceConstants(
    gemm=0.65, grouped_gemm=0.4, fp8_gemm=0.5, attention=0.5, memory=0.75, scaleup=0.75, network=0.75,
    kernel_seconds=1e-5,
)  # fmt: skip
"""Usual shares of large kernels, as public benchmarks show them; where every fit from scratch starts."""
SCRATCH = Calibration(
    devices={},
    families={},
    fallback=DeviceCalibration(
        constants=PRIOR, calibrated=False, relative_error_80=0.25, relative_error_80_other=0.4,
        basis="usual shares of large kernels; nothing was fitted",
    ),
    memory_fraction=0.9,
    runtime_bytes=2**30,
    source="none",
)  # fmt: skip

Floats = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A run predicted by constants that were fitted without its group; `error` is relative, signed."""

    run: Run
    group: str
    error: float


@dataclass(frozen=True, slots=True)
class Fit:
    """Fitted calibration and the errors of the runs, each predicted without its own source or model."""

    calibration: Calibration
    left_out: tuple[LeftOut, ...]


def source_group(source: str) -> str:
    """The publication or repository behind a row's source text.

    >>> source_group("Qi et al. (arXiv 2401.10241) Tables 3+4"), source_group("owner/repo docs/a.md case 1")
    ('arXiv 2401.10241', 'owner/repo')
    """
    if found := re.search(r"arXiv \d{4}\.\d{4,5}", source):
        return found.group()
    first = source.split(" ", 1)[0]
    return first if "/" in first else source


def fit_calibration(
    runs: Sequence[Run], source: str, start: Calibration = SCRATCH, progress: Callable[[str], None] = lambda _: None
) -> Fit:
    """Fit families and devices to the runs that state a time, and predict each group of runs without itself.

    `start` gives the priors and what stays for devices without runs. Its constants must not come from the same runs,
    else the errors of left-out runs flatter. See `group_of` for the groups.
    """
    usable = [run for run in runs if run.measured_seconds]
    families: dict[str, list[Run]] = {}
    for run in usable:
        families.setdefault(device_family(run.stage_devices[0]), []).append(run)
    fitted_families: dict[str, DeviceConstants] = {}
    fitted_devices: dict[str, DeviceConstants] = {}
    left_out: list[LeftOut] = []
    for family, members in sorted(families.items()):
        if len(members) < FEWEST_RUNS:
            continue
        progress(f"fitting {family}: {len(members)} runs")
        prior = start.of("", family).constants
        fitted_families[family], devices = _fit_family(members, prior)
        fitted_devices |= devices
        left_out += _leave_out(members, prior, fitted_families[family], devices, progress)
    return Fit(_assemble(start, source, usable, fitted_families, fitted_devices, left_out), tuple(left_out))


def _fit_family(
    runs: Sequence[Run],
    prior: DeviceConstants,
    near: DeviceConstants | None = None,
    nearby: Mapping[str, DeviceConstants] | None = None,
) -> tuple[DeviceConstants, dict[str, DeviceConstants]]:
    """Fit the family and its devices; `near` and `nearby` are points to descend from, for speed alone."""
    family = _fit_constants(runs, prior, near)
    devices: dict[str, DeviceConstants] = {}
    for name in sorted({run.stage_devices[0].name for run in runs}):
        own = [run for run in runs if run.stage_devices[0].name == name]
        if len(own) >= FEWEST_RUNS:
            devices[name] = _fit_constants(own, family, (nearby or {}).get(name))
    return family, devices


def _leave_out(
    runs: Sequence[Run], prior: DeviceConstants, family: DeviceConstants,
    devices: Mapping[str, DeviceConstants], progress: Callable[[str], None],
) -> list[LeftOut]:  # fmt: skip
    key = group_of(runs)
    results: list[LeftOut] = []
    for group in sorted({key(run) for run in runs}):
        rest = [run for run in runs if key(run) != group]
        progress(f"  without {group}: {len(runs) - len(rest)} runs left out")
        without, others = _fit_family(rest, prior, family, devices) if rest else (prior, {})
        for run in runs:
            if key(run) == group:
                constants = others.get(run.stage_devices[0].name, without)
                results.append(LeftOut(run, group, math.exp(_log_errors([run], constants)[0]) - 1))
    return results


def group_of(runs: Sequence[Run]) -> Callable[[Run], str]:
    """What is left out together: a source; or a model, where a device has one source for runs of that class."""
    sources: dict[tuple[str, bool], set[str]] = {}
    for run in runs:
        sources.setdefault((run.stage_devices[0].name, run.is_dense_16_bit), set()).add(source_group(run.source))

    def group(run: Run) -> str:
        several = len(sources[run.stage_devices[0].name, run.is_dense_16_bit]) > 1
        return source_group(run.source) if several else f"{source_group(run.source)}, {run.model.name}"

    return group


def _log_errors(runs: Sequence[Run], constants: DeviceConstants) -> list[float]:
    only = replace(SCRATCH, fallback=replace(SCRATCH.fallback, constants=constants))
    return [math.log(predict_run(run, only).seconds / (run.measured_seconds or 1.0)) for run in runs]


def _fit_constants(
    runs: Sequence[Run], prior: DeviceConstants, start: DeviceConstants | None = None
) -> DeviceConstants:
    """Dense 16-bit runs decide the shared constants where there are enough; the other runs then decide theirs."""
    dense = [run for run in runs if run.is_dense_16_bit]
    if len(dense) < FEWEST_RUNS:
        return _descend(runs, tuple(SPREAD), prior, CAUTION, start or prior)
    shared = tuple(name for name in SPREAD if name not in OTHER_CONSTANTS)
    fitted = _descend(dense, shared, prior, 1.0, start or prior)
    others = [run for run in runs if not run.is_dense_16_bit]
    return _descend(others, OTHER_CONSTANTS, prior, 1.0, fitted) if others else fitted


def _descend(
    runs: Sequence[Run], names: Sequence[str], prior: DeviceConstants, spread: float, start: DeviceConstants
) -> DeviceConstants:
    """Move the named constants from `start` to the robust least squares of the runs, pulled towards the prior."""
    centre = np.log([getattr(prior, name) for name in names])
    pull = np.array([(NOISE / (SPREAD[name] * spread)) ** 2 for name in names])
    ceiling = np.log([1.0 if name == "kernel_seconds" else HIGHEST_SHARE for name in names])
    point = np.log([getattr(start, name) for name in names])

    def errors_at(values: Floats) -> Floats:
        moved = {name: float(value) for name, value in zip(names, np.exp(values), strict=True)}
        return np.array(_log_errors(runs, replace(start, **moved)))

    for _ in range(MAX_ROUNDS):
        errors = errors_at(point)
        slopes = np.zeros((len(runs), len(names)))
        for column in range(len(names)):
            moved = point.copy()
            moved[column] += 0.01
            slopes[:, column] = (errors_at(moved) - errors) / 0.01
        weights = NOISE / np.maximum(np.abs(errors), NOISE)
        matrix = (slopes * weights[:, None]).T @ slopes + np.diag(pull)
        step = np.linalg.solve(matrix, -(slopes * weights[:, None]).T @ errors - (point - centre) * pull)
        new = np.minimum(point + np.clip(step, -0.3, 0.3), ceiling)
        moved_by = float(np.abs(new - point).max())
        point = new
        if moved_by < 2e-3:
            break
    return replace(start, **{name: float(value) for name, value in zip(names, np.exp(point), strict=True)})


def _assemble(
    base: Calibration,
    source: str,
    runs: Sequence[Run],
    families: Mapping[str, DeviceConstants],
    devices: Mapping[str, DeviceConstants],
    left_out: Sequence[LeftOut],
) -> Calibration:
    def row(constants: DeviceConstants, members: Sequence[LeftOut], factor: float, basis: str) -> DeviceCalibration:
        dense = [abs(item.error) for item in members if item.run.is_dense_16_bit]
        other = [abs(item.error) for item in members if not item.run.is_dense_16_bit]
        return DeviceCalibration(
            constants=constants,
            calibrated=factor == 1.0,
            relative_error_80=factor * _quantile_80(dense or other, base.fallback.relative_error_80),
            relative_error_80_other=factor * _quantile_80(other or dense, base.fallback.relative_error_80_other),
            basis=basis,
        )

    def of_device(name: str) -> list[LeftOut]:
        return [item for item in left_out if item.run.stage_devices[0].name == name]

    def of_family(name: str) -> list[LeftOut]:
        return [item for item in left_out if device_family(item.run.stage_devices[0]) == name]

    family_row = "no runs on this device; its family's "
    fallback_row = "no runs on this device or its family; geometric means of the fitted families"
    return replace(
        base,
        source=source,
        devices={
            **base.devices,
            **{name: row(c, of_device(name), 1.0, _basis(of_device(name))) for name, c in devices.items()},
        },
        families={
            **base.families,
            **{
                name: row(c, of_family(name), UNCALIBRATED_FACTOR, family_row + _basis(of_family(name)))
                for name, c in families.items()
            },
        },
        fallback=base.fallback
        if base.families
        else replace(
            row(_mean_constants(families, base), _unseen_families(runs, families, base), 1.0, fallback_row),
            calibrated=False,
        ),
    )


def _unseen_families(runs: Sequence[Run], families: Mapping[str, DeviceConstants], base: Calibration) -> list[LeftOut]:
    """Predict each family with the means of the others: how well a device of a family without runs is known."""
    results: list[LeftOut] = []
    for run in runs:
        family = device_family(run.stage_devices[0])
        others = {name: constants for name, constants in families.items() if name != family}
        error = _log_errors([run], _mean_constants(others, base))[0]
        results.append(LeftOut(run, family, math.exp(error) - 1))
    return results


def _basis(members: Sequence[LeftOut]) -> str:
    groups = sorted({source_group(item.run.source) for item in members})
    return f"fitted to {len(members)} runs of {', '.join(groups)}"


def _quantile_80(errors: Sequence[float], otherwise: float) -> float:
    """The 80 % quantile; with few runs it is widened as for a sample that small (rank (n+1)*0.8)."""
    if not errors:
        return otherwise
    ordered = sorted(errors)
    rank = math.ceil(0.8 * (len(ordered) + 1)) - 1
    value = ordered[rank] if rank < len(ordered) else 1.5 * ordered[-1]
    return max(LEAST_ERROR, value)


def _mean_constants(families: Mapping[str, DeviceConstants], base: Calibration) -> DeviceConstants:
    if not families:
        return base.fallback.constants
    return DeviceConstants(
        **{
            name: math.exp(sum(math.log(getattr(c, name)) for c in families.values()) / len(families))
            for name in SPREAD
        }
    )
