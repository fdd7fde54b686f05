"""One measured run of a bundle as a row for `hyperflow evaluate` and `hyperflow calibrate`."""

import csv
import io
from collections.abc import Iterable, Mapping
from typing import Any

from hyperflow.json_tree import dig, mapping, sequence, text

_SHAPE = (
    "hidden", "ffn", "heads", "kv_heads", "head_dim", "vocab", "seq_len", "gated_mlp", "experts", "topk", "moe_ffn",
    "shared_ffn", "precision",
)  # fmt: skip


def world_size(plan: Mapping[str, Any]) -> int:
    """The number of devices of a plan, from its degrees."""
    product = 1
    for name in ("tp", "cp", "pp", "dp"):
        size = dig(plan, "degrees", name)
        product *= size if isinstance(size, int) else 1
    return product


def run_row(job: str, name: str, plan: Mapping[str, Any], step_seconds: float) -> tuple[str, str]:
    """Give the header line and the row; stages on several devices name each stage's, split by `/`.

    A run over several clusters is marked C, reported but not fitted: the table has no column for the links.
    """
    stages = [mapping(stage) for stage in sequence(plan.get("stages")) if not dig(stage, "replica")]
    devices = [text(stage.get("device")) for stage in stages]
    clusters = sorted({text(dig(stage, "cluster")) for stage in sequence(plan.get("stages"))})
    shape = mapping(plan.get("model"))
    row: dict[str, object] = {
        "id": name, "source": "own run", "model": shape.get("name") or job, "layers": shape.get("layers"),
        **{column: shape.get(column) for column in _SHAPE},
        "gpu": devices[0] if len(set(devices)) == 1 else "/".join(devices),
        "n_gpus": world_size(plan),
        **{degree: dig(plan, "degrees", degree) for degree in ("tp", "cp", "ep", "pp", "dp")},
        "micro_batch": plan.get("micro_batch_size"), "global_batch": plan.get("global_batch_size"),
        "schedule": plan.get("schedule"), "recompute": plan.get("recompute"), "zero": plan.get("zero"),
        "stage_layers": "/".join(str(stage.get("layers")) for stage in stages),
        "iter_time_s": f"{step_seconds:.6g}",
        "quality": "C" if len(clusters) > 1 else "A",
        "notes": f"stages on {', '.join(clusters)}; links are not in this table" if len(clusters) > 1 else "",
    }  # fmt: skip
    return _line(row), _line("" if value is None else value for value in row.values())


def _line(values: Iterable[object]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow(values)
    return out.getvalue()
