import pytest

from hyperflow.errors import InputError
from hyperflow.inventory.run_table import read_run_table, template_text
from hyperflow.ir.runs import Run, SkippedRun

ROW = {
    "id": "1", "source": "own cluster", "model": "Llama3.1-8B", "layers": "32", "hidden": "4096", "ffn": "14336",
    "heads": "32", "kv_heads": "8", "vocab": "128256", "seq_len": "8192", "gated_mlp": "1", "gpu": "H100",
    "n_gpus": "16", "tp": "2", "pp": "2", "dp": "4", "micro_batch": "1", "global_batch": "32", "precision": "bf16",
    "iter_time_s": "2.5", "iter_time_kind": "measured", "peak_mem_GiB": "60",
}  # fmt: skip


def table(tmp_path, *changes, columns=None):
    names = list(columns or [*ROW, "recompute", "schedule", "stage_layers", "tokens_s_gpu", "zero", "vp", "notes"])
    lines = [",".join(names)]
    lines += [",".join(f'"{(ROW | change).get(name, "")}"' for name in names) for change in changes or [{}]]
    path = tmp_path / "runs.csv"
    path.write_text("\n".join(lines) + "\n")
    return read_run_table(path)


def one_run(tmp_path, **change):
    row = table(tmp_path, change).rows[0]
    assert isinstance(row, Run)
    return row


def one_reason(tmp_path, **change):
    row = table(tmp_path, change).rows[0]
    assert isinstance(row, SkippedRun)
    return row.reason


def test_a_row_becomes_a_model_with_its_exact_parameters(tmp_path):
    run = one_run(tmp_path)
    assert run.model.total_parameters == 8_030_261_248
    assert (run.settings.microbatches, run.split, run.stage_devices[1].name) == (8, (16, 16), "H100-80GB-SXM")


def test_derived_times_are_recomputed_from_tokens_per_second(tmp_path):
    run = one_run(tmp_path, tokens_s_gpu="8192", iter_time_kind="derived from tokens/s", iter_time_s="99")
    assert run.measured_seconds == 32 * 8192 / (8192 * 16)


def test_pseudo_layers_of_a_stated_split_are_not_layers(tmp_path):
    assert one_run(tmp_path, stage_layers="18/16").split == (17, 15)
    assert one_run(tmp_path, stage_layers="20/12").split == (20, 12)


def test_what_cannot_be_predicted_is_skipped_with_its_reason(tmp_path):
    assert one_reason(tmp_path, precision="nvfp4") == "precision not modelled: nvfp4"
    assert one_reason(tmp_path, micro_batch="") == "micro-batch or global batch not stated"
    assert one_reason(tmp_path, layers="", hidden="") == "not stated: layers, hidden"
    assert one_reason(tmp_path, iter_time_s="", peak_mem_GiB="") == "neither time nor memory was measured"


def test_bad_cells_are_found_by_row_and_column_and_other_rows_are_read(tmp_path):
    """HF601: the whole text."""
    got = table(tmp_path, {"hidden": "many"}, {})
    assert [type(row) for row in got.rows] == [SkippedRun, Run]
    assert got.rows[0].reason == "bad cell in hidden"
    assert [finding.as_text() for finding in got.findings] == [
        "error[HF601] column hidden holds 'many', expected a number\n"
        f"  --> {tmp_path}/runs.csv: row 2, column hidden\n"
        "  got many, expected a number\n"
        "  hint: correct the cell or leave it blank; the other rows are evaluated"
    ]


@pytest.mark.parametrize(
    ("column", "shown"),
    [
        ("tp", "2.5"), ("pp", "-1"), ("gated_mlp", "yes"), ("heads", "inf"), ("heads", "5000"), ("layers", "1e9"),
        ("vocab", "1e300"), ("iter_time_s", "0"), ("pp", "64"),
    ],
)  # fmt: skip
def test_cells_of_the_wrong_kind_are_refused(tmp_path, column, shown):
    got = table(tmp_path, {column: shown})
    assert ("HF601", f"{tmp_path}/runs.csv: row 2, column {column}") in [(f.code, f.where) for f in got.findings]


def test_impossible_degrees_are_found(tmp_path):
    """HF602: the whole text, for devices and for the batch."""
    got = table(tmp_path, {"dp": "8"}, {"global_batch": "30"})
    assert [(f.message, f.where) for f in got.findings] == [
        (
            "the degrees do not fit: tp*pp*dp*cp = 32, expected n_gpus = 16",
            f"{tmp_path}/runs.csv: row 2, column n_gpus",
        ),
        (
            "the degrees do not fit: micro_batch*dp = 4, expected a divisor of global_batch = 30",
            f"{tmp_path}/runs.csv: row 3, column global_batch",
        ),
    ]
    assert {f.code for f in got.findings} == {"HF602"}
    assert all(isinstance(row, SkippedRun) for row in got.rows)


def test_an_unknown_device_is_found_and_its_row_skipped(tmp_path):
    """HF603: the whole text."""
    got = table(tmp_path, {"gpu": "Z9000"})
    assert got.findings[0].as_text() == (
        "warning[HF603] device 'Z9000' is not in the catalogue, the row is skipped\n"
        f"  --> {tmp_path}/runs.csv: row 2, column gpu\n"
        "  got Z9000, expected a key or alias of catalog/devices.yaml\n"
        "  hint: add the device to the catalogue (docs/how-to/add-a-device.md) or correct its name"
    )
    assert isinstance(got.rows[0], SkippedRun)


def test_a_missing_column_is_found_and_rows_that_can_are_read(tmp_path):
    """HF600: the whole text."""
    got = table(tmp_path, {}, columns=[name for name in ROW if name != "global_batch"])
    assert got.findings[0].as_text() == (
        "error[HF600] the table has no column global_batch\n"
        f"  --> {tmp_path}/runs.csv: row 1, column global_batch\n"
        "  expected global_batch\n"
        "  hint: hyperflow evaluate --template prints all columns"
    )
    assert got.rows[0].reason == "micro-batch or global batch not stated"


def test_a_file_that_is_no_run_table_is_refused(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(InputError) as caught:
        read_run_table(path)
    assert caught.value.findings[0].code == "HF600"


def test_the_template_reads_back_as_an_empty_table(tmp_path):
    path = tmp_path / "template.csv"
    path.write_text(template_text())
    assert read_run_table(path).rows == ()
    assert read_run_table(path).findings == ()


def test_short_rows_and_byte_order_marks_are_read(tmp_path):
    path = tmp_path / "short.csv"
    path.write_text("\ufeffid,source,gpu\n1\n", encoding="utf-8")
    got = read_run_table(path)
    assert got.rows[0].identifier == "1"


def test_a_table_that_is_not_csv_is_refused(tmp_path):
    """HF609: the whole text."""
    path = tmp_path / "nul.csv"
    path.write_text('id,"' + "x" * 200_000 + "\n")
    with pytest.raises(InputError) as caught:
        read_run_table(path)
    assert str(caught.value) == (
        "error[HF609] not a CSV table: field larger than field limit (131072)\n"
        f"  --> {path}\n"
        "  hint: save the table as CSV"
    )
