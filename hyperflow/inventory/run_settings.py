"""The configuration of a run table's row: devices, degrees, schedule, memory savers, and the split over stages."""

import re
from collections.abc import Mapping
from typing import Any, Literal

from hyperflow.catalog.devices import find_device
from hyperflow.cost.step import even_split
from hyperflow.errors import Finding
from hyperflow.inventory.run_cells import Cells
from hyperflow.ir.costs import CostSettings
from hyperflow.ir.device import Device
from hyperflow.ir.plan import Degrees
from hyperflow.ir.profile import Profile

PRECISIONS = {"bf16": "bf16", "fp16": "fp16", "fp8": "fp8", "mxfp8": "fp8", "unknown": "bf16"}
MOST_RANKS = 100_000
MOST_STAGES = 10_000
SCHEDULES = ("gpipe", "interleaved", "zb-h1", "zb-h2", "zb-1p", "zb-2p", "zb-v", "v-half", "v-min", "1f1b")


def read_configuration(
    cells: Cells, facts: Mapping[str, Any], num_layers: int, profile: Profile | None
) -> tuple[tuple[Device, ...], CostSettings | None, str]:
    """Devices per stage, settings, and the reason why a row cannot be evaluated (empty: it can)."""
    tp, pp, cp, ep, dp = (cells.whole(column, most=MOST_RANKS) or 1 for column in ("tp", "pp", "cp", "ep", "dp"))
    degrees = Degrees(tp=tp, pp=pp, cp=cp, ep=ep, dp=dp)
    total = cells.whole("n_gpus")
    micro_batch, batch = cells.whole("micro_batch"), cells.whole("global_batch")
    if total is not None and total != degrees.world_size:
        _refuse_degrees(cells, f"tp*pp*dp*cp = {degrees.world_size}", f"n_gpus = {total}")
    if micro_batch and batch and batch % (micro_batch * dp):
        _refuse_degrees(cells, f"micro_batch*dp = {micro_batch * dp}", f"a divisor of global_batch = {batch}")
    if pp > (num_layers or MOST_STAGES):
        cells.refuse("pp", str(pp), f"at most {num_layers or MOST_STAGES} stages, one per layer")
        pp = 1
    devices = _read_devices(cells, profile, pp)
    precision = PRECISIONS.get(cells.text("precision").lower())
    if not devices:
        return (), None, "device not in the catalogue"
    if precision is None:
        return (), None, f"precision not modelled: {cells.text('precision') or 'blank'}"
    if micro_batch is None or batch is None:
        return (), None, "micro-batch or global batch not stated"
    settings = CostSettings(
        degrees=degrees,
        micro_batch_size=micro_batch,
        microbatches=max(1, batch // (micro_batch * dp)),
        schedule=_schedule(cells.text("schedule"), pp),
        recompute=_recompute(cells, facts),
        zero=_zero(cells.text("zero") or facts.get("zero", "1")),
        precision=precision,
        sequence_parallel=_sequence_parallel(cells, facts),
        attention_kernel=_kernel(cells, facts),
        fused_elementwise=bool(facts.get("fused_elementwise", True)),
        dropout=_flag(cells, facts, "dropout", default=False),
        chunks=_chunks(cells, pp, num_layers),
        gradient_bytes=cells.whole("gradient_bytes") or facts.get("gradient_bytes", 4),
        expert_imbalance=cells.number("expert_imbalance", least=1.0) or 1.0,
        overlap=_flag(cells, facts, "overlap", default=False),
        pipeline_overlap=bool(facts.get("pipeline_overlap", True)),
        tensor_overlap=_tensor_overlap(cells, facts),
        fused_loss=bool(facts.get("fused_loss", True)),
        fused_gradients=bool(facts.get("fused_gradients", True)),
    )
    return devices, settings, ""


BARE_SLASH = re.compile(r"(?<! )/(?! )")


def read_split(
    cells: Cells, facts: Mapping[str, Any], num_layers: int, settings: CostSettings | None
) -> tuple[int, ...]:
    """Layers per stage and chunk; empty where a stated split does not add up, which leaves a finding."""
    if settings is None:
        return ()
    stages, chunks = settings.degrees.pp, settings.degrees.pp * settings.chunks
    shown = cells.text("stage_layers")
    if not re.fullmatch(r"\d+(/\d+)*", shown):
        return even_split(num_layers, chunks)
    split = [int(part) for part in shown.split("/")]
    extra = sum(split) - num_layers
    if extra > 0:
        before, after = facts.get("pseudo_layers", (extra // 2, extra - extra // 2))
        split[0] -= min(before, split[0])
        split[-1] -= min(after, split[-1])
    if len(split) != stages or sum(split) != num_layers:
        cells.refuse("stage_layers", shown, f"{num_layers} layers over {stages} stages")
        return ()
    return tuple(split)


def _read_devices(cells: Cells, profile: Profile | None, stages: int) -> tuple[Device, ...]:
    """The device of each stage: one name for all, or one a stage, split by `/`; empty where one is not known.

    A name that the profile declares, and words around a `/` that stands between blanks, are one name.
    """
    shown = cells.text("gpu")
    names = [shown] if profile and profile.device(shown) else [name.strip() for name in BARE_SLASH.split(shown)]
    found = [_read_device(name, cells, profile) for name in names]
    known = [device for device in found if device is not None]
    if len(known) < len(found):
        return ()
    if len(known) not in (1, stages):
        cells.refuse("gpu", cells.text("gpu"), f"one device, or one for each of {stages} stages")
        return ()
    return tuple(known) if len(known) > 1 else (known[0],) * stages


def _read_device(shown: str, cells: Cells, profile: Profile | None) -> Device | None:
    """The device by name; words in brackets after it are a comment."""
    declared = profile.device(shown) if profile else None
    device = declared or find_device(re.sub(r"\s*\(.*\)$", "", shown))
    if device is None and shown:
        cells.findings.append(
            Finding(
                code="HF603",
                severity="warning",
                message=f"device {shown!r} is not in the catalogue, the row is skipped",
                where=cells.place("gpu"),
                got=shown,
                expected="a key or alias of catalog/devices.yaml",
                hint="add the device to the catalogue (docs/how-to/add-a-device.md) or correct its name",
            )
        )
    return device


def _refuse_degrees(cells: Cells, got: str, expected: str) -> None:
    cells.findings.append(
        Finding(
            code="HF602",
            message=f"the degrees do not fit: {got}, expected {expected}",
            where=cells.place("n_gpus" if "n_gpus" in expected else "global_batch"),
            got=got,
            expected=expected,
            hint="correct the degrees; the other rows are evaluated",
        )
    )


def _schedule(shown: str, stages: int) -> str:
    name = shown.lower().replace("_", "-")
    known = next((schedule for schedule in SCHEDULES if name.startswith(schedule)), "1f1b")
    return "interleaved-1f1b" if known == "interleaved" else known if stages > 1 else "1f1b"


def _chunks(cells: Cells, stages: int, num_layers: int) -> int:
    shown = cells.text("vp")
    if shown.startswith("1 layer per chunk"):
        return max(1, -(-num_layers // stages))
    return (cells.whole("vp", most=MOST_STAGES) or 1) if stages > 1 else 1


def _recompute(cells: Cells, facts: Mapping[str, Any]) -> str:
    stated = cells.choice("recompute", ("none", "selective", "operations", "full")) or facts.get("recompute", "none")
    return facts.get("selective", stated) if stated == "selective" else stated


def _zero(shown: str) -> int:
    return int(shown[0]) if shown[:1] in ("0", "1", "2", "3") else 0


def _kernel(cells: Cells, facts: Mapping[str, Any]) -> Literal["flash", "flash-1", "unfused"]:
    stated = cells.choice("attention_kernel", ("flash", "flash-1", "unfused")) or facts.get("attention_kernel")
    return "unfused" if stated == "unfused" else "flash-1" if stated == "flash-1" else "flash"


def _tensor_overlap(cells: Cells, facts: Mapping[str, Any]) -> Literal["none", "backward", "all"]:
    stated = cells.choice("tensor_overlap", ("none", "backward", "all")) or facts.get("tensor_overlap")
    return "none" if stated == "none" else "all" if stated == "all" else "backward"


def _flag(cells: Cells, facts: Mapping[str, Any], column: str, *, default: bool) -> bool:
    stated = cells.flag(column)
    return bool(facts.get(column, default)) if stated is None else stated


def _sequence_parallel(cells: Cells, facts: Mapping[str, Any]) -> bool:
    """The row's column, its note, its source, and else yes: every framework of today has it on with TP."""
    note = cells.text("notes").lower()
    if "no sequence parallel" in note:
        return False
    if "sequence parallel on" in note:
        return True
    return _flag(cells, facts, "sequence_parallel", default=True)
