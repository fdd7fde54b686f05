"""Reader of run tables: CSV rows of measured training runs, each a Run or skipped with its reason."""

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hyperflow.catalog.run_sources import source_facts
from hyperflow.errors import Finding, InputError
from hyperflow.inventory.documents import read_text
from hyperflow.inventory.run_cells import Cells
from hyperflow.inventory.run_model import missing_shape, read_model
from hyperflow.inventory.run_settings import read_configuration, read_split
from hyperflow.ir.profile import Profile
from hyperflow.ir.runs import Run, SkippedRun
from hyperflow.units import GIB

REQUIRED = (
    "id", "source", "model", "layers", "hidden", "ffn", "heads", "vocab", "seq_len", "gpu", "n_gpus",
    "tp", "pp", "dp", "micro_batch", "global_batch", "precision", "iter_time_s",
)  # fmt: skip
OPTIONAL = (
    "kv_heads", "head_dim", "gated_mlp", "experts", "topk", "moe_ffn", "shared_ffn", "vp", "cp", "ep", "recompute",
    "zero", "schedule", "stage_layers", "tokens_s_gpu", "peak_mem_GiB", "quality", "notes", "attention_kernel",
    "dropout", "sequence_parallel", "overlap", "tensor_overlap", "gradient_bytes", "expert_imbalance",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTable:
    """All rows of a table in order, and the findings met on the way."""

    rows: tuple[Run | SkippedRun, ...]
    findings: tuple[Finding, ...]


def read_run_table(path: str | Path, profile: Profile | None = None) -> RunTable:
    """Read a CSV of runs; raises InputError (HF101, HF600) when it is unreadable or has none of the columns.

    `profile` may declare devices that the catalogue does not know.
    """
    header, lines = _read_csv(str(path))
    findings = [_missing_column(str(path), column) for column in REQUIRED if column not in header]
    if findings and not set(header) & set(REQUIRED):
        raise InputError(findings)
    rows: list[Run | SkippedRun] = []
    for number, values in lines:
        cells = Cells(str(path), number, dict(zip(header, values, strict=False)))
        rows.append(_read_row(cells, profile))
        findings += cells.findings
    return RunTable(rows=tuple(rows), findings=tuple(findings))


def _read_csv(path: str) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """The header, and the rows that are not empty with their numbers (the header is row 1)."""
    try:
        rows = list(csv.reader(io.StringIO(read_text(path).removeprefix("\ufeff"), newline="")))
    except csv.Error as error:
        raise InputError(
            Finding(code="HF609", message=f"not a CSV table: {error}", where=path, hint="save the table as CSV")
        ) from error
    header = [name.strip() for name in rows[0]] if rows else []
    return header, [(number, row) for number, row in enumerate(rows[1:], start=2) if any(row)]


def template_text() -> str:
    """An empty run table: the header line alone."""
    return ",".join([*REQUIRED, *OPTIONAL]) + "\n"


def _missing_column(file: str, column: str) -> Finding:
    return Finding(
        code="HF600",
        message=f"the table has no column {column}",
        where=f"{file}: row 1, column {column}",
        expected=column,
        hint="hyperflow evaluate --template prints all columns",
    )


def _read_row(cells: Cells, profile: Profile | None) -> Run | SkippedRun:
    source = cells.text("source")
    facts = source_facts(source)
    seconds, peak = _measured_seconds(cells), cells.quantity("peak_mem_GiB")
    model = read_model(cells, facts.get("vocab"))
    layers = model.num_layers if model else 0
    devices, settings, reason = read_configuration(cells, facts, layers, profile)
    split = read_split(cells, facts, layers, settings) if model and settings else ()
    bad = sorted({finding.where.rsplit(" ", 1)[-1] for finding in cells.findings if finding.severity == "error"})
    if bad:
        reason = f"bad cell in {', '.join(bad)}"
    elif missing := missing_shape(cells, facts.get("vocab")):
        reason = f"not stated: {', '.join(missing)}"
    elif not reason and seconds is None and peak is None:
        reason = "neither time nor memory was measured"
    identifier = cells.text("id") or str(cells.row)
    measured_bytes = peak * GIB if peak else None
    if reason or not (model and settings and split):
        return SkippedRun(
            identifier=identifier, row=cells.row, source=source, reason=reason or "incomplete",
            measured_seconds=seconds, measured_bytes=measured_bytes,
        )  # fmt: skip
    return Run(
        identifier=identifier,
        row=cells.row,
        source=source,
        model=model,
        stage_devices=devices,
        settings=settings,
        split=split,
        num_devices=cells.whole("n_gpus") or settings.degrees.world_size,
        global_batch_size=cells.whole("global_batch") or 1,
        measured_seconds=seconds,
        measured_bytes=measured_bytes,
        kind=_kind(cells),
        fit=not cells.text("quality").startswith("C") and cells.text("precision") != "unknown",
        assumptions=_assumptions(cells, facts),
    )


def _kind(cells: Cells) -> str:
    words = ["moe" if (cells.whole("experts", least=0) or 0) > 0 else "dense"]
    precision = cells.text("precision")
    words.append("16-bit" if precision in ("bf16", "fp16") else precision)
    if cells.text("quality").startswith("C"):
        words.append("quality C")
    return " ".join(words)


def _assumptions(cells: Cells, facts: Mapping[str, Any]) -> tuple[str, ...]:
    """What the row leaves blank and what was taken instead."""
    taken = [
        f"{column} {facts.get(column, default)}"
        for column, default in (("recompute", "none"), ("zero", "1"), ("attention_kernel", "flash"))
        if not cells.text(column)
    ]
    if cells.text("precision") == "unknown":
        taken.append("precision bf16")
    return tuple(taken)


def _measured_seconds(cells: Cells) -> float | None:
    """The measured step; tokens per second per device turned back to seconds where that is what was measured."""
    seconds = cells.quantity("iter_time_s")
    rate = cells.quantity("tokens_s_gpu")
    batch, length, devices = (cells.whole(column) for column in ("global_batch", "seq_len", "n_gpus"))
    if rate and batch and length and devices and cells.text("iter_time_kind") != "measured":
        return batch * length / (rate * devices)
    return seconds
