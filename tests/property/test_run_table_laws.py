"""Whatever a cell holds, a run table is read: each row is a run, or skipped with a reason."""

import csv
import io

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hyperflow.cost.evaluation import evaluate_run
from hyperflow.inventory.run_table import OPTIONAL, REQUIRED, read_run_table
from hyperflow.ir.runs import Run

ROW = {
    "id": "1", "source": "site", "model": "DeepSeek-V3", "layers": "8", "hidden": "1024", "ffn": "4096", "heads": "8",
    "vocab": "32000", "seq_len": "2048", "gpu": "H100", "n_gpus": "16", "tp": "2", "pp": "2", "dp": "4", "ep": "4",
    "micro_batch": "1", "global_batch": "32", "precision": "bf16", "iter_time_s": "1.5", "schedule": "1F1B",
    "gated_mlp": "1", "experts": "16", "topk": "2", "moe_ffn": "512", "vp": "", "peak_mem_GiB": "20",
}  # fmt: skip
CELLS = st.one_of(
    st.sampled_from(["", "0", "-1", "1.5", "1e9", "1e308", "nan", "inf", "x", "3 (FSDP)", "full", "1/2/3", "4/4", "0/0",
                     "ZB-2p", "interleaved-1F1B", "1 layer per chunk", "unfused", "fp8", "nvfp4", "GB300", "Qwen3"]),
    st.integers(-3, 10**13).map(str),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=6),
)  # fmt: skip


@settings(
    max_examples=150, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.dictionaries(st.sampled_from([*REQUIRED, *OPTIONAL]), CELLS, max_size=5))
def test_any_cell_leads_to_a_run_or_a_reason(tmp_path, changes):
    text = io.StringIO()
    writer = csv.DictWriter(text, [*REQUIRED, *OPTIONAL])
    writer.writeheader()
    writer.writerow(ROW | changes)
    path = tmp_path / "runs.csv"
    path.write_text(text.getvalue(), encoding="utf-8", newline="")
    (row,) = read_run_table(path).rows
    if isinstance(row, Run):
        prediction = evaluate_run(row).prediction
        assert 0 < prediction.seconds < float("inf")
        assert 0 < prediction.memory_bytes < float("inf")
        assert prediction.seconds_low < prediction.seconds < prediction.seconds_high
    else:
        assert row.reason
