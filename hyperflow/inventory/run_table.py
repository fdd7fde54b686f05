"""Reader of run tables: CSV rows of measured training runs, each a Run or skipped with its reason."""

import csv
import io
from dataclasses import dataclass
from pathlib import Path

from hyperflow.catalog.run_sources import source_facts
from hyperflow.errors import Finding, InputError
from hyperflow.inventory.documents import read_text
from hyperflow.inventory.run_cells import Cells
from hyperflow.inventory.run_model import missing_shape, read_model
from hyperflow.inventory.run_settings import read_configuration, read_split
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


def read_run_table(path: str | Path) -> RunTable:
    """Read a CSV of runs; raises InputError (HF101, HF600) when it is unreadable or lacks columns for every row."""
    reader = csv.DictReader(io.StringIO(read_text(path), newline=""))
    header = [name.strip() for name in reader.fieldnames or []]
    reader.fieldnames = header
    findings = [_missing_column(str(path), column) for column in REQUIRED if column not in header]
    if findings and not set(header) & set(REQUIRED):
        raise InputError(findings)
    rows: list[Run | SkippedRun] = []
    for number, values in enumerate(reader, start=2):
        cells = Cells(str(path), number, {k: v for k, v in values.items() if isinstance(k, str) and isinstance(v, str)})
        rows.append(_read_row(cells))
        findings += cells.findings
    return RunTable(rows=tuple(rows), findings=tuple(findings))


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


def _read_row(cells: Cells) -> Run | SkippedRun:
    source = cells.text("source")
    facts = source_facts(source)
    seconds, peak = _measured_seconds(cells), cells.number("peak_mem_GiB")
    model = read_model(cells, facts.get("vocab"))
    layers = model.num_layers if model else 0
    devices, settings, reason = read_configuration(cells, facts, layers)
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
    )


def _kind(cells: Cells) -> str:
    words = ["moe" if (cells.whole("experts", least=0) or 0) > 0 else "dense"]
    precision = cells.text("precision")
    words.append("16-bit" if precision in ("bf16", "fp16") else precision)
    if cells.text("quality").startswith("C"):
        words.append("quality C")
    return " ".join(words)


def _measured_seconds(cells: Cells) -> float | None:
    """The measured step; tokens per second per device turned back to seconds where that is what was measured."""
    seconds = cells.number("iter_time_s")
    rate = cells.number("tokens_s_gpu")
    batch, length, devices = (cells.whole(column) for column in ("global_batch", "seq_len", "n_gpus"))
    if rate and batch and length and devices and cells.text("iter_time_kind") != "measured":
        return batch * length / (rate * devices)
    return seconds
